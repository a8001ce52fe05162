"""storage/README.md is held to the real schema, and the schema to what is promised of it."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage import Store, history
from storage.search import SEARCHED
from storage.writer import METRIC_COLUMNS
from tests.runs import CONFIG, plain, stored

README = (Path(__file__).parent.parent / "storage" / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", README, re.MULTILINE | re.DOTALL))
QUERIES = re.findall(r"```sql\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A database with a few runs, read as any tool would."""
    store = Store(tmp_path / "runs.db")
    stored(store, "b", plain(k=0, a=0), config=CONFIG.baseline(), comparison_id="c", arm="baseline")
    stored(store, "s", plain(), comparison_id="c", arm="speculative")
    store.close()
    connection = sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    yield connection
    connection.close()


def documented(name: str) -> list[tuple[str, str]]:
    """(column, type) of the table in a section of the README."""
    lines = [line for line in SECTIONS[name].splitlines() if line.startswith("| ")][1:]
    return [(cells[1].strip(), cells[2].strip()) for cells in (line.split("|") for line in lines)]


def test_every_table_and_view_is_documented(db: sqlite3.Connection) -> None:
    made_by_fts = re.compile(r"runs_(fts|short)_")
    names = {
        row["name"]
        for row in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        if not made_by_fts.match(row["name"]) and not row["name"].startswith(("sqlite_", "_sqlite"))
    }
    assert names == set(SECTIONS)


@pytest.mark.parametrize("name", sorted(SECTIONS))
def test_every_column_is_documented(db: sqlite3.Connection, name: str) -> None:
    real = [(row["name"], row["type"]) for row in db.execute(f"PRAGMA table_info({name})")]
    if name == "comparisons":
        # SQLite loses the type of a computed column; its values have it.
        real = [(column, kind or "REAL") for column, kind in real]
    assert documented(name) == real


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_example_queries_find_something(db: sqlite3.Connection, query: str) -> None:
    assert db.execute(query).fetchall()


def test_there_are_three_example_queries() -> None:
    assert len(QUERIES) == 3


def test_the_example_of_acceptance_by_position_is_survival(db: sqlite3.Connection) -> None:
    found = [tuple(row) for row in db.execute(QUERIES[1])]
    assert found == [(1, 5, 5, 1.0), (2, 5, 5, 1.0), (3, 0, 5, 0.0)]


def test_tables_are_strict_and_logged_ahead(db: sqlite3.Connection) -> None:
    strict = {row["name"]: row["strict"] for row in db.execute("PRAGMA table_list")}
    assert [strict[name] for name in ("runs", "steps", "samples")] == [1, 1, 1]
    assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def test_names_in_code_are_columns(db: sqlite3.Connection) -> None:
    columns = {row["name"] for row in db.execute("PRAGMA table_info(runs)")}
    assert columns >= {*METRIC_COLUMNS, *SEARCHED, *history.FILTERS, *history.SORTS.keys() - {"speedup"}}


def test_a_run_is_datasette_friendly(db: sqlite3.Connection) -> None:
    """Foreign keys lead from steps and samples to their run, and JSON columns are JSON to SQLite itself."""
    for table in ("steps", "samples"):
        assert [(row["table"], row["to"]) for row in db.execute(f"PRAGMA foreign_key_list({table})")] == [
            ("runs", "id")
        ]
    assert db.execute("SELECT sum(json_array_length(tokens)) FROM steps").fetchone()[0] == 6 + 16
    assert db.execute("SELECT json_extract(config, '$.target') FROM runs").fetchone()[0] == CONFIG.target
