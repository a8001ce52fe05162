"""What every exported file says above its first key: what was measured for the preset, and what it could not say."""

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from playground.config import Preset
from playground.exporters import Loss
from playground.exporters._served import names_measured
from playground.exporters._verdict import verdict
from playground.exporters._yaml import WIDTH, one_line


def evidence_block(preset: Preset) -> Iterator[str]:
    """What was measured, under which names, as plain lines; "" is an empty line."""
    for field, measured, here in names_measured(preset):
        yield f"{field}: here {one_line(here)}, as the server knows it; in the preset {one_line(measured)}."
    evidence = preset.evidence
    if evidence is None:
        yield "No measurement stands behind this preset."
        return
    yield from _lines(" ".join(verdict(preset)), "", "  ")
    yield f"Measured {evidence.date or 'on an unknown day'}, runs: {', '.join(evidence.run_ids) or 'unknown'}."
    for title, values in (
        ("metrics", evidence.metrics),
        ("hardware", evidence.hardware),
        ("versions", evidence.versions),
    ):
        if values:
            said = "; ".join(f"{one_line(key)} = {_shown(value)}{_unit(key, value)}" for key, value in values.items())
            yield from _lines(f"{title}: {said}", "  ", "    ")


def grouped(losses: Iterable[Loss]) -> dict[tuple[str, str], list[str]]:
    """(level, reason) -> the fields it is said of, so that it is said once."""
    found: dict[tuple[str, str], list[str]] = {}
    for loss in losses:
        found.setdefault((loss.level, loss.reason), []).append(loss.field)
    return found


def losses_block(losses: Iterable[Loss]) -> Iterator[str]:
    if found := grouped(losses):
        yield "Not carried over as it is:"
        for (level, reason), names in found.items():
            yield from _lines(f"{one_line(', '.join(names))} ({level}): {one_line(reason)}.", "  ", "    ")


def wrapped(notes: Iterable[str]) -> Iterator[str]:
    """Sentences, each from a line of its own."""
    for note in notes:
        yield from _lines(one_line(note), "", "  ")


def _lines(text: str, first: str, more: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=more,
        break_long_words=False,
        break_on_hyphens=False,
    )


_UNITS = {"tpot": " s", "ttft": " s", "tokens_per_second": " tok/s", "joules_per_token": " J", "speedup": "×"}


def _unit(key: str, value: Any) -> str:
    """As the metrics have it, of which exporters do not know more than names."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return _UNITS.get(key.removeprefix("baseline_").removeprefix("predicted_"), "") if known else ""


def _shown(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, float):
        return f"{value:.4g}"
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
