"""Events <-> table rows, exactly: what is read back equals what was written.

Integers, times and texts are real columns, so that SQL can use them; lists of tokens are compact JSON. What SQLite has
no type for (NaN, integers past 53 bits, NUL and lone surrogates in text) is kept in the row's `exact` column, beside
the nearest value in its own. Knows the events and the columns; opens no database.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from playground.events import Candidate, Candidates, GpuSample, RunFinished, RunStarted, Step, Token

Row = dict[str, Any]

_SAFE_INTEGER = 2**53  # JSON readers, and REAL columns, hold integers exactly up to here
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


def step_row(step: Step) -> Row:
    """Columns of `steps`, `run` and `seq` excepted."""
    return exactly(
        {
            "step": step.index,
            "at": step.at,
            "num_tokens": len(step.tokens),
            "num_draft_tokens": step.num_draft_tokens,
            "num_accepted_tokens": step.num_accepted_tokens,
            "truncated": step.truncated,
            "draft_seconds": step.draft_seconds,
            "verify_seconds": step.verify_seconds,
        },
        tokens=[_token_list(token) for token in step.tokens],
        rejected=[_token_list(token) for token in step.rejected] or None,
        logit_gaps=step.logit_gaps or None,
        target_candidates=_candidate_lists(step.target_candidates),
        draft_candidates=_candidate_lists(step.draft_candidates),
    )


def step_of(row: Mapping[str, Any]) -> Step:
    row = restored(row)
    return Step(
        index=row["step"],
        at=row["at"],
        tokens=_tokens(row["tokens"]),
        rejected=_tokens(row["rejected"]),
        num_draft_tokens=row["num_draft_tokens"],
        num_accepted_tokens=row["num_accepted_tokens"],
        truncated=row["truncated"],
        draft_seconds=row["draft_seconds"],
        verify_seconds=row["verify_seconds"],
        logit_gaps=tuple(map(_number, json.loads(row["logit_gaps"]))) if row["logit_gaps"] else (),
        target_candidates=_candidates(row["target_candidates"]),
        draft_candidates=_candidates(row["draft_candidates"]),
    )


def sample_row(sample: GpuSample) -> Row:
    """Columns of `samples`, `run` and `seq` excepted: the event's own field names."""
    return exactly({name: getattr(sample, name) for name in GpuSample.__slots__})


def sample_of(row: Mapping[str, Any]) -> GpuSample:
    row = restored(row)
    return GpuSample(**{name: row[name] for name in GpuSample.__slots__})


def started_row(event: RunStarted) -> Row:
    """Columns of `runs` that a RunStarted fills; merge `exact` with the others of the row."""
    return exactly(
        {"rendered_prompt": event.prompt_text},
        prompt_token_ids=event.prompt_token_ids,
        environment=event.environment,
    )


def started_of(row: Mapping[str, Any]) -> RunStarted:
    return RunStarted(
        prompt_token_ids=tuple(json.loads(row["prompt_token_ids"])),
        prompt_text=row["rendered_prompt"],
        environment=json.loads(row["environment"]),
    )


def finished_row(event: RunFinished, shown_text: str) -> Row:
    """Columns of `runs` that a RunFinished fills.

    Args:
        shown_text: the tokens' texts joined; the output where the event has none of its own.
    """
    row = exactly(
        {
            "status": event.reason,
            "total_seconds": event.at,
            "output": shown_text if event.text is None else event.text,
            "usage_completion_tokens": event.usage_completion_tokens,
            "reported_reconciled": event.reconciled,
            "error": event.error,
            "hint": event.hint,
            "code": event.code,
        },
        engine_counters=event.engine_counters,
        reported_problems=event.problems or None,
    )
    if event.text is None:
        row["exact"] = dumps(json.loads(row["exact"] or "{}") | {"output": None})
    return row


def finished_of(row: Mapping[str, Any]) -> RunFinished:
    reconciled = row["reported_reconciled"]
    return RunFinished(
        reason=row["status"],
        at=row["total_seconds"],
        text=row["output"],
        usage_completion_tokens=row["usage_completion_tokens"],
        engine_counters=json.loads(row["engine_counters"]) if row["engine_counters"] is not None else None,
        reconciled=None if reconciled is None else bool(reconciled),
        problems=tuple(json.loads(row["reported_problems"] or "[]")),
        error=row["error"],
        hint=row["hint"],
        code=row["code"],
    )


def exactly(values: Row, **lists: Any) -> Row:
    """`values` as SQLite can hold them and `lists` as JSON, with what the columns cannot hold under "exact"."""
    exact = {}
    row: Row = {}
    for name, value in values.items():
        row[name] = stored = storable(value)
        if stored is not value:
            exact[name] = value
    for name, value in lists.items():
        row[name] = None if value is None else dumps(value)
    row["exact"] = dumps(exact) if exact else None
    return row


def storable(value: Any) -> Any:
    """The value itself where a column holds it exactly, else the nearest one that it does."""
    if isinstance(value, float):
        return value if not math.isnan(value) else None
    if isinstance(value, int):
        return value if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else max(-(2**63), min(value, 2**63 - 1))
    if isinstance(value, str) and _NOT_TEXT.search(value):
        return clean(value)
    return value


def clean(text: str) -> str:
    """`text` with U+FFFD for what no UTF-8 file holds (lone surrogates) and for NUL, where SQLite's functions stop."""
    return _NOT_TEXT.sub("\ufffd", text)


def restored(row: Mapping[str, Any]) -> Row:
    """The row as it was before `exactly`."""
    plain = dict(row)
    if plain["exact"]:
        for name, value in json.loads(plain["exact"]).items():
            plain[name] = _number(value) if name in _FLOATS else value
    return plain


_FLOATS = frozenset(
    ("at", "draft_seconds", "verify_seconds", "total_seconds", "utilisation", "power", "temperature", "energy")
)


def merged(old: str | None, changes: Mapping[str, Any]) -> str | None:
    """The `exact` of a row after `changes` to its columns, which bring an `exact` of their own."""
    kept = {name: value for name, value in json.loads(old or "{}").items() if name not in changes}
    both = kept | json.loads(changes.get("exact") or "{}")
    return dumps(both) if both else None


def dumps(value: Any) -> str:
    """Compact JSON that every reader takes: "NaN", "Infinity" and "-Infinity" as strings, Unicode where it is valid."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), default=str)
    return text if text.isascii() or not _NOT_TEXT.search(text) else _escaped(text)


def _escaped(text: str) -> str:
    return _NOT_TEXT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value


def _token_list(token: Token) -> list[Any]:
    fields = [token.id, token.text, token.origin, token.target_prob, token.draft_prob]
    return fields if token.draft_prob is not None else fields[:4] if token.target_prob is not None else fields[:3]


def _tokens(text: str | None) -> tuple[Token, ...]:
    if not text:
        return ()
    return tuple(Token(i, t, origin, *map(_number, probs)) for i, t, origin, *probs in json.loads(text))


def _candidate_lists(positions: Candidates) -> list[list[list[Any]]] | None:
    if not positions:
        return None
    return [[[c.id, c.text, c.prob, c.logit][: 4 if c.logit is not None else 3] for c in best] for best in positions]


def _candidates(text: str | None) -> Candidates:
    if not text:
        return ()
    return tuple(tuple(_candidate(item) for item in best) for best in json.loads(text))


def _candidate(item: Iterable[Any]) -> Candidate:
    number, text, *numbers = item
    return Candidate(number, text, *map(_number, numbers))
