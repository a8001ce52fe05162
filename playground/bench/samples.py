"""What one run of a benchmark gave, from its events, live or read back: the same fold either way.

And what the two arms of a request gave together. Knows events and metrics; neither plans nor statistics.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from playground.comparison import Comparison, ComparisonFold, Divergence, Transcript
from playground.events import Event, Loading, RunFinished, RunStarted
from playground.metrics import RunResult
from storage.benchmarks import RunLink

Outputs = Literal["identical", "tie", "mismatch", "unknown", "not compared"]

GRAM = 4
"""Tokens in a row that count as a repetition when they come again."""

NOT_LOADING = ("device", "unload")
"""Stages that leave a loaded engine as warm as it was: waiting for it, and ending another."""


@dataclass(slots=True)
class Sample:
    """One run: its place in the benchmark, its figures, and until it was compared its ids."""

    link: RunLink
    result: RunResult = field(default_factory=RunResult)
    transcript: Transcript = field(default_factory=Transcript)
    prompt_ids: tuple[int, ...] = ()
    finish: RunFinished | None = None
    loaded: bool = False
    """Whether an engine or a model was loaded for it: then it is cold."""

    def add(self, event: Event) -> None:
        self.result = self.result.add(event)
        self.transcript.add(event)
        match event:
            case RunStarted():
                self.prompt_ids = event.prompt_token_ids
            case RunFinished():
                self.finish = event
            case Loading() if event.stage not in NOT_LOADING:
                self.loaded = True

    @classmethod
    def of(cls, link: RunLink, events: Iterable[Event]) -> "Sample":
        sample = cls(link)
        for event in events:
            sample.add(event)
        return sample

    @property
    def measured(self) -> bool:
        """Whether it may be in a figure: ended by itself, warm."""
        return self.result.status in ("stop", "length") and not self.cold

    @property
    def cold(self) -> bool:
        """CASES 25: the first run after a load is in no verdict."""
        return self.link.cold or self.loaded or self.result.environment.get("runs_since_load") == 0

    @property
    def text(self) -> str:
        return self.transcript.text

    @property
    def repetition(self) -> float | None:
        """Of the output; likewise of the prompt."""
        return repetition(self.transcript.ids)

    @property
    def prompt_repetition(self) -> float | None:
        return repetition(self.prompt_ids)


@dataclass(frozen=True, slots=True)
class Pair:
    """Both arms of one request in one repetition."""

    item: int
    turn: int
    repeat: int
    comparison: Comparison
    outputs: Outputs

    @property
    def divergence(self) -> Divergence | None:
        return self.comparison.first_divergence


def paired(baseline: Sample, speculative: Sample, *, greedy: bool) -> Pair:
    """The comparison that the Compare tab would show of the two."""
    fold = ComparisonFold(greedy)
    fold.results = {"baseline": baseline.result, "speculative": speculative.result}
    fold.transcripts = {"baseline": baseline.transcript, "speculative": speculative.transcript}
    found = fold.result()
    link = speculative.link
    return Pair(link.item, link.turn, link.repeat, found, _outputs(found))


def _outputs(comparison: Comparison) -> Outputs:
    if comparison.outputs_identical is None:
        return "not compared"
    if comparison.outputs_identical or comparison.first_divergence is None:
        return "identical"
    kinds: dict[str, Outputs] = {"numeric tie": "tie", "real mismatch": "mismatch"}
    return kinds.get(comparison.first_divergence.kind, "unknown")


def repetition(ids: Sequence[int], gram: int = GRAM) -> float | None:
    """Share of the runs of `gram` ids that were there before; None where there is none.

    A text that repeats itself is easy to draft: what is measured on it says little about others.
    """
    seen: set[tuple[int, ...]] = set()
    again = 0
    total = len(ids) - gram + 1
    for start in range(total):
        piece = tuple(ids[start : start + gram])
        again += piece in seen
        seen.add(piece)
    return again / total if total > 0 else None


def pooled(results: Sequence[RunResult]) -> dict[str, Any]:
    """METRICS names -> values of many runs together: counts and times are added up, then divided."""
    counts = {
        name: sum(getattr(r, name) for r in results)
        for name in (
            "num_delivered", "num_delivered_accepted", "num_decode_tokens", "num_steps", "num_drafting_steps",
            "num_draft_tokens", "num_accepted_tokens",
        )
    }  # fmt: skip
    whole = RunResult(**counts)
    decoded = [(r.decode_seconds, r.num_delivered - 1) for r in results if r.decode_seconds is not None]
    seconds, tokens = sum(s for s, _ in decoded), sum(n for _, n in decoded)
    ended = [(r.last_at, r.num_delivered) for r in results if r.last_at]
    joules = [(r.joules, r.num_delivered) for r in results if r.joules is not None]
    return {
        "draft_acceptance_rate": whole.draft_acceptance_rate,
        "mean_acceptance_length": whole.mean_acceptance_length,
        "tokens_per_step": whole.tokens_per_step,
        "draft_share_of_output": whole.draft_share_of_output,
        "wasted_draft_fraction": whole.wasted_draft_fraction,
        "tokens_per_second": tokens / seconds if seconds > 0 else None,
        "tokens_per_second_end_to_end": _quotient(sum(n for _, n in ended), sum(s or 0.0 for s, _ in ended)),
        "joules_per_token": _quotient(sum(j or 0.0 for j, _ in joules), sum(n for _, n in joules)),
        **counts,
    }


def _quotient(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 and part > 0 else None
