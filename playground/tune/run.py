"""Running a tuning: record a few answers, predict every candidate, measure the few that matter.

A generator of `Progress` like a benchmark's: whoever pulls it runs it, whoever closes it cancels it. Resuming runs the
same decisions again; what is stored already is read back instead of measured. Knows the runner and the store.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from playground.bench.run import WARM_UP_TOKENS, shortened
from playground.bench.samples import Sample
from playground.config import RunConfig, checked
from playground.errors import PlaygroundError
from playground.live import engine_class
from playground.runner import Runner, new_id
from playground.sentence import Sentence
from playground.tune import measured as facts
from playground.tune.halving import better_half, rungs, shortlist
from playground.tune.measured import Key
from playground.tune.predict import Prediction, Predictor, Recording, drafting
from playground.tune.report import build
from playground.tune.space import Candidate, TunePlan, check_plan
from storage import RunInfo, Store

FEW = 12
"""Prompts below which recording and confirming share them; otherwise each has its half."""


PRIOR = 6
"""Measured prompts that a prediction counts for, while halving decides who is measured further."""


_PHASES = {
    "record": Sentence("recording"),
    "calibrate": Sentence("timing"),
    "confirm": Sentence("measuring"),
    "grid": Sentence("measuring everything"),
}
"""A phase as it is told while it runs."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a tuning is; fields as `playground.bench.run.Progress`. `total` is what is expected so far."""

    tune_id: str
    done: int
    total: int
    seconds: float
    seconds_left: float | None = None
    now: str = ""
    report: dict[str, Any] | None = None
    finished: bool = False


def start(store: Store, plan: TunePlan) -> str:
    """A new tuning in the store; its id, with which `run` runs it.

    Raises:
        PlaygroundError: the engine lacks a method, a model or concurrency that the plan needs.
    """
    check_plan(plan)
    tune_id = new_id()
    store.benchmarks.create(tune_id, "tune", plan.title, plan.as_dict())
    return tune_id


def run(runner: Runner, store: Store, tune_id: str) -> Iterator[Progress]:
    """What is left of a tuning. Close it to cancel.

    Raises:
        PlaygroundError: there is no such tuning, it is running, or its runs fail; what was measured is kept.
    """
    plan = stored_plan(store, tune_id)
    store.benchmarks.resume(tune_id)
    work = _Work(runner, store, tune_id, plan)
    status, failure = "cancelled", None
    try:
        yield from work.steps()
        status = "done"
    except PlaygroundError as error:
        # What others ended, this program's own end among them, can be gone on with.
        status, failure = "interrupted" if error.code in ("cancelled", "closed") else "error", error
        raise
    except Exception as error:
        status = "error"
        failure = PlaygroundError(
            Sentence("Draftboard itself failed: {kind}: {error}.", kind=type(error).__name__, error=error),
            Sentence("Please report it."),
        )
        raise
    finally:
        report = work.report(status)
        store.benchmarks.save_report(tune_id, report)
        said = {"error": failure.message, "hint": failure.hint} if failure else {}
        store.benchmarks.finish(tune_id, status, **said)
    yield Progress(tune_id, work.done, work.done, work.seconds, 0.0, report=report, finished=True)


def stored_plan(store: Store, tune_id: str) -> TunePlan:
    """Raises PlaygroundError where there is none, or it is of another kind or version."""
    row = store.benchmarks.benchmark(tune_id)
    if row.kind != "tune":
        raise PlaygroundError(
            Sentence("{tuning} is a benchmark, no tuning.", tuning=tune_id),
            Sentence("Open it there."),
            code="no_such_benchmark",
        )
    return checked(TunePlan, row.plan, where=Sentence("the stored tuning {tuning}", tuning=tune_id))


def stored_report(store: Store, tune_id: str) -> dict[str, Any]:
    """The report as it was last saved.

    Raises:
        PlaygroundError: there is none yet.
    """
    row = store.benchmarks.benchmark(tune_id)
    if row.kind != "tune" or not row.report:
        raise PlaygroundError(
            Sentence("{tuning} has no report yet.", tuning=tune_id),
            Sentence("Run or resume it."),
            code="nothing_measured",
        )
    return dict(row.report)


class _Work:
    """One tuning while it runs."""

    def __init__(self, runner: Runner, store: Store, tune_id: str, plan: TunePlan) -> None:
        self.runner, self.store, self.tune_id, self.plan = runner, store, tune_id, plan
        self.taken = facts.read_back(store, tune_id)
        self.predictor = Predictor(plan)
        self.predictions: dict[int, Prediction] = {}
        self.done = self.expected = 0
        self.began = time.monotonic()
        self._loaded: object = None
        self._per_run: list[float] = []
        self._shares_loads = "max_num_speculative_tokens" in engine_class(plan.config.engine).Options.model_fields
        self.can_record = "counterfactual" in engine_class(plan.config.engine).Options.model_fields

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def report(self, status: str) -> dict[str, Any]:
        return build(self.plan, self.tune_id, status, self.taken, self.predictor, self.predictions)

    # -- what is measured, in order

    def steps(self) -> Iterator[Progress]:
        items = range(len(self.plan.suite.prompts))
        half = len(items) if len(items) < FEW else (len(items) + 1) // 2
        to_record, to_confirm = list(items[:half]), list(items[half:] or items)
        self.expected = self._expected(len(to_record), len(to_confirm))
        yield from self._record(to_record)
        self.predictions = self.predictor.predictions()
        yield self._now("", report=self.report("running"))
        for number in range(len(self.plan.conditions)):
            yield from self._confirm(number, to_confirm)
            yield self._now("", report=self.report("running"))
        if self.plan.full_grid:
            yield from self._grid(list(items))

    def _record(self, items: Sequence[int]) -> Iterator[Progress]:
        """Baselines, and for methods with a model one k's runs, recorded; a few prompts also time other widths."""
        if self.plan.conditions[0].temperature > 0 or self.plan.conditions[0].level > 1:
            return  # there is no one answer to walk through
        few = max(2, len(items) // 4)
        for place, item in enumerate(items):
            keys = [Key("record", item), *(Key("record", item, c.index) for c in self._recorders())]
            if place < few:
                keys += [
                    Key("calibrate", item, c.index) for c in self._timers() if Key("record", item, c.index) not in keys
                ]
            yield from self._measure(rotated(keys, place))
        for key, sample in self.taken.samples.items():
            if key.phase in ("record", "calibrate") and sample.measured:
                max_tokens = self.plan.config.sampling.max_tokens
                events = list(self.store.replay(sample.link.run_id))
                self.predictor.add(Recording.of(key.item, key.candidate, events, max_tokens))

    def _recorders(self) -> list[Candidate]:
        """The candidate of each way of drafting with a model whose runs carry its record."""
        if not self.can_record:
            return []
        return [self._middle(v) for v, s in enumerate(self.plan.variants) if not self.plan.looked_up(s)]

    def _timers(self) -> list[Candidate]:
        """For each (method, model) its smallest, middle and largest k: their steps' times give all others'."""
        found: dict[int, Candidate] = {}
        seen = set()
        for variant in range(len(self.plan.variants)):
            mine = self._of(variant)
            if drafting(mine[0]) not in seen and (self.can_record or self.plan.looked_up(mine[0].speculation)):
                seen.add(drafting(mine[0]))
                found |= {c.index: c for c in (mine[0], self._middle(variant), mine[-1])}
        return list(found.values())

    def _confirm(self, condition: int, items: Sequence[int]) -> Iterator[Progress]:
        """Successive halving of the shortlist under one condition."""
        predicted = {i: p.speedup.median for i, p in self.predictions.items()}
        everyone = [c.index for c in self.plan.candidates]
        alive = shortlist(predicted, everyone, self.plan.finalists)
        for rung in rungs(len(alive), items):
            if self.plan.conditions[condition].level > 1:
                yield from self._waves(condition, rung, alive)
            else:
                yield from self._one_by_one(condition, rung, alive, "confirm")
            alive = better_half({i: self._score(condition, i) for i in alive}, alive)

    def _score(self, condition: int, candidate: int) -> float | None:
        """What it measured so far; after few prompts its prediction, where it holds, still says more than they do."""
        found = self.taken.ratios(condition, candidate, self.plan.objective)
        where = self.plan.conditions[condition]
        predicted = self.predictions.get(candidate) if where.temperature == 0 and where.level == 1 else None
        prior = predicted.speedup.median if predicted else None
        if found.median is None or prior is None:
            return found.median
        return (found.n * found.median + PRIOR * prior) / (found.n + PRIOR)

    def _grid(self, items: Sequence[int]) -> Iterator[Progress]:
        yield from self._one_by_one(0, items, [c.index for c in self.plan.candidates], "grid")

    def _one_by_one(self, condition: int, items: Sequence[int], alive: Sequence[int], phase: str) -> Iterator[Progress]:
        """Per prompt the baseline and each of them, next to each other; in passes where each needs its own load."""
        arms: list[int | None] = [None, *alive]
        if self.plan.one_load:
            for place, item in enumerate(items):
                yield from self._measure(rotated([Key(phase, item, arm, condition) for arm in arms], place))
        else:
            for arm in arms:
                for item in items:
                    yield from self._measure([Key(phase, item, arm, condition)])

    def _waves(self, condition: int, items: Sequence[int], alive: Sequence[int]) -> Iterator[Progress]:
        """Each wave runs a handful of prompts together, in every arm."""
        level = self.plan.conditions[condition].level
        count = max(2, -(-len(items) // level))
        arms: list[int | None] = [None, *alive]
        waves = [[items[(wave * level + p) % len(items)] for p in range(level)] for wave in range(count)]
        pairs = [(arm, wave) for wave in range(count) for arm in rotated(arms, wave)]
        if not self.plan.one_load:
            pairs = [(arm, wave) for arm in arms for wave in range(count)]
        for arm, wave in pairs:
            number = items[0] * 1000 + wave  # of this rung, so that a later one's waves are others
            keys = [Key("confirm", item, arm, condition, level, number, p) for p, item in enumerate(waves[wave])]
            yield from self._measure(keys, together=True)

    # -- measuring

    def _measure(self, keys: Sequence[Key], *, together: bool = False) -> Iterator[Progress]:
        """Runs that are not stored yet; once more where an engine had to be loaded for them."""
        if not all((found := self.taken.samples.get(key)) and found.measured for key in keys):
            yield from self._warm(keys)
            samples = yield from self._run(keys, together)
            if any(s.cold for s in samples) and not any(s.result.status == "error" for s in samples):
                samples = yield from self._run(keys, together)
            if failed := [s for s in samples if s.result.status == "error"]:
                finish = failed[0].finish
                if finish is None or finish.code not in ("prompt_too_long", "bad_prompt"):
                    raise _gave_up(failed[0])
            if any(s.result.status == "cancelled" for s in samples):
                raise PlaygroundError(
                    Sentence("A run was cancelled from outside."), Sentence("Resume the tuning."), code="cancelled"
                )
        self.done += len(keys)

    def _warm(self, keys: Sequence[Key]) -> Iterator[Progress]:
        """A short run of everything that has not run on the engine as it is loaded: excluded from every figure."""
        arms = list(dict.fromkeys(key.candidate for key in keys))
        if self.plan.one_load:
            fresh = self._loaded is None
            arms = [None, *(self._of(v)[-1].index for v in range(len(self.plan.variants)))] if fresh else []
            self._loaded = True
        else:
            arms = [] if self._loaded == arms else arms
            self._loaded = list(dict.fromkeys(key.candidate for key in keys))
        if arms:
            yield from self._run([Key("warm-up", 0, arm) for arm in dict.fromkeys(arms)], False)

    def _run(self, keys: Sequence[Key], together: bool) -> Generator[Progress, None, list[Sample]]:
        named = {new_id(): key for key in keys}
        links = {run_id: facts.link_of(run_id, key) for run_id, key in named.items()}
        samples = {run_id: Sample(link) for run_id, link in links.items()}
        self.store.benchmarks.link(self.tune_id, links.values())
        infos = [RunInfo(run_id, self._config(key), self._prompt(key), "tune") for run_id, key in named.items()]
        began = told = time.monotonic()
        yield self._now(self._words(keys))
        with closing(self.runner.start_batch(infos, together=together)) as job:
            for run_id, event in job:
                samples[run_id].add(event)
                if time.monotonic() - told > 0.5:
                    told = time.monotonic()
                    yield self._now(self._words(keys))
        self._per_run.append((time.monotonic() - began) / len(keys))
        self._settle(named, samples, together)
        return list(samples.values())

    def _settle(self, named: dict[str, Key], samples: dict[str, Sample], together: bool) -> None:
        if cold := [run_id for run_id, sample in samples.items() if sample.cold]:
            self.store.benchmarks.mark(cold, cold=True)
        ends = [s.result.last_at for s in samples.values() if s.result.last_at is not None]
        wall = max(ends) if together and ends else None
        if wall is not None:
            self.store.benchmarks.mark(samples, wall_seconds=wall)
        for run_id, sample in samples.items():
            sample.link = replace(sample.link, cold=sample.cold, wall_seconds=wall)
            self.taken.take(named[run_id], sample, self._per_run[-1])

    def _config(self, key: Key) -> RunConfig:
        base = self.plan.config
        speculation = None if key.candidate is None else self.plan.candidates[key.candidate].speculation
        temperature = self.plan.conditions[key.condition].temperature
        sampling = base.sampling.model_copy(update={"temperature": temperature})
        options = base.engine_options
        if key.phase == "warm-up":
            sampling = shortened(sampling, min(WARM_UP_TOKENS, sampling.max_tokens))
        if key.phase == "record" and self.can_record:
            options = options | {"counterfactual": sorted(set(self.plan.ks))}
        if speculation is not None and speculation.method == "ngram" and self._shares_loads:
            # A lookup costs the same whatever k the engine was loaded for, so that one load serves every k.
            options = options | {"max_num_speculative_tokens": max(self.plan.ks)}
        return base.model_copy(update={"speculation": speculation, "sampling": sampling, "engine_options": options})

    def _prompt(self, key: Key) -> str:
        return self.plan.suite.prompts[key.item].turns[0]

    # -- small things

    def _of(self, variant: int) -> list[Candidate]:
        return [c for c in self.plan.candidates if c.variant == variant]

    def _middle(self, variant: int) -> Candidate:
        mine = self._of(variant)
        return mine[len(mine) // 2]

    def _expected(self, recorded: int, confirmed: int) -> int:
        """Runs that this will take, about: halving's exact number is known once it is over."""
        first = self.plan.conditions[0]
        total = 0
        if first.temperature == 0 and first.level == 1:
            total += recorded * (1 + len(self._recorders())) + max(2, recorded // 4) * len(self._timers())
        finalists = min(self.plan.finalists, len(self.plan.candidates))
        sizes = rungs(finalists, range(confirmed))
        for condition in self.plan.conditions:
            alive = finalists
            for rung in sizes:
                total += len(rung) * (1 + alive) * (condition.level if condition.level > 1 else 1)
                alive = max(1, -(-alive // 2))
        if self.plan.full_grid:
            total += len(self.plan.suite.prompts) * (1 + len(self.plan.candidates))
        return total

    def _now(self, now: str, *, report: dict[str, Any] | None = None) -> Progress:
        total = max(self.expected, self.done)
        usual = sum(self._per_run) / len(self._per_run) if self._per_run else None
        left = None if usual is None else usual * (total - self.done)
        return Progress(self.tune_id, self.done, total, self.seconds, left, now, report)

    def _words(self, keys: Sequence[Key]) -> str:
        key = keys[0]
        if key.phase == "warm-up":
            return Sentence("warm-up")
        phase = _PHASES.get(key.phase, key.phase)
        return Sentence("{phase}: {prompt}", phase=phase, prompt=self.plan.suite.prompts[key.item].id)


def rotated(items: Sequence[Any], by: int) -> list[Any]:
    """The same in another order, each first in its turn: being first may itself cost or gain."""
    place = by % len(items) if items else 0
    return [*items[place:], *items[:place]]


def _gave_up(sample: Sample) -> PlaygroundError:
    finish = sample.finish
    why = finish.error if finish and finish.error else Sentence("no reason given")
    return PlaygroundError(
        Sentence("The tuning was ended, since its runs fail: {why}", why=why),
        (finish.hint if finish else "") or Sentence("Try one of its prompts in the Compare tab."),
        code=finish.code if finish and finish.code else "tune_failed",
    )
