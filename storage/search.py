"""Search over the texts of runs: which rows hold every word of a query, as part of any word, in any script.

Two indexes answer it. `runs_fts` holds trigrams and finds words of three characters and more; `runs_short` holds each
run's distinct single characters and pairs of them, for the shorter ones. Knows the columns searched, no lists.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from storage.rows import clean

if TYPE_CHECKING:
    from sqlite_utils import Database

SEARCHED = ("run_id", "prompt", "output", "target", "draft_model", "method", "note")
"""Columns of `runs` that the history's search reads."""

MAX_SEARCH = 200
"""Characters of a search that are looked at."""

TRIGRAM = 3


def condition(search: str) -> tuple[list[str], list[Any]]:
    """Conditions on `r.id`, all to be met, and their values; none for an empty search."""
    words = clean(search)[:MAX_SEARCH].lower().split()
    long = [word for word in words if len(word) >= TRIGRAM]
    short = [word for word in words if len(word) < TRIGRAM]
    parts: list[str] = []
    values: list[Any] = []
    for table, some in (("runs_fts", long), ("runs_short", short)):
        if some:
            # "+" has SQLite read its list of runs and ask the found set, rather than fetch each found run.
            parts.append(f"+r.id IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)")
            values.append(" AND ".join(_quoted(word) for word in some))
    return parts, values


def index_short(db: "Database", run: int) -> None:
    """Bring `runs_short` up to date with a row of `runs` whose texts were written."""
    texts = db.execute(f"SELECT {', '.join(SEARCHED)} FROM runs WHERE id = ?", [run]).fetchone()
    db.execute("INSERT OR REPLACE INTO runs_short(rowid, grams) VALUES (?, ?)", [run, grams(*texts)])


def grams(*texts: str | None) -> str:
    """The distinct characters and pairs of neighbours within words, separated by spaces."""
    found: set[str] = set()
    for word in {word for text in texts if text for word in text.lower().split()}:
        found.update(word)
        found.update(map("".join, pairwise(word)))
    return " ".join(sorted(found))


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
