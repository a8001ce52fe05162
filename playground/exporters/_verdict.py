"""What a preset's measurement comes to, in plain words: whether speculation paid, and why its numbers may not hold.

Evidence comes from files of anyone: what is no number is taken as not known.
"""

import math
from collections.abc import Iterator

from playground.config import Evidence, Preset
from playground.sentence import Sentence

BUSY = 0.1
"""As in the metrics, which exporters do not know."""

SCATTER = 1.05
"""A speed-up above the tokens per step by more than this is not the measurement's ordinary scatter."""

EVEN = 0.005
"""A speed-up this near to 1 is neither."""


def verdict(preset: Preset) -> tuple[Sentence, ...]:
    """The outcome first, then what it does not show. Sentences with their full stops; () where nothing was measured."""
    if preset.evidence is None:
        return ()
    return tuple(_outcome(preset, preset.evidence)) + tuple(_doubts(preset, preset.evidence))


def _outcome(preset: Preset, evidence: Evidence) -> Iterator[Sentence]:
    speedup, speed = number(evidence, "speedup"), number(evidence, "tokens_per_second")
    if preset.config.speculation is None:
        if speed is not None:
            yield Sentence("Measured without speculation: {speed} tokens per second.", speed=f"{speed:.3g}")
    elif speedup is None:
        if speed is not None:
            yield Sentence(
                "Measured {speed} tokens per second, with nothing to compare with: whether speculation pays is not "
                "known.",
                speed=f"{speed:.3g}",
            )
    elif abs(speedup - 1) < EVEN:
        yield Sentence("Measured {speedup}×: as fast with speculation as without.", speedup=f"{speedup:.2f}")
    elif speedup < 1:
        yield Sentence("Measured {speedup}×: slower with speculation than without.", speedup=f"{speedup:.2f}")
    else:
        yield Sentence("Measured {speedup}×: faster with speculation than without.", speedup=f"{speedup:.2f}")


def _doubts(preset: Preset, evidence: Evidence) -> Iterator[Sentence]:
    speedup, tokens = number(evidence, "speedup"), number(evidence, "tokens_per_step")
    if preset.config.speculation is not None and number(evidence, "num_draft_tokens") == 0:
        yield Sentence("Nothing was drafted: this speed says nothing of speculation.")
    elif speedup is not None and tokens is not None and speedup > tokens * SCATTER:
        yield Sentence(
            "A step gave {tokens} tokens, and speculation can gain no more than that: the rest of the {speedup}× is "
            "noise. Measure again.",
            tokens=f"{tokens:.2f}",
            speedup=f"{speedup:.2f}",
        )
    waits = [number(evidence, name) for name in ("processor_wait", "baseline_processor_wait")]
    if (wait := max((wait for wait in waits if wait is not None), default=0.0)) > BUSY:
        yield Sentence(
            "Other programs held the processor for {wait} of the decode time: this is not this machine's speed.",
            wait=f"{wait:.0%}",
        )
    if evidence.metrics.get("reconciled") is False:
        yield Sentence("The run's own counts do not agree: it is not valid.")
    if evidence.metrics.get("outputs_identical") is False:
        yield Sentence("The answers with and without speculation were not the same.")
    if evidence.metrics.get("status") in ("cancelled", "interrupted"):
        yield Sentence("The run was stopped before its end.")


def number(evidence: Evidence, name: str) -> float | None:
    """A finite number of the metrics; None for anything else."""
    value = evidence.metrics.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
