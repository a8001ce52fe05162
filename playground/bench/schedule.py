"""In which order a benchmark's runs are made. Pure: a plan in, groups of runs out.

The arms of a prompt stand next to each other, since a machine's speed drifts; which one comes first alternates, since
being first may itself cost or gain. Where each arm needs its own load of the engine, whole passes alternate instead
(A B, then B A): loading is far dearer than drift.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from playground.bench.plan import BenchPlan

Arm = Literal["baseline", "speculative", "again"]
Phase = Literal["warm-up", "measure", "load"]

LEAST_WAVES, MOST_WAVES = 6, 12


@dataclass(frozen=True, slots=True)
class Slot:
    """One run of the plan. `again` is the baseline once more, for the A/A check."""

    phase: Phase
    item: int
    arm: Arm
    turn: int = 0
    repeat: int = 0
    level: int = 1
    wave: int | None = None
    place: int = 0
    """Of the run in its wave: a prompt may be in a wave twice."""


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that nobody else's may come between; `together`: in flight at once."""

    slots: tuple[Slot, ...]
    together: bool = False


def schedule(plan: BenchPlan) -> list[Group]:
    """All groups of a plan, the warm-ups among them."""
    return list(_alternating(plan) if plan.one_load else _in_passes(plan))


def _alternating(plan: BenchPlan) -> Iterator[Group]:
    yield _warm_up("baseline", "speculative")
    for repeat in range(plan.repeats):
        for item, prompt in enumerate(plan.suite.prompts):
            for turn in range(len(prompt.turns)):
                arms = _arms(plan, flipped=(item + repeat) % 2 == 1)
                yield Group(tuple(Slot("measure", item, arm, turn, repeat) for arm in arms))
    for level in plan.levels:
        for wave in range(waves(plan, level)):
            pair: tuple[Arm, Arm] = ("baseline", "speculative")
            for arm in pair if wave % 2 == 0 else reversed(pair):
                yield _wave(plan, level, wave, arm)


def _in_passes(plan: BenchPlan) -> Iterator[Group]:
    """Each pass runs the whole suite in one arm, on one load, behind a warm-up of its own."""
    loaded: str | None = None
    for repeat in range(plan.repeats):
        for arm in _arms(plan, flipped=repeat % 2 == 1):
            side: Arm = "speculative" if arm == "speculative" else "baseline"
            if side != loaded:
                yield _warm_up(side)
                loaded = side
            for item, prompt in enumerate(plan.suite.prompts):
                for turn in range(len(prompt.turns)):
                    yield Group((Slot("measure", item, arm, turn, repeat),))
    sides: tuple[Arm, Arm] = ("baseline", "speculative")
    for arm in sides if loaded != "speculative" else reversed(sides):
        if plan.levels and arm != loaded:
            yield _warm_up(arm)
        for level in plan.levels:
            for wave in range(waves(plan, level)):
                yield _wave(plan, level, wave, arm)


def waves(plan: BenchPlan, level: int) -> int:
    """How many waves a level is measured with: its runs in flight together, the suite gone through about once."""
    return min(MOST_WAVES, max(LEAST_WAVES, -(-len(plan.suite.prompts) // level)))


def _arms(plan: BenchPlan, *, flipped: bool) -> tuple[Arm, ...]:
    arms: tuple[Arm, ...] = ("baseline", "speculative", "again") if plan.check else ("baseline", "speculative")
    return arms[::-1] if flipped else arms


def _warm_up(*arms: Arm) -> Group:
    return Group(tuple(Slot("warm-up", 0, arm) for arm in arms))


def _wave(plan: BenchPlan, level: int, wave: int, arm: Arm) -> Group:
    count = len(plan.suite.prompts)
    items = [(wave * level + place) % count for place in range(level)]
    slots = (Slot("load", item, arm, 0, 0, level, wave, place) for place, item in enumerate(items))
    return Group(tuple(slots), together=True)
