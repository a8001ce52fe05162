"""A suite's file as rows: JSON Lines, JSON, CSV, TSV, Parquet or text, gzipped or not. Bounded; knows no dialect.

Every error names the file and the line (CASES 32).
"""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from playground.errors import PlaygroundError
from playground.importers._text import check_size, decode, read_file
from playground.sentence import Sentence
from playground.suites import Row, kind_of

MAX_BYTES = 32_000_000
"""Of a file, and of what a gzipped one holds: more is a corpus, not a suite."""

Numbered = tuple[int, Row]
"""(line or row number from 1, the row)."""


def rows_of(path: Path) -> list[Numbered]:
    """Every row of a file.

    Raises:
        PlaygroundError: it cannot be read, is too large, or a line is no row.
    """
    content, name, kinds = read_file(path, limit=MAX_BYTES), str(path), [s.lower() for s in path.suffixes]
    if kinds and kinds[-1] == ".gz":
        content, kinds = _unzipped(name, content), kinds[:-1]
    kind = kinds[-1] if kinds else ""
    if kind == ".parquet":
        return list(enumerate(_parquet(name, content), 1))
    text = decode(name, content, limit=MAX_BYTES).replace("\r\n", "\n").replace("\r", "\n")
    if kind in (".csv", ".tsv"):
        return list(_table(name, text, "\t" if kind == ".tsv" else ","))
    if kind in (".jsonl", ".ndjson"):
        return list(_lines(name, text))
    if kind == ".json":
        return list(_json(name, text))
    return [(n, {"text": line}) for n, line in enumerate(text.split("\n"), 1) if line.strip()]


def _unzipped(name: str, content: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(content)) as file:
            found = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise PlaygroundError(
            Sentence("{name} is no whole gzip file.", name=name), Sentence("Download it again."), code="bad_file"
        ) from None
    check_size(name, len(found), limit=MAX_BYTES)
    return found


def _lines(name: str, text: str) -> Iterator[Numbered]:
    # Not splitlines(): JSON texts may hold U+2028 and other line ends that are none of a file's.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else Sentence("it is nested too deeply")
            raise wrong(name, number, Sentence("is not JSON: {why}", why=why)) from None
        yield number, _mapping(name, number, row)


def _json(name: str, text: str) -> Iterator[Numbered]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        if "\n{" in text:  # JSON Lines in a file called .json, as HumanEval and others are sometimes kept
            yield from _lines(name, text)
            return
        raise wrong(name, 1, Sentence("is not JSON")) from None
    except (ValueError, RecursionError):
        raise wrong(name, 1, Sentence("is not JSON that can be read")) from None
    rows = next((v for v in data.values() if isinstance(v, list)), [data]) if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise wrong(name, 1, Sentence("must hold a list of rows, is {kind}", kind=kind_of(data)))
    for number, row in enumerate(rows, 1):
        yield number, _mapping(name, number, row)


def _table(name: str, text: str, delimiter: str) -> Iterator[Numbered]:
    csv.field_size_limit(MAX_BYTES)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        if reader.fieldnames is None:
            return
        for row in reader:
            if None in row:
                raise wrong(name, reader.line_num, Sentence("has more cells than there are headings"))
            yield reader.line_num, {str(key).strip(): value for key, value in row.items() if value is not None}
    except csv.Error as error:
        raise wrong(name, reader.line_num, Sentence("is not CSV: {why}", why=error)) from None


def _parquet(name: str, content: bytes) -> Iterable[Row]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise PlaygroundError(
            Sentence("{name} is a Parquet file, and pyarrow, which reads them, is not installed.", name=name),
            Sentence("Install it: pip install pyarrow; or save the file as CSV or JSON Lines."),
            code="missing_package",
        ) from None
    try:
        rows: list[dict[str, Any]] = parquet.read_table(io.BytesIO(content)).to_pylist()
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise PlaygroundError(
            Sentence("{name} is no readable Parquet file: {why}.", name=name, why=error),
            Sentence("Download it again."),
            code="bad_file",
        ) from None
    return rows


def _mapping(name: str, number: int, row: Any) -> Row:
    if isinstance(row, str):
        return {"text": row}
    if not isinstance(row, dict):
        raise wrong(name, number, Sentence("must be an object or a text, is {kind}", kind=kind_of(row)))
    return row


def wrong(name: str, number: int, what: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("{name}, line {number}: {what}.", name=name, number=number, what=what),
        Sentence("Correct that line and try again."),
        code="bad_suite",
    )
