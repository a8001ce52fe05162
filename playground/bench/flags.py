"""Which requests of a benchmark say little about others, and why. Marked, never left out of the figures in silence.

Reads and marks the report's requests; knows nothing of how they were measured.
"""

from typing import Any

from playground.bench.statistics import outliers

SHORT = 16
"""Delivered tokens below which a TPOT is mostly chance."""

REPETITIVE = 0.6
"""Share of repeated runs of four tokens from which a text counts as repeating itself."""

TOO_EASY = 0.95
LOOKUPS = ("ngram", "suffix", "hybrid")
"""Methods that draft by copying: they gain from repetition as such."""


def flags_of(requests: list[dict[str, Any]]) -> None:
    """Fills each request's "flags": repetitive, copied, short, nothing_drafted, duplicate, outlier."""
    fences = outliers([r["speedup"] for r in requests if r["speedup"] is not None])
    seen: set[str] = set()
    for request in requests:
        found = [name for name, holds in _CHECKS.items() if holds(request)]
        if request["turn"] == 0 and request["prompt"] in seen:
            found.append("duplicate")
        seen.add(request["prompt"])
        speed = request["speedup"]
        if fences and speed is not None and not fences[0] <= speed <= fences[1]:
            found.append("outlier")
        request["flags"] = found


def _repetitive(request: dict[str, Any]) -> bool:
    return any((request[name] or 0.0) >= REPETITIVE for name in ("repetition", "prompt_repetition"))


def _copied(request: dict[str, Any]) -> bool:
    """CASES 31: nearly every draft of a method that copies was right."""
    return request["method"] in LOOKUPS and (request["draft_acceptance_rate"] or 0.0) >= TOO_EASY


def _short(request: dict[str, Any]) -> bool:
    return bool(request["num_delivered"] < SHORT)


def _nothing_drafted(request: dict[str, Any]) -> bool:
    return not request["num_draft_tokens"]


_CHECKS = {
    "repetitive": _repetitive,
    "copied": _copied,
    "short": _short,
    "nothing_drafted": _nothing_drafted,
}
