"""One run on a server: its messages as our events, checked against what the server counts. Knows no network.

A message is one pass of the target where the server sends one a pass (vLLM, SGLang, TensorRT-LLM): all its tokens but
the last were accepted drafts. What was rejected no server says while it streams.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from playground.config import RunConfig
from playground.detokenise import TextStream, Vocabulary
from playground.engines._remote.dialects import dialect
from playground.engines._remote.options import Kind
from playground.engines._remote.pieces import Piece, Scored
from playground.engines._remote.reported import Reported
from playground.errors import PlaygroundError
from playground.events import (
    UNKNOWN_TOKEN_ID,
    Candidate,
    Event,
    Origin,
    Reason,
    RunFinished,
    RunStarted,
    Step,
    Token,
    Truncation,
)
from playground.sentence import Sentence

SLACK = 64
"""Tokens beyond max_tokens after which a stream is ended: no method drafts more."""

LONGEST_TEXT = 1 << 22
"""Characters after which it is ended, whatever it says of tokens."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is known of a server before a run: from asking it and from the warm-up."""

    kind: Kind
    names_tokens: bool
    counts_tokens: bool
    full_drafts: bool | None = None
    k: int | None = None

    @property
    def passes(self) -> bool:
        """Whether a message is a pass, with as many tokens as it says."""
        return dialect(self.kind).passes and self.counts_tokens

    def untold(self, *, speculative: bool) -> dict[str, str]:
        """Topic -> why, for `RunStarted.environment`."""
        server = dialect(self.kind).title
        found: dict[str, str] = {}
        if not self.names_tokens:
            found["ids"] = Sentence(
                "{server} does not say which tokens it sends here: outputs are compared by their text.", server=server
            )
        if not self.counts_tokens:
            found["counts"] = Sentence("{server} says how many tokens there were only at the end.", server=server)
        if speculative and not self.passes:
            found["steps"] = Sentence(
                "{server} does not say which pass of the target its tokens came from: no colours, no tokens per step.",
                server=server,
            )
        if speculative:
            found["drafts"] = Sentence(
                "{server} does not say while it streams what was drafted and rejected; its own totals, if it has "
                "any, come with the end.",
                server=server,
            )
        return found


class Run:
    """From pieces to Steps and a RunFinished.

    Args:
        origin: `time.monotonic()` at submission.
        vocabulary: the tokenizer's, to share a message's text out over its tokens; None leaves it together.
        environment: of the RunStarted, complete.
    """

    def __init__(
        self,
        config: RunConfig,
        told: Told,
        environment: dict[str, Any],
        origin: float,
        vocabulary: Vocabulary | None = None,
        candidates: int = 0,
    ) -> None:
        self._config, self._told, self._environment, self._origin = config, told, environment, origin
        self._speculative = config.speculation is not None
        self._splitter = TextStream(vocabulary) if vocabulary and told.names_tokens else None
        self._candidates = candidates
        self._started = False
        self._index = 0
        self._count = self._size = 0
        self._prompt_tokens: int | None = None
        self._text: list[str] = []
        self._held = ""
        self._sizes: list[int] = []
        self._problems: list[str] = []
        self._notes: list[str] = []
        self._usage: int | None = None
        self._reported: Reported | None = None
        self._finish = ""
        self._ending: Truncation | None = None

    @property
    def complete(self) -> bool:
        """Whether the server has said how the answer ends."""
        return bool(self._finish)

    @property
    def runaway(self) -> bool:
        """Whether the server has sent more than was asked for, and is not to be listened to any longer."""
        return self._count > self._most or self._size > LONGEST_TEXT

    @property
    def _most(self) -> int:
        return self._config.sampling.max_tokens + SLACK

    @property
    def usage(self) -> int | None:
        return self._usage

    @property
    def has_figures(self) -> bool:
        """Whether the server has reported its speculation for this answer."""
        return self._reported is not None and self._reported.tokens_per_pass is None

    def started(self, piece: Piece | None = None) -> Iterator[Event]:
        """RunStarted, once; with the prompt's tokens where a first piece names them."""
        if not self._started:
            self._started = True
            yield RunStarted(piece.prompt_ids or () if piece else (), "", self._environment)

    def take(self, piece: Piece, now: float) -> Iterator[Event]:
        """The events of one piece that came at `time.monotonic()` = `now`."""
        yield from self.started(piece)
        if piece.usage is not None:
            self._usage = piece.usage
        if piece.reported is not None:
            self._reported = piece.reported
        self._prompt_tokens = piece.prompt_tokens or self._prompt_tokens
        if piece.finish:
            self._finish, self._ending = piece.finish, piece.ending
            self._usage = piece.total if self._usage is None else self._usage
        n = min(self._new_tokens(piece), self._most + 1 - self._count)
        self._held += piece.text
        self._size += len(piece.text)
        if n:
            yield self._step(n, piece, now)

    def _new_tokens(self, piece: Piece) -> int:
        """How many tokens this piece adds; where nobody counts, one for each piece of text."""
        named = None if piece.ids is None else len(piece.ids)
        if not self._told.counts_tokens:
            return int(bool(piece.text))
        if piece.total is None:
            return named or 0
        n = piece.total - self._count
        if named is not None and n != named:
            self._problem(
                Sentence(
                    "The server counts {counted} tokens where it has named {sent}.",
                    counted=piece.total,
                    sent=self._count + named,
                )
            )
            return named
        if n < 0:
            self._problem(
                Sentence(
                    "The server's count of tokens fell from {sent} to {counted}.", sent=self._count, counted=piece.total
                )
            )
        return max(n, 0)

    def _step(self, n: int, piece: Piece, now: float) -> Step:
        prefill = self._index == 0
        accepted = n - 1 if self._speculative and self._told.passes and not prefill else 0
        texts = self._shared_out(n, piece)
        ids = piece.ids[:n] if piece.ids is not None and len(piece.ids) >= n else (UNKNOWN_TOKEN_ID,) * n
        scored = piece.scored if len(piece.scored) == n else ()
        tokens = []
        for i, (token_id, text) in enumerate(zip(ids, texts, strict=True)):
            origin: Origin = "accepted" if i < accepted else "target"
            tokens.append(Token(token_id, text, origin, math.exp(scored[i].logprob) if scored else None))
        step = Step(
            index=self._index,
            at=max(0.0, now - self._origin),
            tokens=tuple(tokens),
            num_accepted_tokens=accepted,
            truncated=self._ending if piece.finish else None,
            target_candidates=tuple(_candidates(s, self._candidates) for s in scored),
            logit_gaps=_gaps(scored, self._candidates) if scored and self._config.sampling.greedy else (),
        )
        self._index += 1
        self._count += n
        if not prefill:
            self._sizes.append(n)
        return step

    def _shared_out(self, n: int, piece: Piece) -> list[str]:
        """The text so far held, one part a token; together on the first where nothing says how it divides."""
        text, self._held = self._held, ""
        self._text.append(text)
        if n == 1:
            parts = [text]
        elif len(piece.scored) == n and "".join(s.text for s in piece.scored) == text:
            return [s.text for s in piece.scored]
        else:
            parts = []
        if self._splitter is not None and piece.ids is not None:
            pushed = [self._splitter.push(token_id) for token_id in piece.ids[:n]]
            if len(pushed) == n and "".join(pushed) == text:
                return pushed
            if not text.isspace() and text:
                self._splitter = None  # another tokenizer, or text that is held back: out of step for good
        return parts or [text, *[""] * (n - 1)]

    # -- the end ----------------------------------------------------------------------------------------------------

    def cancelled(self) -> Iterator[Event]:
        yield from self.started()
        yield self._finished("cancelled", partial=True)

    def failed(self, error: PlaygroundError) -> Iterator[Event]:
        """With what has come so far, if anything has."""
        if self._index:
            text = "".join(self._text) + self._held
            yield RunFinished("error", self._now(), text, error=error.message, hint=error.hint, code=error.code)
        else:
            yield RunFinished("error", self._now(), error=error.message, hint=error.hint, code=error.code)

    def finished(self, server_wide: Reported | None = None, notes: tuple[str, ...] = ()) -> Iterator[Event]:
        """The end of a whole answer. `server_wide`: the server's counters over this run, where it reports no other."""
        yield from self.started()
        self._notes += notes
        yield from self._last_tokens()
        if self._finish not in ("stop", "length"):
            self._notes.append(Sentence("The server ended the answer with “{reason}”.", reason=self._finish[:40]))
        if self.runaway or self._count > self._config.sampling.max_tokens:
            limit = self._config.sampling.max_tokens
            self._problem(
                Sentence(
                    "The server sent {sent} tokens where at most {limit} were asked for.", sent=self._count, limit=limit
                )
            )
        if server_wide is not None and not self.has_figures:
            self._reported = server_wide
        yield self._finished("length" if self._finish == "length" else "stop")

    def _last_tokens(self) -> Iterator[Event]:
        """Tokens that only the final count knows of: an end-of-sequence token has no text, so no message of its own."""
        if not self._told.counts_tokens or self._told.names_tokens or self._usage is None:
            return
        missing = self._usage - self._count
        if 0 < missing <= SLACK and self._index:
            yield self._step(missing, Piece(finish=self._finish), time.monotonic())

    def _finished(self, reason: Reason, *, partial: bool = False) -> RunFinished:
        counters: dict[str, Any] = {}
        if not partial:
            counters = self._figures()
        if self._prompt_tokens is not None:
            counters["num_prompt_tokens"] = self._prompt_tokens
        if self._notes:
            counters["notes"] = list(dict.fromkeys(self._notes))
        # Named ids and the server's count are two things; a running count and its end are one.
        compared = self._usage is not None and self._told.names_tokens and not partial
        return RunFinished(
            reason=reason,
            at=self._now(),
            text="".join(self._text) + self._held,
            usage_completion_tokens=None if partial else self._usage,
            engine_counters=counters or None,
            reconciled=False if self._problems else True if compared else None,
            problems=tuple(dict.fromkeys(self._problems)),
        )

    def _figures(self) -> dict[str, Any]:
        """The server's own figures, compared with the stream where both say the same thing."""
        found = self._reported
        if not self._speculative:
            self._check_baseline(found)
            return {}
        if found is None:
            self._notes.append(
                Sentence(
                    "The server reports nothing of its speculation (vLLM does with --per-request-spec-decode-metrics)."
                )
                if self._told.kind == "vllm"
                else Sentence("The server reports nothing of its speculation.")
            )
            return {}
        if self._told.kind == "sglang" and not self._told.full_drafts:
            found = replace(found, drafted=None, k=None)
            self._notes.append(
                Sentence("SGLang counts drafts as if each had full length, which n-gram drafts have not: left out.")
            )
        self._problems += found.problems()
        merged = self._compare_passes(found)
        return {"source": found.source} | ({"num_steps": 0} if merged else {}) | found.counters()

    def _compare_passes(self, found: Reported) -> bool:
        """Passes and accepted tokens, as the stream shows them and as the server counts them; True for fewer shown."""
        if not self._told.passes or not self._sizes:
            return False
        passes, shown = len(self._sizes), sum(n - 1 for n in self._sizes)
        if found.tokens_per_pass is not None:
            ours = (passes + shown) / passes
            if abs(ours - found.tokens_per_pass) > 0.1 * ours + 1 / passes:
                self._notes.append(
                    Sentence(
                        "The server reports {said:.3g} tokens per pass, its stream shows {held:.3g}.",
                        said=found.tokens_per_pass,
                        held=ours,
                    )
                )
        if found.steps is not None and found.steps > passes:
            self._notes.append(
                Sentence(
                    "The server sent {passes} passes in {messages} messages: colours are by message.",
                    passes=found.steps,
                    messages=passes,
                )
            )
            return True
        # The last pass may have accepted more than was delivered.
        most = shown + (found.k or SLACK)
        if found.accepted is not None and found.source.startswith("metrics") and not shown <= found.accepted <= most:
            self._problem(
                Sentence(
                    "The server counts {counted} accepted draft tokens, its stream shows {shown}.",
                    counted=found.accepted,
                    shown=shown,
                )
            )
        return False

    def _check_baseline(self, found: Reported | None) -> None:
        if found is not None and found.speculated:
            self._problem(Sentence("This server speculates, so that this run is no baseline."))
        elif self._told.passes and any(n > 1 for n in self._sizes):
            self._notes.append(
                Sentence(
                    "Some messages held several tokens: this server speculates or sends passes together; if it "
                    "speculates this run is no baseline."
                )
            )

    def _problem(self, sentence: str) -> None:
        self._problems.append(sentence)

    def _now(self) -> float:
        return time.monotonic() - self._origin


def _candidates(scored: Scored, most: int) -> tuple[Candidate, ...]:
    """Servers name candidates by their text."""
    best = sorted(scored.best, key=lambda item: -item[1])[:most]
    return tuple(Candidate(UNKNOWN_TOKEN_ID, text, math.exp(logprob)) for text, logprob in best)


def _gaps(scored: tuple[Scored, ...], asked: int) -> tuple[float, ...]:
    """Per position the best logit minus the second best; () where fewer than two, or than were asked for, are said."""
    gaps = []
    for item in scored:
        best = sorted((logprob for _, logprob in item.best), reverse=True)[:2]
        # Servers that list them by text merge tokens that read alike: the second best may then be missing.
        if len(item.best) < max(2, asked) or not all(map(math.isfinite, best)):
            return ()
        gaps.append(best[0] - best[1])
    return tuple(gaps)
