"""Recording: passes a run's events on while they are written, about once a second, each flush one transaction.

The stream is never held up or lost for the disk's sake: a flush that fails keeps its events and is tried again with
the next; what still cannot be written when the run has ended is one PlaygroundError. Knows rows and connections.
"""

import json
import logging
import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlite_utils import Database

from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.events import Event, GpuSample, RunFinished, RunStarted, Step
from playground.metrics import FOLD_VERSION, RunResult
from storage import connections, rows
from storage.connections import Connections
from storage.owner import this_process

log = logging.getLogger(__name__)

FLUSH_SECONDS = 1.0
"""Recorded events reach the file at most this long after the next event or heartbeat."""

BRIEF_PATIENCE = 0.2
"""Seconds a flush in mid-run waits for another writer: the tokens behind it are waiting too."""

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


def record(pool: Connections, info: RunInfo, events: Iterator[Event]) -> Iterator[Event]:
    """See `Store.record`."""
    try:
        recording = _Recording(pool, info)
    except BaseException:
        close(events)
        raise
    try:
        # Closed first: an engine must not go on while the disk is waited for.
        try:
            for event in events:
                recording.add(event)
                yield event
        finally:
            close(events)
    except (GeneratorExit, KeyboardInterrupt):
        recording.close("cancelled")
        raise
    except PlaygroundError as error:
        recording.close("error", error.message, error.hint, error.code)
        raise
    except BaseException as error:
        recording.close("error", f"{type(error).__name__}: {error}")
        raise
    else:
        recording.end("interrupted", "The engine stopped without ending the run.")


def close(events: Iterator[Event]) -> None:
    """Close a generator; other iterators have nothing to close."""
    if isinstance(events, Generator):
        events.close()


class _Recording:
    """The open row of one run, with what is not yet in the file."""

    def __init__(self, pool: Connections, info: RunInfo) -> None:
        self.pool = pool
        self.result = RunResult()
        self.text: list[str] = []
        self.seq = 0
        self.waiting: list[tuple[str, int, rows.Row]] = []
        self.changes: rows.Row = {}
        self.ended = False
        self.failure: PlaygroundError | None = None
        self.last_at = 0.0
        self.flushed = time.monotonic()
        with pool.writing() as db:
            self.id = insert_run(db, info)
            self.exact = db.execute("SELECT exact FROM runs WHERE id = ?", [self.id]).fetchone()[0]

    def add(self, event: Event) -> None:
        if self.ended:
            return
        self.result = self.result.add(event)
        match event:
            case Step():
                self.text.extend(token.text for token in event.tokens)
                self._wait("steps", rows.step_row(event))
            case GpuSample():
                self._wait("samples", rows.sample_row(event))
            case RunStarted():
                self._change(rows.started_row(event) | {"started_seq": self.seq})
                self.seq += 1
            case RunFinished():
                self._finish(event)
        self.last_at = getattr(event, "at", self.last_at)
        if self.ended:
            self._flush(connections.PATIENCE)
        elif time.monotonic() - self.flushed >= FLUSH_SECONDS:
            self._flush(BRIEF_PATIENCE)

    def end(self, reason: Any, error: str = "", hint: str = "", code: str = "") -> None:
        """The last write, unless it was done: how the run ended where no RunFinished said it.

        Raises:
            PlaygroundError: it cannot be written; what was flushed before is in the file.
        """
        if not self.ended:
            self.add(RunFinished(reason, at=self.last_at, error=error, hint=hint, code=code))
        if self.failure is not None:
            self._flush(connections.PATIENCE)
        if self.failure is not None:
            raise self.failure

    def close(self, reason: Any, error: str = "", hint: str = "", code: str = "") -> None:
        """`end` where another exception is on its way, which a failure to store must not hide."""
        try:
            self.end(reason, error, hint, code)
        except PlaygroundError as failure:
            log.warning("The end of a run could not be stored. %s", failure)

    def _wait(self, table: str, columns: rows.Row) -> None:
        self.waiting.append((table, self.seq, columns))
        self.seq += 1

    def _finish(self, event: RunFinished) -> None:
        self._change(rows.finished_row(event, "".join(self.text)) | cached(self.result) | {"ended_at": utc_now()})
        self.ended = True

    def _change(self, columns: rows.Row) -> None:
        self.exact = rows.merged(self.exact, columns.get("exact"))
        self.changes |= columns | {"exact": self.exact}

    def _flush(self, patience: float) -> None:
        self.flushed = time.monotonic()
        try:
            with self.pool.writing(patience) as db:
                check_stored(db, self.id)
                insert_events(db, self.id, self.waiting)
                if self.changes:
                    update_run(db, self.id, self.changes)
        except PlaygroundError as failure:
            self.failure = failure
        else:
            self.failure = None
            self.waiting.clear()
            self.changes.clear()


def insert_run(db: Database, info: RunInfo) -> int:
    """A new row of `runs`, in state "running", owned by this process; its `id`.

    Raises:
        PlaygroundError: a run of this id is stored already ("run_exists").
    """
    if db.execute("SELECT 1 FROM runs WHERE run_id = ?", [info.run_id]).fetchone():
        raise PlaygroundError(f"Run {info.run_id} is stored already.", "Give the run a new id.", code="run_exists")
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
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    cursor = db.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", list(values.values()))
    return int(cursor.lastrowid)


def insert_events(db: Database, run: int, waiting: Iterable[tuple[str, int, rows.Row]]) -> None:
    """Rows of `steps` and `samples`, given as (table, seq, columns)."""
    for table, seq, columns in waiting:
        values = {"run": run, "seq": seq} | columns
        marks = ", ".join("?" * len(values))
        db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))


def update_run(db: Database, run: int, columns: rows.Row) -> None:
    names = ", ".join(f"{name} = ?" for name in columns)
    db.execute(f"UPDATE runs SET {names} WHERE id = ?", [*columns.values(), run])


def check_stored(db: Database, run: int) -> None:
    """Raises PlaygroundError ("run_deleted") when the row is gone."""
    if not db.execute("SELECT 1 FROM runs WHERE id = ?", [run]).fetchone():
        raise PlaygroundError(
            "The run was deleted while it was being recorded.", "Run it again to keep it.", code="run_deleted"
        )


def cached(result: RunResult) -> rows.Row:
    """The columns of `runs` that cache the fold."""
    columns = {name: rows.storable(getattr(result, name)) for name in METRIC_COLUMNS}
    return columns | {
        "fold_version": FOLD_VERSION,
        "reconciled": result.reconciled,
        "problems": json.dumps(result.problems) if result.problems else None,
    }


def utc_now() -> str:
    """ISO 8601, UTC, milliseconds: "2026-11-03T10:15:30.123Z". Sorts as text."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
