"""Benchmarks and tunings in the database: the plan, the runs that belong to it, the report. Rows only.

What a plan or a report holds is JSON of `playground.bench` and `playground.tune`; this file does not look into it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from playground.errors import PlaygroundError
from playground.sentence import Sentence
from storage import rows
from storage.connections import Connections
from storage.owner import lives, this_process
from storage.writer import insert, utc_now

Kind = Literal["bench", "tune"]

_LINK = ("run_id", "phase", "item", "turn", "arm", "repeat", "candidate", "level", "wave", "cold", "wall_seconds")
_LISTED = "benchmark_id, kind, title, status, created_at, ended_at, error, hint, process_id, process_started"


@dataclass(frozen=True, slots=True)
class RunLink:
    """Which part of a benchmark a run is.

    Attributes:
        phase: "warm-up", "measure", "load", ...: the plan's own word.
        item, turn, repeat: which prompt, which turn of its conversation, which repetition, from 0.
        arm: "baseline", "speculative", or "again" (the second baseline of an A/A check).
        candidate: which of a tuning's candidates; in a benchmark the run's place in its wave. level: runs at once.
        wave: runs with the same level, arm and wave were in flight together; wall_seconds: how long they took together.
        cold: the engine was loaded for it, so that it is in no figure.
    """

    run_id: str
    phase: str
    item: int
    turn: int = 0
    arm: str = "baseline"
    repeat: int = 0
    candidate: int | None = None
    level: int = 1
    wave: int | None = None
    cold: bool = False
    wall_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """One benchmark or tuning. `status`: planned, running, done, cancelled, interrupted, error. In lists `plan` and
    `report` are empty."""

    benchmark_id: str
    kind: str
    title: str
    status: str
    created_at: str
    ended_at: str | None
    error: str = ""
    hint: str = ""
    plan: Mapping[str, Any] | None = None
    report: Mapping[str, Any] | None = None


class Benchmarks:
    """The door to them, as `Store.benchmarks`. Thread-safe."""

    def __init__(self, pool: Connections) -> None:
        self._pool = pool

    def create(self, benchmark_id: str, kind: Kind, title: str, plan: Mapping[str, Any]) -> None:
        """A new one; `resume` begins it."""
        with self._pool.writing() as db:
            insert(
                db,
                "benchmarks",
                {
                    "benchmark_id": benchmark_id,
                    "kind": kind,
                    "title": rows.clean(title),
                    "status": "planned",
                    "created_at": utc_now(),
                    "plan": json.dumps(plan),
                },
            )

    def resume(self, benchmark_id: str) -> None:
        """Begin or go on: running, owned by this process.

        Raises:
            PlaygroundError: there is none, or it is running ("still_running").
        """
        process_id, process_started = this_process()
        with self._pool.writing() as db:
            found = db.execute(f"SELECT {_LISTED} FROM benchmarks WHERE benchmark_id = ?", [benchmark_id]).fetchone()
            if found is None:
                raise _unknown(benchmark_id)
            if found["status"] == "running" and lives(found["process_id"], found["process_started"]):
                raise PlaygroundError(
                    Sentence("{benchmark} is running.", benchmark=benchmark_id),
                    Sentence("Stop it, or wait for its end."),
                    code="still_running",
                )
            db.execute(
                "UPDATE benchmarks SET status = 'running', ended_at = NULL, error = '', hint = '', process_id = ?, "
                "process_started = ? WHERE benchmark_id = ?",
                [process_id, process_started, benchmark_id],
            )

    def finish(self, benchmark_id: str, status: str, *, error: str = "", hint: str = "") -> None:
        with self._pool.writing() as db:
            db.execute(
                "UPDATE benchmarks SET status = ?, ended_at = ?, error = ?, hint = ? WHERE benchmark_id = ?",
                [status, utc_now(), rows.clean(error), rows.clean(hint), benchmark_id],
            )

    def save_report(self, benchmark_id: str, report: Mapping[str, Any]) -> None:
        with self._pool.writing() as db:
            db.execute("UPDATE benchmarks SET report = ? WHERE benchmark_id = ?", [json.dumps(report), benchmark_id])

    def link(self, benchmark_id: str, links: Iterable[RunLink]) -> None:
        """Say, before they begin, that these runs belong to it.

        Raises:
            PlaygroundError: there is no such benchmark; it was deleted.
        """
        with self._pool.writing() as db:
            found = db.execute("SELECT id FROM benchmarks WHERE benchmark_id = ?", [benchmark_id]).fetchone()
            if found is None:
                raise _unknown(benchmark_id)
            (place,) = db.execute(
                "SELECT coalesce(max(place), -1) FROM benchmark_runs WHERE benchmark = ?", [found["id"]]
            ).fetchone()
            for number, link in enumerate(links, place + 1):
                values = {name: getattr(link, name) for name in _LINK} | {"cold": int(link.cold)}
                insert(db, "benchmark_runs", {"benchmark": found["id"], "place": number, **values})

    def mark(self, run_ids: Iterable[str], *, cold: bool | None = None, wall_seconds: float | None = None) -> None:
        """What became known of runs while they ran."""
        with self._pool.writing() as db:
            for run_id in run_ids:
                if cold is not None:
                    db.execute("UPDATE benchmark_runs SET cold = ? WHERE run_id = ?", [int(cold), run_id])
                if wall_seconds is not None:
                    db.execute("UPDATE benchmark_runs SET wall_seconds = ? WHERE run_id = ?", [wall_seconds, run_id])

    def links(self, benchmark_id: str) -> list[RunLink]:
        """The runs of it that are stored, in the order they were planned."""
        with self._pool.reading() as db:
            found = db.execute(
                f"SELECT {', '.join(f'm.{name}' for name in _LINK)} FROM benchmark_runs m "
                "JOIN benchmarks b ON b.id = m.benchmark JOIN runs r ON r.run_id = m.run_id "
                "WHERE b.benchmark_id = ? ORDER BY m.place",
                [benchmark_id],
            ).fetchall()
        return [RunLink(**{**dict(row), "cold": bool(row["cold"])}) for row in found]

    def benchmark(self, benchmark_id: str) -> BenchmarkRow:
        """One of them whole.

        Raises:
            PlaygroundError: there is none ("no_such_benchmark").
        """
        self._end_stale()
        with self._pool.reading() as db:
            found = db.execute(
                f"SELECT {_LISTED}, plan, report FROM benchmarks WHERE benchmark_id = ?", [benchmark_id]
            ).fetchone()
        if found is None:
            raise _unknown(benchmark_id)
        return _row(found, plan=json.loads(found["plan"]), report=json.loads(found["report"] or "null"))

    def listed(self, kind: Kind | None = None, limit: int = 100) -> list[BenchmarkRow]:
        """The newest first, without plans and reports."""
        self._end_stale()
        with self._pool.reading() as db:
            found = db.execute(
                f"SELECT {_LISTED} FROM benchmarks WHERE ? IS NULL OR kind = ? ORDER BY id DESC LIMIT ?",
                [kind, kind, limit],
            ).fetchall()
        return [_row(row) for row in found]

    def delete(self, benchmark_id: str) -> None:
        """Forget it; its runs stay in the history.

        Raises:
            PlaygroundError: there is none, or it is running ("still_running").
        """
        row = self.benchmark(benchmark_id)
        if row.status == "running":
            raise PlaygroundError(
                Sentence("{benchmark} is running.", benchmark=benchmark_id),
                Sentence("Stop it first."),
                code="still_running",
            )
        with self._pool.writing() as db:
            db.execute("DELETE FROM benchmarks WHERE benchmark_id = ?", [benchmark_id])

    def _end_stale(self) -> None:
        """Those still "running" whose process is gone become "interrupted"; they can be resumed."""
        with self._pool.reading() as db:
            running = db.execute(f"SELECT {_LISTED} FROM benchmarks WHERE status = 'running'").fetchall()
        for row in running:
            if not lives(row["process_id"], row["process_started"]):
                self.finish(
                    row["benchmark_id"],
                    "interrupted",
                    error=Sentence("The program ended while it ran."),
                    hint=Sentence("Resume it."),
                )


def _row(found: Mapping[str, Any], **more: Any) -> BenchmarkRow:
    names = ("benchmark_id", "kind", "title", "status", "created_at", "ended_at", "error", "hint")
    return BenchmarkRow(**{name: found[name] for name in names}, **more)


def _unknown(benchmark_id: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("There is no benchmark “{benchmark}”.", benchmark=benchmark_id[:100]),
        Sentence("`python -m playground bench --list` and the Benchmark tab name those there are."),
        code="no_such_benchmark",
    )
