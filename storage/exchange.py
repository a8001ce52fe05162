"""Runs as text: JSON lines that hold everything and can be read back, and CSV for spreadsheets.

JSONL is exact and strict JSON; what is read is untrusted and checked before anything is stored. CSV has one row a run
and is for people. Knows formats; opens no database.
"""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.events import Event, GpuSample, RunFinished, RunStarted, Step
from playground.faults import faults, words
from playground.sentence import Sentence
from storage import rows
from storage.history import RunRow
from storage.writer import METRIC_COLUMNS, RunInfo, utc

FORMAT = "draftboard-run"

MAX_LINE = 128 * 1024 * 1024
"""Characters of one imported line."""

MAX_DRAFT = 1024
"""num_draft_tokens of an imported step: no method drafts more, and the metrics keep a count per position."""

CSV_COLUMNS = (
    "run_id", "started_at", "status", "source", "comparison_id", "arm", "engine", "target", "dtype", "method",
    "draft_model", "num_speculative_tokens", "temperature", "max_tokens", *METRIC_COLUMNS, "speedup", "reconciled",
    "total_seconds", "error", "note", "prompt", "output",
)  # fmt: skip

_KINDS: dict[str, TypeAdapter[Any]] = {
    kind.__name__: TypeAdapter(kind) for kind in (RunStarted, Step, GpuSample, RunFinished)
}


class _Line(BaseModel):
    """One line of an exported file; `metrics` and whatever newer versions add are not read."""

    model_config = ConfigDict(extra="ignore")

    format: Literal["draftboard-run"]
    version: Literal[1]
    run_id: str = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._:-]+$")
    source: str = Field("import", max_length=100)
    comparison_id: Annotated[str, Field(max_length=100)] | None = None
    arm: Literal["baseline", "speculative"] | None = None
    started_at: AwareDatetime
    ended_at: AwareDatetime | None = None
    note: str = ""
    config: RunConfig
    prompt: str
    events: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run read from a file, checked. `events` ends with a RunFinished."""

    info: RunInfo
    events: tuple[Event, ...]
    started_at: str
    ended_at: str | None
    note: str


def run_line(run: RunRow, events: Iterable[Event]) -> str:
    """One run as one line of JSON, line end included."""
    line = {
        "format": FORMAT,
        "version": 1,
        "run_id": run.run_id,
        "source": run.source,
        "comparison_id": run.comparison_id,
        "arm": run.arm,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "note": run.note,
        "config": json.loads(run.config_json),
        "prompt": run.prompt,
        "metrics": run.metrics,
        "events": [event_object(event) for event in events],
    }
    return rows.dumps(line) + "\n"


def event_object(event: Event) -> dict[str, Any]:
    """An event as JSON values: its fields' own names, those with their default left out."""
    return {"type": type(event).__name__, **_object(event)}


def same(one: ImportedRun, other: ImportedRun) -> bool:
    """Whether two files hold the same run: NaN equals NaN here, as it does not between events."""
    first, second = (
        rows.dumps([run.info.prompt, run.info.config.model_dump(), *map(event_object, run.events)])
        for run in (one, other)
    )
    return first == second


def read_line(text: str, number: int) -> ImportedRun | None:
    """The run of one line of a file; None for an empty line.

    Args:
        number: of the line, from 1; named in errors.

    Raises:
        PlaygroundError: the line is not a run ("bad_import").
    """
    if not text.strip("\ufeff \t\r\n"):
        return None
    if len(text) > MAX_LINE:
        raise _bad(number, Sentence("it is longer than {mib} MiB", mib=MAX_LINE // 2**20))
    try:
        data = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise _bad(number, Sentence("it is no JSON ({why})", why=error)) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _bad(number, Sentence("it is no exported run"))
    if "\\ud" in text or "\\uD" in text:
        data = _unicode(data)
    try:
        line = _Line.model_validate(data)
    except ValidationError as error:
        raise _bad(number, faults(error)) from None
    events = tuple(_event(item, f"events.{i}", number) for i, item in enumerate(line.events))
    _check_order(events, number)
    if not events or not isinstance(events[-1], RunFinished):
        events += (RunFinished("interrupted", at=0.0, error=Sentence("The run was exported before it ended.")),)
    return ImportedRun(
        RunInfo(line.run_id, line.config, line.prompt, line.source, line.comparison_id, line.arm),
        events,
        utc(line.started_at),
        utc(line.ended_at) if line.ended_at else None,
        line.note,
    )


def csv_line(values: Iterable[Any]) -> str:
    """One line of CSV, its CRLF included (RFC 4180); formulas are made harmless, None is empty."""
    buffer = io.StringIO()
    csv.writer(buffer).writerow([_cell(value) for value in values])
    return buffer.getvalue()


def csv_row(run: RunRow) -> list[Any]:
    """The values of CSV_COLUMNS."""
    return [run.metrics[name] if name in run.metrics else getattr(run, name) for name in CSV_COLUMNS]


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        value = rows.clean(value)
        return f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else value
    return value


def _object(value: Any) -> Any:
    if is_dataclass(value):
        found = {field: getattr(value, field.name) for field in fields(value)}
        return {field.name: _object(item) for field, item in found.items() if not _is_default(field, item)}
    if isinstance(value, tuple):
        return [_object(item) for item in value]
    return value


def _is_default(field: Any, value: Any) -> bool:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return type(value) is type(default) and bool(value == default)


def _event(item: Mapping[str, Any], where: str, number: int) -> Event:
    adapter = _KINDS.get(str(item.get("type")))
    if adapter is None:
        raise _bad(number, Sentence("{where}.type must be one of {known}", where=where, known=", ".join(_KINDS)))
    try:
        event: Event = adapter.validate_python({key: value for key, value in item.items() if key != "type"})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join([where, *map(str, first["loc"])])
        raise _bad(number, Sentence("{key}: {fault}", key=place, fault=words(first))) from None
    if isinstance(event, Step):
        k, a = event.num_draft_tokens, event.num_accepted_tokens
        if not (0 <= a <= MAX_DRAFT and 0 <= k <= MAX_DRAFT and (a <= k or k == 0)):  # 0: how many is untold
            raise _bad(number, Sentence("{where}: {a} of {k} draft tokens accepted cannot be", where=where, a=a, k=k))
    return event


def _check_order(events: tuple[Event, ...], number: int) -> None:
    """At most one start; decode steps in order; nothing after the end."""
    if any(isinstance(event, RunFinished) for event in events[:-1]):
        raise _bad(number, Sentence("events go on after RunFinished"))
    if sum(isinstance(event, RunStarted) for event in events) > 1:
        raise _bad(number, Sentence("it has more than one RunStarted"))
    indexes = [event.index for event in events if isinstance(event, Step)]
    if any(later <= earlier for earlier, later in pairwise([-1, *indexes])):
        raise _bad(number, Sentence("its steps are not numbered upwards from 0"))


def _unicode(value: Any) -> Any:
    """JSON can spell half a character, which no file or page can hold: U+FFFD instead."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_unicode(item) for item in value]
    if isinstance(value, dict):
        return {_unicode(key): _unicode(item) for key, item in value.items()}
    return value


def _bad(number: int, why: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("Line {number} cannot be imported: {why}.", number=number, why=why),
        Sentence(
            "Import a file that the History tab or `python -m playground runs --export` wrote; nothing of it was "
            "stored."
        ),
        code="bad_import",
    )
