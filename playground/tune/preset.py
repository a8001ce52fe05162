"""The winner of a tuning as a preset, with what was measured as its evidence. Reads the stored report alone."""

from typing import Any

from pydantic import ValidationError

from playground.config import Evidence, Preset, RunConfig, Speculation, checked, config_error
from playground.errors import PlaygroundError
from playground.evidence import evidence_of
from playground.live import engine_class
from playground.presets import explicit
from playground.sentence import Sentence
from playground.tune.run import stored_plan, stored_report
from storage import Store

SCHEDULE = "num_speculative_tokens_per_batch_size"
"""vLLM's name for k by the number of requests at once."""


def preset_from_tuning(
    store: Store, tune_id: str, name: str, description: str = "", *, scheduled: bool = False
) -> Preset:
    """What a tuning recommends; where it recommends not to speculate, the baseline.

    Args:
        scheduled: with k by the number of requests at once, where the engine takes that and it was measured.

    Raises:
        PlaygroundError: no such tuning, nothing measured, or `name` is no preset name.
    """
    report, plan = stored_report(store, tune_id), stored_plan(store, tune_id)
    if report["reason_code"] in ("nothing", "too_few"):
        raise PlaygroundError(
            Sentence("There is nothing to keep yet: {why}", why=report["reason"]),
            Sentence("Go on with the tuning."),
            code="nothing_measured",
        )
    config = plan.config.model_copy(update={"speculation": _speculation(report, plan.config, scheduled)})
    try:
        return Preset(
            name=name,
            description=description or report["reason"],
            config=explicit(config),
            evidence=_evidence(store, tune_id, report),
        )
    except ValidationError as error:
        raise config_error(error, Sentence("the preset")) from None


def takes_schedule(config: RunConfig, method: str) -> bool:
    """Whether the engine's method has an option for k by the number of requests at once."""
    options = engine_class(config.engine).methods().get(method)
    return options is not None and SCHEDULE in options.model_fields


def _speculation(report: dict[str, Any], config: RunConfig, scheduled: bool) -> Speculation | None:
    if report["recommended"] is None:
        return None
    found = checked(Speculation, report["recommended"], where=Sentence("the stored tuning"))
    if scheduled and report["schedule"] and takes_schedule(config, found.method):
        found = found.model_copy(update={"options": found.options | {SCHEDULE: report["schedule"]}})
    return found


def _evidence(store: Store, tune_id: str, report: dict[str, Any]) -> Evidence:
    """Of the winner's runs: the last one's hardware and versions, with the tuning's own figures."""
    links = [
        link
        for link in store.benchmarks.links(tune_id)
        if link.phase == "confirm" and link.repeat == 0 and link.candidate == report["conditions"][0]["candidate"]
    ]
    if not links:
        raise PlaygroundError(
            Sentence("The runs behind this tuning were deleted."), Sentence("Tune again."), code="nothing_measured"
        )
    base = evidence_of(store, store.run(links[-1].run_id))
    speed, cost = report["speedup"], report["cost"]
    metrics = {
        "tuning": tune_id,
        "suite": str(report["suite"])[:300],
        "speedup": speed["median"],
        "speedup_low": speed["low"],
        "speedup_high": speed["high"],
        "num_prompts": speed["n"],
        "objective": report["objective"],
        "flat_region": list(report["flat_region"]),
        "tuning_seconds": cost["seconds"],
    }
    return base.model_copy(update={"run_ids": tuple(link.run_id for link in links)[-64:], "metrics": metrics})
