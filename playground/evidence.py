"""What stands behind a preset: the numbers, hardware and versions of a stored run, small enough for its file.

Reads the store alone; what the page's widgets say by now does not matter.
"""

import math
from typing import TYPE_CHECKING, Any

from playground.comparison import Arm, Comparison, ComparisonFold
from playground.config import Evidence
from playground.events import RunStarted
from playground.metrics import RunResult

if TYPE_CHECKING:
    from storage.history import RunRow
    from storage.store import Store

_METRICS = (
    "draft_acceptance_rate", "tokens_per_step", "mean_acceptance_length", "tokens_per_second", "tpot", "ttft",
    "joules_per_token", "processor_wait", "num_prompt_tokens", "num_delivered", "num_steps", "num_draft_tokens",
    "num_accepted_tokens",
)  # fmt: skip
_NOT_HARDWARE = (
    "versions", "warnings", "engine", "target", "target_path", "draft_path", "runs_since_load", "seed", "greedy",
)  # fmt: skip
"""Keys of a run's environment that stand elsewhere, or that are no one else's business: presets are shared."""
_PROMPT = 120  # characters
_LONGEST = 300  # characters of one value: evidence is a note, and imported runs may hold anything


def evidence_of(store: "Store", row: "RunRow") -> Evidence:
    """What the store knows of a run and of the other arm of its comparison."""
    partner = store.partner(row.run_id)
    environment = row.environment
    versions = environment.get("versions")
    versions = versions if isinstance(versions, dict) else {}
    metrics: dict[str, Any] = {"status": row.status, "prompt": shortened(row.prompt)}
    # A baseline is exported as what it is, without the numbers of the other arm.
    if partner is None or (row.arm == "baseline" and row.config.speculation is None):
        result = RunResult.of(store.replay(row.run_id))
        metrics |= _of_run(result)
        run_ids: tuple[str, ...] = (row.run_id,)
    else:
        pair: dict[Arm, str] = {"baseline": partner, "speculative": row.run_id}
        comparison = stored_comparison(store, pair)
        metrics |= _of_pair(comparison)
        run_ids = tuple(pair.values())
    if environment.get("seed") is not None:
        metrics["seed"] = environment["seed"]
    return Evidence(
        run_ids=run_ids,
        date=row.started_at[:10],
        metrics=_small(metrics),
        hardware=_small({key: value for key, value in environment.items() if key not in _NOT_HARDWARE}),
        versions={str(k)[:_LONGEST]: str(v)[:_LONGEST] for k, v in versions.items()},
    )


def stored_comparison(store: "Store", pair: dict[Arm, str]) -> Comparison:
    """Both arms of a stored comparison, folded from their events."""
    streams = {arm: list(store.replay(run_id)) for arm, run_id in pair.items()}
    started = [event for event in streams["baseline"] if isinstance(event, RunStarted)]
    greedy = started[0].environment.get("greedy") if started else None
    if greedy is None:
        greedy = store.run(pair["baseline"]).config.sampling.greedy
    fold = ComparisonFold(greedy=bool(greedy))
    for arm, events in streams.items():
        for event in events:
            fold.add(arm, event)
    return fold.result()


def _of_run(result: RunResult) -> dict[str, Any]:
    values = {name: getattr(result, name) for name in _METRICS}
    return values | {"acceptance_by_position": list(result.survival), "reconciled": result.reconciled}


def _of_pair(pair: Comparison) -> dict[str, Any]:
    divergence = pair.first_divergence
    return {
        "speedup": pair.speedup,
        "speedup_end_to_end": pair.speedup_end_to_end,
        "predicted_speedup": pair.predicted_speedup,
        "outputs_identical": pair.outputs_identical,
        "first_divergence": f"token {divergence.position}, {divergence.kind}" if divergence else None,
        **_of_run(pair.speculative),
        "baseline_tokens_per_second": pair.baseline.tokens_per_second,
        "baseline_tpot": pair.baseline.tpot,
        "baseline_ttft": pair.baseline.ttft,
        "baseline_processor_wait": pair.baseline.processor_wait,
    }


def shortened(prompt: str) -> str:
    """Enough of a prompt to know it again: how much speculation brings depends on it more than on anything else."""
    line = " ".join(prompt[: 2 * _PROMPT].split())
    return line if len(line) <= _PROMPT and len(prompt) <= 2 * _PROMPT else line[: _PROMPT - 1] + "…"


def _small(values: dict[str, Any]) -> dict[str, Any]:
    """Plain values of bounded size; what a preset file could not hold (NaN, nested piles) is left out or cut."""
    return {str(key)[:_LONGEST]: _plain(value) for key, value in list(values.items())[:64]}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (bool, int, type(None))):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(v, (int, float, str, type(None))) for v in value):
        return [_plain(v) for v in value[:64]]
    return str(value)[:_LONGEST]
