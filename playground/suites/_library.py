"""Suites by name or path: the shipped ones, the user's own, any file; and the choice of prompts from one.

Knows folders and readers; nothing of engines or of measuring.
"""

import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from playground.errors import PlaygroundError
from playground.faults import faults, said
from playground.registry import discover
from playground.sentence import Sentence
from playground.settings import Settings
from playground.suites import PACKAGE, Prompt, Suite
from playground.suites._files import rows_of, wrong

DEFAULT = "general"
"""What a benchmark and the tuner run where no suite is named."""

MAX_PROMPTS = 20_000

SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".parquet", ".gz")


@dataclass(frozen=True, slots=True)
class SuiteFile:
    """A suite that can be called by name. `own`: of the user's own folder."""

    name: str
    path: Path
    own: bool


def list_suites(settings: Settings) -> list[SuiteFile]:
    """The default first, then by name; the user's own win over shipped ones of the same name."""
    found = {file.name: file for file in _files(settings)}
    return sorted(found.values(), key=lambda file: (file.name != DEFAULT, file.name))


def load_suite(name_or_path: str | Path, settings: Settings) -> Suite:
    """A suite by name, or by path where there is a slash or one of `SUFFIXES`.

    Raises:
        PlaygroundError: there is none, or the file is wrong: with file, line and key.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or os.sep in text or text.lower().endswith(SUFFIXES):
        return read_suite(Path(text).expanduser())
    return named_suite(text, settings)


def named_suite(name: str, settings: Settings) -> Suite:
    """A suite by name only: for names that strangers type."""
    found = {file.name: file.path for file in list_suites(settings)}
    if name not in found:
        known = ", ".join(found) or Sentence("none yet")
        raise PlaygroundError(
            Sentence("There is no suite called “{name}”.", name=name[:64]),
            Sentence("Choose one of: {known}; or give the path of a file of prompts.", known=known),
            code="unknown_suite",
        )
    return read_suite(found[name], name)


def read_suite(path: Path, name: str | None = None) -> Suite:
    """The prompts of a file, each row read by the first reader it matches.

    Raises:
        PlaygroundError: the file cannot be read, or a row is wrong ("bad_suite"): with file, line and key.
    """
    prompts = [_prompt(str(path), number, row) for number, row in rows_of(path)]
    if not prompts:
        raise PlaygroundError(
            Sentence("{path} holds no prompt.", path=path),
            Sentence("Give a file with one prompt a line."),
            code="bad_suite",
        )
    if len(prompts) > MAX_PROMPTS:
        raise PlaygroundError(
            Sentence("{path} holds {n:,} prompts, more than {most:,}.", path=path, n=len(prompts), most=MAX_PROMPTS),
            Sentence("Cut it shorter."),
            code="bad_suite",
        )
    return Suite(name=name or path.name, prompts=tuple(_distinct(prompts)))


def chosen(
    suite: Suite,
    *,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    categories: Sequence[str] = (),
) -> Suite:
    """A part of a suite, in the file's order.

    Args:
        categories: only these. sample: this many at random, spread evenly over the categories, the same ones for the
            same seed. limit: the first so many of what is left.

    Raises:
        PlaygroundError: a category is not there, or nothing is left.
    """
    unknown = [name for name in categories if name not in suite.categories]
    if unknown:
        raise PlaygroundError(
            Sentence("The suite {suite} has no category “{category}”.", suite=suite.name, category=unknown[0][:64]),
            Sentence("Choose of: {known}.", known=", ".join(suite.categories)),
            code="unknown_category",
        )
    prompts = [p for p in suite.prompts if not categories or p.category in categories]
    if sample is not None:
        prompts = _spread(prompts, sample, seed)
    prompts = prompts[:limit]
    if not prompts:
        raise PlaygroundError(
            Sentence("No prompt is left to run."), Sentence("Raise the limit or the sample."), code="bad_suite"
        )
    return Suite(name=suite.name, prompts=tuple(prompts))


def _spread(prompts: list[Prompt], count: int, seed: int) -> list[Prompt]:
    """`count` of them, one category after the other in turn."""
    source = random.Random(seed)
    groups: dict[str, list[int]] = {}
    for place, prompt in enumerate(prompts):
        groups.setdefault(prompt.category, []).append(place)
    for places in groups.values():
        source.shuffle(places)
    taken: list[int] = []
    while len(taken) < min(count, len(prompts)):
        for places in groups.values():
            if places and len(taken) < count:
                taken.append(places.pop())
    return [prompts[place] for place in sorted(taken)]


def _prompt(name: str, number: int, row: dict[str, object]) -> Prompt:
    readers = sorted(discover(PACKAGE).values(), key=lambda module: module.PRIORITY)
    reader = next((module for module in readers if module.matches(row)), None)
    if reader is None:
        keys = ", ".join(str(key)[:40] for key in list(row)[:8]) or Sentence("none")
        raise wrong(
            name,
            number,
            Sentence("no prompt in it; its keys are {keys}, wanted is prompt, turns, article or messages", keys=keys),
        )
    try:
        prompt: Prompt = reader.read(row, number)
    except ValidationError as error:
        raise wrong(name, number, faults(error)) from None
    except ValueError as error:
        raise wrong(name, number, said(error)) from None
    return prompt


def _distinct(prompts: list[Prompt]) -> Iterator[Prompt]:
    """With ids that are each used once: results are told apart by them."""
    seen: dict[str, int] = {}
    for prompt in prompts:
        count = seen[prompt.id] = seen.get(prompt.id, 0) + 1
        yield prompt if count == 1 else prompt.model_copy(update={"id": f"{prompt.id} ({count})"})


def _files(settings: Settings) -> Iterator[SuiteFile]:
    """Shipped ones first, so that in a dict by name the user's own win."""
    for folder, own in ((settings.shipped_presets / "suites", False), (settings.presets_folder / "suites", True)):
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue  # a first start has no folder of its own yet
        for entry in entries:
            if entry.name.lower().endswith(SUFFIXES) and not entry.name.startswith("."):
                yield SuiteFile(_stem(entry.name), entry, own)


def _stem(name: str) -> str:
    for suffix in (".gz", *SUFFIXES):
        name = name.removesuffix(suffix)
    return name
