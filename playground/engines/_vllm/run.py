"""One run on vLLM: its sampling in vLLM's terms, and vLLM's outputs as our events, checked against vLLM's counters.

Knows vLLM's output objects by their attributes only, so that it can be tested without vLLM.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from playground.config import RunConfig
from playground.detokenise import BROKEN, TextStream, Vocabulary, decode
from playground.engines._vllm.options import ONE_HOT
from playground.engines._vllm.record import K_KEY, RECORDS_KEY, StepRecord
from playground.events import UNKNOWN_TOKEN_ID, Candidate, Event, Origin, Reason, RunFinished, Step, Token, Truncation
from playground.sentence import Sentence


def sampling_arguments(config: RunConfig, budget: int, seed: int, k: int | None, candidates: int) -> dict[str, Any]:
    """Keyword arguments of vLLM's `SamplingParams`.

    Stop strings are not among them: vLLM ends a step's ids after the token that completes one, we end with it.

    Args:
        budget: tokens to deliver at most. k: draft tokens wanted per step, None for as many as the engine drafts.
    """
    sampling = config.sampling
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repetition_penalty,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "min_tokens": min(sampling.min_tokens, budget),
        "max_tokens": budget,
        "seed": None if sampling.greedy else seed,
        "ignore_eos": sampling.ignore_eos,
        "detokenize": False,
        "logprobs": candidates or None,
        "extra_args": None if k is None else {K_KEY: k},
    }


class Run:
    """From vLLM's outputs for one request to its Steps and its RunFinished.

    Args:
        origin: `time.monotonic()` at submission.
        candidates: how many of the target's best are reported per position.
    """

    def __init__(self, config: RunConfig, vocabulary: Vocabulary, origin: float, candidates: int = 0) -> None:
        self._config, self._vocabulary, self._origin, self._candidates = config, vocabulary, origin, candidates
        self._stream = TextStream(vocabulary, config.sampling.stop, config.sampling.min_tokens)
        self._one_hot = config.speculation is not None and config.speculation.method in ONE_HOT
        self._ids: list[int] = []
        self._texts: list[str] = []
        self._judged: list[tuple[int, int]] = []
        self._prefill_counted = (0, 0, 0)
        self._last: StepRecord | None = None
        self._cut = 0
        self._index = 0
        self._problems: list[str] = []
        self.finished = False

    def take(self, output: Any) -> Iterator[Event]:
        """The events of one `RequestOutput` in delta mode. After its RunFinished there are no more."""
        completion = output.outputs[0]
        ids, logprobs = list(completion.token_ids), list(completion.logprobs or ())
        records = [StepRecord.unpacked(r) for r in (output.kv_transfer_params or {}).get(RECORDS_KEY, ())]
        if sum(record.delivered for record in records) != len(ids):
            self._problems.append(
                Sentence("vLLM put out {n} tokens where its scheduler told of other steps.", n=len(ids))
            )
            records = [StepRecord(time.monotonic(), [], 0, len(ids), len(self._ids) + len(ids), None)] if ids else []
        for number, record in enumerate(records, 1):
            now, ids = ids[: record.delivered], ids[record.delivered :]
            best, logprobs = logprobs[: record.delivered], logprobs[record.delivered :]
            reason = completion.finish_reason if number == len(records) else None
            yield self._step(record, now, best, _truncation(reason))
            if self._stream.stopped:
                yield self._finish("stop", completion.spec_decode_metrics if reason else None)
                return
        if completion.finish_reason in _REASONS:
            yield self._finish(_REASONS[completion.finish_reason], completion.spec_decode_metrics)
        elif completion.finish_reason is not None:
            words = f"vLLM ended this run itself ({completion.finish_reason})."
            yield self.failed(words, "Its log says why; try the run again.", "engine_failed")

    def cancelled(self) -> RunFinished:
        return self._finish("cancelled", None)

    def failed(self, error: str, hint: str, code: str) -> RunFinished:
        self.finished = True
        return RunFinished("error", self._now(), error=error, hint=hint, code=code)

    def _now(self) -> float:
        return time.monotonic() - self._origin

    def _step(self, record: StepRecord, ids: Sequence[int], best: Sequence[Any], ended: Truncation | None) -> Step:
        k, a = len(record.drafted), record.accepted
        self._check(record, ids)
        prefill = self._index == 0
        if prefill and record.counters:
            self._prefill_counted = record.counters
        elif k:
            self._judged.append((k, a))
        tokens, stopped = self._deliver(self._emitted(record, ids, best), last=ended is not None)
        self._cut += len(ids) - len(tokens)
        self._last = record
        step = Step(
            index=self._index,
            at=min(max(record.at - self._origin, 0.0), self._now()),
            tokens=tokens,
            rejected=() if prefill else self._rejected(record, best),
            num_draft_tokens=0 if prefill else k,
            num_accepted_tokens=0 if prefill else a,
            truncated="stop" if stopped else ended,
            logit_gaps=_gaps(best, self._config.sampling.temperature) if self._candidates > 1 else (),
            target_candidates=tuple(self._best(b) for b in best) if self._candidates else (),
        )
        self._index += 1
        return step

    def _emitted(self, record: StepRecord, ids: Sequence[int], best: Sequence[Any]) -> list[Token]:
        k, a = len(record.drafted), record.accepted
        last: Origin = "target" if k == 0 or self._index == 0 else "bonus" if a == k else "recovered"
        tokens = []
        for i, token_id in enumerate(ids):
            prob = _prob(best[i].get(token_id)) if i < len(best) else None
            origin: Origin = "accepted" if i < a else last
            tokens.append(Token(token_id, "", origin, prob, 1.0 if i < a and self._one_hot else None))
        return tokens

    def _rejected(self, record: StepRecord, best: Sequence[Any]) -> tuple[Token, ...]:
        """The refused draft token and those behind it, which the target never judged."""
        found = []
        for i in range(record.accepted, len(record.drafted)):
            token_id = record.drafted[i] if record.drafted[i] >= 0 else UNKNOWN_TOKEN_ID
            text = self._vocabulary.readable(token_id) if token_id >= 0 else ""
            judged = i == record.accepted and i < len(best)
            prob = _prob(best[i].get(token_id)) if judged else None
            found.append(Token(token_id, text, "rejected", prob, 1.0 if self._one_hot else None))
        return tuple(found)

    def _deliver(self, emitted: list[Token], *, last: bool) -> tuple[tuple[Token, ...], bool]:
        """Tokens up to the one that completes a stop string, with their texts; `last`: no more will follow."""
        delivered: list[Token] = []
        for number, token in enumerate(emitted, 1):
            self._ids.append(token.id)
            text = self._stream.push(token.id)
            if last and number == len(emitted):
                text += self._stream.flush()
            self._texts.append(text)
            delivered.append(replace(token, text=text))
            if self._stream.stopped:
                break
        return tuple(delivered), self._stream.stopped

    def _check(self, record: StepRecord, ids: Sequence[int]) -> None:
        """What must hold inside one step, whatever vLLM counts."""
        k, a = len(record.drafted), record.accepted
        where = self._index
        if not 0 <= a <= k:
            self._problems.append(
                Sentence("In step {where} vLLM accepted {a} of {k} draft tokens.", where=where, a=a, k=k)
            )
        if record.delivered > a + 1:
            self._problems.append(
                Sentence(
                    "In step {where} vLLM put out {delivered} tokens with {a} accepted.",
                    where=where,
                    delivered=record.delivered,
                    a=a,
                )
            )
        wrong = [i for i in range(min(a, len(ids), k)) if record.drafted[i] >= 0 and record.drafted[i] != ids[i]]
        if wrong:
            self._problems.append(
                Sentence("In step {where} an accepted draft token is not the one that was put out.", where=where)
            )

    def _best(self, position: dict[int, Any]) -> tuple[Candidate, ...]:
        ranked = sorted(position.items(), key=lambda item: -item[1].logprob)[: self._candidates]
        read = self._vocabulary.readable
        return tuple(Candidate(id_, read(id_), math.exp(lp.logprob)) for id_, lp in ranked if lp.logprob > -math.inf)

    def _finish(self, reason: Reason, detailed: Any) -> RunFinished:
        self.finished = True
        text = self._text()
        counters = self._counters(detailed)
        usage = None if self._last is None else self._last.total_delivered - self._cut
        return RunFinished(
            reason=reason,
            at=self._now(),
            text=text,
            usage_completion_tokens=usage,
            engine_counters=counters,
            reconciled=None if usage is None else not self._problems,
            problems=tuple(dict.fromkeys(self._problems)),
        )

    def _counters(self, detailed: Any) -> dict[str, Any] | None:
        """vLLM's own counters under our names; its lists per step, where the run's end brought them, are compared."""
        if self._last is None or self._last.counters is None:
            return None
        steps, drafted, accepted = (
            all_ - prefill for all_, prefill in zip(self._last.counters, self._prefill_counted, strict=True)
        )
        if detailed is not None and detailed.per_step_drafted:
            theirs = list(zip(detailed.per_step_drafted, detailed.per_step_accepted, strict=True))
            if theirs[self._prefill_counted[0] :] != self._judged:
                self._problems.append(
                    Sentence("vLLM's list of drafted and accepted tokens per step differs from the trace.")
                )
        return {"num_drafting_steps": steps, "num_draft_tokens": drafted, "num_accepted_tokens": accepted}

    def _text(self) -> str:
        """The whole shown text; where it is not the one-shot decoding of the ids, that is a problem."""
        whole = decode(self._vocabulary.tokenizer, self._ids)
        held = self._stream.flush()
        shown = "".join(self._texts) + held
        if BROKEN in whole:  # bytes that are no character have no one right text: not compared
            return shown
        stops = self._config.sampling.stop if self._stream.stopped else ("",)
        exact = shown == whole if not self._stream.stopped else any(whole.startswith(shown + stop) for stop in stops)
        if not exact:
            self._problems.append(Sentence("The shown text is not the one-shot decoding of the delivered tokens."))
        return shown


def _prob(logprob: Any) -> float | None:
    return None if logprob is None else math.exp(logprob.logprob)


def _gaps(positions: Sequence[dict[int, Any]], temperature: float) -> tuple[float, ...]:
    """Per position the best logit minus the second best; () where a filter hid the second.

    Log-probabilities after a temperature differ as logits do, divided by it.
    """
    gaps = []
    for position in positions:
        first, second = sorted((lp.logprob for lp in position.values()), reverse=True)[:2]
        gaps.append(float(first - second) * (temperature or 1.0))
    return tuple(gaps) if all(math.isfinite(gap) for gap in gaps) else ()


def _truncation(reason: str | None) -> Truncation | None:
    match reason:
        case "stop":
            return "eos"
        case "length":
            return "length"
        case _:
            return None


_REASONS: dict[str | None, Reason] = {"stop": "stop", "length": "length", "abort": "cancelled"}
"""vLLM's finish reasons as ours."""
