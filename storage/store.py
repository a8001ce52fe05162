"""The store: every run this machine made, in one SQLite file. The one door to it for the rest of the program.

A facade: recording, reading back, listing and exchanging have a module each. Safe from several threads of several
processes at once.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from playground.errors import PlaygroundError
from playground.events import Event
from playground.sentence import Sentence
from storage import exchange, history, reader, rows
from storage.benchmarks import Benchmarks
from storage.connections import BRIEF_PATIENCE, Connections
from storage.history import RunPage, RunRow
from storage.owner import lives
from storage.recorder import record
from storage.search import index_short
from storage.writer import RunInfo, Unwritten, insert_run, update_run

log = logging.getLogger(__name__)


class Store:
    """Runs in the database at `path`, made or migrated when opened.

    Runs still marked as running whose process is gone become "interrupted"; those of a living process are left alone.

    Raises:
        PlaygroundError: the file cannot be written ("unwritable"), is damaged or no database ("database_damaged"), is
            locked ("database_locked") or of a newer version ("newer_database").
    """

    def __init__(self, path: Path) -> None:
        self._pool = Connections(Path(path))
        self.benchmarks = Benchmarks(self._pool)
        reader.end_stale(self._pool)

    @property
    def path(self) -> Path:
        return self._pool.path

    def close(self) -> None:
        self._pool.close()

    def record(self, info: RunInfo, events: Iterator[Event]) -> Iterator[Event]:
        """`events`, each passed on as it comes, recorded meanwhile.

        The row is there, as "running", before the first event is asked for. Steps and samples are written about once a
        second, the ending before RunFinished is passed on. A consumer that closes this iterator cancels the run:
        `events` is closed first, then the row says "cancelled".

        Raises:
            PlaygroundError: before the first event where the run cannot be stored at all; after the last one where its
                end could not be ("disk_full", "database_locked", ...). What was flushed is in the file.
        """
        return record(self._pool, info, events)

    def replay(self, run_id: str) -> Iterator[Event]:
        """The recorded events, equal to those that were passed on: RunStarted, Step, GpuSample, RunFinished.

        A run that got no RunFinished (cancelled, killed) has one that says so; a run still recording has none.

        Raises:
            PlaygroundError: no such run ("no_such_run"), at once.
        """
        return reader.replay(self._pool, self._row(run_id))

    def run(self, run_id: str) -> RunRow:
        """One run with its whole prompt and output, without its events.

        Raises:
            PlaygroundError: no such run ("no_such_run").
        """
        row = self._row(run_id)
        if history.is_stale(row) and self._refold([row]):
            row = self._row(run_id)
        whole = rows.restored(row)
        return history.run_row(row | {name: whole[name] or row[name] for name in ("prompt", "output")})

    def runs(
        self,
        *,
        search: str = "",
        sort: str = "started_at",
        descending: bool = True,
        limit: int = 50,
        offset: int = 0,
        engine: str | None = None,
        target: str | None = None,
        method: str | None = None,
        status: str | None = None,
        source: str | None = None,
        arm: str | None = None,
        comparison_id: str | None = None,
    ) -> RunPage:
        """A page of runs.

        Args:
            search: words, each of which must be found, as part of a word, in prompt, output, target, draft model,
                method, note or run id.
            sort: a key of `history.SORTS`: run columns, METRICS names, "speedup". What is n/a comes last either way.
            method: "none" asks for the baselines.

        Raises:
            PlaygroundError: nothing sorts by that name ("bad_sort").
        """
        filters = {
            "engine": engine,
            "target": target,
            "method": method,
            "status": status,
            "source": source,
            "arm": arm,
            "comparison_id": comparison_id,
        }
        reader.end_stale(self._pool)
        page, stale = history.page(self._pool, search, sort, descending, limit, offset, filters)
        if stale and self._refold(self._row(run_id) for run_id in stale):
            page, _ = history.page(self._pool, search, sort, descending, limit, offset, filters)
        return page

    def comparison(self, comparison_id: str) -> dict[str, str]:
        """Arm -> run id of the newest run of that arm; empty where no run belongs to it."""
        with self._pool.reading() as db:
            found = db.execute(
                "SELECT arm, run_id FROM runs WHERE comparison_id = ? AND arm IS NOT NULL ORDER BY id", [comparison_id]
            ).fetchall()
        return dict(found)

    def partner(self, run_id: str) -> str | None:
        """The other arm's run of the same comparison; None without one."""
        row = self._row(run_id)
        if row["comparison_id"] is None or row["arm"] is None:
            return None
        other = "speculative" if row["arm"] == "baseline" else "baseline"
        return self.comparison(row["comparison_id"]).get(other)

    def note(self, run_id: str, text: str) -> None:
        """Set a run's note; empty text removes it.

        Raises:
            PlaygroundError: no such run ("no_such_run").
        """
        row = self._row(run_id)
        with self._pool.writing() as db:
            update_run(db, row["id"], {"note": rows.clean(text)})
            index_short(db, row["id"])

    def delete(self, run_ids: Iterable[str]) -> int:
        """Delete runs with all their events; how many there were. Ids that are not stored are ignored.

        Raises:
            PlaygroundError: one of them is being recorded ("still_running"); those before it are deleted.
        """
        deleted = 0
        for run_id in run_ids:
            # A transaction a run: thousands at once would keep a recording run from its flushes.
            with self._pool.writing() as db:
                row = db.execute(
                    "SELECT id, status, process_id, process_started FROM runs WHERE run_id = ?", [run_id]
                ).fetchone()
                if row is None:
                    continue
                if row["status"] == "running" and lives(row["process_id"], row["process_started"]):
                    raise PlaygroundError(
                        Sentence("Run {run} is still recording.", run=run_id),
                        Sentence("Stop it first, then delete it."),
                        code="still_running",
                    )
                db.execute("DELETE FROM runs WHERE id = ?", [row["id"]])
                deleted += 1
        return deleted

    def export_jsonl(self, run_ids: Iterable[str]) -> Iterator[str]:
        """Each run whole, as one line of JSON (storage/README.md); `import_jsonl` gives the same runs back.

        Raises:
            PlaygroundError: no such run ("no_such_run").
        """
        for run_id in run_ids:
            yield exchange.run_line(self.run(run_id), self.replay(run_id))

    def export_csv(self, run_ids: Iterable[str]) -> Iterator[str]:
        """A line of headings, then one line a run: `exchange.CSV_COLUMNS`.

        Raises:
            PlaygroundError: no such run ("no_such_run").
        """
        yield exchange.csv_line(exchange.CSV_COLUMNS)
        for run_id in run_ids:
            yield exchange.csv_line(exchange.csv_row(self.run(run_id)))

    def import_jsonl(self, lines: Iterable[str]) -> list[str]:
        """Store exported runs, under their own ids; the ids, in order. Untrusted: nothing is stored unless all is well.

        A run that is stored already is left as it is, so that importing twice changes nothing.

        Raises:
            PlaygroundError: a line is no run ("bad_import"), or another run has its id ("run_exists"); names the line.
        """
        runs: dict[str, exchange.ImportedRun] = {}
        for number, text in enumerate(lines, start=1):
            run = exchange.read_line(text, number)
            if run is None:
                continue
            run_id = run.info.run_id
            if run_id in runs or self._holds_another(run):
                raise PlaygroundError(
                    Sentence(
                        "Line {number} cannot be imported: another run has the id {run}.", number=number, run=run_id
                    ),
                    Sentence("Delete that run first, or leave this line out; nothing of the file was stored."),
                    code="run_exists",
                )
            runs[run_id] = run
        for run_id, run in runs.items():
            if history.one(self._pool, run_id) is None:
                self._insert(run)
        return list(runs)

    def _holds_another(self, run: exchange.ImportedRun) -> bool:
        """Whether a run with this id but something else in it is stored."""
        run_id = run.info.run_id
        if history.one(self._pool, run_id) is None:
            return False
        stored = exchange.read_line(exchange.run_line(self.run(run_id), self.replay(run_id)), 1)
        return stored is None or not exchange.same(run, stored)

    def _insert(self, run: exchange.ImportedRun) -> None:
        unwritten = Unwritten()
        for event in run.events:
            unwritten.add(event)
        with self._pool.writing() as db:
            row = insert_run(db, run.info)
            unwritten.write(db, row)
            times = {"started_at": run.started_at, "ended_at": run.ended_at or run.started_at}
            update_run(db, row, times | {"note": rows.clean(run.note)})
            index_short(db, row)

    def refresh(self) -> int:
        """Cache the metrics of all runs anew whose fold has another version; how many there were. May take minutes."""
        count = 0
        while True:
            stale = history.stale_ids(self._pool)
            if not stale:
                return count
            for run_id in stale:
                reader.refold(self._pool, self._row(run_id))
                count += 1

    def _refold(self, stale: Iterable[rows.Row]) -> bool:
        """Whether the metrics of these rows were taken anew; a list with old ones is better than none."""
        try:
            for row in stale:
                reader.refold(self._pool, row, BRIEF_PATIENCE)
        except PlaygroundError as failure:
            log.warning("Metrics could not be brought up to date. %s", failure)
            return False
        return True

    def _row(self, run_id: str) -> rows.Row:
        row = history.one(self._pool, run_id)
        if row is None:
            raise PlaygroundError(
                Sentence("There is no run “{run}”.", run=run_id[:100]),
                Sentence(
                    "It may have been deleted; the History tab and `python -m playground runs` list those there are."
                ),
                code="no_such_run",
            )
        return row
