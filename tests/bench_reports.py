"""Reports of benchmarks and tunings made from canned streams, without a process: helpers for tests, no tests."""

from typing import Any

from playground.bench.plan import BenchPlan
from playground.bench.report import build
from playground.bench.run import Measured
from playground.bench.samples import Sample
from playground.bench.schedule import schedule
from playground.config import RunConfig, SamplingParams, Speculation
from playground.engines._script import Script, ScriptedOptions
from playground.suites import Prompt, Suite
from playground.tune.measured import Key, Taken, link_of
from playground.tune.predict import Predictor
from playground.tune.report import build as build_tuning
from playground.tune.space import TunePlan
from storage.benchmarks import RunLink

HOSTILE = "<script>alert(1)</script> ${x} {{x}} `x` <img src=x onerror=alert(1)> \"'"


def config(name: str = "t", k: int = 4, **options: Any) -> RunConfig:
    return RunConfig(
        engine="scripted",
        engine_options={"length": 60, **options},
        target=name,
        speculation=Speculation(method="draft_model", model="d", num_speculative_tokens=k),
        sampling=SamplingParams(max_tokens=60),
    )


def suite(count: int = 8, text: str = "Prompt") -> Suite:
    prompts = (
        Prompt(id=f"{text} {i}", category=f"{text} {'even' if i % 2 == 0 else 'odd'}", turns=(f"{text} {i}",))
        for i in range(count)
    )
    return Suite(name=text, prompts=tuple(prompts))


def events(config: RunConfig, prompt: str, seed: int) -> list[Any]:
    options = ScriptedOptions(**{**config.engine_options, "steps_seed": seed})
    return [event for _, event in Script(config, options, prompt)]


def bench_report(count: int = 8, text: str = "Prompt", levels: tuple[int, ...] = (), **options: Any) -> dict[str, Any]:
    """A benchmark's report; each prompt drafts in its own way."""
    chosen = config(text, **options)
    plan = BenchPlan(config=chosen, suite=suite(count, text), levels=levels)
    measured = Measured()
    for number, group in enumerate(schedule(plan)):
        for slot in group.slots:
            made = chosen if slot.arm == "speculative" else chosen.baseline()
            prompt = plan.suite.prompts[slot.item].turns[0]
            link = RunLink(
                f"run-{number}-{slot.arm}", slot.phase, slot.item, slot.turn, slot.arm, slot.repeat, slot.place,
                slot.level, slot.wave,
            )  # fmt: skip
            sample = Sample.of(link, events(made, prompt, slot.item))
            if slot.level > 1 or slot.wave is not None:
                slower = 1 + 0.2 * slot.level if slot.arm == "speculative" else 1.0
                wall = (sample.result.last_at or 1.0) * slower
                sample.link = RunLink(**{**_fields(link), "wall_seconds": wall})
            measured.take(slot, sample, greedy=True)
    return build(plan, measured.samples, measured.pairs, "bench-id", "done")


def tune_report(
    count: int = 12, text: str = "Prompt", ks: tuple[int, ...] = (1, 2, 4, 8), **options: Any
) -> dict[str, Any]:
    """A tuning's report, everything measured."""
    chosen = config(text, **options)
    assert chosen.speculation is not None
    plan = TunePlan(config=chosen, suite=suite(count, text), variants=(chosen.speculation,), ks=ks)
    taken = Taken()
    for item in range(count):
        for candidate in (None, *range(len(ks))):
            spec = None if candidate is None else plan.candidates[candidate].speculation
            made = chosen.model_copy(update={"speculation": spec})
            key = Key("confirm", item, candidate)
            taken.take(key, Sample.of(link_of(f"run-{item}-{candidate}", key), events(made, f"{text} {item}", item)))
    return build_tuning(plan, "tune-id", "done", taken, Predictor(plan), {})


def _fields(link: RunLink) -> dict[str, Any]:
    return {name: getattr(link, name) for name in RunLink.__slots__}
