"""What the exporters of servers share: a server as a command line with its config, and the files made of it.

A `Server` is also what the container exporters wrap. Knows shells and requests, no particular server.
"""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playground.config import Preset, RunConfig
from playground.exporters import SCHEMA, Export, Loss
from playground.exporters._comments import evidence_block, losses_block, wrapped
from playground.exporters._yaml import comment
from playground.sentence import Sentence

Words = tuple[tuple[str, ...], ...]
"""A command line, one flag with its values together, so that it can be written one flag a line."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server program with everything it is told.

    Attributes:
        program: the words that start it. arguments: the rest, without host and port.
        config: (file name, text) of a file that `arguments` name and that must lie beside; None where there is none.
        devices: accelerators that one copy needs. image: of the release the rules were read from.
        request: the text of the request file.
        install: a package the image lacks, as pip takes it; "". in_image: the program there, where it is not the same.
        cache: the folder in the image that downloaded models come to.
    """

    program: tuple[str, ...]
    arguments: Words
    image: str
    versions: Sentence
    port: int = 8000
    health: str = "/health"
    devices: int = 1
    config: tuple[str, str] | None = None
    install: str = ""
    in_image: tuple[str, ...] = ()
    cache: str = "/root/.cache/huggingface"
    losses: tuple[Loss, ...] = ()
    notes: tuple[str, ...] = ()
    written: dict[str, str] = field(default_factory=dict)
    checked_by: Sentence = SCHEMA
    request: str = ""

    @property
    def words(self) -> list[str]:
        """Everything after the program, flat."""
        return [word for part in self.arguments for word in part]


def head(preset: Preset, versions: str, losses: Iterable[Loss], mark: str = "#", notes: Iterable[str] = ()) -> str:
    """The comment that opens every file: what it is, what was measured, what could not be said, what else to know."""
    title = f"{preset.name}, for {versions}. Exported by Draftboard."
    about = wrapped(preset.description.splitlines())
    parts = [title, *about, *evidence_block(preset), *losses_block(losses), *wrapped(notes)]
    text = "".join(comment(part) for part in parts if part)
    return text if mark == "#" else "".join(mark + line[1:] + "\n" for line in text.splitlines())


def flags(values: Mapping[str, Any]) -> Words:
    """Keys and values as flags: a switch alone where it is on, `--no-` where it is off, JSON for what is nested."""
    words: list[tuple[str, ...]] = []
    for key, value in values.items():
        if isinstance(value, bool):
            words.append((f"--{key}" if value else f"--no-{key}",))
        else:
            words.append((f"--{key}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))
    return tuple(words)


def shell(first: Sequence[str], arguments: Words, opening: str) -> str:
    """A shell script that starts the server, one flag a line."""
    lines = [" ".join(map(quoted, words)) for words in (first, *arguments)]
    return "#!/bin/sh\n" + opening + " \\\n  ".join(lines) + "\n"


def quoted(word: str) -> str:
    """A word for a shell. An apostrophe stands in double quotes where nothing else in them has a meaning."""
    if "'" in word and not set(word) & set('"$`\\!') and word.isprintable():
        return f'"{word}"'
    return shlex.quote(word)


def server_export(preset: Preset, server: Server, files: dict[str, str], command: str) -> Export:
    return Export(files, command, server.losses, server.versions, server.checked_by, server.written, server.notes)


def request(config: RunConfig, *, model: str = "", top_k_off: int = 0, names: Mapping[str, str] | None = None) -> str:
    """A body for /v1/chat/completions, or /v1/completions for raw prompts: what the server cannot hold, as JSON.

    Args:
        model: what requests call the model, where that is not its name or folder.
        top_k_off: how the server spells "all tokens". names: its own names for sampling parameters.
    """
    body: dict[str, Any] = {"model": model or config.target}
    if config.chat:
        body["messages"] = messages(config)
    else:
        body["prompt"] = "Hello"
    sampling = sampling_values(config)
    if not config.sampling.top_k:
        sampling["top_k"] = top_k_off
    body |= {(names or {}).get(name, name): value for name, value in sampling.items()}
    return json.dumps(body, indent=2) + "\n"


def messages(config: RunConfig) -> list[dict[str, str]]:
    """A conversation as it was measured, with a first word of ours."""
    system = [{"role": "system", "content": config.system_prompt}] if config.system_prompt else []
    said = [{"role": message.role, "content": message.content} for message in config.history]
    return [*system, *said, {"role": "user", "content": "Hello"}]


SAME_NAME = (
    "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
)  # fmt: skip
"""Of SamplingParams and of requests to servers that speak OpenAI's language with extensions."""


def sampling_values(config: RunConfig) -> dict[str, Any]:
    """The sampling of a request: what is neutral is left out, but for what presets tune."""
    sampling = config.sampling
    values: dict[str, Any] = {name: getattr(sampling, name) for name in SAME_NAME}
    values["max_tokens"] = sampling.max_tokens
    rest = {"min_tokens": sampling.min_tokens, "seed": sampling.seed, "stop": list(sampling.stop)}
    values |= {name: value for name, value in rest.items() if value not in (0, None, [])}
    if sampling.seed is not None:
        values["seed"] = sampling.seed
    if sampling.ignore_eos:
        values["ignore_eos"] = True
    return values
