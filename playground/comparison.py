"""Two arms, one verdict: the paired speed-up, what ate the gain, and whether the outputs agree.

Folds the events of a baseline and a speculative run of the same prompt. Knows events and metrics, no engine.
"""

import math
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Literal

from playground.events import UNKNOWN_TOKEN_ID, Candidate, Event, RunFinished, RunStarted, Step
from playground.metrics import RunResult

Arm = Literal["baseline", "speculative"]
ARMS: tuple[Arm, Arm] = ("baseline", "speculative")

_SPACING = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}
"""Relative distance between neighbouring numbers of a dtype, for logits near the top."""


@dataclass(slots=True)
class Transcript:
    """What one arm delivered, position by position. Grows by appending; text is joined only when asked for."""

    ids: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    gaps: list[float | None] = field(default_factory=list)
    candidates: list[tuple[Candidate, ...]] = field(default_factory=list)
    final_text: str | None = None
    dtype: str = ""
    greedy: bool | None = None

    def add(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.dtype = str(event.environment.get("dtype", ""))
                self.greedy = event.environment.get("greedy")
            case Step():
                for i, token in enumerate(event.tokens):
                    self.ids.append(token.id)
                    self.texts.append(token.text)
                    self.gaps.append(event.logit_gaps[i] if i < len(event.logit_gaps) else None)
                    self.candidates.append(event.target_candidates[i] if i < len(event.target_candidates) else ())
            case RunFinished():
                self.final_text = event.text

    def at(self, position: int) -> tuple[int | None, str]:
        """Id and text at a position; (None, "") past the end."""
        return (self.ids[position], self.texts[position]) if position < len(self.ids) else (None, "")

    @property
    def text(self) -> str:
        return "".join(self.texts) if self.final_text is None else self.final_text


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first position (0-based, in delivered tokens) where the arms' ids differ, at temperature 0.

    `logit_gap` is the target's best logit minus its second best in the baseline arm; `arms_difference` the largest
    difference between the two arms' logits there, over the candidates both report. None where not reported.
    """

    position: int
    baseline_id: int | None
    speculative_id: int | None
    baseline_text: str
    speculative_text: str
    logit_gap: float | None
    arms_difference: float | None
    kind: Literal["numeric tie", "real mismatch", "unknown"]

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Factor:
    """One part of the way from the ideal speed-up to the measured one, as a multiplier (1.0 = costs nothing).

    name: acceptance, verify, draft, overhead. `seconds_per_token` is what the part costs (negative = gains).
    """

    name: Literal["acceptance", "verify", "draft", "overhead"]
    multiplier: float
    reached: float
    """The speed-up that remains after this part."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both arms of one prompt. Ratios are None until both arms have what they need; never clamped."""

    baseline: RunResult = field(default_factory=RunResult)
    speculative: RunResult = field(default_factory=RunResult)
    outputs_identical: bool | None = None
    """None while unknown, for sampled runs, and where an arm did not finish."""
    why_not_compared: str = ""
    first_divergence: Divergence | None = None

    @property
    def finished(self) -> bool:
        return self.baseline.finished and self.speculative.finished

    @property
    def speedup(self) -> float | None:
        """Decode: baseline TPOT / speculative TPOT."""
        return _quotient(self.baseline.tpot, self.speculative.tpot)

    @property
    def speedup_end_to_end(self) -> float | None:
        return _quotient(self.speculative.tokens_per_second_end_to_end, self.baseline.tokens_per_second_end_to_end)

    @property
    def predicted_speedup(self) -> float | None:
        """tokens_per_step x baseline TPOT / mean (draft + verify); None where the engine gives no split."""
        spec, tpot = self.speculative, self.baseline.tpot
        if None in (spec.tokens_per_step, tpot, spec.mean_draft_seconds, spec.mean_verify_seconds):
            return None
        assert spec.tokens_per_step is not None
        assert tpot is not None
        assert spec.mean_draft_seconds is not None
        assert spec.mean_verify_seconds is not None
        return _quotient(spec.tokens_per_step * tpot, spec.mean_draft_seconds + spec.mean_verify_seconds)

    @property
    def per_step_overhead(self) -> float | None:
        """Seconds of a mean speculative step that are neither drafting nor verifying."""
        spec = self.speculative
        if spec.decode_seconds is None or not spec.num_steps:
            return None
        if spec.draft_seconds is None or spec.verify_seconds is None:
            return None
        return (spec.decode_seconds - spec.draft_seconds - spec.verify_seconds) / spec.num_steps

    @property
    def ideal_speedup(self) -> float | None:
        """If every draft were accepted and drafting and the wider pass cost nothing: mean k (over all steps) + 1."""
        spec = self.speculative
        return None if not spec.num_steps else spec.num_draft_tokens / spec.num_steps + 1

    @property
    def factors(self) -> tuple[Factor, ...]:
        """ideal x acceptance x verify x draft x overhead = measured; () where the engine gives no split."""
        spec, tpot = self.speculative, self.baseline.tpot
        ideal, per_step, measured = self.ideal_speedup, spec.tokens_per_step, self.speedup
        draft, verify = spec.mean_draft_seconds, spec.mean_verify_seconds
        if ideal is None or per_step is None or not tpot or measured is None or draft is None or not verify:
            return ()
        levels = (
            ("acceptance", per_step),
            ("verify", per_step * tpot / verify),
            ("draft", per_step * tpot / (draft + verify)),
            ("overhead", measured),
        )
        factors, before = [], ideal
        for name, reached in levels:
            factors.append(Factor(name, reached / before, reached))  # type: ignore[arg-type]
            before = reached
        return tuple(factors)

    @property
    def largest_loss(self) -> Factor | None:
        """The part that ate most of the gain; None when nothing did."""
        losses = [f for f in self.factors if f.multiplier < 1]
        return min(losses, key=lambda f: f.multiplier, default=None)

    def as_dict(self) -> dict[str, Any]:
        """The JSON of a comparison, in METRICS names."""
        return {
            "speedup": self.speedup,
            "speedup_end_to_end": self.speedup_end_to_end,
            "predicted_speedup": self.predicted_speedup,
            "ideal_speedup": self.ideal_speedup,
            "per_step_overhead": self.per_step_overhead,
            "factors": [{"name": f.name, "multiplier": f.multiplier, "reached": f.reached} for f in self.factors],
            "outputs_identical": self.outputs_identical,
            "why_not_compared": self.why_not_compared,
            "first_divergence": self.first_divergence.as_dict() if self.first_divergence else None,
            "baseline": self.baseline.metrics(),
            "speculative": self.speculative.metrics(),
        }


class ComparisonFold:
    """Collects both arms' events; `result` may be read at any time, also half-way.

    Args:
        greedy: whether both arms ran at temperature 0 (otherwise outputs are not compared: they are samples).
    """

    def __init__(self, greedy: bool) -> None:
        self.greedy = greedy
        self.results: dict[Arm, RunResult] = {arm: RunResult() for arm in ARMS}
        self.transcripts: dict[Arm, Transcript] = {arm: Transcript() for arm in ARMS}

    def add(self, arm: Arm, event: Event) -> None:
        self.results[arm] = self.results[arm].add(event)
        self.transcripts[arm].add(event)

    def result(self) -> Comparison:
        base, spec = self.results["baseline"], self.results["speculative"]
        identical, why, divergence = None, "", None
        if not self.greedy:
            why = "sampled: equal in law, not token by token"
        elif not (base.finished and spec.finished):
            why = "not finished"
        else:
            divergence = first_divergence(self.transcripts["baseline"], self.transcripts["speculative"])
            complete = all(r.status in ("stop", "length") for r in (base, spec))
            if divergence is not None and (
                complete or divergence.baseline_id is not None is not divergence.speculative_id
            ):
                identical = False
            elif complete:
                identical = True
            else:
                divergence, why = None, "one arm was stopped early; equal as far as both went"
        return Comparison(base, spec, identical, why, divergence)


def first_divergence(baseline: Transcript, speculative: Transcript) -> Divergence | None:
    """Where two greedy transcripts part, and whether numbers or a fault did it; None where they do not.

    Where an engine does not name its tokens their texts are compared.


    float32: a tie only if the gap is within twice the arms' largest logit difference there. bfloat16, float16: within
    twice that difference or two spacings of the dtype at the best logit, since a rounding in either arm can swap them.
    """
    if UNKNOWN_TOKEN_ID in baseline.ids or UNKNOWN_TOKEN_ID in speculative.ids:
        return _first_divergence_of_texts(baseline, speculative)
    shorter = min(len(baseline.ids), len(speculative.ids))
    position = next((i for i in range(shorter) if baseline.ids[i] != speculative.ids[i]), shorter)
    if position == len(baseline.ids) == len(speculative.ids):
        return None
    gap = baseline.gaps[position] if position < len(baseline.gaps) else None
    other_gap = speculative.gaps[position] if position < len(speculative.gaps) else None
    difference = _arms_difference(baseline, speculative, position)
    baseline_id, baseline_text = baseline.at(position)
    speculative_id, speculative_text = speculative.at(position)
    kind = _kind(gap, other_gap, difference, baseline, position)
    return Divergence(position, baseline_id, speculative_id, baseline_text, speculative_text, gap, difference, kind)


def _first_divergence_of_texts(baseline: Transcript, speculative: Transcript) -> Divergence | None:
    ours, theirs = baseline.text, speculative.text
    if ours == theirs:
        return None
    shorter = min(len(ours), len(theirs))
    character = next((i for i in range(shorter) if ours[i] != theirs[i]), shorter)
    ends = accumulate(map(len, baseline.texts))
    position = next((i for i, end in enumerate(ends) if end > character), len(baseline.texts))
    _, baseline_text = baseline.at(position)
    return Divergence(position, None, None, baseline_text, theirs[character : character + 20], None, None, "unknown")


def _arms_difference(baseline: Transcript, speculative: Transcript, position: int) -> float | None:
    if position >= min(len(baseline.candidates), len(speculative.candidates)):
        return None
    theirs = {c.id: _height(c) for c in speculative.candidates[position]}
    differences = [
        abs(height - other)
        for c in baseline.candidates[position]
        if (height := _height(c)) is not None and (other := theirs.get(c.id)) is not None
    ]
    return max(differences, default=None)


def _height(candidate: Candidate) -> float | None:
    """The logit; where an engine reports only probabilities, their logarithm: at temperature 0 it differs likewise."""
    if candidate.logit is not None:
        return candidate.logit
    return math.log(candidate.prob) if candidate.prob > 0 else None


def _kind(
    gap: float | None, other_gap: float | None, difference: float | None, baseline: Transcript, position: int
) -> Literal["numeric tie", "real mismatch", "unknown"]:
    if gap is None or other_gap is None:
        return "unknown" if position < len(baseline.ids) and not baseline.gaps[position] else "real mismatch"
    best = max((c.logit for c in baseline.candidates[position] if c.logit is not None), default=0.0)
    bound = 2 * (difference or 0.0)
    if baseline.dtype in ("bfloat16", "float16"):
        # 2^floor(log2 |x|) is the binade's foot: the spacing of the dtype there.
        binade = 2.0 ** math.floor(math.log2(abs(best))) if best else 0.0
        bound = max(bound, 2 * _SPACING[baseline.dtype] * binade)
    return "numeric tie" if max(gap, other_gap) <= bound or gap <= bound else "real mismatch"


def _quotient(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole
