"""What the scheduler tells of one step of one request, as it travels from vLLM's processes. Knows nothing of vLLM."""

from dataclasses import dataclass
from typing import Any

RECORDS_KEY = "draftboard"
"""In `kv_transfer_params`: the records that belong to an output's tokens, oldest first."""

K_KEY = "draftboard_k"
"""In a request's `extra_args`: draft tokens wanted per step, at most."""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step.

    Attributes:
        at: `time.monotonic()` when the step's tokens were known.
        drafted: ids in draft order; negative where only their number is known.
        accepted: of them, as verified, before EOS or a limit trimmed the output.
        delivered: ids the step really put out.
        total_delivered: vLLM's own count of this request's output tokens so far.
        counters: vLLM's own (steps with drafts, draft tokens, accepted draft tokens) so far; None without speculation.
    """

    at: float
    drafted: list[int]
    accepted: int
    delivered: int
    total_delivered: int
    counters: tuple[int, int, int] | None

    def packed(self) -> list[Any]:
        """Plain lists and numbers, for vLLM's message format."""
        counters = None if self.counters is None else list(self.counters)
        return [self.at, self.drafted, self.accepted, self.delivered, self.total_delivered, counters]

    @classmethod
    def unpacked(cls, packed: list[Any]) -> "StepRecord":
        at, drafted, accepted, delivered, total, counters = packed
        return cls(at, list(drafted), accepted, delivered, total, None if counters is None else tuple(counters))
