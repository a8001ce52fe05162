"""What a run or a comparison came to, as one value: texts, metrics, verdict. Python's results, the command line's JSON.

Folds events; knows no runner, no store and no terminal. How results look in a notebook is `notebook.py`'s.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from playground.comparison import ARMS, Arm, Comparison, ComparisonFold, Divergence
from playground.config import RunConfig
from playground.events import Event, RunFinished, Step
from playground.metrics import RunResult
from playground.notebook import comparison_html, run_html


@dataclass(frozen=True)
class RunOutput:
    """One run as it ended.

    Attributes:
        run_id: its id in the store (`replay(run_id)`).
        config, prompt: what ran.
        text: the whole answer. steps: every pass of the target, prefill first, with each token's fate.
        metrics: every metric of METRICS.md; the most asked for are attributes here too.
        environment: hardware, versions, seed used, warnings.
        finish: how it ended; None where the stream broke off.
    """

    run_id: str
    config: RunConfig
    prompt: str
    text: str
    steps: tuple[Step, ...]
    metrics: RunResult
    environment: dict[str, Any] = field(default_factory=dict)
    finish: RunFinished | None = None

    @property
    def status(self) -> str:
        return self.metrics.status

    @property
    def draft_acceptance_rate(self) -> float | None:
        """Accepted / drafted tokens; None (n/a) where nothing was drafted."""
        return self.metrics.draft_acceptance_rate

    @property
    def tokens_per_step(self) -> float | None:
        return self.metrics.tokens_per_step

    @property
    def mean_acceptance_length(self) -> float | None:
        return self.metrics.mean_acceptance_length

    @property
    def tokens_per_second(self) -> float | None:
        """Decode speed."""
        return self.metrics.tokens_per_second

    @property
    def ttft(self) -> float | None:
        """Seconds to the first token."""
        return self.metrics.ttft

    @property
    def tpot(self) -> float | None:
        """Seconds per token after the first."""
        return self.metrics.tpot

    def as_dict(self) -> dict[str, Any]:
        """JSON: metrics by their names, with `text`, `config`, `environment`; `error` only where it failed."""
        out = {
            "run_id": self.run_id,
            "prompt": self.prompt,
            **self.arm_dict(),
            "config": self.config.model_dump(mode="json"),
            "environment": self.environment,
        }
        return out | self.error_dict()

    def arm_dict(self) -> dict[str, Any]:
        return {"text": self.text, **self.metrics.metrics()}

    def error_dict(self) -> dict[str, str]:
        finish = self.finish
        if finish is None or finish.reason != "error":
            return {}
        return {"error": finish.error or "The run failed.", "hint": finish.hint, "code": finish.code or "error"}

    def __repr__(self) -> str:
        return (
            f"<run {self.run_id}: {self.metrics.num_delivered} tokens, {rate(self.tokens_per_second)}, "
            f"acceptance {percent(self.draft_acceptance_rate)}, {self.status}>"
        )

    def _repr_html_(self) -> str:
        return run_html(self.steps, self.text, repr(self)[1:-1])


@dataclass(frozen=True)
class ComparisonOutput:
    """Both arms of one prompt and their verdict.

    Attributes:
        comparison_id: its id in the store.
        baseline, speculative: the two runs.
        verdict: speed-ups, where the gain went, whether the outputs agree.
    """

    comparison_id: str | None
    baseline: RunOutput
    speculative: RunOutput
    verdict: Comparison

    @property
    def speedup(self) -> float | None:
        """Decode: baseline TPOT / speculative TPOT; below 1 is slower. None where an arm has no TPOT."""
        return self.verdict.speedup

    @property
    def predicted_speedup(self) -> float | None:
        return self.verdict.predicted_speedup

    @property
    def outputs_identical(self) -> bool | None:
        """None where outputs are samples, or an arm did not finish."""
        return self.verdict.outputs_identical

    @property
    def first_divergence(self) -> Divergence | None:
        return self.verdict.first_divergence

    @property
    def draft_acceptance_rate(self) -> float | None:
        return self.speculative.draft_acceptance_rate

    @property
    def status(self) -> str:
        """stop or length if both arms ended by themselves; otherwise how the one that did not has ended."""
        states = [self.baseline.status, self.speculative.status]
        return next((s for s in states if s not in ("stop", "length")), states[1])

    def as_dict(self) -> dict[str, Any]:
        """JSON of `compare --json`."""
        verdict = self.verdict.as_dict()
        return {
            "comparison_id": self.comparison_id,
            "run_ids": {"baseline": self.baseline.run_id, "speculative": self.speculative.run_id},
            "prompt": self.speculative.prompt,
            "status": self.status,
            **verdict,
            "baseline": self.baseline.arm_dict(),
            "speculative": self.speculative.arm_dict(),
            "config": self.speculative.config.model_dump(mode="json"),
            "environment": self.speculative.environment or self.baseline.environment,
            **(self.baseline.error_dict() or self.speculative.error_dict()),
        }

    def __repr__(self) -> str:
        same = {True: "identical", False: "different", None: "not compared"}[self.outputs_identical]
        return (
            f"<comparison: {times(self.speedup)}, acceptance {percent(self.draft_acceptance_rate)}, "
            f"{rate(self.baseline.tokens_per_second)} -> {rate(self.speculative.tokens_per_second)}, outputs {same}>"
        )

    def _repr_html_(self) -> str:
        arms = [("Without speculation", self.baseline), ("With speculation", self.speculative)]
        return comparison_html([(title, run.steps, run.text, repr(run)[1:-1]) for title, run in arms], repr(self)[1:-1])


class Collector:
    """Events of one or two runs, growing into outputs. `add` as they come; `run` and `comparison` at any time."""

    def __init__(
        self, config: RunConfig, prompt: str, run_ids: dict[Arm, str], comparison_id: str | None = None
    ) -> None:
        self.config, self.prompt, self.run_ids, self.comparison_id = config, prompt, run_ids, comparison_id
        self.fold = ComparisonFold(greedy=config.sampling.greedy)
        self._steps: dict[Arm, list[Step]] = {arm: [] for arm in ARMS}
        self._finished: dict[Arm, RunFinished] = {}

    def add(self, arm: Arm, event: Event) -> None:
        self.fold.add(arm, event)
        match event:
            case Step():
                self._steps[arm].append(event)
            case RunFinished():
                self._finished[arm] = event

    def run(self, arm: Arm) -> RunOutput:
        return RunOutput(
            run_id=self.run_ids.get(arm, ""),
            config=self.config.baseline() if arm == "baseline" else self.config,
            prompt=self.prompt,
            text=self.fold.transcripts[arm].text,
            steps=tuple(self._steps[arm]),
            metrics=self.fold.results[arm],
            environment=self.fold.results[arm].environment,
            finish=self._finished.get(arm),
        )

    def comparison(self) -> ComparisonOutput:
        return ComparisonOutput(self.comparison_id, self.run("baseline"), self.run("speculative"), self.fold.result())


def times(value: float | None) -> str:
    """A speed-up in words; never clamped."""
    if value is None:
        return "speed-up n/a"
    return (
        f"{three(value)}× faster"
        if value >= 1.005
        else f"{three(value)}× (slower)"
        if value < 0.995
        else "1.00×, no gain"
    )


def percent(value: float | None) -> str:
    return "n/a" if value is None else f"{three(value * 100)} %"


def rate(value: float | None) -> str:
    return "n/a tok/s" if value is None else f"{three(value)} tok/s"


def seconds(value: float | None) -> str:
    """A time in the unit that suits it."""
    if value is None:
        return "n/a"
    return f"{three(value * 1000)} ms" if abs(value) < 10 else f"{three(value)} s"


def three(value: float) -> str:
    """Three significant digits, never an exponent."""
    if not math.isfinite(value):
        return "n/a"
    if value == 0 or abs(value) >= 1000:
        return f"{value:.0f}"
    rounded = float(f"{value:.3g}")  # first, so that 0.9999 becomes 1.00 and not 1.000
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"
