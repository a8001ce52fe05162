"""A vLLM command line or Python snippet as the mapping its YAML file would be. Nothing is run and nothing is imported.

Knows shells and Python's grammar; what the keys mean is `_vllm_upgrade`'s.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from playground.importers import _command as command
from playground.importers._command import wrong
from playground.sentence import Sentence

ENGINES = ("LLM", "AsyncLLM", "LLMEngine", "AsyncLLMEngine", "EngineArgs", "AsyncEngineArgs")
SHORT = {
    "-tp": "tensor_parallel_size",
    "-pp": "pipeline_parallel_size",
    "-dp": "data_parallel_size",
    "-q": "quantization",
    "-sc": "speculative_config",
}
_PYTHON = re.compile(rf"\b(?:{'|'.join(ENGINES)})[ \t]*\(|^[ \t]*(?:from|import)[ \t]+vllm\b", re.MULTILINE)
_COMMAND = re.compile(
    r"^[ \t]*(?:\w+=\S*[ \t]+)*(?:\$[ \t]+)?(?:vllm\s|python3?\s.*vllm|docker\s|podman\s|--[a-z])", re.MULTILINE
)
"""Within one line: what may run over line ends looks at a long file once for each of its lines."""
_STARTS = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server")


def is_python(text: str) -> bool:
    return bool(_PYTHON.search(text))


def is_command(text: str) -> bool:
    return bool(_COMMAND.search(text))


def from_command(name: str, text: str) -> dict[str, Any]:
    """`vllm serve ...` (or the older module call, or flags alone) as keys with underscores; values are text, or lists.

    Raises:
        PlaygroundError: quotes do not match, or there is no vLLM command.
    """
    words = command.words(name, text)
    start = next((i + 1 for i, word in enumerate(words) if word in _STARTS or "/vllm-openai" in word), None)
    if start is None:
        serve = next((i for i, pair in enumerate(pairwise(words)) if pair == ("vllm", "serve")), None)
        flag = next((i for i, word in enumerate(words) if word.startswith("--")), None)
        start = serve + 2 if serve is not None else flag
    if start is None:
        raise wrong(name, Sentence("holds no `vllm serve` command"), Sentence("Paste the whole command."))
    found: dict[str, Any] = {}
    for key, value in _flags(command.one_command(words, start)):
        _put(name, found, key, value)
    return found


def _flags(words: list[str]) -> Iterator[tuple[str, Any]]:
    """(key, value): True for a flag alone, text for one value, a list for more; the bare word is the model."""
    for flag, value in command.flags(words, _is_flag):
        key = SHORT.get(flag, flag.removeprefix("--")) or "model"
        if value is True and key.startswith("no-"):
            yield key.removeprefix("no-"), False
        else:
            yield key, value


def _is_flag(word: str) -> bool:
    return word.startswith("--") or word.partition("=")[0] in SHORT


def _put(name: str, found: dict[str, Any], key: str, value: Any) -> None:
    """Dotted keys go inside: --speculative-config.method ngram."""
    outer, dot, inner = key.partition(".")
    outer = outer.replace("-", "_")
    if outer == "model_tag":
        outer = "model"
    if not dot:
        if outer in found and found[outer] != value:
            raise wrong(name, Sentence("gives --{key} twice", key=key), Sentence("Keep one of them."))
        found[outer] = value
        return
    branch = found.setdefault(outer, {})
    if not isinstance(branch, dict):
        raise wrong(
            name,
            Sentence("gives --{key} whole and in parts", key=outer.replace("_", "-")),
            Sentence("Keep one of them."),
        )
    branch[inner] = value


def from_python(name: str, text: str) -> tuple[dict[str, Any], list[str]]:
    """Keywords of the first `LLM(...)` or engine-arguments call, and what could not be read as a plain value.

    Beside them, under names no file has: "sampling_params" (keywords of `SamplingParams(...)`), "chat" (False for
    `.generate(...)`), "system_prompt".
    """
    tree, calls = parsed(name, text)
    reader = Literals(tree)
    engine = next((call for call in calls if called(call) in ENGINES and (call.args or call.keywords)), None)
    if engine is None:
        raise wrong(name, Sentence("holds no LLM(...) call"), Sentence("Paste the call with its keywords."))
    found = reader.keywords(engine)
    if engine.args:
        found.setdefault("model", reader.value("model", engine.args[0]))
    for call in calls:
        match called(call):
            case "SamplingParams":
                found.setdefault("sampling_params", reader.keywords(call))
            case "generate" | "chat" as verb if isinstance(call.func, ast.Attribute):
                found.setdefault("chat", verb == "chat")
                if verb == "chat" and call.args:
                    found.setdefault("system_prompt", _system_prompt(reader.value("messages", call.args[0])))
    return {key: value for key, value in found.items() if value is not UNREADABLE}, reader.unreadable


def parsed(name: str, text: str) -> tuple[ast.Module, list[ast.Call]]:
    """The tree of a snippet and every call in it. Raises PlaygroundError where it is no Python."""
    if len(text) > command.MAX_CODE:
        raise wrong(
            name,
            Sentence("is longer than {most:,} characters", most=command.MAX_CODE),
            Sentence("Paste the call alone."),
        )
    try:
        tree = ast.parse(text)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    except SyntaxError as error:
        place = Sentence("{name}, line {line}", name=name, line=error.lineno) if error.lineno else name
        raise wrong(place, Sentence("is no Python"), Sentence("Paste whole statements.")) from None
    except (ValueError, RecursionError, MemoryError):
        raise wrong(name, Sentence("is nested too deeply"), Sentence("Paste the call alone.")) from None
    return tree, calls


UNREADABLE = object()


class Literals:
    """Literals of a snippet, names assigned once to a literal included."""

    def __init__(self, tree: ast.Module) -> None:
        self.unreadable: list[str] = []
        self._names: dict[str, ast.expr | None] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                self._names[name] = None if name in self._names else node.value

    def keywords(self, call: ast.Call) -> dict[str, Any]:
        return {word.arg or "**": self.value(word.arg or "**", word.value) for word in call.keywords}

    def value(self, key: str, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            node = self._names.get(node.id) or node
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            self.unreadable.append(key)
            return UNREADABLE


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _system_prompt(messages: Any) -> Any:
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "system" and isinstance(message.get("content"), str):
            return message["content"]
    return UNREADABLE
