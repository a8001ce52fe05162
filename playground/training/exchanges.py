"""Prompts and answers as token ids, one JSON line each: `{"prompt_ids", "ids", "temperature"}`. Knows files and ids."""

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from playground.errors import PlaygroundError
from playground.sentence import Sentence


@dataclass(frozen=True, slots=True)
class Exchange:
    """One prompt, rendered by the chat template, and the target's answer to it."""

    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    temperature: float

    def cut(self, longest: int) -> "Exchange":
        """At most so many tokens of both together."""
        return Exchange(self.prompt_ids, self.ids[: max(longest - len(self.prompt_ids), 0)], self.temperature)

    @property
    def tokens(self) -> tuple[int, ...]:
        return self.prompt_ids + self.ids


def read_exchanges(file: Path, vocab_size: int) -> list[Exchange]:
    """Every exchange of a file, plain or gzip.

    Raises:
        PlaygroundError: it cannot be read, or a line is no exchange in this target's ids; names file and line.
    """
    found = []
    try:
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    found.append(_exchange(file, number, line, vocab_size))
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise PlaygroundError(
            Sentence("The exchanges in {file} cannot be read: {why}.", file=file.name, why=error),
            Sentence("Give a file that a training has written."),
        ) from None
    return found


def append_exchanges(file: Path, exchanges: Iterable[Exchange]) -> None:
    """Adds them, safe on disk when it returns."""
    with file.open("a", encoding="utf-8") as out:
        for e in exchanges:
            row = {"prompt_ids": e.prompt_ids, "ids": e.ids, "temperature": e.temperature}
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
        out.flush()
        os.fsync(out.fileno())


def mend(file: Path) -> None:
    """Cuts off a last line that a kill left unfinished."""
    if not file.exists():
        return
    with file.open("rb+") as data:
        content = data.read()
        data.truncate(content.rfind(b"\n") + 1)


def held_out(exchanges: list[Exchange], most: int) -> Iterator[bool]:
    """For each exchange whether it is kept from training: evenly spread, at most `most` and a tenth."""
    every = max(10, -(-len(exchanges) // most))
    return (index % every == every // 2 for index in range(len(exchanges)))


def _exchange(file: Path, number: int, line: str, vocab_size: int) -> Exchange:
    try:
        row = json.loads(line)
        prompt, ids, temperature = tuple(row["prompt_ids"]), tuple(row["ids"]), float(row["temperature"])
        good = all(type(i) is int and 0 <= i < vocab_size for i in (*prompt, *ids)) and bool(prompt) and bool(ids)
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise PlaygroundError(
            Sentence(
                "Line {number} of {file} is no exchange in this target's token ids.", number=number, file=file.name
            ),
            Sentence(
                "Give exchanges.jsonl of a training for the same target: prompt_ids, ids and temperature per line."
            ),
            code="bad_data",
        )
    return Exchange(prompt, ids, temperature)
