"""Benchmarks and tunings from Python: run one to its end, and its report as a value with the figures as attributes.

The functions are methods of `api.Playground` and, with the shared one, of `playground.api`. Knows plans and reports, no
terminal and no page.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import escape

from playground.config import RunConfig, checked
from playground.errors import PlaygroundError
from playground.sentence import Sentence
from playground.suites import Prompt, Suite
from playground.suites._library import DEFAULT, chosen, load_suite

if TYPE_CHECKING:
    from playground.runner import Runner
    from playground.settings import Settings
    from storage import Store

Prompts = str | Path | Suite | Sequence[str]
"""A suite by name or path, a Suite, or prompts themselves."""

OnProgress = Callable[[int, int, float | None], None]
"""Called with (runs done, runs in all, seconds left or None)."""


@dataclass(frozen=True)
class BenchReport:
    """A benchmark's report. `as_dict()` is what `bench --json` prints."""

    report: dict[str, Any] = field(repr=False)

    @property
    def benchmark_id(self) -> str:
        return str(self.report["benchmark_id"])

    @property
    def verdict(self) -> str:
        """INVALID, NO DRAFTS, SLOWER, FAIL, PASS or INCONCLUSIVE."""
        return str(self.report["verdict"])

    @property
    def trusted(self) -> bool:
        """Whether the A/A check holds."""
        return bool(self.report["trusted"])

    @property
    def speedup(self) -> dict[str, Any]:
        """{"median", "low", "high", "n"} of the decode speed-up."""
        return dict(self.report["speedup"])

    @property
    def aa(self) -> dict[str, Any]:
        """The same of baseline against baseline."""
        return dict(self.report["aa"])

    def as_dict(self) -> dict[str, Any]:
        return self.report

    def markdown(self) -> str:
        from playground.bench.text import markdown

        return markdown(self.report)

    def __repr__(self) -> str:
        from playground.bench.text import headline

        return f"<benchmark {self.benchmark_id}: {headline(self.report)}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self)[1:-1])}</p><p>{escape(self.report['reason'])}</p>"


@dataclass(frozen=True)
class TuneReport:
    """A tuning's report. `as_dict()` is what `tune --json` prints."""

    report: dict[str, Any] = field(repr=False)

    @property
    def tune_id(self) -> str:
        return str(self.report["tune_id"])

    @property
    def recommended(self) -> dict[str, Any] | None:
        """The speculation to use; None for "do not speculate", and where nothing can be said."""
        found = self.report["recommended"]
        return dict(found) if found else None

    @property
    def reason(self) -> str:
        return str(self.report["reason"])

    @property
    def curve(self) -> list[dict[str, Any]]:
        return list(self.report["curve"])

    def as_dict(self) -> dict[str, Any]:
        return self.report

    def __repr__(self) -> str:
        from playground.tune.text import headline

        return f"<tuning {self.tune_id}: {headline(self.report)}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self)[1:-1])}</p><p>{escape(self.reason)}</p>"


def run_benchmark(
    settings: "Settings",
    store: "Store",
    runner: "Runner",
    config: RunConfig,
    prompts: Prompts = DEFAULT,
    *,
    sample: int | None = None,
    on_progress: OnProgress | None = None,
    **choices: Any,
) -> BenchReport:
    """See `Playground.bench`."""
    from playground.bench.plan import BenchPlan
    from playground.bench.run import run, start

    if config.speculation is None:
        raise PlaygroundError(
            Sentence("There is nothing to compare: no drafting method is chosen."), Sentence("Choose one.")
        )
    data = {"config": config, "suite": suite_of(prompts, settings, sample), "one_load": runner.one_load(config)}
    benchmark_id = start(store, checked(BenchPlan, data | choices, where=Sentence("the benchmark")))
    return BenchReport(_last(run(runner, store, benchmark_id), on_progress))


def run_tuning(
    settings: "Settings",
    store: "Store",
    runner: "Runner",
    config: RunConfig,
    prompts: Prompts = DEFAULT,
    *,
    sample: int | None = None,
    on_progress: OnProgress | None = None,
    **choices: Any,
) -> TuneReport:
    """See `Playground.tune`."""
    from playground.tune.run import run, start
    from playground.tune.space import TunePlan

    if config.speculation is None:
        raise PlaygroundError(
            Sentence("There is nothing to tune: no drafting method is chosen."), Sentence("Choose one.")
        )
    data = {
        "config": config,
        "suite": suite_of(prompts, settings, sample),
        "variants": (config.speculation,),
        "one_load": runner.one_load(config),
    }
    tune_id = start(store, checked(TunePlan, data | choices, where=Sentence("the tuning")))
    return TuneReport(_last(run(runner, store, tune_id), on_progress))


def suite_of(prompts: Prompts, settings: "Settings", sample: int | None = None) -> Suite:
    """Raises PlaygroundError: no such suite, or a prompt that is none."""
    if isinstance(prompts, (str, Path)):
        found = load_suite(prompts, settings)
    elif isinstance(prompts, Suite):
        found = prompts
    else:
        made = [Prompt(id=str(number), turns=(text,)) for number, text in enumerate(prompts, 1)]
        found = Suite(name="prompts", prompts=tuple(made))
    return chosen(found, sample=sample)


def _last(stages: Any, on_progress: OnProgress | None) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for stage in stages:
        report = stage.report or report
        if on_progress is not None:
            on_progress(stage.done, stage.total, stage.seconds_left)
    return report
