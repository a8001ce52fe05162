"""The scripted engine's plan of one run: all of its events, known beforehand, with the times they are due.

Knows no clock and no failure: it plans, scripted.py performs.
"""

import random
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from playground.config import RunConfig, Speculation
from playground.engines._texts import Source, pieces, split
from playground.events import Candidate, Candidates, Event, Origin, RunFinished, RunStarted, Step, Token, Truncation
from playground.sentence import Sentence

EOS = 2
_FIRST_ID = 100


class ScriptedOptions(BaseModel):
    """What the canned stream looks like and how it fails."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Source = Field("lorem", title="Text", description="Which canned text is written.")
    length: int = Field(120, ge=0, le=200_000, title="Length", description="Tokens before the end-of-sequence token.")
    steps_seed: int = Field(1, ge=0, title="Steps seed", description="Decides where drafts are accepted.")
    tokens_per_second: float = Field(
        40.0, gt=0, le=1e6, title="Tokens per second", description="Baseline speed: one target pass per token."
    )
    pace: bool = Field(True, title="Pace", description="Wait between steps; off sends all at once, same times.")
    acceptance: float = Field(0.7, ge=0, le=1, title="Acceptance", description="Chance of a draft token to be right.")
    no_draft: float = Field(0.0, ge=0, le=1, title="No draft", description="Share of steps with nothing drafted.")
    draft_cost: float = Field(
        0.08, ge=0, le=10, title="Draft cost", description="Time of one draft token, in target passes."
    )
    candidates: int = Field(5, ge=0, le=10, title="Candidates", description="Best tokens reported per position.")
    split: bool = Field(True, title="Split", description="Report draft and verify seconds.")
    prefill_seconds: float = Field(0.1, ge=0, le=600, title="Prefill", description="Seconds to the first token.")
    load_seconds: float = Field(0.3, ge=0, le=600, title="Load", description="Seconds to load.")
    separate_baseline: bool = Field(False, title="Separate baseline", description="Each arm is another load.")
    diverge_at: int = Field(
        0, ge=0, title="Diverge at", description="The speculative arm differs from this output position on; 0: never."
    )
    divergence: Literal["tie", "mismatch"] = Field(
        "tie", title="Divergence", description="Whether the logit gap there excuses it."
    )
    processor_wait: float | None = Field(
        None, ge=0, le=1, title="Processor wait", description="Report that other programs held the processor so long."
    )
    miscount: bool = Field(False, title="Miscount", description="Report a usage that does not reconcile.")
    device: str = Field("", title="Device", description="Name of the device lock to take; empty takes none.")
    fail: Literal["", "load", "oom", "mid_run", "nan", "crash", "exit", "hang"] = Field(
        "", title="Failure", description="load, oom: while loading; the others half-way through a run."
    )


class Script:
    """The whole stream of one run as (planned seconds, event), known beforehand."""

    def __init__(self, config: RunConfig, options: ScriptedOptions, prompt: str) -> None:
        self.config, self.options, self.prompt = config, options, prompt
        self.vocabulary = sorted(set(pieces(options.source)))
        self._ids = {text: _FIRST_ID + i for i, text in enumerate(self.vocabulary)}
        self.tokens, self.reason, self.truncated = self._plan()
        self.text = "".join(text for _, text in self.tokens)

    def __iter__(self) -> Iterator[tuple[float, Event]]:
        yield 0.0, self._started()
        at, done, index = self.options.prefill_seconds, 0, 0
        draft_tokens = accepted_tokens = 0
        while done < len(self.tokens):
            step = self._step(index, done)
            seconds = (step.draft_seconds or 0.0) + (step.verify_seconds or 0.0)
            at += seconds
            draft_tokens += step.num_draft_tokens
            accepted_tokens += step.num_accepted_tokens
            hidden: dict[str, Any] = (
                {} if self.options.split and index else {"draft_seconds": None, "verify_seconds": None}
            )
            yield at, replace(step, at=at, **hidden)
            done += len(step.tokens)
            index += 1
        usage = done + self.options.miscount
        counters: dict[str, Any] = {"num_draft_tokens": draft_tokens, "num_accepted_tokens": accepted_tokens}
        if self.options.processor_wait is not None:
            counters["processor_wait"] = self.options.processor_wait
        yield at, RunFinished(self.reason, at, self.text, usage, counters, reconciled=True)

    def _started(self) -> RunStarted:
        config = self.config
        before = "".join(f"<{m.role}>{m.content}</{m.role}>\n" for m in config.history)
        text = f"{config.system_prompt}\n{before}<user>{self.prompt}</user>\n" if config.chat else self.prompt
        ids = tuple(_FIRST_ID + zlib.crc32(piece.encode()) % 40_000 for piece in split(text))
        environment = {
            "engine": "scripted",
            "target": config.target,
            "dtype": "float32",
            "device": "scripted",
            "seed": config.sampling.seed if config.sampling.seed is not None else self.options.steps_seed,
            "greedy": config.sampling.greedy,
            "warnings": [Sentence("Canned text: nothing here is measured.")],
        }
        return RunStarted(ids, text, environment)

    def _plan(self) -> tuple[list[tuple[int, str]], Literal["stop", "length"], Truncation]:
        """Delivered (id, text), cut by EOS, a stop string or max_tokens, whichever comes first."""
        sampling, options = self.config.sampling, self.options
        script = pieces(options.source)
        eos = sampling.max_tokens if sampling.ignore_eos else max(options.length, sampling.min_tokens)
        tokens = [self._token(script, i) for i in range(min(eos, sampling.max_tokens))]
        ends_in_eos = eos < sampling.max_tokens
        joined = "".join(text for _, text in tokens)
        guarded = sum(len(text) for _, text in tokens[: sampling.min_tokens])
        ends = [(i, i + len(s)) for s in sampling.stop if (i := joined.find(s, guarded)) >= 0]
        if ends:
            return _cut(tokens, *min(ends, key=lambda span: span[1])), "stop", "stop"
        if ends_in_eos:
            return [*tokens, (EOS, "")], "stop", "eos"
        return tokens, "length", "length"

    def _token(self, script: tuple[str, ...], position: int) -> tuple[int, str]:
        text = script[position % len(script)]
        diverge = self.options.diverge_at
        if self.config.speculation and diverge and position >= diverge:
            text = script[(position * 7 + 3) % len(script)]
            if position == diverge and text == script[position % len(script)]:
                text = f" {text}"
        return self._ids.get(text, _FIRST_ID + len(self._ids)), text

    def _step(self, index: int, done: int) -> Step:
        """The pass that emits the tokens from position `done` on."""
        rng = random.Random(f"{self.options.steps_seed}/{index}")
        k, a = self._drafted(self.config.speculation, rng) if index else (0, 0)
        emitted = self.tokens[done : done + a + 1]
        rejected = [self._wrong(rng, done + i) for i in range(a, k)]
        last: Origin = "target" if k == 0 else "bonus" if a == k else "recovered"
        accepted: list[Origin] = ["accepted"] * a
        per_pass = 1.0 / self.options.tokens_per_second
        return Step(
            index,
            0.0,
            tuple(
                Token(id, text, origin, self._prob(done + i), self._draft_prob(done + i) if i < k else None)
                for i, ((id, text), origin) in enumerate(zip(emitted, [*accepted, last], strict=False))
            ),
            tuple(
                Token(
                    id, text, "rejected", self._other_prob(done + a) if i == 0 else None, self._draft_prob(done + a + i)
                )
                for i, (id, text) in enumerate(rejected)
            ),
            k,
            a,
            self.truncated if done + len(emitted) >= len(self.tokens) else None,
            (0.002 if self._one_hot else self.options.draft_cost) * k * per_pass if index else 0.0,
            per_pass * (1 + 0.02 * k) if index else 0.0,
            tuple(self._gap(done + i) for i in range(a + 1)),
            *self._candidates(done, a, rejected),
        )

    def _drafted(self, speculation: Speculation | None, rng: random.Random) -> tuple[int, int]:
        """(k, a) of a decode step."""
        if speculation is None or rng.random() < self.options.no_draft:
            return 0, 0
        k = a = speculation.num_speculative_tokens
        for i in range(k):
            if rng.random() >= self.options.acceptance:
                a = i
                break
        return k, a

    def _wrong(self, rng: random.Random, position: int) -> tuple[int, str]:
        """A drafted token the target does not write at `position`."""
        place = rng.randrange(len(self.vocabulary))
        if _FIRST_ID + place == self._right(position)[0]:
            place = (place + 1) % len(self.vocabulary)
        return _FIRST_ID + place, self.vocabulary[place]

    def _right(self, position: int) -> tuple[int, str]:
        return self.tokens[position] if position < len(self.tokens) else (EOS, "")

    def _candidates(self, done: int, a: int, rejected: list[tuple[int, str]]) -> tuple[Candidates, Candidates]:
        """The target's at verified positions 0..a, the draft's at drafted positions."""
        if not self.options.candidates:
            return (), ()
        right = [self._right(done + i) for i in range(a + 1)]
        target = tuple(
            self._law(done + i, "target", [token, *rejected[:1]] if i == a else [token], self._prob(done + i))
            for i, token in enumerate(right)
        )
        if self._one_hot:
            return target, ()
        drafted = [*right[:a], *rejected] if rejected else right[:a]
        return target, tuple(
            self._law(done + i, "draft", [token], self._draft_prob(done + i)) for i, token in enumerate(drafted)
        )

    def _law(self, position: int, model: str, best: list[tuple[int, str]], prob: float) -> tuple[Candidate, ...]:
        """Made-up best tokens, `best` first, their probabilities falling from `prob`."""
        rng = random.Random(f"{self.options.steps_seed}/{position}/{model}")
        names = dict(best)
        while len(names) < min(self.options.candidates, len(self.vocabulary)):
            place = rng.randrange(len(self.vocabulary))
            names.setdefault(_FIRST_ID + place, self.vocabulary[place])
        logit, out = 18.0 + self._nudge(position), []
        for id, text in names.items():
            out.append(Candidate(id, text, prob, round(logit, 7)))
            logit -= self._gap(position) if len(out) == 1 else 0.5
            prob = self._other_prob(position) / 2 ** (len(out) - 1)
        return tuple(out[: self.options.candidates])

    def _nudge(self, position: int) -> float:
        """What rounding does to the logits of the speculative arm where a tie is to fall the other way."""
        options = self.options
        tie = options.divergence == "tie" and options.diverge_at == position and position
        return 1e-6 if tie and self.config.speculation else 0.0

    @property
    def _one_hot(self) -> bool:
        """Whether the method has no law of its own."""
        return self.config.speculation is None or self.config.speculation.method == "ngram"

    def _prob(self, position: int) -> float:
        """The target's probability of the token at `position`."""
        return round(0.5 + 0.49 * random.Random(f"{self.options.steps_seed}/{position}/prob").random(), 4)

    def _other_prob(self, position: int) -> float:
        """The target's probability of its second best there."""
        return round((1 - self._prob(position)) / 2, 4)

    def _draft_prob(self, position: int) -> float:
        return 1.0 if self._one_hot else round(self._prob(position) * 0.9, 4)

    def _gap(self, position: int) -> float:
        if self.options.diverge_at and position == self.options.diverge_at:
            return 1e-6 if self.options.divergence == "tie" else 3.0
        return round(1.0 + 4 * self._prob(position), 3)


def _cut(tokens: list[tuple[int, str]], start: int, end: int) -> list[tuple[int, str]]:
    """The tokens through the one that completes the stop string at [start, end) of the text, the text cut before it."""
    kept: list[tuple[int, str]] = []
    at = 0
    for id, text in tokens:
        if at >= end:
            break
        kept.append((id, text[: max(0, start - at)]))
        at += len(text)
    return kept
