"""What every exported file says above its first key: what was measured for the preset, and what it could not say."""

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from playground.config import Evidence
from playground.exporters import Loss
from playground.exporters._yaml import WIDTH, one_line


def evidence_block(evidence: Evidence | None) -> Iterator[str]:
    """The evidence as plain lines; "" is an empty line."""
    if evidence is None:
        yield "No measurement stands behind this preset."
        return
    yield f"Measured {evidence.date or 'on an unknown day'}, runs: {', '.join(evidence.run_ids) or 'unknown'}."
    for title, values in (
        ("metrics", evidence.metrics),
        ("hardware", evidence.hardware),
        ("versions", evidence.versions),
    ):
        yield from (f"  {title}: {one_line(key)} = {_shown(value)}" for key, value in values.items())


def losses_block(losses: Iterable[Loss]) -> Iterator[str]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for loss in losses:
        grouped.setdefault((loss.level, loss.reason), []).append(loss.field)
    if grouped:
        yield "Not carried over as it is:"
        for (level, reason), names in grouped.items():
            line = f"{one_line(', '.join(names))} ({level}): {one_line(reason)}."
            yield from textwrap.wrap(
                line,
                WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )


def _shown(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, float):
        return f"{value:.4g}"
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
