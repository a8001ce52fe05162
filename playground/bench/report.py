"""What a benchmark proves: one dictionary of JSON values, made from its runs. The shape of `bench --json`.

Knows plans and samples; draws its figures with statistics.py. Nothing here runs or stores anything, and nothing is
written down for people: that is text.py and the page.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from playground.bench.flags import flags_of
from playground.bench.levels import levels_report
from playground.bench.plan import BenchPlan
from playground.bench.rules import rules_of
from playground.bench.samples import Pair, Sample, pooled
from playground.bench.schedule import Slot
from playground.bench.statistics import Interval, interval, judged, quantile, trusted
from playground.metrics import RunResult

VERSION = 1

EXCERPT = 200
"""Characters of a prompt in a report: what it was about, not the whole."""

OUTPUTS = ("identical", "tie", "mismatch", "unknown", "not compared")

Samples = Mapping[Slot, Sample]
Pairs = Mapping[tuple[int, int, int], Pair]
Request = tuple[int, int]
"""(prompt, turn of its conversation)."""


def build(
    plan: BenchPlan, samples: Samples, pairs: Pairs, benchmark_id: str, status: str, failures: int = 0
) -> dict[str, Any]:
    """The report of what was measured so far."""
    requests = [_request(plan, samples, pairs, request) for request in _requests(pairs)]
    flags_of(requests)
    kept = [pair for _, pair in sorted(pairs.items())]
    whole = _group(plan, requests, kept, samples)
    check = _aa(samples)
    drafted = whole["metrics"]["num_draft_tokens"]
    verdict = judged(
        _speedup(requests),
        plan.threshold,
        mismatches=whole["outputs"]["mismatch"],
        unreconciled=_unreconciled(samples),
        drafted=drafted,
    )
    measured = [sample for slot, sample in samples.items() if slot.phase == "measure" and sample.measured]
    sure, why = trusted(check) if plan.check else (False, "not_run")
    categories = dict.fromkeys(r["category"] for r in requests)
    return {
        "version": VERSION,
        "benchmark_id": benchmark_id,
        "status": status,
        "title": plan.title,
        "suite": plan.suite.name,
        "num_prompts": len(plan.suite.prompts),
        "num_failed": failures,
        "num_runs": len(measured),
        "num_disturbed": sum(sample.result.disturbed for sample in measured),
        "speedup": whole["speedup"],
        "verdict": verdict.verdict,
        "verdict_code": verdict.code,
        "reason": verdict.reason,
        "verdict_params": verdict.params,
        "threshold": plan.threshold,
        "aa": check.as_dict(),
        "trusted": sure,
        "trusted_code": why,
        "speedup_end_to_end": whole["speedup_end_to_end"],
        "speedup_unflagged": _speedup([r for r in requests if not r["flags"]]).as_dict(),
        "metrics": whole["metrics"],
        "baseline": whole["baseline"],
        "outputs": whole["outputs"],
        "categories": {name: _of_category(plan, name, requests, kept, samples) for name in categories},
        "rules": rules_of(requests),
        "levels": levels_report(plan, samples),
        "requests": requests,
        "order": "alternating" if plan.one_load else "passes",
        "config": plan.config.model_dump(mode="json"),
        "environment": _environment(samples),
    }


def _requests(pairs: Pairs) -> list[Request]:
    return sorted({(item, turn) for item, turn, _ in pairs})


def _request(plan: BenchPlan, samples: Samples, pairs: Pairs, request: Request) -> dict[str, Any]:
    """One prompt (one turn of it) over all repetitions."""
    item, turn = request
    prompt = plan.suite.prompts[item]
    mine = [pair for (i, t, _), pair in sorted(pairs.items()) if (i, t) == request]
    spec = [pair.comparison.speculative for pair in mine]
    base = _baselines(samples, request)
    spec_tpot, base_tpot = _mean(r.tpot for r in spec), _mean(s.result.tpot for s in base)
    last = samples[Slot("measure", item, "speculative", turn, mine[-1].repeat)]
    figures = pooled(spec)
    return {
        "item": item,
        "turn": turn,
        "id": prompt.id,
        "category": prompt.category,
        "prompt": prompt.turns[turn][:EXCERPT],
        "speedup": base_tpot / spec_tpot if base_tpot and spec_tpot else None,
        "speedup_end_to_end": _mean(pair.comparison.speedup_end_to_end for pair in mine),
        "predicted_speedup": _mean(pair.comparison.predicted_speedup for pair in mine),
        "outputs": _worst(pair.outputs for pair in mine),
        "divergence": next((p.divergence.as_dict() for p in mine if p.divergence), None),
        "tpot": spec_tpot,
        "baseline_tpot": base_tpot,
        "ttft": _mean(r.ttft for r in spec),
        "baseline_ttft": _mean(s.result.ttft for s in base),
        **{name: figures[name] for name in ("draft_acceptance_rate", "tokens_per_step", "num_draft_tokens")},
        "num_delivered": spec[-1].num_delivered,
        "num_prompt_tokens": spec[-1].num_prompt_tokens,
        "repetition": last.repetition,
        "prompt_repetition": last.prompt_repetition,
        "method": plan.config.speculation.method if plan.config.speculation else "",
        "run_ids": {
            "baseline": [s.link.run_id for s in base],
            "speculative": [
                samples[Slot("measure", item, "speculative", turn, pair.repeat)].link.run_id for pair in mine
            ],
        },
        "flags": [],
    }


def _baselines(samples: Samples, request: Request) -> list[Sample]:
    """The request's measured runs without speculation, the A/A check's second ones among them."""
    return [
        sample
        for slot, sample in samples.items()
        if slot.phase == "measure"
        and slot.arm in ("baseline", "again")
        and (slot.item, slot.turn) == request
        and sample.measured
    ]


def _of_category(
    plan: BenchPlan, name: str, requests: Sequence[dict[str, Any]], pairs: Sequence[Pair], samples: Samples
) -> dict[str, Any]:
    items = {r["item"] for r in requests if r["category"] == name}
    return _group(
        plan,
        [r for r in requests if r["item"] in items],
        [p for p in pairs if p.item in items],
        {slot: sample for slot, sample in samples.items() if slot.item in items},
    )


def _group(
    plan: BenchPlan, requests: Sequence[dict[str, Any]], pairs: Sequence[Pair], samples: Samples
) -> dict[str, Any]:
    """Figures of some of the requests: of one category, or of all."""
    spec = [pair.comparison.speculative for pair in pairs]
    base = [s.result for r in requests for s in _baselines(samples, (r["item"], r["turn"]))]
    acceptance = [r["draft_acceptance_rate"] for r in requests if r["draft_acceptance_rate"] is not None]
    end_to_end = _grouped(requests, "speedup_end_to_end")
    return {
        "speedup": _speedup(requests).as_dict(),
        "speedup_end_to_end": interval(end_to_end).as_dict(),
        "predicted_speedup": interval(_grouped(requests, "predicted_speedup")).as_dict(),
        "metrics": {
            **_arm(spec),
            "draft_acceptance_rate_median": quantile(acceptance, 0.5),
            "speedup": quantile([r["speedup"] for r in requests if r["speedup"] is not None], 0.5),
            "speedup_end_to_end": quantile([v for group in end_to_end for v in group], 0.5),
            "predicted_speedup": quantile(
                [r["predicted_speedup"] for r in requests if r["predicted_speedup"] is not None], 0.5
            ),
        },
        "baseline": _arm(base),
        "outputs": {kind: sum(pair.outputs == kind for pair in pairs) for kind in OUTPUTS},
        "num_requests": len(requests),
        "num_flagged": sum(bool(r["flags"]) for r in requests),
    }


def _arm(results: Sequence[RunResult]) -> dict[str, Any]:
    """METRICS names of one arm; times per request as quantiles."""
    ttft = [r.ttft for r in results if r.ttft is not None]
    tpot = [r.tpot for r in results if r.tpot is not None]
    waits = [r.processor_wait for r in results if r.processor_wait is not None]
    return pooled(results) | {
        "processor_wait": quantile(waits, 0.5),
        "ttft": quantile(ttft, 0.5),
        "ttft_p50": quantile(ttft, 0.5),
        "ttft_p99": quantile(ttft, 0.99),
        "tpot": quantile(tpot, 0.5),
        "tpot_p50": quantile(tpot, 0.5),
        "tpot_p99": quantile(tpot, 0.99),
    }


def _speedup(requests: Sequence[dict[str, Any]]) -> Interval:
    return interval(_grouped(requests, "speedup"))


def _grouped(requests: Sequence[dict[str, Any]], name: str) -> list[list[float]]:
    """Values by prompt: the turns of a conversation are no independent measurements."""
    groups: dict[int, list[float]] = {}
    for request in requests:
        if request[name] is not None:
            groups.setdefault(request["item"], []).append(request[name])
    return list(groups.values())


def _aa(samples: Samples) -> Interval:
    """Baseline TPOT over baseline TPOT, request by request: what the measuring itself gains or costs."""
    ratios: dict[Request, tuple[list[float], list[float]]] = {}
    for slot, again in samples.items():
        first = samples.get(replace(slot, arm="baseline"))
        if slot.arm != "again" or first is None or not (first.measured and again.measured):
            continue
        if first.result.tpot and again.result.tpot:
            sides = ratios.setdefault((slot.item, slot.turn), ([], []))
            sides[0].append(first.result.tpot)
            sides[1].append(again.result.tpot)
    groups: dict[int, list[float]] = {}
    for (item, _), (first_times, again_times) in ratios.items():
        groups.setdefault(item, []).append(sum(first_times) / sum(again_times))
    return interval(list(groups.values()))


def _unreconciled(samples: Samples) -> int:
    return sum(sample.measured and not sample.result.valid for sample in samples.values())


def _worst(kinds: Iterable[str]) -> str:
    found = set(kinds)
    return next(kind for kind in ("mismatch", "unknown", "tie", "identical", "not compared") if kind in found)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _environment(samples: Samples) -> dict[str, Any]:
    """Hardware and versions, as the last run that was measured said."""
    said = [s.result.environment for slot, s in samples.items() if slot.phase == "measure" and s.measured]
    return said[-1] if said else {}
