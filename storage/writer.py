"""Writing: a run's row and what of its events is not in the file yet, as rows of their tables.

Knows rows and SQL; not when to write (recorder.py) nor where events come from.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.events import Event, GpuSample, RunFinished, RunStarted, Step
from playground.metrics import FOLD_VERSION, RunResult
from playground.sentence import Sentence
from storage import rows
from storage.owner import this_process
from storage.search import index_short

if TYPE_CHECKING:
    from sqlite_utils import Database

METRIC_COLUMNS = (
    "num_prompt_tokens", "num_delivered", "num_delivered_accepted", "num_steps", "num_drafting_steps",
    "num_draft_tokens", "num_accepted_tokens", "draft_acceptance_rate", "mean_acceptance_length", "tokens_per_step",
    "draft_share_of_output", "wasted_draft_fraction", "ttft", "tpot", "tokens_per_second",
    "tokens_per_second_end_to_end", "joules_per_token", "expected_tokens_per_step", "mean_draft_seconds",
    "mean_verify_seconds",
)  # fmt: skip
"""Columns of `runs` that cache the RunResult property of the same name."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What is known of a run before it starts.

    `source` says who asked ("page", "cli", "bench", "import", ...); `arm` is "baseline", "speculative" or None.
    """

    run_id: str
    config: RunConfig
    prompt: str
    source: str = "page"
    comparison_id: str | None = None
    arm: str | None = None


class Unwritten:
    """The events of one run that are not in the file yet, and its state after all of them."""

    def __init__(self) -> None:
        self.result = RunResult()
        self.ended = False
        self.last_at = 0.0
        self._text: list[str] = []
        self._seq = 0
        self._rows: list[tuple[str, rows.Row]] = []
        self._changes: rows.Row = {}

    def add(self, event: Event) -> None:
        """Take one event; kinds that are not recorded, and whatever follows a RunFinished, are left out."""
        if self.ended:
            return
        self.result = self.result.add(event)
        match event:
            case Step():
                self._text.extend(token.text for token in event.tokens)
                self._append("steps", rows.step_row(event))
            case GpuSample():
                self._append("samples", rows.sample_row(event))
            case RunStarted():
                self._change(rows.started_row(event) | {"started_seq": self._seq})
                self._seq += 1
            case RunFinished():
                self._change(rows.finished_row(event, "".join(self._text)) | cached(self.result))
                self._changes["ended_at"] = utc_now()
                self.ended = True
        self.last_at = max(self.last_at, getattr(event, "at", 0.0))

    def write(self, db: "Database", run: int) -> None:
        """Into the open transaction; `written` when it is committed, or the same again when it is not.

        Raises:
            PlaygroundError: the run is not there any more ("run_deleted").
        """
        found = db.execute("SELECT exact FROM runs WHERE id = ?", [run]).fetchone()
        if found is None:
            raise PlaygroundError(
                Sentence("The run was deleted while it was being recorded."),
                Sentence("Run it again to keep it."),
                code="run_deleted",
            )
        for table, columns in self._rows:
            insert(db, table, {"run": run} | columns)
        if self._changes:
            update_run(db, run, self._changes | {"exact": rows.merged(found[0], self._changes)})
            if "output" in self._changes:
                index_short(db, run)

    def written(self) -> None:
        self._rows.clear()
        self._changes.clear()

    def _append(self, table: str, columns: rows.Row) -> None:
        self._rows.append((table, {"seq": self._seq} | columns))
        self._seq += 1

    def _change(self, columns: rows.Row) -> None:
        exact = rows.merged(self._changes.get("exact"), columns)
        self._changes |= columns | {"exact": exact}


def insert_run(db: "Database", info: RunInfo) -> int:
    """A new row of `runs`, in state "running", owned by this process; its `id`.

    Raises:
        PlaygroundError: a run of this id is stored already ("run_exists").
    """
    if db.execute("SELECT 1 FROM runs WHERE run_id = ?", [info.run_id]).fetchone():
        raise PlaygroundError(
            Sentence("Run {run} is stored already.", run=info.run_id),
            Sentence("Give the run a new id."),
            code="run_exists",
        )
    config, speculation = info.config, info.config.speculation
    process_id, process_started = this_process()
    values = rows.exactly(
        {
            "run_id": info.run_id,
            "source": info.source,
            "comparison_id": info.comparison_id,
            "arm": info.arm,
            "engine": config.engine,
            "target": config.target,
            "dtype": config.dtype,
            "method": speculation and speculation.method,
            "draft_model": speculation and speculation.model,
            "num_speculative_tokens": speculation and speculation.num_speculative_tokens,
            "temperature": config.sampling.temperature,
            "max_tokens": config.sampling.max_tokens,
            "status": "running",
            "started_at": utc_now(),
            "process_id": process_id,
            "process_started": process_started,
            "prompt": info.prompt,
        },
        config=config.model_dump(),
    )
    run = insert(db, "runs", values)
    index_short(db, run)
    return run


def insert(db: "Database", table: str, values: rows.Row) -> int:
    """One row; its rowid. Plain SQL: sqlite-utils' insert looks the schema up each time, hundreds of times a second."""
    marks = ", ".join("?" * len(values))
    cursor = db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))
    return int(cursor.lastrowid)


def update_run(db: "Database", run: int, columns: rows.Row) -> None:
    names = ", ".join(f"{name} = ?" for name in columns)
    db.execute(f"UPDATE runs SET {names} WHERE id = ?", [*columns.values(), run])


def cached(result: RunResult) -> rows.Row:
    """The columns of `runs` that cache the fold."""
    columns = {name: rows.storable(getattr(result, name)) for name in METRIC_COLUMNS}
    return columns | {
        "fold_version": FOLD_VERSION,
        "reconciled": result.reconciled,
        "problems": json.dumps(result.problems, ensure_ascii=False) if result.problems else None,
    }


def utc_now() -> str:
    """ISO 8601, UTC, milliseconds: "2026-11-03T10:15:30.123Z". Sorts as text."""
    return utc(datetime.now(UTC))


def utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
