"""A vLLM command line or Python snippet as the mapping its YAML file would be. Nothing is run and nothing is imported.

Knows flags and calls; what the keys mean is `_vllm_upgrade`'s.
"""

import ast
import re
from collections.abc import Callable, Container, Iterator
from itertools import pairwise
from typing import Any

from playground.errors import PlaygroundError
from playground.importers import _command as command
from playground.importers import _vllm_flags as flags
from playground.importers._command import wrong
from playground.importers._python import UNREADABLE, Literals, called, parsed
from playground.importers._vllm_upgrade import MOVED_INSIDE
from playground.sentence import Sentence

ENGINES = ("LLM", "AsyncLLM", "LLMEngine", "AsyncLLMEngine", "EngineArgs", "AsyncEngineArgs")
_PYTHON = re.compile(rf"\b(?:{'|'.join(ENGINES)})[ \t]*\(|^[ \t]*(?:from|import)[ \t]+vllm\b", re.MULTILINE)
_COMMAND = re.compile(
    r"^[ \t]*(?:\w+=\S*[ \t]+)*(?:\$[ \t]+)?(?:vllm\s|python3?\s.*vllm|docker\s|podman\s|--[a-z])", re.MULTILINE
)
"""Within one line: what may run over line ends looks at a long file once for each of its lines."""
_SERVE = re.compile(r"^(?![ \t]*(?:#|- |[\w.\"'-]+:(?:[ \t]|$)))[^\n]*\bvllm[ \t]+serve\b", re.MULTILINE)
"""Behind `cd x &&`, `exec`, a path to it; not as a value of YAML."""
_CONTAINER = re.compile(r"^(?:services|apiVersion|kind):", re.MULTILINE)
_ALONE = flags.ALONE | {"enforce_eager", "enable_prefix_caching"}
_LEVEL = re.compile(r"-O[^.]+")
_STARTS = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server")


def is_python(text: str) -> bool:
    return bool(_PYTHON.search(text))


def is_command(text: str) -> bool:
    return bool(_COMMAND.search(text) or (_SERVE.search(text) and not _CONTAINER.search(text)))


def from_command(name: str, text: str, known: Container[str] = ()) -> dict[str, Any]:
    """`vllm serve ...` (or the older module call, or flags alone) as keys with underscores; values are text, or lists.

    `known` are the keys that take one value: whatever stands behind it is the model.

    Raises:
        PlaygroundError: quotes do not match, there is no vLLM command, or an unknown flag may have taken the model.
    """
    words = command.words(name, text)
    start = next((i + 1 for i, word in enumerate(words) if word in _STARTS or "/vllm-openai" in word), None)
    if start is None:
        bare = [word.rsplit("/", 1)[-1] for word in words]
        serve = next((i for i, pair in enumerate(pairwise(bare)) if pair == ("vllm", "serve")), None)
        alone = 0 if words[:1] and words[0].startswith("--") else None  # flags of a server, not of another program
        start = serve + 2 if serve is not None else alone
    if start is None:
        raise wrong(name, Sentence("holds no `vllm serve` command"), Sentence("Paste the whole command."))
    found: dict[str, Any] = {}
    most = _most(known)
    for key, value in _flags(command.one_command(words, start), most):
        if key:
            _put(name, found, key, value)
        else:
            command.put_positional(name, found, "model", value)
    if not {"model", "model_tag", "config"} & found.keys():
        _may_be_the_model(name, found, most)
    return found


def _most(known: Container[str]) -> Callable[[str], int]:
    """How many values a flag takes at most."""
    guessed = command.most_values(known, alone=_ALONE, several=flags.SEVERAL)

    def most(flag: str) -> int:
        if _LEVEL.fullmatch(flag):
            return 0
        if "." in flag:
            return 1
        key = command.plain(flags.SHORT.get(flag, flag))
        return 1 if key in flags.ONE else guessed(key)

    return most


def _may_be_the_model(name: str, found: dict[str, Any], most: Callable[[str], int]) -> None:
    """Raises PlaygroundError where a flag that nobody knows took a word, and no model is left."""
    for key, value in found.items():
        taken = value[-1] if isinstance(value, list) else value
        if key not in flags.SEVERAL and most(key) > 1 and isinstance(taken, str):
            raise PlaygroundError(
                Sentence(
                    "{name}: names no model, unless {word} is one: it stands behind {flag}, which is not known here.",
                    name=name,
                    word=taken[:60],
                    flag="--" + key.replace("_", "-")[:60],
                ),
                Sentence("Put the model first, right behind `vllm serve`."),
                code="bad_config",
            )


def _flags(words: list[str], most: Callable[[str], int]) -> Iterator[tuple[str, Any]]:
    """(key, value): True for a flag alone, text for one value, a list for more; "" for the bare word."""
    for flag, value in command.flags(words, most=most):
        short, dot, inner = flag.partition(".")
        key = flags.SHORT.get(short, short.removeprefix("--")) + dot + inner
        if _LEVEL.fullmatch(flag):
            key, value = "optimization_level", flag[2:]
        if value is True and key.startswith("no-"):
            yield key.removeprefix("no-"), False
        else:
            yield key, value


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
    inner = inner.replace("-", "_")
    if inner in branch and branch[inner] != value:
        raise wrong(name, Sentence("gives --{key} twice", key=key), Sentence("Keep one of them."))
    branch[inner] = value


def from_python(name: str, text: str) -> tuple[dict[str, Any], list[Sentence]]:
    """Keywords of the `LLM(...)` or engine-arguments call, and what is to be said of it.

    Of several calls it is the first that may speculate, else the first. Beside its keywords, under names no file has:
    "sampling_params" (keywords of `SamplingParams(...)`), "chat" (False for `.generate(...)`), "system_prompt".

    Raises:
        PlaygroundError: no such call; or the model, or what may speculate, is no plain value: left out, it would be
            another configuration.
    """
    tree, calls = parsed(name, text)
    literals = Literals(tree)
    engines = [call for call in calls if called(call) in ENGINES and (call.args or call.keywords)]
    if not engines:
        raise wrong(name, Sentence("holds no LLM(...) call"), Sentence("Paste the call with its keywords."))
    engine = next((call for call in engines if _may_speculate(literals, call)), engines[0])
    found, unread = literals.keywords(engine)
    if engine.args and "model" not in found:
        model = literals.value(engine.args[0])
        if model is UNREADABLE:
            raise literals.unread("model", engine.args[0]).refused(name)
        found["model"] = model
    if wrong_without := [one for one in unread if one.key in ("model", "**") or _speculates(one.key)]:
        raise wrong_without[0].refused(name)
    if found.get("speculative_config", "") is None:
        del found["speculative_config"]
    said = []
    if len(engines) > 1:
        said.append(Sentence("Of {n} calls the one in line {line} is read.", n=len(engines), line=engine.lineno))
    for call in calls:
        match called(call):
            case "SamplingParams" if "sampling_params" not in found:
                found["sampling_params"], more = literals.keywords(call)
                unread += more
            case "generate" | "chat" as verb if isinstance(call.func, ast.Attribute):
                found.setdefault("chat", verb == "chat")
                messages = literals.value(call.args[0]) if verb == "chat" and call.args else None
                if messages is UNREADABLE:
                    unread.append(literals.unread("messages", call.args[0]))
                elif prompt := _system_prompt(messages):
                    found.setdefault("system_prompt", prompt)
    return found, [*said, *(one.left_out() for one in unread)]


def _speculates(key: str) -> bool:
    return key.startswith("spec") or key in MOVED_INSIDE


def _may_speculate(literals: Literals, call: ast.Call) -> bool:
    """Whether it does, or hides its keywords; those of another call (`asdict(args)`) are read there."""
    found, unread = literals.keywords(call)
    hidden = (one for one in unread if one.key == "**" and called(literals.behind(one.node)) not in ("asdict", "vars"))
    given = {key for key, value in found.items() if value is not None} | {one.key for one in unread}
    return any(_speculates(key) for key in given) or any(hidden)


def _system_prompt(messages: Any) -> str | None:
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "system" and isinstance(message.get("content"), str):
            return str(message["content"])
    return None
