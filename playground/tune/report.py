"""What a tuning recommends, and why: one dictionary of JSON values, the shape of `tune --json`.

The recommendation is by measured speed, or by what else was asked for, and never by acceptance. Knows what was measured
and predicted; runs nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from playground.bench.samples import pooled
from playground.bench.statistics import LEAST, Interval, quantile
from playground.tune.cost import cost_of
from playground.tune.measured import Taken
from playground.tune.predict import Prediction, Predictor
from playground.tune.space import Candidate, TunePlan

VERSION = 1

FLAT = 0.03
"""A k whose speed is within this share of the best one's is as good: the curve is flat there."""

Predictions = Mapping[int, Prediction]


def build(
    plan: TunePlan,
    tune_id: str,
    status: str,
    taken: Taken,
    predictor: Predictor,
    predictions: Predictions,
) -> dict[str, Any]:
    """The report of what was found so far."""
    conditions = [_condition(plan, number, taken, predictions) for number in range(len(plan.conditions))]
    first = conditions[0]
    curve = [_point(plan, c, n, taken, predictions) for n in range(len(plan.conditions)) for c in plan.candidates]
    return {
        "version": VERSION,
        "tune_id": tune_id,
        "status": status,
        "title": plan.title,
        "suite": plan.suite.name,
        "num_prompts": len(plan.suite.prompts),
        "objective": plan.objective,
        "recommended": first["recommended"],
        "reason_code": first["reason_code"],
        "reason": first["reason"],
        "speedup": first["speedup"],
        "flat_region": first["flat_region"],
        "conditions": conditions,
        "curve": [point for point in curve if point["predicted"] is not None or point["measured"] is not None],
        "prediction": _quality(plan, curve, taken, predictor),
        "step_seconds": [
            {"method": method, "model": model, "by_width": dict(times.as_dict())}
            for (method, model), times in predictor.times().items()
        ],
        "baseline_step_seconds": predictor.baseline_step(),
        "cost": cost_of(plan, taken, predictions),
        "grid": _grid(plan, taken, first) if plan.full_grid else None,
        "schedule": schedule_of(plan, conditions),
        "config": plan.config.model_dump(mode="json"),
        "environment": _environment(taken),
    }


def _condition(plan: TunePlan, number: int, taken: Taken, predictions: Predictions) -> dict[str, Any]:
    """The recommendation under one temperature and level."""
    condition = plan.conditions[number]
    measured = {c.index: taken.ratios(number, c.index, plan.objective, ("confirm",)) for c in plan.candidates}
    judged = {index: found for index, found in measured.items() if found.median is not None}
    # The winner of the halving has been measured most often; among those equally often, the fastest.
    best = max(judged, key=lambda i: (judged[i].n, judged[i].median), default=None)
    code, reason = _reason(plan, judged.get(best) if best is not None else None, best)
    flat = _flat(plan, best, judged, predictions) if best is not None else []
    winner = plan.candidates[best] if best is not None else None
    return {
        "temperature": condition.temperature,
        "concurrency": condition.level,
        "candidate": best,
        "recommended": winner.speculation.model_dump(mode="json") if winner and code == "faster" else None,
        "reason_code": code,
        "reason": reason,
        "speedup": (judged[best] if best is not None else Interval()).as_dict(),
        "best_num_speculative_tokens": winner.k if winner else None,
        "flat_region": flat,
    }


def _reason(plan: TunePlan, best: Interval | None, index: int | None) -> tuple[str, str]:
    if best is None or index is None or best.median is None:
        return "nothing", "Nothing was measured yet."
    name = _named(plan.candidates[index])
    if best.low is None or best.high is None:
        return "too_few", f"{name} was best, but {best.n} prompts are too few to be sure; run at least {LEAST * 2}."
    figures = f"{best.median:.2f}x ({best.low:.2f}-{best.high:.2f}) over {best.n} prompts"
    if best.low <= 1.0:
        return (
            "not_faster",
            f"Do not speculate: the best, {name}, measured {figures}, is not surely better than without.",
        )
    return "faster", f"{name} was best of what was measured: {figures}."


def _named(candidate: Candidate) -> str:
    return f"{candidate.speculation.method} with k = {candidate.k}"


def _flat(plan: TunePlan, best: int, judged: Mapping[int, Interval], predictions: Predictions) -> list[int]:
    """The k of the best one's variant that are as good as it."""
    mine = [c for c in plan.candidates if c.variant == plan.candidates[best].variant]
    if best in predictions and predictions[best].speedup.median:
        speeds = {c.k: predictions[c.index].speedup.median for c in mine if c.index in predictions}
        top = predictions[best].speedup.median
    else:
        speeds = {c.k: judged[c.index].median for c in mine if c.index in judged}
        top = judged[best].median
    return sorted(
        {plan.candidates[best].k, *(k for k, speed in speeds.items() if speed and top and speed >= (1 - FLAT) * top)}
    )


def _point(plan: TunePlan, candidate: Candidate, number: int, taken: Taken, predictions: Predictions) -> dict[str, Any]:
    """One candidate under one condition: predicted and measured."""
    condition = plan.conditions[number]
    greedy_alone = condition.temperature == 0 and condition.level == 1 and plan.objective != "joules_per_token"
    prediction = predictions.get(candidate.index) if greedy_alone else None
    phases = ("grid",) if plan.full_grid and number == 0 and taken.of(0, candidate.index, ("grid",)) else ()
    measured = taken.ratios(number, candidate.index, plan.objective, phases)
    really = pooled([sample.result for sample in taken.of(number, candidate.index, phases)])
    return {
        "candidate": candidate.index,
        "variant": candidate.variant,
        "method": candidate.speculation.method,
        "model": candidate.speculation.model,
        "options": candidate.speculation.options,
        "num_speculative_tokens": candidate.k,
        "temperature": condition.temperature,
        "concurrency": condition.level,
        "predicted": prediction.speedup.median if prediction else None,
        "predicted_low": prediction.speedup.low if prediction else None,
        "predicted_high": prediction.speedup.high if prediction else None,
        "predicted_acceptance_rate": prediction.walked.draft_acceptance_rate if prediction else None,
        "predicted_tokens_per_step": prediction.walked.tokens_per_step if prediction else None,
        "exact": bool(prediction and prediction.exact),
        "measured": measured.as_dict() if measured.median is not None else None,
        "draft_acceptance_rate": really["draft_acceptance_rate"],
        "tokens_per_step": really["tokens_per_step"],
        "tokens_per_second": really["tokens_per_second"],
    }


def _quality(plan: TunePlan, curve: Sequence[Mapping[str, Any]], taken: Taken, predictor: Predictor) -> dict[str, Any]:
    """How good the predictions were where something was measured: speed, and acceptance token by token."""
    errors = [
        abs(p["predicted"] / p["measured"]["median"] - 1)
        for p in curve
        if p["predicted"] and p["measured"] and p["measured"]["n"] >= LEAST
    ]
    checked = equal = 0
    for key, sample in taken.samples.items():
        if key.candidate is None or key.condition or key.level > 1 or key.phase == "warm-up" or not sample.measured:
            continue
        walked = predictor.steps_of(plan.candidates[key.candidate], key.item)
        if walked is not None:
            checked += 1
            names = ("num_steps", "num_draft_tokens", "num_accepted_tokens")
            equal += all(getattr(walked, name) == getattr(sample.result, name) for name in names)
    return {"median_error": quantile(errors, 0.5), "n": len(errors), "runs_checked": checked, "runs_equal": equal}


def _grid(plan: TunePlan, taken: Taken, first: Mapping[str, Any]) -> dict[str, Any]:
    """What measuring everything would have recommended."""
    measured = {c.index: taken.ratios(0, c.index, plan.objective, ("grid",)) for c in plan.candidates}
    known = {i: found for i, found in measured.items() if found.median is not None}
    best = max(known, key=lambda i: known[i].median or 0.0, default=None)
    chosen = first["candidate"]
    same = best is not None and best == chosen
    near = (
        best is not None
        and chosen in known
        and (known[chosen].median or 0.0) >= (1 - FLAT) * (known[best].median or 0.0)
    )
    return {
        "best": plan.candidates[best].speculation.model_dump(mode="json") if best is not None else None,
        "speedup": known[best].as_dict() if best is not None else None,
        "chosen_speedup": known[chosen].as_dict() if chosen in known else None,
        "same": same,
        "same_or_as_good": same or near,
    }


def schedule_of(plan: TunePlan, conditions: Sequence[Mapping[str, Any]]) -> list[list[int]] | None:
    """vLLM's `num_speculative_tokens_per_batch_size`, [first, last, k] for ranges of requests at once, where the best k
    changes with them, by what was measured at each level; None where it does not.

    Offered for one way of drafting at one temperature, and only while speculation pays: whether vLLM takes k = 0 there
    is not settled, so a level at which it does not pay ends the schedule.
    """
    temperature = plan.conditions[0].temperature
    mine = sorted((c for c in conditions if c["temperature"] == temperature), key=lambda c: c["concurrency"])
    usable: list[tuple[int, int]] = []
    for condition in mine:
        if condition["recommended"] is None:
            break
        usable.append((condition["concurrency"], condition["best_num_speculative_tokens"]))
    variants = {plan.candidates[c["candidate"]].variant for c in mine if c["recommended"] is not None}
    if len(variants) != 1 or len({k for _, k in usable}) < 2:
        return None
    ranges: list[list[int]] = []
    for place, (level, k) in enumerate(usable):
        last = usable[place + 1][0] - 1 if place + 1 < len(usable) else level
        if ranges and ranges[-1][2] == k:
            ranges[-1][1] = last
        else:
            ranges.append([1 if place == 0 else level, last, k])
    return ranges


def _environment(taken: Taken) -> dict[str, Any]:
    said = [s.result.environment for key, s in taken.samples.items() if key.phase != "warm-up" and s.measured]
    return said[-1] if said else {}
