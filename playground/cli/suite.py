"""Flags that choose prompts and follow long work: shared by `bench` and `tune`. Knows neither of them."""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

from playground.cli.numbers import whole
from playground.cli.output import Output, Stop
from playground.errors import PlaygroundError
from playground.presets import write_whole
from playground.results import three
from playground.settings import Settings
from playground.suites import Suite
from playground.suites._library import DEFAULT, chosen, list_suites, load_suite
from playground.terminal import Progress


class Stage(Protocol):
    """What long work tells while it runs."""

    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def seconds_left(self) -> float | None: ...
    @property
    def now(self) -> str: ...


S = TypeVar("S", bound=Stage)


def add_suite_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("prompts")
    group.add_argument(
        "--suite",
        metavar="NAME|FILE",
        default=DEFAULT,
        help="a suite by name, or a file: MT-Bench, HumanEval, CNN/DailyMail, any JSON Lines, CSV, Parquet or text "
        f"(default: {DEFAULT})",
    )
    group.add_argument("--limit", type=whole(1), metavar="N", help="only the first N prompts")
    group.add_argument("--sample", type=whole(1), metavar="N", help="N prompts at random, spread over the categories")
    group.add_argument(
        "--sample-seed", type=whole(0, 2**63 - 1), default=0, metavar="N", help="which ones (default: 0)"
    )
    group.add_argument(
        "--category", action="append", default=[], metavar="NAME", help="only this category (repeatable)"
    )


def suite_from(args: argparse.Namespace, settings: Settings) -> Suite:
    """Raises PlaygroundError: no such suite, a wrong line in it, or nothing left of it."""
    return chosen(
        load_suite(args.suite, settings),
        limit=args.limit,
        sample=args.sample,
        seed=args.sample_seed,
        categories=args.category,
    )


def suites_dict(settings: Settings) -> list[dict[str, Any]]:
    return [{"name": file.name, "path": str(file.path), "own": file.own} for file in list_suites(settings)]


def followed(work: Iterable[S], out: Output, stop: Stop) -> Iterator[S]:
    """`work`, shown as it goes on stderr; ends it when the user asked to stop, and keeps what is done."""
    progress = Progress(out.errors)
    stream = iter(work)
    try:
        for stage in stream:
            left = f", {spoken_time(stage.seconds_left)} left" if stage.seconds_left is not None else ""
            text = f"{stage.done}/{stage.total}{left}  {stage.now}".rstrip()
            if out.errors.is_terminal or stage.now:
                progress.say(text)
            yield stage
            if stop.signal is not None:
                break
    finally:
        progress.clear()
        close = getattr(stream, "close", None)
        if close is not None:
            close()


def spoken_time(seconds: float | None) -> str:
    """ "2 h 5 min", "3 min", "40 s"."""
    if seconds is None:
        return "n/a"
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{three(seconds)} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def numbers(text: str, flag: str) -> tuple[int, ...]:
    """ "1-4,8" -> (1, 2, 3, 4, 8).

    Raises:
        PlaygroundError: something else was written.
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or len(part) > 12:
            raise PlaygroundError(f"{flag}: “{text[:60]}” is no list of numbers.", "Write 1-4,8.", code="bad_arguments")
        found += range(int(first), int(last or first) + 1)
        if len(found) > 256:
            raise PlaygroundError(f"{flag}: more than 256 numbers.", "Write fewer.", code="bad_arguments")
    return tuple(dict.fromkeys(found))


def write_files(paths: Iterable[str], texts: dict[str, Any], *, overwrite: bool) -> list[str]:
    """Writes each path in the form its ending names; the paths.

    Args:
        texts: ending -> function that gives the text.

    Raises:
        PlaygroundError: another ending, a file that is there, or a folder that cannot be written.
    """
    written = []
    for name in check_endings(paths, tuple(texts)):
        path = Path(name)
        if path.exists() and not overwrite:
            raise PlaygroundError(f"{path} is there already.", "Choose another, or --overwrite.", code="file_exists")
        try:
            write_whole(path, texts[path.suffix.lower()]())
        except OSError as error:
            raise PlaygroundError(
                f"{path} cannot be written: {error.strerror or error}.", "Choose another with --out.", code="unwritable"
            ) from None
        written.append(str(path))
    return written


def check_endings(paths: Iterable[str], endings: tuple[str, ...]) -> list[str]:
    """Before hours of measuring, not after. Raises PlaygroundError for another ending."""
    names = list(paths)
    for name in names:
        if Path(name).suffix.lower() not in endings:
            raise PlaygroundError(
                f"--out {name}: its ending says nothing.", f"End it in {', '.join(endings)}.", code="bad_arguments"
            )
    return names
