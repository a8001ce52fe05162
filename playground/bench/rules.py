"""The rules of thumb people pass on, checked against what was just measured. Reads the report's requests alone."""

import math
from typing import Any

from playground.bench.statistics import LEAST, fitted

HIGH = 0.7
"""Acceptance from which the rule promises two to three times the speed."""

PROMISED = 0.15
"""Gain in speed that the rule promises for each ten points of acceptance."""


def rules_of(requests: list[dict[str, Any]]) -> dict[str, Any]:
    """`points`: [acceptance, speed-up, place in `requests`]; `line`: of the logarithm of the speed-up over acceptance;
    `ten_points` and `high_acceptance`: the two rules, "holds" None where there is too little to say."""
    points = [
        (r["draft_acceptance_rate"], r["speedup"], place)
        for place, r in enumerate(requests)
        if r["draft_acceptance_rate"] is not None and r["speedup"]
    ]
    return {
        "points": [list(point) for point in points],
        **_ten_points(points),
        "high_acceptance": _high(points),
    }


def _ten_points(points: list[tuple[float, float, int]]) -> dict[str, Any]:
    """Does +10 points of acceptance give about +15 %? A gain multiplies, so the line is one of logarithms."""
    line = fitted([(x, math.log(y)) for x, y, _ in points])
    rule: dict[str, Any] = {"promised": PROMISED, "measured": None, "low": None, "high": None, "n": len(points)}
    if line is None:
        return {"line": None, "ten_points": rule | {"holds": None}}
    gain = {name: math.expm1(0.1 * getattr(line, key)) for name, key in _GAINS.items()}
    return {
        "line": {"slope": line.slope, "intercept": line.intercept, "of": "log speed-up"},
        "ten_points": rule | gain | {"holds": gain["low"] <= PROMISED <= gain["high"]},
    }


_GAINS = {"measured": "slope", "low": "low", "high": "high"}


def _high(points: list[tuple[float, float, int]]) -> dict[str, Any]:
    """Does an acceptance of 0.7 and more give two to three times the speed?"""
    speeds = sorted(y for x, y, _ in points if x >= HIGH)
    n = len(speeds)
    inside = sum(2 <= y <= 3 for y in speeds)
    faster = sum(y > 3 for y in speeds)
    median = None if not n else (speeds[(n - 1) // 2] + speeds[n // 2]) / 2
    holds = None if n < LEAST else inside * 2 >= n
    return {"from": HIGH, "n": n, "within": inside, "above": faster, "median": median, "holds": holds}
