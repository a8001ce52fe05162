"""Which words really start a server, whatever stands around them: `sudo`, `bash -c '...'`, `docker run IMAGE`, `ssh`.

Only what starts one counts: `vllm bench`, or a client that speaks of vllm, starts none. Knows programs and images; what
their flags mean is each importer's.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from playground.errors import PlaygroundError
from playground.importers._command import one_command
from playground.importers._variables import Marked, Operator, Script, script

IMAGES: tuple[tuple[str, list[str]], ...] = (
    ("vllm-openai", ["vllm", "serve"]),
    ("vllm-cpu", ["vllm", "serve"]),
    ("llama.cpp:server", ["llama-server"]),
    ("llama.cpp:full", ["llama-server"]),
)
"""Part of an image's name -> the program that it starts by itself."""

_MODULES = {
    "vllm.entrypoints.openai.api_server": ["python", "-m", "vllm.entrypoints.openai.api_server"],
    "vllm.entrypoints.api_server": ["python", "-m", "vllm.entrypoints.api_server"],
    "sglang.launch_server": ["python", "-m", "sglang.launch_server"],
    "tensorrt_llm.commands.serve": ["trtllm-serve"],
}
_ENVIRONMENT = ("LLAMA_ARG_", "SGLANG_", "TLLM_", "TRTLLM_", "VLLM_")
"""What the names of variables begin with that are settings of a server."""
_ANY = re.compile(r"vllm|sglang|llama-server|llama\.cpp|trtllm|tensorrt_llm")

_SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh")
_CONTAINERS = ("docker", "podman", "nerdctl")
_PASSED = ("then", "do", "else", "if", "while", "until", "elif", "!", "time", "{", "$", "%")
_AROUND = (
    "sudo", "doas", "env", "exec", "nohup", "command", "builtin", "setsid", "nice", "ionice", "chrt", "stdbuf",
    "timeout", "taskset", "numactl", "unbuffer", "script", "screen", "srun", "mpirun", "mpiexec", "flock", "tini",
    "dumb-init", "gosu", "su-exec", "uv", "uvx", "poetry", "pipenv", "pixi", "conda", "mamba", "micromamba", "kubectl",
    "singularity", "apptainer", "trtllm-llmapi-launch", "nsys", "systemd-run", "busybox", "wsl",
)  # fmt: skip
"""Programs that run the rest of their words as a command, behind options of their own."""

_OTHERS = re.compile(
    r"python[\d.]*|pip[\d.]*|vllm|sglang|ray|torchrun|accelerate|curl|wget|sleep|tail|cat|ls|echo|nvidia-smi"
)
_NO_VALUE = frozenset((
    "detach", "interactive", "tty", "rm", "init", "privileged", "read-only", "publish-all", "no-healthcheck",
    "oom-kill-disable", "sig-proxy", "quiet", "disable-content-trust", "use-api-socket", "help", "replace", "rmi",
    "no-hosts", "no-hostname", "env-host", "http-proxy", "rootfs", "read-only-tmpfs", "passwd", "tls-verify",
))  # fmt: skip
"""Long options of `docker run`, and of its likes, that stand alone."""

_SHORT_ALONE = "ditPq"
_SSH_VALUES = "BbcDEeFIiJLlmOoPpQRSWw"
_MAX_DEPTH = 8


class Started(NamedTuple):
    """The commands that start a server, and by their bare names the files that the text writes for them."""

    commands: list[list[str]]
    files: dict[str, str]

    @property
    def text(self) -> str:
        return "\n".join(shlex.join(command) for command in self.commands)


_NOTHING = Started([], {})
_DATA = (".py", ".json", ".yaml", ".yml", ".ini", "modelfile")
_NO_SHELL = re.compile(
    r"\{|[\"']?[A-Za-z][\w.-]*[\"']?:(?:\s|$)|\[[^\]\n]*\]\s*$|[\w.-]+[ \t]+=",
)
"""What begins with a mapping's key, a section or `key = value` is YAML or a preset file."""


def bare(name: str, text: str) -> tuple[str, dict[str, str]]:
    """A shell text as the commands alone that start a server, with the files it writes; any other text as it is.

    Raises:
        PlaygroundError: a command that starts a server cannot be told for certain.
    """
    if name.lower().endswith(_DATA) or _NO_SHELL.match(_first_line(text)) or not _ANY.search(text):
        return text, {}
    try:
        read = script(name, text)
    except PlaygroundError:
        return text, {}  # whoever recognises it says what is wrong with it
    found = _started(name, read, {}, 0)
    return (found.text or text), found.files


def _first_line(text: str) -> str:
    """The first line that says something."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith(("#", ";", "---"))), "")


def started(name: str, text: str, environment: Mapping[str, str] = {}, depth: int = 0) -> Started:
    """What a shell text starts; `environment` is what is set around it.

    Raises:
        PlaygroundError: it is no shell text, or a command that starts a server cannot be told for certain.
    """
    known = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in environment.items() if key.isidentifier())
    return _started(name, script(name, known + text), environment, depth)


def _started(name: str, read: Script, environment: Mapping[str, str], depth: int) -> Started:
    words, files = read
    settings = dict(environment)
    commands: list[list[str]] = []
    start = 0
    while start < len(words):
        end = next((i for i in range(start, len(words)) if isinstance(words[i], Operator)), len(words))
        found = of_words(name, words[start:end], settings, depth)
        if found.commands:
            one_command(words, max(start, end - 1))  # that the command does not go on in the next line
        else:
            exported = words[start] == "export"
            found_settings = [word for word in words[start:end] if _is_setting(word)]
            settings |= dict(_setting(word) for word in found_settings if exported or word.startswith(_ENVIRONMENT))
        commands += found.commands
        files = files | found.files
        start = end + 1
    return Started(commands, files)


def of_words(name: str, words: Sequence[str], environment: Mapping[str, str] = {}, depth: int = 0) -> Started:
    """What one command starts."""
    words, environment = list(words), dict(environment)
    while words and (words[0] in _PASSED or _is_setting(words[0])):
        if _is_setting(words[0]):
            environment |= [_setting(words[0])]
        words = words[1:]
    if not words or depth > _MAX_DEPTH:
        return _NOTHING
    program = _program(words[0])
    if command := _server(program, words):
        around = {key: value for key, value in environment.items() if key.startswith(_ENVIRONMENT)}
        return Started(
            [_certain([*(_as_sure(f"{key}={value}", value) for key, value in around.items()), *command])], {}
        )
    if (text := _shell_text(program, words)) is not None:
        return started(name, _certain([text])[0], environment, depth + 1)
    if program in _CONTAINERS:
        return _of_container(name, words, environment, depth)
    if program in _AROUND:
        for position, word in enumerate(words[1:], start=1):
            if _is_setting(word):
                environment |= [_setting(word)]
            elif _program(word) not in _AROUND:
                found = of_words(name, words[position:], environment, depth + 1)
                if found.commands:
                    return found
    return _NOTHING


def of_image(
    name: str, image: str, entry: Sequence[str], given: Sequence[str], environment: Mapping[str, str], depth: int = 0
) -> Started:
    """What a container starts: its `entry` with the words `given`, else what its image starts by itself."""
    found = of_words(name, [*entry, *given], environment, depth + 1)
    start = next((program for part, program in IMAGES if part in image), None)
    if found.commands or entry or start is None or (given and _runs_another(given[0])):
        return found
    rest = list(given)
    if "llama.cpp:full" in image:
        if rest[:1] not in (["--server"], ["-s"]):
            return _NOTHING
        rest = rest[1:]
    return of_words(name, [*start, *rest], environment, depth + 1)


def _runs_another(word: str) -> bool:
    program = _program(word)
    return bool(_OTHERS.fullmatch(program)) or program in (*_SHELLS, *_AROUND) or program.endswith((".sh", ".py"))


def _program(word: str) -> str:
    return re.split(r"[/\\]", word)[-1].removesuffix(".exe")


def _is_setting(word: str) -> bool:
    return bool(re.match(r"[A-Za-z_]\w*=", word))


def _setting(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key, _as_sure(value, word)


def _as_sure(text: str, of: str) -> str:
    """`text`, as sure as the word that it is a part of."""
    made = Marked(text)
    made.refusal = of.refusal if isinstance(of, Marked) else None
    return made


def _certain(words: list[str]) -> list[str]:
    for word in words:
        if isinstance(word, Marked) and word.refusal is not None:
            raise word.refusal
    return words


def _server(program: str, words: list[str]) -> list[str] | None:
    """The command under the name that its importer knows; None where it starts no server."""
    if program in ("vllm", "sglang"):
        return [program, *words[1:]] if words[1:2] == ["serve"] else None
    if program in ("llama-server", "trtllm-serve"):
        return [program, *words[1:]]
    if not re.fullmatch(r"python[\d.]*", program):
        return None
    position = 1
    while position < len(words) and words[position].startswith("-") and words[position] != "-m":
        position += 2 if words[position] in ("-W", "-X") else 1
    if words[position : position + 1] != ["-m"]:
        return None
    module, rest = "".join(words[position + 1 : position + 2]), words[position + 2 :]
    if module == "vllm.entrypoints.cli.main" and rest[:1] == ["serve"]:
        return ["vllm", *rest]
    return [*_MODULES[module], *rest] if module in _MODULES else None


def _shell_text(program: str, words: list[str]) -> str | None:
    """What a program hands to a shell; None where it hands it nothing."""
    if program in _SHELLS:
        return _after_c(words)
    if program == "eval":
        return " ".join(words[1:])
    if program == "ssh":
        rest = _behind_options(words[1:], _SSH_VALUES)
        return " ".join(rest[1:])
    if program == "tmux":
        return _of_tmux(words)
    return None


def _after_c(words: list[str]) -> str | None:
    """The text behind a shell's `-c`, alone or among other letters (`-xec`), with the words behind as its `$@`."""
    position, reads = 1, False
    while position < len(words) and words[position][:1] in ("-", "+") and words[position] not in ("-", "--"):
        word = words[position]
        letters = "" if word.startswith("--") else word[1:]
        reads = reads or (word[0] == "-" and "c" in letters)
        position += 2 if letters[-1:] in ("o", "O") or "o" in letters or word in ("--rcfile", "--init-file") else 1
    position += words[position : position + 1] in (["-"], ["--"])
    if not reads or position >= len(words):
        return None
    text, behind = words[position], words[position + 2 :]  # the word between is `$0`
    return _as_sure(f"set -- {shlex.join(behind)}\n{text}", text) if behind else text


def _behind_options(words: list[str], with_value: str) -> list[str]:
    position = 0
    while position < len(words) and words[position].startswith("-"):
        word = words[position]
        position += 2 if len(word) == 2 and word[1] in with_value else 1
    return words[position:]


def _of_tmux(words: list[str]) -> str | None:
    """What it is to run in a window: one word is a shell's text, several are a command."""
    verb = next((i for i, word in enumerate(words) if re.match(r"(?:new|split|respawn|send)", word)), None)
    if verb is None:
        return None
    rest = _behind_options(words[verb + 1 :], "cefFlnstxy")
    return (rest[0] if len(rest) == 1 or words[verb].startswith("send") else shlex.join(rest)) if rest else None


def _of_container(name: str, words: list[str], environment: Mapping[str, str], depth: int) -> Started:
    """`docker run [options] IMAGE [words]`, `docker exec [options] CONTAINER words`."""
    verb = next((i for i, word in enumerate(words) if word in ("run", "create", "exec")), None)
    if verb is None:
        return _NOTHING
    inside: dict[str, str] = {}
    entry: list[str] = []
    position = verb + 1
    while position < len(words) and words[position].startswith("-"):
        key, value, position = _option(words, position)
        if key in ("e", "env"):
            # What is handed over from outside stays a variable.
            known, equals, text = value.partition("=")
            inside[known] = text if equals else environment.get(known, f"${{{known}}}")
        elif key == "entrypoint":
            entry = [value] if value else []
    if position >= len(words):
        return _NOTHING
    rest = words[position + 1 :]
    if words[verb] == "exec":
        return of_words(name, rest, inside, depth + 1)
    return of_image(name, words[position], entry, rest, inside, depth + 1)


def _option(words: list[str], position: int) -> tuple[str, str, int]:
    """(name without dashes, value, where the next word stands)."""
    word = words[position]
    if word.startswith("--"):
        key, equals, value = word[2:].partition("=")
        if equals or key in _NO_VALUE:
            return key, value, position + 1
        return key, "".join(words[position + 1 : position + 2]), position + 2
    letters = word[1:].lstrip(_SHORT_ALONE)
    if len(letters) > 1:
        return letters[0], letters[1:].removeprefix("="), position + 1
    return letters, "".join(words[position + 1 : position + 2]) if letters else "", position + (2 if letters else 1)
