"""What servers report of their speculation at the end of an answer, in one shape. Never derives what is not said.

Where it stands: vLLM `metrics.speculative_decoding` (with `--per-request-spec-decode-metrics`); SGLang
`sglext.spec_tokens_details` or `choices[].meta_info`; llama-server `timings.draft_n`; TensorRT-LLM
`choices[].avg_decoded_tokens_per_iter`, in newer releases `choices[].speculative_decoding`. The fields differ in name:
they are told apart by themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.sentence import Sentence


@dataclass(frozen=True, slots=True)
class Reported:
    """A server's own figures for one answer; None where it does not say.

    Attributes:
        source: the field they were found in.
        steps: S, the passes that had drafts (SGLang: all passes, which all have).
        drafted, accepted: sum of k and of a. k: draft tokens per pass, at most.
        histogram: passes with a = 0, 1, ..., k.
        per_step: (k, a) of each pass that had drafts, in order.
        tokens_per_pass: their mean, where that is all that is said.
        every_pass: `steps` counts all passes of the target.
    """

    source: str
    steps: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    k: int | None = None
    histogram: tuple[int, ...] | None = None
    per_step: tuple[tuple[int, int], ...] | None = None
    tokens_per_pass: float | None = None
    every_pass: bool = False

    @property
    def speculated(self) -> bool:
        """Whether these figures show that there were drafts."""
        return bool(self.drafted or self.accepted or (self.tokens_per_pass or 0.0) > 1.05)

    def problems(self) -> list[str]:
        """What cannot be, whatever happened."""
        found: list[str] = []
        steps, drafted, accepted = self.steps, self.drafted, self.accepted
        if drafted is not None and accepted is not None and accepted > drafted:
            found.append(
                Sentence(
                    "The server reports {accepted} accepted of {drafted} draft tokens.",
                    accepted=accepted,
                    drafted=drafted,
                )
            )
        if None not in (steps, drafted, self.k) and (drafted or 0) > (steps or 0) * (self.k or 0):
            found.append(
                Sentence(
                    "The server reports {drafted} draft tokens in {steps} passes of at most {k}.",
                    drafted=drafted,
                    steps=steps,
                    k=self.k,
                )
            )
        if self.histogram is not None:
            if steps is not None and sum(self.histogram) != steps:
                found.append(
                    Sentence(
                        "The server's histogram holds {held} passes, its count {steps}.",
                        held=sum(self.histogram),
                        steps=steps,
                    )
                )
            total = sum(a * n for a, n in enumerate(self.histogram))
            if accepted is not None and total != accepted:
                found.append(
                    Sentence(
                        "The server's histogram holds {total} accepted draft tokens, its count {accepted}.",
                        total=total,
                        accepted=accepted,
                    )
                )
        if self.per_step is not None and (
            (steps is not None and len(self.per_step) != steps) or any(not 0 <= a <= k for k, a in self.per_step)
        ):
            found.append(Sentence("The server's list of passes differs from its own counts."))
        return found

    def counters(self) -> dict[str, Any]:
        """Under METRICS names, what is said and what follows from it by counting alone."""
        found: dict[str, Any] = {
            "num_drafting_steps": self.steps,
            "num_draft_tokens": self.drafted,
            "num_accepted_tokens": self.accepted,
            "num_steps": self.steps if self.every_pass else None,
        }
        counters = {name: value for name, value in found.items() if value is not None}
        pairs = self._pairs()
        if pairs and not self.problems():
            counters |= positions(pairs)
        return counters

    def _pairs(self) -> Sequence[tuple[int, int]]:
        """(k, a) of every pass with drafts, in any order; from the histogram only if every pass drafted the full k."""
        if self.per_step is not None:
            return self.per_step
        full = None not in (self.k, self.steps, self.drafted) and self.drafted == (self.steps or 0) * (self.k or 0)
        if self.histogram is None or not full or self.k is None:
            return ()
        return [(self.k, a) for a, n in enumerate(self.histogram) for _ in range(n)]


def positions(pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Counts per draft position, as `RunResult` keeps them, from the (k, a) of every pass with drafts."""
    places = range(1, max((k for k, _ in pairs), default=0) + 1)
    return {
        "accepted_at": [sum(a >= i for _, a in pairs) for i in places],
        "drafted_at": [sum(k >= i for k, _ in pairs) for i in places],
        "judged_at": [sum(k >= i and a >= i - 1 for k, a in pairs) for i in places],
        "num_judged_tokens": sum(min(a + 1, k) for k, a in pairs),
    }


def reported(message: Mapping[str, Any], choice: Mapping[str, Any]) -> Reported | None:
    """What one message of a stream says; `choice` is its first. Anything malformed counts as not said."""
    if found := _mapping(_mapping(message.get("metrics")).get("speculative_decoding")):
        return _vllm(found)
    details = _mapping(message.get("sglext")).get("spec_tokens_details")
    details = details[0] if isinstance(details, list) and details else details
    for source, place in (("sglext.spec_tokens_details", details), ("meta_info", choice.get("meta_info"))):
        if (found := _mapping(place)) and "spec_verify_ct" in found:
            return _sglang(found, source)
    if found := _mapping(choice.get("speculative_decoding")):
        return _tensorrt_llm(found)
    timings = _mapping(message.get("timings"))
    if "draft_n" in timings:
        drafted, accepted = _whole(timings.get("draft_n")), _whole(timings.get("draft_n_accepted"))
        return Reported("timings.draft_n", drafted=drafted, accepted=accepted)
    mean = choice.get("avg_decoded_tokens_per_iter")
    if isinstance(mean, int | float) and not isinstance(mean, bool) and 1 <= mean < 1000:
        return Reported("avg_decoded_tokens_per_iter", tokens_per_pass=float(mean))
    return None


def _vllm(found: Mapping[str, Any]) -> Reported:
    accepted, drafted = _wholes(found.get("per_step_accepted")), _wholes(found.get("per_step_drafted"))
    per_step = None
    if accepted is not None and drafted is not None and len(accepted) == len(drafted):
        per_step = tuple(zip(drafted, accepted, strict=True))
    return Reported(
        "metrics.speculative_decoding",
        steps=_whole(found.get("num_spec_steps")),
        drafted=_whole(found.get("num_draft_tokens")),
        accepted=_whole(found.get("num_accepted_draft_tokens")),
        k=_whole(found.get("num_spec_tokens")),
        histogram=_wholes(found.get("acceptance_histogram")),
        per_step=per_step,
    )


def _sglang(found: Mapping[str, Any], source: str) -> Reported:
    """`spec_num_proposed_drafts` is passes x capacity: what was proposed only where every draft is of full length."""
    steps, capacity = _whole(found.get("spec_verify_ct")), _whole(found.get("spec_num_proposed_drafts"))
    return Reported(
        source,
        steps=steps,
        drafted=capacity,
        accepted=_whole(found.get("spec_num_correct_drafts")),
        k=capacity // steps if steps and capacity is not None and capacity % steps == 0 else None,
        histogram=_wholes(found.get("spec_correct_drafts_histogram")) or None,
        every_pass=True,
    )


def _tensorrt_llm(found: Mapping[str, Any]) -> Reported | None:
    """All zero means that this release does not count."""
    drafted = _whole(found.get("total_draft_tokens"))
    if not drafted:
        return None
    return Reported(
        "speculative_decoding",
        steps=_whole(found.get("num_spec_steps")),
        drafted=drafted,
        accepted=_whole(found.get("total_accepted_draft_tokens")),
        k=_whole(found.get("num_spec_tokens")),
        histogram=_wholes(found.get("acceptance_histogram")),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _wholes(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    found = [_whole(item) for item in value]
    return None if None in found else tuple(item for item in found if item is not None)
