"""A run recorded before as the baseline of a new comparison, where an engine has nothing to run one on.

Knows the store and what makes two runs comparable; no engine.
"""

from collections.abc import Generator
from dataclasses import replace

from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.events import Event, RunStarted
from playground.sentence import Sentence
from storage import RunRow, Store

LOOKED_AT = 500
"""The newest stored baselines of the same target that are compared with what is wanted."""


def stored_baseline(store: Store, config: RunConfig, prompt: str) -> RunRow:
    """The newest whole run without speculation of this prompt, target and sampling, on the same address.

    Raises:
        PlaygroundError: there is none.
    """
    wanted = _compared(config.baseline())
    page = store.runs(engine=config.engine, target=config.target, method="none", limit=LOOKED_AT)
    for row in page.rows:
        whole = row.status in ("stop", "length") and row.metrics.get("reconciled") is not False
        if whole and _serves(row, wanted) and store.run(row.run_id).prompt == prompt:
            return row
    raise PlaygroundError(
        Sentence(
            "There is no baseline: no address of a server without speculation, and no stored run without it of this "
            "prompt with these settings."
        ),
        Sentence(
            "Give baseline_url; or start the server without speculation, run this prompt with method none, start it "
            "again with speculation, and compare."
        ),
        code="no_baseline",
    )


def _serves(row: RunRow, wanted: RunConfig) -> bool:
    try:
        return _compared(row.config) == wanted
    except PlaygroundError:  # stored by a version with other settings
        return False


def _compared(config: RunConfig) -> RunConfig:
    """What must be equal: everything but how the engine is watched."""
    address = {name: value for name, value in config.engine_options.items() if name == "url"}
    return config.model_copy(update={"engine_options": address})


def replayed(store: Store, row: RunRow) -> Generator[Event, None, None]:
    """Its events, at once, marked as recorded."""
    said = Sentence(
        "The baseline is a run recorded on {date} UTC, not measured now.", date=row.started_at[:16].replace("T", " ")
    )
    for event in store.replay(row.run_id):
        if isinstance(event, RunStarted):
            warnings = [*event.environment.get("warnings", ()), said]
            event = replace(event, environment=event.environment | {"recorded_run": row.run_id, "warnings": warnings})
        yield event
