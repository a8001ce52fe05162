"""Medians with intervals, quantiles, a fitted line, and the verdict. Numbers in, numbers out; knows no run.

Every draw is seeded: the same measurements always give the same interval.
"""

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["INVALID", "NO DRAFTS", "SLOWER", "FAIL", "PASS", "INCONCLUSIVE"]

DRAWS = 2000
LEAST = 6
"""Values that a 95 % interval of a median needs: with five, both of its ends miss the median too often (2 x 0.5^5)."""

NARROW = 0.05
"""Half the width that an A/A interval may have around 1.0 before small speed-ups are lost in it."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with its bootstrap 95 % interval. `low` and `high` are None where there are fewer than LEAST values."""

    median: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def interval(groups: Sequence[Sequence[float]], draws: int = DRAWS) -> Interval:
    """The median of all values, and its interval over groups.

    Args:
        groups: the values of one prompt each (the turns of a conversation go together): prompts are drawn, not values.
    """
    filled = [group for group in groups if group]
    values = [value for group in filled for value in group]
    if not values:
        return Interval()
    if len(filled) < LEAST:
        return Interval(statistics.median(values), None, None, len(values))
    low, high = _bootstrap(filled, lambda drawn: statistics.median([v for group in drawn for v in group]), draws)
    return Interval(statistics.median(values), low, high, len(values))


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value below which `share` of all lie, interpolated between neighbours."""
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@dataclass(frozen=True, slots=True)
class Line:
    """y = intercept + slope x by least squares; `low` and `high` are the slope's bootstrap 95 % interval."""

    slope: float
    intercept: float
    low: float
    high: float
    n: int

    def at(self, x: float) -> float:
        return self.intercept + self.slope * x


def fitted(points: Sequence[tuple[float, float]], draws: int = DRAWS // 4) -> Line | None:
    """None where there are fewer than LEAST points, or all have the same x."""
    if len(points) < LEAST or (found := _least_squares(points)) is None:
        return None

    def slope(drawn: Sequence[tuple[float, float]]) -> float:
        line = _least_squares(drawn)
        return found[0] if line is None else line[0]

    low, high = _bootstrap(points, slope, draws)
    return Line(found[0], found[1], low, high, len(points))


def outliers(values: Sequence[float]) -> tuple[float, float] | None:
    """Tukey's outer fences: (lowest, highest) that are no outlier; None with fewer than 8 values."""
    if len(values) < 8:
        return None
    first, third = quantile(values, 0.25), quantile(values, 0.75)
    assert first is not None
    assert third is not None
    return first - 3 * (third - first), third + 3 * (third - first)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and its reason in one sentence. `code` names the reason, for translation; `params` fill it."""

    verdict: Verdict
    code: str
    reason: str
    params: dict[str, Any]


def judged(
    speedup: Interval, threshold: float, *, mismatches: int = 0, unreconciled: int = 0, drafted: int = 1
) -> Judgement:
    """The verdict of a benchmark on its decode speed-up: METRICS' rules, the first that matches."""
    low, high = speedup.low, speedup.high
    if mismatches or unreconciled:
        params = {"mismatches": mismatches, "unreconciled": unreconciled}
        text = f"{mismatches} outputs differ for real, the counters of {unreconciled} runs do not reconcile."
        return Judgement("INVALID", "invalid", text, params)
    if not drafted:
        return Judgement("NO DRAFTS", "no_drafts", "Nothing was drafted, so there is nothing to judge.", {})
    if low is None or high is None:
        text = f"A 95 % interval needs at least {LEAST} prompts; measured so far: {speedup.n}."
        return Judgement("INCONCLUSIVE", "too_few", text, {"n": speedup.n, "least": LEAST})
    numbers = {"low": low, "high": high, "threshold": threshold}
    if high < 1.0:
        return Judgement("SLOWER", "slower", "The whole interval is below 1.0: speculation costs time here.", numbers)
    if high < threshold:
        return Judgement("FAIL", "fail", f"The whole interval is below the threshold of {threshold:g}.", numbers)
    if low >= threshold:
        return Judgement("PASS", "pass", f"The whole interval is at or above the threshold of {threshold:g}.", numbers)
    text = f"The threshold of {threshold:g} is inside the interval; run more prompts."
    return Judgement("INCONCLUSIVE", "inconclusive", text, numbers)


def trusted(check: Interval) -> tuple[bool, str]:
    """Whether an A/A check lets a verdict be trusted, and the code of the reason."""
    if check.median is None:
        return False, "not_run"
    if check.low is None or check.high is None:
        return False, "too_few"
    if not check.low <= 1.0 <= check.high:
        return False, "biased"
    if check.low < 1 - NARROW or check.high > 1 + NARROW:
        return False, "wide"
    return True, "ok"


def _bootstrap(items: Sequence[Any], statistic: Callable[[Sequence[Any]], float], draws: int) -> tuple[float, float]:
    source = random.Random(0)
    found = sorted(statistic(source.choices(items, k=len(items))) for _ in range(draws))
    low, high = quantile(found, 0.025), quantile(found, 0.975)
    assert low is not None
    assert high is not None
    return low, high


def _least_squares(points: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """(slope, intercept); None where all x are the same."""
    middle_x = sum(x for x, _ in points) / len(points)
    middle_y = sum(y for _, y in points) / len(points)
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    if spread < 1e-12:
        return None
    slope = sum((x - middle_x) * (y - middle_y) for x, y in points) / spread
    return slope, middle_y - slope * middle_x
