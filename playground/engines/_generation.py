"""One run of the embedded engine: prefill, then draft, verify, deliver, until it ends. The step loop.

The baseline is this loop with nothing drafted. Per step one host sync; nothing here grows with the length. Knows the
models, the drafter and events; nothing of queues, threads or loading.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from playground.config import SamplingParams
from playground.decoding.hidden import HiddenStates
from playground.decoding.law import History, SamplingLaw
from playground.decoding.model import ModelSession
from playground.decoding.transfer import to_host
from playground.decoding.verify import verify
from playground.detokenise import BROKEN, TextStream, raw_decode
from playground.drafters import Draft, Drafter
from playground.engines._loading import Loaded
from playground.engines._reporting import Reporter
from playground.engines._timing import StepTimer
from playground.errors import PlaygroundError
from playground.events import Event, Reason, RunFinished, Step, Token, Truncation
from playground.processor_wait import ProcessorWait
from playground.sentence import Sentence

ROOM = 2048
"""Tokens of an answer that caches make room for at once; longer ones grow. A budget may be far more than is used."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one run is to do.

    `budget`: tokens to deliver at most, by max_tokens and the context. `k`: tokens to draft at most, 0 without drafter.
    `aborted` is asked before every forward pass. `origin`: `time.perf_counter()` at submission. `hidden`: where the
    target's hidden states are left for a drafter that reads them.
    """

    target: Loaded
    prompt: list[int]
    sampling: SamplingParams
    law: SamplingLaw
    budget: int
    generator: torch.Generator | None
    drafter: Drafter | None
    k: int
    candidates: int
    chunk: int
    aborted: Callable[[], bool]
    origin: float
    hidden: HiddenStates | None = None


class Generation:
    """Runs a plan once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        target, sampling = plan.target, plan.sampling
        self._eos = frozenset() if sampling.ignore_eos else target.eos_ids
        self._device = target.model.device
        expected = len(plan.prompt) + min(plan.budget, ROOM)
        taps = plan.hidden.taps if plan.hidden else ()
        self._session = ModelSession(target.model, target.vocab_size, expected, taps)
        self._history = History(plan.law, plan.prompt, target.vocab_size, self._device)
        self._stream = TextStream(target.vocabulary, sampling.stop, sampling.min_tokens)
        self._context = list(plan.prompt)
        self._timer = StepTimer(self._device)
        self._nothing = Draft(token_ids=torch.empty(0, dtype=torch.long, device=self._device))
        self._last = self._nothing.token_ids
        self._report = Reporter(target.vocabulary, plan.law, plan.candidates)
        self._texts: list[str] = []
        self._index = 0
        self._reason: Reason | None = None
        self._wait = ProcessorWait()

    def events(self) -> Iterator[Event]:
        """Steps, then RunFinished. Raises PlaygroundError where the run cannot go on."""
        logits = self._prefill()
        self._wait = ProcessorWait()
        if logits is not None:
            yield self._judge(logits, self._nothing)
        while self._reason is None and not self._aborted():
            yield self._step()
        yield self._finished()

    @property
    def _delivered(self) -> int:
        return len(self._context) - len(self._plan.prompt)

    def _aborted(self) -> bool:
        if self._plan.aborted():
            self._reason = "cancelled"
            return True
        return False

    def _prefill(self) -> Tensor | None:
        """Read the prompt in chunks, target and drafter in turn: logits after its last token; None when aborted."""
        plan, end = self._plan, 0
        self._timer.start()
        logits: Tensor | None = None
        for chunk in torch.tensor(plan.prompt, dtype=torch.long, device=self._device).split(plan.chunk):
            if self._aborted():
                return None
            logits = self._feed(chunk, keep=1)
            self._timer.verified()
            end += len(chunk)
            if plan.drafter is not None:
                if self._aborted():
                    return None
                plan.drafter.propose(self._context if end == len(plan.prompt) else plan.prompt[:end], 0)
                self._timer.drafted()
        return logits

    def _feed(self, ids: Tensor, keep: int) -> Tensor:
        logits = self._session.feed(ids, keep)
        if self._plan.hidden is not None:
            self._plan.hidden.append(self._session.tapped)
        return logits

    def _rewind(self, length: int) -> None:
        self._session.rewind(length)
        if self._plan.hidden is not None:
            self._plan.hidden.rewind(length)

    def _step(self) -> Step:
        plan = self._plan
        self._timer.start()
        draft = self._nothing
        # Never draft what could not be delivered: after k accepted tokens one more always follows.
        k = min(plan.k, plan.budget - self._delivered - 1)
        if plan.drafter is not None and k > 0:
            draft = plan.drafter.propose(self._context, k)
            if len(draft.token_ids) > k:
                raise PlaygroundError(
                    Sentence(
                        "The drafter proposed {proposed} tokens where {k} were asked.",
                        proposed=len(draft.token_ids),
                        k=k,
                    ),
                    Sentence("This is a defect of the drafting method; report it."),
                    code="drafter_contract",
                )
        self._timer.drafted()
        ids = torch.cat((self._last, draft.token_ids)) if len(draft.token_ids) else self._last
        return self._judge(self._feed(ids, keep=len(ids)), draft)

    def _judge(self, logits: Tensor, draft: Draft) -> Step:
        """Verify, learn the outcome in one sync, rewind what was refused, deliver the rest."""
        plan, k = self._plan, len(draft.token_ids)
        scores = plan.law.scores(logits, self._history, draft.token_ids)
        verdict = verify(
            plan.law,
            logits,
            scores,
            draft.token_ids,
            draft.probs,
            generator=plan.generator,
            candidates=plan.candidates,
        )
        tensors = self._report.tensors(verdict, draft, self._history)
        self._timer.verified()
        host = to_host(tensors)
        at = time.perf_counter() - plan.origin
        self._report.check(host)
        accepted = int(host["num_accepted"])
        self._rewind(self._session.length - (k - accepted))
        self._last = verdict.next_id.view(1)
        tokens, truncated = self._deliver(self._report.emitted(host))
        draft_seconds, verify_seconds = self._timer.seconds()
        step = Step(
            index=self._index,
            at=at,
            tokens=tokens,
            rejected=self._report.rejected(host),
            num_draft_tokens=k,
            num_accepted_tokens=accepted,
            truncated=truncated,
            draft_seconds=draft_seconds,
            verify_seconds=verify_seconds,
            logit_gaps=tuple(host["gaps"][: accepted + 1]),
            target_candidates=self._report.candidates(host, "best", accepted + 1),
            draft_candidates=self._report.candidates(host, "draft_best", k),
        )
        self._index += 1
        return step

    def _deliver(self, emitted: list[Token]) -> tuple[tuple[Token, ...], Truncation | None]:
        """Tokens up to the first that ends the run, with their texts; what ended it, if anything did."""
        delivered: list[Token] = []
        truncated: Truncation | None = None
        for token in emitted:
            self._context.append(token.id)
            text = self._stream.push(token.id)
            # A stop string that ends with the last token the budget allows still counts as a stop.
            if token.id in self._eos:
                truncated = "eos"
            elif self._stream.stopped:
                truncated = "stop"
            elif self._delivered >= self._plan.budget:
                truncated = "length"
            if truncated:
                text += self._stream.flush()
                self._reason = "length" if truncated == "length" else "stop"
            self._texts.append(text)
            delivered.append(replace(token, text=text))
            if truncated:
                break
        self._history.append([token.id for token in delivered])
        return tuple(delivered), truncated

    def _finished(self) -> RunFinished:
        assert self._reason is not None
        plan = self._plan
        raw = raw_decode(plan.target.tokenizer, self._context[len(plan.prompt) :])
        whole = raw.rstrip(BROKEN)
        shown = "".join(self._texts) + self._stream.flush()
        text = whole[: len(shown)] if self._stream.stopped else whole
        problems = []
        if not self._is_all(shown, whole):
            if BROKEN in raw:
                # Bytes that are no character have no one right text: byte fall-back rereads them as a run.
                text = shown
            else:
                problems.append(Sentence("The shown text is not the one-shot decoding of the delivered tokens."))
        return RunFinished(
            reason=self._reason,
            at=time.perf_counter() - plan.origin,
            text=text,
            usage_completion_tokens=self._delivered,
            engine_counters={"processor_wait": self._wait.share()},
            reconciled=not problems,
            problems=tuple(problems),
        )

    def _is_all(self, shown: str, whole: str) -> bool:
        if not self._stream.stopped:
            return shown == whole
        return any(whole.startswith(shown + stop) for stop in self._plan.sampling.stop)
