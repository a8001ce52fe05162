"""Successive halving: all that are left are measured on a few prompts, the better half goes on to more prompts.

(Jamieson and Talwalkar 2016.) Pure: it splits prompts and ranks scores; who measures is its caller.
"""

import itertools
import math
from collections.abc import Mapping, Sequence


def rungs(contestants: int, items: Sequence[int], least: int = 1) -> list[list[int]]:
    """The prompts of each rung: as many rungs as halvings leave one, plus one for it alone; none smaller than `least`
    while there are prompts."""
    count = math.ceil(math.log2(contestants)) + 1 if contestants > 1 else 1
    count = max(1, min(count, len(items) // max(least, 1)))
    bounds = [round(len(items) * i / count) for i in range(count + 1)]
    return [list(items[a:b]) for a, b in itertools.pairwise(bounds)]


def better_half(scores: Mapping[int, float | None], alive: Sequence[int]) -> list[int]:
    """Those that go on: the better half of them, at least one, the best first; what has no score goes last."""
    ranked = sorted(alive, key=lambda index: (scores.get(index) is None, -(scores.get(index) or 0.0), index))
    return ranked[: max(1, math.ceil(len(ranked) / 2))]


def shortlist(predicted: Mapping[int, float | None], everyone: Sequence[int], count: int) -> list[int]:
    """The `count` best predicted. Those that cannot be predicted are all on it: only measuring can tell."""
    unknown = [index for index in everyone if predicted.get(index) is None]
    known = sorted((i for i in everyone if predicted.get(i) is not None), key=lambda i: (-(predicted[i] or 0.0), i))
    return [*known[:count], *unknown]
