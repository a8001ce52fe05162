"""How long a step takes by how many tokens it drafts, measured at a few widths; the rest lies between them.

A step's wall time is the time from the tokens of the step before it to its own, so that it holds drafting, verifying
and whatever comes in between. Knows steps; nothing of which k is good.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from playground.events import Step

LEAST = 3
"""Steps of a width that make its time known."""

TRIMMED = 0.1
"""Share of the fastest and of the slowest steps that is left out: a busy machine's hiccups."""


def step_walls(steps: Iterable[Step]) -> list[tuple[int, float]]:
    """(drafted tokens, wall seconds) of each decode step of one run."""
    found: list[tuple[int, float]] = []
    before: float | None = None
    for step in steps:
        if not step.is_prefill and before is not None:
            found.append((step.num_draft_tokens, step.at - before))
        before = step.at
    return found


def usual(times: Iterable[float]) -> float | None:
    """The mean without the extremes; None without times."""
    ordered = sorted(times)
    if not ordered:
        return None
    cut = int(TRIMMED * len(ordered))
    kept = ordered[cut : len(ordered) - cut]
    return sum(kept) / len(kept)


class StepTimes:
    """Seconds of a step by its width, for one way of drafting.

    Args:
        baseline: seconds of a step of the baseline; also of a width 0 that was never seen.
    """

    def __init__(self, walls: Iterable[tuple[int, float]], baseline: float) -> None:
        by_width: dict[int, list[float]] = {}
        for width, seconds in walls:
            by_width.setdefault(width, []).append(seconds)
        known = {w: usual(times) or baseline for w, times in by_width.items() if len(times) >= LEAST}
        self.known: dict[int, float] = {0: baseline} | known

    @property
    def measured(self) -> bool:
        """Whether any width but the baseline's was seen."""
        return len(self.known) > 1

    def at(self, width: int) -> float:
        """Between two known widths on the line through them, past the last one on the line through the last two."""
        if width in self.known:
            return self.known[width]
        widths = sorted(self.known)
        below = max((w for w in widths if w < width), default=widths[0])
        above = min((w for w in widths if w > width), default=None)
        if above is None:
            if len(widths) < 2:
                return self.known[below]
            below, above = widths[-2], widths[-1]
        slope = (self.known[above] - self.known[below]) / (above - below)
        return max(self.known[below] + slope * (width - below), 0.0)

    def total(self, widths: Counter[int]) -> float:
        """Seconds of so many steps of each width."""
        return sum(count * self.at(width) for width, count in widths.items())

    def as_dict(self) -> Mapping[int, float]:
        return dict(sorted(self.known.items()))
