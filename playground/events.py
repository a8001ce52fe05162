"""A run is a stream of events: these, and only these.

Engines produce them, everything else consumes them, SQLite remembers them, replay reads the same ones back. Frozen
slotted dataclasses, because only our code writes them. All times are seconds since the run was submitted to a loaded
engine (load and queue excluded), on a monotonic clock, unless a field says otherwise.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

Origin = Literal["target", "accepted", "recovered", "bonus", "rejected"]
Reason = Literal["stop", "length", "cancelled", "interrupted", "error"]
Truncation = Literal["eos", "stop", "length"]

UNKNOWN_TOKEN_ID = -1
"""A draft token an engine counts but cannot name; shown as "unknown draft", never decoded."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token and its fate.

    Attributes:
        id: in the target's vocabulary; `UNKNOWN_TOKEN_ID` where the engine gives a count only.
        text: what it adds to the shown text; empty while a character is still incomplete (the token that completes the
            character carries it whole). For a rejected draft: its own readable form.
        origin: target (prefill, or a step without drafts), accepted, recovered (sampled after a rejection), bonus (all
            drafts accepted), rejected (a draft token that was not delivered).
        target_prob: the target's probability of it after temperature and filters, as the accept test used it; None
            where not reported, or (rejected) where the target never judged it because an earlier draft had failed.
        draft_prob: the draft's, likewise; 1.0 for a draft without a law of its own (n-gram); None where not drafted.
    """

    id: int
    text: str
    origin: Origin
    target_prob: float | None = None
    draft_prob: float | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of a model's best tokens at a position: `prob` after temperature and filters, `logit` raw (or None)."""

    id: int
    text: str
    prob: float
    logit: float | None = None


Candidates = tuple[tuple[Candidate, ...], ...]
"""Per position, best first."""


@dataclass(frozen=True, slots=True)
class Loading:
    """The engine is not ready yet.

    `stage` is a stable name ("device", "start", "weights", "draft", "warm-up", ...), `detail` a person's sentence,
    `fraction` 0..1 where known, `seconds` since loading began.
    """

    stage: str
    detail: str = ""
    fraction: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Queued:
    """Others are before this run. `position` counts them (1 = next); `expected_seconds` where it can be guessed."""

    position: int
    expected_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Nothing new, still alive: lets a consumer notice that it was closed."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The prompt is submitted.

    Attributes:
        prompt_token_ids: what the target really reads, after template and BOS.
        prompt_text: the rendered prompt.
        environment: hardware, versions, dtype, device, engine path, seed actually used, warnings: JSON values only.
            `untold`, where an engine cannot tell all that a Step asks for: topic -> the reason in a sentence. Topics:
            "steps" (its pieces are not the target's passes), "drafts" (k of each step, rejected drafts), "counts" (how
            many tokens a piece has), "ids" (which tokens).
    """

    prompt_token_ids: tuple[int, ...]
    prompt_text: str = ""
    environment: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One decode pass of the target and everything it emitted.

    `index` 0 is the prefill pass, which gives the first token; it travels in the same shape but is not a step, and no
    metric counts it as one. Decode steps count from 1.

    Attributes:
        at: when the step's tokens were known.
        tokens: delivered ids in order, 1..num_accepted_tokens + 1 (fewer when truncated). A token past a stop string's
            completion, EOS or max_tokens is not delivered and not here; EOS itself is delivered, with empty text.
        rejected: draft tokens not accepted, in draft order: the first is the one the target refused, the rest were
            discarded unjudged. Accepted drafts cut by truncation are in neither list.
        num_draft_tokens: k of this step; 0 with a > 0 where the engine tells what it accepted and not how many it
            drafted (`RunStarted.environment["untold"]`).
        num_accepted_tokens: a of this step, as verified, before truncation. 0 <= a <= k where k is told.
        truncated: why fewer than a + 1 were delivered, or why the run ends with this step; None otherwise.
        draft_seconds, verify_seconds: time to propose and to judge; None where the engine cannot split.
        logit_gaps: per verified position 0..a, the target's best logit minus its second best; () where not reported.
        target_candidates: per verified position 0..a, the target's best; () where not asked or not reported.
        draft_candidates: per drafted position 0..k-1, the draft's best; () where the draft has no law of its own.
    """

    index: int
    at: float
    tokens: tuple[Token, ...]
    rejected: tuple[Token, ...] = ()
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    truncated: Truncation | None = None
    draft_seconds: float | None = None
    verify_seconds: float | None = None
    logit_gaps: tuple[float, ...] = ()
    target_candidates: Candidates = ()
    draft_candidates: Candidates = ()

    @property
    def is_prefill(self) -> bool:
        return self.index == 0

    @property
    def in_order(self) -> tuple[Token, ...]:
        """Delivered and rejected tokens as they are read: accepted, the rejected drafts, then what replaced them.

        Drafts beyond a truncated end are left out: nothing leads up to them.
        """
        a = self.num_accepted_tokens
        return self.tokens if len(self.tokens) <= a else (*self.tokens[:a], *self.rejected, *self.tokens[a:])


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One device at one moment. Every reading is None where the device does not give it ("n/a", never 0).

    Attributes:
        at: seconds since the run was submitted (negative while loading).
        device: "cuda:0" style physical name, or "cpu" for the machine without NVML.
        name: the product's name.
        utilisation: percent. memory_used, memory_total: bytes. power: watts. temperature: Celsius.
        sm_clock, memory_clock: MHz. energy: joules since the driver was loaded (a counter: take differences).
    """

    at: float
    device: str
    name: str
    utilisation: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    power: float | None = None
    temperature: float | None = None
    sm_clock: int | None = None
    memory_clock: int | None = None
    energy: float | None = None


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The last event of every run, however it ended.

    Attributes:
        reason: stop (EOS or stop string), length (max_tokens or the context is full), cancelled, interrupted, error.
        at: seconds since submission.
        text: the whole shown text, cut before a stop string: one-shot decoding of the delivered ids. None where the
            run ended before it was known; consumers then join the tokens' texts.
        usage_completion_tokens: the engine's own count of delivered tokens, from another place than the steps.
        engine_counters: the engine's own speculative counters, under METRICS names, where it has them. What the
            steps leave untold is taken from here. "notes": sentences about them; "source": where they are from.
            "processor_wait": share of the decode time that other programs held the processor, where that is known.
        reconciled: True or False where something independent was compared; None where there was nothing.
        problems: what did not reconcile, one sentence each; not empty = the run is INVALID.
        error, hint, code: set with reason "error".
    """

    reason: Reason
    at: float
    text: str | None = None
    usage_completion_tokens: int | None = None
    engine_counters: dict[str, Any] | None = None
    reconciled: bool | None = None
    problems: tuple[str, ...] = ()
    error: str = ""
    hint: str = ""
    code: str = ""


Event = Loading | Queued | Heartbeat | RunStarted | Step | GpuSample | RunFinished
