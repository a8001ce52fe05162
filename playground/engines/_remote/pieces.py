"""One message of a server's stream as a Piece, whoever sent it; what is malformed counts as not said.

Knows no network.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playground.engines._remote.reported import Reported, reported
from playground.events import Truncation


@dataclass(frozen=True, slots=True)
class Scored:
    """A token of the answer with its log-probability and the target's best at its place: (text, log-probability)."""

    text: str
    logprob: float
    best: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What one message says.

    Attributes:
        text: what it adds to the answer, reasoning included.
        ids: token ids it adds; None where the server names none.
        total: tokens of the answer so far, by the server's running count.
        scored: per token it adds, where log-probabilities were asked for.
        finish: why the answer ends with it; "" while it goes on. `ending`: what cut it, where that is said.
        prompt_ids, prompt_tokens: of the prompt; usage: the final count of tokens, from the message that says it.
    """

    text: str = ""
    ids: tuple[int, ...] | None = None
    total: int | None = None
    scored: tuple[Scored, ...] = ()
    finish: str = ""
    ending: Truncation | None = None
    prompt_ids: tuple[int, ...] | None = None
    prompt_tokens: int | None = None
    usage: int | None = None
    reported: Reported | None = None


def piece(message: Mapping[str, Any]) -> Piece:
    """Reads one message."""
    choices = message.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else None
    choice: Mapping[str, Any] = first or {}
    usage, timings = _mapping(message.get("usage")), _mapping(message.get("timings"))
    counted = _count(usage.get("completion_tokens"))
    finish = choice.get("finish_reason")
    return Piece(
        text=_text(choice),
        ids=_ids(choice.get("token_ids")),
        total=_count(timings.get("predicted_n")) if "predicted_n" in timings else counted if first else None,
        scored=_scored(choice.get("logprobs")),
        finish=finish if isinstance(finish, str) else "",
        ending=_ending(choice) if finish else None,
        prompt_ids=_ids(message.get("prompt_token_ids")) or _ids(choice.get("prompt_token_ids")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        usage=counted if first is None else None,
        reported=reported(message, choice),
    )


def _text(choice: Mapping[str, Any]) -> str:
    delta = _mapping(choice.get("delta"))
    parts = [delta.get("reasoning_content") or delta.get("reasoning"), delta.get("content"), choice.get("text")]
    return "".join(part for part in parts if isinstance(part, str))


def _ending(choice: Mapping[str, Any]) -> Truncation | None:
    """vLLM and TensorRT-LLM say `stop_reason`, SGLang `matched_stop`: a stop string, or nothing or an id for EOS."""
    match choice.get("finish_reason"):
        case "length":
            return "length"
        case "stop":
            said = choice.get("stop_reason", choice.get("matched_stop"))
            return "stop" if isinstance(said, str) else "eos"
        case _:
            return None


def _scored(logprobs: object) -> tuple[Scored, ...]:
    """Of a chat (`content`) or of a raw prompt (`tokens`, `token_logprobs`, `top_logprobs`)."""
    found = _mapping(logprobs)
    try:
        if isinstance(content := found.get("content"), list):
            return tuple(
                Scored(
                    str(item["token"]),
                    _logprob(item["logprob"]),
                    tuple((str(b["token"]), _logprob(b["logprob"])) for b in item.get("top_logprobs") or ()),
                )
                for item in content
            )
        if isinstance(tokens := found.get("tokens"), list):
            best = found.get("top_logprobs") or [{}] * len(tokens)
            return tuple(
                Scored(str(token), _logprob(logprob), tuple((str(t), _logprob(v)) for t, v in (top or {}).items()))
                for token, logprob, top in zip(tokens, found["token_logprobs"], best, strict=True)
            )
    except (AttributeError, KeyError, TypeError, ValueError):
        return ()
    return ()


def _logprob(value: Any) -> float:
    """Never above 0. Raises ValueError for what is no number."""
    found = float(value)
    if math.isnan(found):
        raise ValueError("no number")
    return min(found, 0.0)


def _ids(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    ids = tuple(item for item in value if isinstance(item, int) and not isinstance(item, bool) and 0 <= item < 2**31)
    return ids if len(ids) == len(value) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
