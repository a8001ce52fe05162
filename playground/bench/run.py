"""Running a benchmark: its groups through the runner, one after the other, each run stored and linked to it.

A generator of `Progress`: whoever pulls it runs it, whoever closes it cancels it, and what was measured by then is kept
and can be resumed. Knows the runner and the store; draws no conclusions (report.py).
"""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from playground.bench.plan import BenchPlan, check_plan
from playground.bench.report import build
from playground.bench.samples import Pair, Sample, paired
from playground.bench.schedule import Group, Slot, schedule
from playground.config import Message, SamplingParams, checked
from playground.errors import PlaygroundError
from playground.runner import Runner, new_id
from playground.sentence import Sentence
from storage import RunInfo, Store
from storage.benchmarks import RunLink

WARM_UP_TOKENS = 16
MOST_FAILURES = 3
"""Groups in a row that may fail before the rest is not tried."""

MOST_AGAIN, LEAST_AGAIN = 0.25, 4
"""How many groups are measured a second time because the machine was busy: share of all, but at least so many."""

REPORT_EVERY = 3.0
"""Seconds between two reports of a benchmark that runs: each draws thousands of samples."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a benchmark is. `report` is of what was measured so far, None until there is something.

    `done`, `total` count runs; `seconds_left` is None until something was timed; `now` says what runs, for people.
    """

    benchmark_id: str
    done: int
    total: int
    seconds: float
    seconds_left: float | None = None
    now: str = ""
    report: dict[str, Any] | None = None
    finished: bool = False


@dataclass(slots=True)
class Measured:
    """All that a benchmark has measured: runs by their place in the plan, and the pairs among them."""

    samples: dict[Slot, Sample] = field(default_factory=dict)
    pairs: dict[tuple[int, int, int], Pair] = field(default_factory=dict)
    failures: list[Sample] = field(default_factory=list)

    def take(self, slot: Slot, sample: Sample, *, greedy: bool) -> None:
        """A run that has ended; with the other arm's it becomes a pair, and their ids are let go."""
        if sample.result.status == "error":
            self.failures.append(sample)
        self.samples[slot] = sample
        if slot.phase != "measure" or slot.arm == "again":
            return
        arms = [self.samples.get(replace(slot, arm=arm)) for arm in ("baseline", "speculative")]
        if arms[0] and arms[1] and all(arm and arm.measured for arm in arms):
            self.pairs[slot.item, slot.turn, slot.repeat] = paired(arms[0], arms[1], greedy=greedy)


def start(store: Store, plan: BenchPlan) -> str:
    """A new benchmark in the store; its id, with which `run` runs it.

    Raises:
        PlaygroundError: it asks for concurrency, or a baseline, of an engine that has none.
    """
    check_plan(plan)
    benchmark_id = new_id()
    store.benchmarks.create(benchmark_id, "bench", plan.title, plan.as_dict())
    return benchmark_id


def run(runner: Runner, store: Store, benchmark_id: str) -> Iterator[Progress]:
    """What is left of a benchmark. Close it to cancel.

    Raises:
        PlaygroundError: there is no such benchmark, it is running, or too many of its runs fail; what was measured is
            kept.
    """
    plan = stored_plan(store, benchmark_id)
    store.benchmarks.resume(benchmark_id)
    work = _Work(runner, store, benchmark_id, plan)
    status, failure = "cancelled", None
    try:
        yield from work.progress()
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
        store.benchmarks.save_report(benchmark_id, work.report(status))
        said = {"error": failure.message, "hint": failure.hint} if failure else {}
        store.benchmarks.finish(benchmark_id, status, **said)
    yield Progress(benchmark_id, work.done, work.total, work.seconds, 0.0, report=work.report(status), finished=True)


def stored_plan(store: Store, benchmark_id: str) -> BenchPlan:
    """Raises PlaygroundError where there is none, or it is of another kind or version."""
    row = store.benchmarks.benchmark(benchmark_id)
    if row.kind != "bench":
        raise PlaygroundError(
            Sentence("{benchmark} is a tuning, no benchmark.", benchmark=benchmark_id),
            Sentence("Open it there."),
            code="no_such_benchmark",
        )
    return checked(BenchPlan, row.plan, where=Sentence("the stored benchmark {benchmark}", benchmark=benchmark_id))


def stored_report(store: Store, benchmark_id: str) -> dict[str, Any]:
    """The report of a benchmark, made anew from its stored runs."""
    row = store.benchmarks.benchmark(benchmark_id)
    plan = stored_plan(store, benchmark_id)
    measured = read_back(store, benchmark_id, plan)
    return build(plan, measured.samples, measured.pairs, benchmark_id, row.status, len(measured.failures))


def read_back(store: Store, benchmark_id: str, plan: BenchPlan) -> Measured:
    """What the store holds of it; of a slot that was run again, the last run."""
    measured = Measured()
    for link in store.benchmarks.links(benchmark_id):
        sample = Sample.of(link, store.replay(link.run_id))
        measured.take(slot_of(link), sample, greedy=plan.config.sampling.greedy)
    return measured


def slot_of(link: RunLink) -> Slot:
    place = link.candidate or 0  # a benchmark has no candidates; the column holds the place in a wave
    return Slot(link.phase, link.item, link.arm, link.turn, link.repeat, link.level, link.wave, place)  # type: ignore[arg-type]


class _Work:
    """One benchmark while it runs."""

    def __init__(self, runner: Runner, store: Store, benchmark_id: str, plan: BenchPlan) -> None:
        self.runner, self.store, self.benchmark_id, self.plan = runner, store, benchmark_id, plan
        self.greedy = plan.config.sampling.greedy
        self.groups = schedule(plan)
        self.measured = read_back(store, benchmark_id, plan)
        self.total = sum(len(group.slots) for group in self.groups if group.slots[0].phase != "warm-up")
        self.done = sum(len(group.slots) for group in self.groups if self._is_done(group))
        self.began = time.monotonic()
        self._times: dict[str, list[float]] = {}
        self._reported = 0.0
        self._report: dict[str, Any] | None = None
        self._failed_in_a_row = 0
        self._spare = max(LEAST_AGAIN, int(MOST_AGAIN * len(self.groups)))

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def report(self, status: str) -> dict[str, Any]:
        measured = self.measured
        return build(self.plan, measured.samples, measured.pairs, self.benchmark_id, status, len(measured.failures))

    def progress(self) -> Iterator[Progress]:
        warmed: Group | None = None
        for group in self.groups:
            if group.slots[0].phase == "warm-up":
                warmed = group  # run with the next group that is not done, for a resumed one has another load
                continue
            if self._is_done(group):
                continue
            if warmed is not None:
                samples = yield from self._run(warmed)
                if broken := [s for s in samples if s.result.status == "error"]:
                    raise _gave_up(broken[0])
                warmed = None
            yield from self._measure(group)
            self.done += len(group.slots)
            yield self._now("", report=self._report_now())

    def _measure(self, group: Group) -> Generator[Progress, None, None]:
        """A group, once more where the engine had to be loaded for it, since somebody else used it in between, or
        where other programs held the processor; the latter not without end, for some machines are never quiet.
        """
        samples = yield from self._run(group)
        broken = any(sample.result.status == "error" for sample in samples)
        disturbed = any(sample.result.disturbed for sample in samples) and self._spare > 0
        if not broken and (disturbed or any(sample.cold for sample in samples)):
            self._spare -= disturbed
            samples = yield from self._run(group)
        failed = [s for s in samples if s.result.status == "error"]
        if failed and _prompts_fault(failed[0]):
            return
        self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
        if failed and (self._failed_in_a_row >= MOST_FAILURES or not failed[0].prompt_ids):
            raise _gave_up(failed[0])
        if any(sample.result.status == "cancelled" for sample in samples):
            raise PlaygroundError(
                Sentence("A run was cancelled from outside."), Sentence("Resume the benchmark."), code="cancelled"
            )

    def _run(self, group: Group) -> Generator[Progress, None, list[Sample]]:
        """The group's runs, recorded and linked; yields while they run, returns their samples."""
        slots = {new_id(): slot for slot in group.slots}
        links = {run_id: self._link(run_id, slot) for run_id, slot in slots.items()}
        samples = {run_id: Sample(link) for run_id, link in links.items()}
        self.store.benchmarks.link(self.benchmark_id, links.values())
        infos = [self._info(run_id, slot) for run_id, slot in slots.items()]
        began = time.monotonic()
        pulse = _Pulse()
        yield self._now(self._words(group))
        with closing(self.runner.start_batch(infos, together=group.together)) as job:
            for run_id, event in job:
                samples[run_id].add(event)
                if pulse.due():
                    yield self._now(self._words(group))
        self._settle(group, slots, samples)
        self._times.setdefault(_kind(group), []).append(time.monotonic() - began)
        return list(samples.values())

    def _settle(self, group: Group, slots: dict[str, Slot], samples: dict[str, Sample]) -> None:
        """What became known while they ran goes to the store; the samples to what was measured."""
        cold = [run_id for run_id, sample in samples.items() if sample.cold]
        if cold:
            self.store.benchmarks.mark(cold, cold=True)
        wall = _wall(samples.values()) if group.together else None
        if wall is not None:
            self.store.benchmarks.mark(samples, wall_seconds=wall)
        for run_id, sample in samples.items():
            sample.link = replace(sample.link, cold=sample.cold, wall_seconds=wall)
            self.measured.take(slots[run_id], sample, greedy=self.greedy)

    def _link(self, run_id: str, slot: Slot) -> RunLink:
        return RunLink(
            run_id, slot.phase, slot.item, slot.turn, slot.arm, slot.repeat, slot.place, slot.level, slot.wave
        )

    def _info(self, run_id: str, slot: Slot) -> RunInfo:
        config = self.plan.config if slot.arm == "speculative" else self.plan.config.baseline()
        if slot.phase == "warm-up":
            few = min(WARM_UP_TOKENS, config.sampling.max_tokens)
            config = config.model_copy(update={"sampling": shortened(config.sampling, few)})
        config = config.model_copy(update={"history": self._history(slot)})
        prompt = self.plan.suite.prompts[slot.item].turns[slot.turn]
        # A pair of its own in the history: the two arms of one request in one repetition.
        named = slot.phase == "measure" and slot.arm != "again"
        comparison = f"{self.benchmark_id}-{slot.item}-{slot.turn}-{slot.repeat}" if named else None
        return RunInfo(run_id, config, prompt, "bench", comparison, slot.arm if named else None)

    def _history(self, slot: Slot) -> tuple[Message, ...]:
        """What was said before this turn: the same for all arms, as the first baseline answered."""
        messages: list[Message] = []
        for turn in range(slot.turn):
            before = self.measured.samples.get(Slot("measure", slot.item, "baseline", turn))
            asked = self.plan.suite.prompts[slot.item].turns[turn]
            messages += [Message(role="user", content=asked)]
            messages += [Message(role="assistant", content=before.text if before else "")]
        return tuple(messages)

    def _is_done(self, group: Group) -> bool:
        found = [self.measured.samples.get(slot) for slot in group.slots]
        return group.slots[0].phase != "warm-up" and all(sample and sample.measured for sample in found)

    def _now(self, now: str, *, report: dict[str, Any] | None = None) -> Progress:
        return Progress(
            self.benchmark_id, self.done, self.total, self.seconds, self._seconds_left(), now, report or self._report
        )

    def _seconds_left(self) -> float | None:
        """By the mean of the groups of the same kind so far, else of any group."""
        timed = [t for times in self._times.values() for t in times]
        if not timed:
            return None
        means = {kind: sum(times) / len(times) for kind, times in self._times.items()}
        usual = sum(timed) / len(timed)
        waiting = [g for g in self.groups if g.slots[0].phase != "warm-up" and not self._is_done(g)]
        return sum(means.get(_kind(group), usual) for group in waiting)

    def _report_now(self) -> dict[str, Any] | None:
        if time.monotonic() - self._reported > REPORT_EVERY and self.measured.pairs:
            self._report, self._reported = self.report("running"), time.monotonic()
        return self._report

    def _words(self, group: Group) -> str:
        slot = group.slots[0]
        if slot.phase == "warm-up":
            return Sentence("warm-up")
        prompt = self.plan.suite.prompts[slot.item]
        return Sentence("{n} at once", n=slot.level) if group.together and slot.level > 1 else prompt.id


class _Pulse:
    """About twice a second: whoever pulls hears that it goes on, and may close it."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def due(self) -> bool:
        if time.monotonic() - self._told < 0.5:
            return False
        self._told = time.monotonic()
        return True


def _wall(samples: Iterable[Sample]) -> float | None:
    """Seconds from submitting a wave, all of it at once, to its last token, on the engine's own clock."""
    ends = [sample.result.last_at for sample in samples]
    return max((end for end in ends if end is not None), default=None)


def shortened(sampling: SamplingParams, tokens: int) -> SamplingParams:
    return sampling.model_copy(update={"max_tokens": tokens, "min_tokens": min(sampling.min_tokens, tokens)})


def _prompts_fault(sample: Sample) -> bool:
    """Whether a run failed for its prompt's sake: the next one may well be run."""
    return sample.finish is not None and sample.finish.code in ("prompt_too_long", "bad_prompt")


def _kind(group: Group) -> str:
    slot = group.slots[0]
    return f"{slot.phase}/{slot.level}/{len(group.slots)}/{slot.arm if len(group.slots) == 1 or group.together else ''}"


def _gave_up(sample: Sample) -> PlaygroundError:
    finish = sample.finish
    why = finish.error if finish and finish.error else Sentence("no reason given")
    return PlaygroundError(
        Sentence("The benchmark was ended, since its runs fail: {why}", why=why),
        (finish.hint if finish else "") or Sentence("Try one of its prompts in the Compare tab."),
        code=finish.code if finish and finish.code else "bench_failed",
    )
