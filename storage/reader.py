"""Reading a run back: its events in their order, its metrics anew, and the ending of a run whose process died.

Reads a block at a time and holds no connection in between: a replay may take minutes, and a long read would keep the
write-ahead log from being folded back. Knows rows and connections; nothing of lists and searches.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from typing import Any

from playground.errors import PlaygroundError
from playground.events import Event, GpuSample, RunFinished, Step
from playground.metrics import RunResult
from playground.sentence import Sentence
from storage import rows
from storage.connections import BRIEF_PATIENCE, PATIENCE, Connections
from storage.owner import lives
from storage.search import index_short
from storage.writer import cached, update_run, utc_now

log = logging.getLogger(__name__)

BLOCK = 500
"""Rows read at once."""

_READ: dict[str, Callable[[Mapping[str, Any]], Step | GpuSample]] = {"steps": rows.step_of, "samples": rows.sample_of}


def replay(pool: Connections, run: rows.Row) -> Iterator[Event]:
    """The recorded events of a row of `runs`: RunStarted, Step, GpuSample in the order they came, then RunFinished.

    A run that was cancelled, killed or failed before its RunFinished has one as well, made when that was noticed; a run
    still recording has none.
    """
    run = rows.restored(run)
    sources = [_table(pool, table, run["id"]) for table in _READ]
    if run["started_seq"] is not None:
        sources.append(iter([(run["started_seq"], rows.started_of(run))]))
    for _, event in merge(*sources, key=lambda item: item[0]):
        yield event
    if run["status"] != "running":
        yield rows.finished_of(run)


def _table(pool: Connections, table: str, run: int) -> Iterator[tuple[int, Event]]:
    seq = -1
    while True:
        with pool.reading() as db:
            found = db.execute(
                f"SELECT * FROM {table} WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?", [run, seq, BLOCK]
            ).fetchall()
        for row in found:
            seq = row["seq"]
            yield seq, _READ[table](row)
        if len(found) < BLOCK:
            return


def refold(pool: Connections, run: rows.Row, patience: float = PATIENCE) -> None:
    """Write the metrics of a run anew: they were cached by another version of the fold."""
    result = RunResult.of(replay(pool, run))
    with pool.writing(patience) as db:
        update_run(db, run["id"], cached(result))


def end_stale(pool: Connections) -> None:
    """Runs still "running" whose process is gone become "interrupted"; those of living processes are left alone.

    Where that cannot be written (a full disk, a lock) it is left for the next time: reading must go on.
    """
    with pool.reading() as db:
        running = db.execute("SELECT * FROM runs WHERE status = 'running'").fetchall()
    for run in running:
        if not lives(run["process_id"], run["process_started"]):
            try:
                _interrupt(pool, dict(run))
            except PlaygroundError as failure:
                log.warning("Run %s could not be marked as interrupted. %s", run["run_id"], failure)


def _interrupt(pool: Connections, run: rows.Row) -> None:
    result, at, text = RunResult(), 0.0, ""
    for event in replay(pool, run):
        result = result.add(event)
        if isinstance(event, Step | GpuSample):
            at = event.at
        if isinstance(event, Step):
            text += "".join(token.text for token in event.tokens)
    ending = RunFinished(
        "interrupted",
        at,
        error=Sentence("The program ended while this run was recording."),
        hint=Sentence("Run it again."),
    )
    changes: dict[str, Any] = rows.finished_row(ending, text)
    changes["exact"] = rows.merged(run["exact"], changes)
    changes |= cached(result.add(ending)) | {"ended_at": utc_now()}
    with pool.writing(BRIEF_PATIENCE) as db:
        # Again, now under the write lock: its end may have been written in the meantime.
        if db.execute("SELECT 1 FROM runs WHERE id = ? AND status = 'running'", [run["id"]]).fetchone():
            update_run(db, run["id"], changes)
            index_short(db, run["id"])
