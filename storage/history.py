"""The history: lists of runs, filtered, searched, sorted, a page at a time. Reads `runs` alone, never the steps."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playground.config import RunConfig, checked
from playground.errors import PlaygroundError
from playground.metrics import FOLD_VERSION
from playground.sentence import Sentence
from storage import rows
from storage.connections import Connections
from storage.search import condition
from storage.writer import METRIC_COLUMNS

EXCERPT = 300
"""Characters of prompt and output in a list; `Store.run` has the whole."""

MAX_LIMIT = 10_000
"""Rows of one page, at most."""

SPEEDUP = """
CASE WHEN r.arm = 'speculative' AND r.status IN ('stop', 'length') AND r.reconciled IS NOT 0 AND r.tpot > 0 THEN (
    SELECT CASE WHEN b.status IN ('stop', 'length') AND b.reconciled IS NOT 0 THEN b.tpot END FROM runs b
    WHERE b.comparison_id = r.comparison_id AND b.arm = 'baseline' ORDER BY b.id DESC LIMIT 1
) / r.tpot END
"""
"""Decode speed-up of a pair, on its speculative run: the `comparisons` view's own rule, for every row of a list."""

_PLAIN = (
    "run_id", "status", "started_at", "ended_at", "total_seconds", "source", "comparison_id", "arm", "engine", "target",
    "dtype", "method", "draft_model", "num_speculative_tokens", "temperature", "max_tokens", "note",
)  # fmt: skip

_SORTED = tuple(name for name in _PLAIN if name not in ("run_id", "note"))

SORTS = {name: f"r.{name}" for name in (*_SORTED, *METRIC_COLUMNS)} | {"speedup": SPEEDUP}
"""Names `runs(sort=)` takes -> what they sort by; the columns are those of the index `runs_list`."""

FILTERS = ("engine", "target", "method", "status", "source", "arm", "comparison_id")

_LIST_COLUMNS = ", ".join(
    (
        *(f"r.{name}" for name in (*_PLAIN, *METRIC_COLUMNS)),
        "r.id, r.reconciled, r.problems, r.fold_version, r.config, r.environment, r.error, r.hint, r.code, r.exact",
        f"substr(r.prompt, 1, {EXCERPT}) AS prompt, substr(r.output, 1, {EXCERPT}) AS output",
        f"{SPEEDUP} AS speedup",
    )
)


@dataclass(frozen=True, slots=True)
class RunRow:
    """One stored run without its events.

    Attributes:
        status: running, or the reason it ended (stop, length, cancelled, interrupted, error).
        started_at, ended_at: ISO 8601, UTC. total_seconds: from submission to the end.
        method: None for a baseline. draft_model: None for methods without one.
        metrics: METRICS names and counts -> values, as `RunResult.metrics()` has them (without the lists), and
            "speedup": of the pair, on its speculative run, None unless both runs ended by themselves and reconcile.
        prompt, output: in a list the first EXCERPT characters.
        code: of the error; "" without one.
    """

    run_id: str
    status: str
    started_at: str
    ended_at: str | None
    total_seconds: float | None
    source: str
    comparison_id: str | None
    arm: str | None
    engine: str
    target: str
    dtype: str
    method: str | None
    draft_model: str | None
    num_speculative_tokens: int | None
    temperature: float
    max_tokens: int
    note: str
    metrics: dict[str, Any]
    prompt: str
    output: str
    config_json: str
    environment: dict[str, Any]
    error: str = ""
    hint: str = ""
    code: str = ""

    @property
    def config(self) -> RunConfig:
        """What ran.

        Raises:
            PlaygroundError: it was stored by a version with other settings.
        """
        return checked(RunConfig, json.loads(self.config_json), where=Sentence("the stored run {run}", run=self.run_id))


@dataclass(frozen=True, slots=True)
class RunPage:
    """A page of a list; `total` counts the rows of all its pages."""

    rows: tuple[RunRow, ...]
    total: int
    limit: int
    offset: int


def page(
    pool: Connections,
    search: str,
    sort: str,
    descending: bool,
    limit: int,
    offset: int,
    filters: Mapping[str, str | None],
) -> tuple[RunPage, list[str]]:
    """A page of runs, and the ids of its rows whose metrics are of another fold version. See `Store.runs`."""
    if sort not in SORTS:
        raise PlaygroundError(
            Sentence("Runs cannot be sorted by “{sort}”.", sort=sort),
            Sentence("Choose one of: {known}.", known=", ".join(SORTS)),
            code="bad_sort",
        )
    where, values = _conditions(search, filters)
    direction = "DESC" if descending else "ASC"
    limit, offset = max(1, min(limit, MAX_LIMIT)), max(0, min(offset, 2**31))
    # Ids, total and order in one pass over the index, then the page's rows: sorting carries no texts along.
    found = f"WITH found AS MATERIALIZED (SELECT r.id, {SORTS[sort]} AS key FROM runs r {where})"
    order = f"key {direction} NULLS LAST, id {direction}"
    with pool.reading() as db:
        ids = db.execute(
            f"{found} SELECT id, (SELECT count(*) FROM found) FROM found ORDER BY {order} LIMIT ? OFFSET ?",
            [*values, limit, offset],
        ).fetchall()
        total = ids[0][1] if ids else db.execute(f"{found} SELECT count(*) FROM found", values).fetchone()[0]
        marks = ", ".join("?" * len(ids))
        unsorted = db.execute(f"SELECT {_LIST_COLUMNS} FROM runs r WHERE r.id IN ({marks})", [i for i, _ in ids])
        by_id = {row["id"]: row for row in unsorted}
    # A run deleted between the two reads is left out.
    found_rows = [by_id[i] for i, _ in ids if i in by_id]
    stale = [row["run_id"] for row in found_rows if is_stale(row)]
    return RunPage(tuple(map(run_row, found_rows)), total, limit, offset), stale


def one(pool: Connections, run_id: str) -> rows.Row | None:
    """All columns of one run and its "speedup"; None where there is none of this id."""
    with pool.reading() as db:
        found = db.execute(f"SELECT r.*, {SPEEDUP} AS speedup FROM runs r WHERE r.run_id = ?", [run_id]).fetchone()
    return dict(found) if found else None


def run_row(row: Mapping[str, Any]) -> RunRow:
    metrics: dict[str, Any] = {name: row[name] for name in METRIC_COLUMNS}
    reconciled = row["reconciled"]
    metrics |= {
        "speedup": row["speedup"],
        "status": row["status"],
        "reconciled": None if reconciled is None else bool(reconciled),
        "problems": json.loads(row["problems"] or "[]"),
    }
    return RunRow(
        **{name: row[name] for name in _PLAIN},
        metrics=metrics,
        prompt=row["prompt"],
        output=row["output"],
        config_json=row["config"],
        environment=json.loads(row["environment"] or "{}"),
        error=row["error"],
        hint=row["hint"],
        code=row["code"],
    )


def is_stale(row: Mapping[str, Any]) -> bool:
    """Whether the cached metrics are of another version of the fold."""
    return bool(row["status"] != "running" and row["fold_version"] != FOLD_VERSION)


def stale_ids(pool: Connections, limit: int = 100) -> list[str]:
    """Run ids whose cached metrics are of another version of the fold."""
    with pool.reading() as db:
        found = db.execute(
            "SELECT run_id FROM runs WHERE status != 'running' AND fold_version != ? LIMIT ?", [FOLD_VERSION, limit]
        ).fetchall()
    return [run_id for (run_id,) in found]


def _conditions(search: str, filters: Mapping[str, str | None]) -> tuple[str, list[Any]]:
    """A WHERE clause over `runs r` and its values; every word of the search must be found somewhere in the run."""
    parts: list[str] = []
    values: list[Any] = []
    for name, value in filters.items():
        if value is None:
            continue
        if name == "method" and value == "none":
            parts.append("r.method IS NULL")
            continue
        parts.append(f"r.{name} = ?")
        values.append(rows.clean(value))
    texts, words = condition(search)
    parts += texts
    values += words
    return ("WHERE " + " AND ".join(parts) if parts else ""), values
