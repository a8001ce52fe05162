"""What a tuning cost, and what measuring everything would have: seconds and runs. Knows plans, samples, predictions."""

from collections.abc import Mapping
from typing import Any

from playground.tune.measured import Taken
from playground.tune.predict import Prediction
from playground.tune.space import TunePlan


def cost_of(plan: TunePlan, taken: Taken, predictions: Mapping[int, Prediction]) -> dict[str, Any]:
    """`seconds`, `runs`: of all that was run, the full grid apart. `full_grid_seconds`, `full_grid_runs`: of every
    candidate and the baseline on every prompt under every condition; `full_grid_measured` where that was really run."""
    grid_seconds = taken.seconds.get("grid", 0.0)
    seconds = sum(taken.seconds.values()) - grid_seconds
    runs = sum(taken.runs.values()) - taken.runs.get("grid", 0)
    prompts = len(plan.suite.prompts)
    grid_runs = prompts * len(plan.conditions) * (1 + len(plan.candidates))
    measured = plan.full_grid and taken.runs.get("grid", 0) >= prompts * (1 + len(plan.candidates))
    whole = grid_seconds if measured and len(plan.conditions) == 1 else _estimated(plan, taken, predictions)
    return {
        "seconds": seconds,
        "full_grid_seconds": whole,
        "share": seconds / whole if whole else None,
        "runs": runs,
        "full_grid_runs": grid_runs,
        "full_grid_measured": bool(measured),
    }


def _estimated(plan: TunePlan, taken: Taken, predictions: Mapping[int, Prediction]) -> float | None:
    """By the predicted time of a run, or the mean of the measured ones."""
    total = 0.0
    for number in range(len(plan.conditions)):
        baseline = _mean(taken, number, None)
        if baseline is None:
            return None
        known = {c.index: _mean(taken, number, c.index) for c in plan.candidates}
        seen = [value for value in known.values() if value is not None]
        usual = sum(seen) / len(seen) if seen else baseline
        total += baseline
        for candidate in plan.candidates:
            prediction = predictions.get(candidate.index)
            total += known[candidate.index] or (prediction.seconds if prediction and number == 0 else usual)
    return total * len(plan.suite.prompts)


def _mean(taken: Taken, condition: int, candidate: int | None) -> float | None:
    times = [s.finish.at / s.link.level for s in taken.of(condition, candidate) if s.finish]
    return sum(times) / len(times) if times else None
