"""Throughput with several requests at once, with and without speculation, and where speculation stops paying.

A level is measured in waves: the same prompts together, once in each arm. Knows plans and samples.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any

from playground.bench.plan import BenchPlan
from playground.bench.samples import Sample
from playground.bench.schedule import Slot
from playground.bench.statistics import interval

Wave = tuple[str, int, int]
"""(arm, level, wave)."""


def levels_report(plan: BenchPlan, samples: Mapping[Slot, Sample]) -> dict[str, Any]:
    """`levels`: per level the throughput of both arms in tokens/s, their ratio over waves with its interval;
    `crossover`: the level at which the ratio falls to 1.0, between two that were measured, or None."""
    waves = _waves(samples)
    found = [_level(level, waves) for level in sorted(set(plan.levels))]
    return {"levels": found, "crossover": crossover([(r["level"], r["speedup"]["median"]) for r in found])}


def _waves(samples: Mapping[Slot, Sample]) -> dict[Wave, tuple[int, float]]:
    """Whole waves: tokens delivered, and the seconds they took together."""
    runs: dict[Wave, list[Sample]] = {}
    for slot, sample in samples.items():
        if slot.phase == "load" and slot.wave is not None:
            runs.setdefault((slot.arm, slot.level, slot.wave), []).append(sample)
    found: dict[Wave, tuple[int, float]] = {}
    for (arm, level, wave), together in runs.items():
        seconds = together[0].link.wall_seconds
        if seconds and len(together) == level and all(sample.measured for sample in together):
            found[arm, level, wave] = (sum(s.result.num_delivered for s in together), seconds)
    return found


def _level(level: int, waves: Mapping[Wave, tuple[int, float]]) -> dict[str, Any]:
    speeds: dict[str, dict[int, float]] = {"baseline": {}, "speculative": {}}
    totals: dict[str, list[float]] = {"baseline": [0, 0], "speculative": [0, 0]}
    for (arm, at, wave), (tokens, seconds) in waves.items():
        if at == level:
            speeds[arm][wave] = tokens / seconds
            totals[arm][0] += tokens
            totals[arm][1] += seconds
    both = sorted(speeds["baseline"].keys() & speeds["speculative"].keys())
    ratios = [[speeds["speculative"][wave] / speeds["baseline"][wave]] for wave in both]
    return {
        "level": level,
        "baseline_tokens_per_second": _rate(totals["baseline"]),
        "speculative_tokens_per_second": _rate(totals["speculative"]),
        "speedup": interval(ratios).as_dict(),
    }


def crossover(points: list[tuple[int, float | None]]) -> float | None:
    """Where a falling ratio passes 1.0, on a logarithmic scale of levels; None where it does not."""
    known = [(level, ratio) for level, ratio in points if ratio is not None]
    for (level, ratio), (after, then) in itertools.pairwise(known):
        if ratio > 1.0 >= then:
            share = (ratio - 1.0) / (ratio - then)
            return math.exp(math.log(level) + share * (math.log(after) - math.log(level)))
    return None


def _rate(total: list[float]) -> float | None:
    return total[0] / total[1] if total[1] else None
