"""The runner: queue, reuse, cancelling and failing, through the real store and the scripted engine's process."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from playground.config import RunConfig, SamplingParams, Speculation
from playground.devices import DeviceLock
from playground.errors import PlaygroundError
from playground.events import GpuSample, Heartbeat, Loading, Queued, RunFinished, RunStarted, Step
from playground.metrics import RunResult
from playground.runner import Runner, check, new_id
from playground.settings import Settings
from storage import Store
from tests.children import children

FAST = {"load_seconds": 0, "prefill_seconds": 0, "pace": False}


def config(speculation=True, target="t", max_tokens=256, **options):
    return RunConfig(
        engine="scripted",
        engine_options=FAST | options,
        target=target,
        speculation=Speculation(method="ngram") if speculation else None,
        sampling=SamplingParams(max_tokens=max_tokens),
    )


def endless(**options):
    return config(pace=True, length=100_000, max_tokens=100_000, tokens_per_second=50, **options)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "runs.db")
    yield store
    store.close()


@pytest.fixture
def runner(settings, store):
    before = children()
    runner = Runner(settings, store)
    yield runner
    runner.close()
    assert children() <= before
    assert runner.status().state == "none"


def child(runner):
    """The live engine's process id."""
    return runner._engine._loaded.process.pid


def until(kind, events):
    return next(event for event in events if isinstance(event, kind))


def only_ending(events):
    """The last event, which must be the one and only RunFinished."""
    assert [type(event) for event in events].count(RunFinished) == 1
    assert isinstance(events[-1], RunFinished)
    return events[-1]


def stored_status(store, run_id):
    return RunResult.of(store.replay(run_id)).status


class Reader(threading.Thread):
    """Consumes a job in a thread of its own, as a tab does."""

    def __init__(self, job):
        super().__init__(daemon=True)
        self.job, self.events = job, []
        self.start()

    def run(self):
        for event in self.job:
            self.events.append(event)

    def wait_for(self, kind, seconds=20):
        deadline = time.monotonic() + seconds
        while not any(isinstance(event, kind) for event in self.events):
            assert time.monotonic() < deadline, f"no {kind.__name__} in {self.events[-3:]}"
            time.sleep(0.01)

    def done(self, seconds=20):
        self.join(seconds)
        assert not self.is_alive()
        return self.events


# -- one run, one comparison -------------------------------------------------------------------------------------------


def test_a_run_is_streamed_sampled_and_recorded(runner, store):
    job = runner.start_run(config(), "Hello")
    events = list(job)
    assert only_ending(events).reason == "stop"
    assert isinstance(until(Loading, events), Loading)
    assert isinstance(until(GpuSample, events), GpuSample)
    kept = [event for event in events if isinstance(event, RunStarted | Step | RunFinished)]
    assert [event for event in store.replay(job.run_id) if not isinstance(event, GpuSample)] == kept
    assert runner.status().state == "idle"


def test_a_comparison_runs_both_arms_on_one_engine(runner, store):
    job = runner.start_compare(config(), "Hello")
    events = list(job)
    arms = [arm for arm, _ in events]
    assert arms == sorted(arms)  # baseline first
    for arm in ("baseline", "speculative"):
        own = [event for of, event in events if of == arm]
        assert only_ending(own).reason == "stop"
        row = store.run(job.run_ids[arm])
        assert (row.comparison_id, row.arm, row.status) == (job.comparison_id, arm, "stop")
        assert (row.config.speculation is None) == (arm == "baseline")
    loads = [e for of, e in events if isinstance(e, Loading) and e.stage == "start"]
    assert len(loads) == 1
    steps = {arm: [e for of, e in events if of == arm and isinstance(e, Step)] for arm in job.run_ids}
    ids = {arm: [token.id for step in own for token in step.tokens] for arm, own in steps.items()}
    assert ids["baseline"] == ids["speculative"]
    assert len(steps["baseline"]) > len(steps["speculative"])


def test_the_engine_is_reused_while_it_can_serve(runner):
    list(runner.start_run(config(), "a"))
    first = child(runner)
    list(runner.start_run(config(length=5), "b"))
    list(runner.start_run(config(speculation=False), "c"))
    list(runner.start_compare(config(), "d"))
    assert child(runner) == first
    events = list(runner.start_run(config(target="another"), "e"))
    assert only_ending(events).reason == "stop"
    assert child(runner) != first
    assert not psutil.pid_exists(first)
    assert (runner.status().target, runner.status().state) == ("another", "idle")


def test_an_engine_decides_whether_its_baseline_is_another_load(runner):
    """A baseline that would still pay for the drafter is no baseline: such an engine loads each arm by itself."""
    events = list(runner.start_compare(config(separate_baseline=True), "a"))
    loads = [arm for arm, event in events if isinstance(event, Loading) and event.stage == "start"]
    assert loads == ["baseline", "speculative"]
    assert [event.reason for _, event in events if isinstance(event, RunFinished)] == ["stop", "stop"]


def test_run_keeps_the_names_it_is_given(runner, store):
    job = runner.run(config(), "a", source="bench", run_id="one", comparison_id="pair", arm="speculative")
    with pytest.raises(PlaygroundError, match="already"):
        runner.run(config(), "a", run_id="one")
    list(job)
    row = store.run("one")
    assert (row.source, row.comparison_id, row.arm) == ("bench", "pair", "speculative")


# -- refused before anything is queued ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"engine": "nothing"}, "no engine called"),
        ({"engine_options": {"lenght": 3}}, "scripted: lenght: is not a known key"),
        ({"engine_options": {"acceptance": 2}}, "acceptance"),
        ({"speculation": Speculation(method="guessing")}, "no drafting method called “guessing”"),
        ({"speculation": Speculation(method="ngram", options={"nonsense": 1})}, "ngram: nonsense"),
        ({"speculation": Speculation(method="draft_model")}, "needs a draft model"),
    ],
)
def test_what_cannot_run_is_refused_at_once(runner, change, words):
    bad = config().model_copy(update=change)
    for start in (runner.start_run, runner.start_compare, runner.run):
        with pytest.raises(PlaygroundError, match=words) as caught:
            start(bad, "x")
        assert caught.value.hint
    assert runner.status().state == "none"


@pytest.mark.parametrize("prompt", ["\ud83d", "x" * 1_000_001])
def test_prompts_that_cannot_be_kept_are_refused(prompt):
    with pytest.raises(PlaygroundError, match="prompt"):
        check(config(), prompt)


def test_nothing_to_compare(runner):
    with pytest.raises(PlaygroundError, match="nothing to compare"):
        runner.start_compare(config(speculation=False), "x")


# -- the queue ---------------------------------------------------------------------------------------------------------


def test_the_second_person_sees_its_place(runner, store):
    """CASES 30: served in order, each its own stream and history."""
    first = Reader(runner.start_run(endless(), "first"))
    first.wait_for(Step)
    second = Reader(runner.start_run(config(source="code"), "second"))
    second.wait_for(Queued)
    third = Reader(runner.start_run(config(), "third"))
    third.wait_for(Queued)
    assert second.events[0] == Queued(1, None)
    assert third.events[0] == Queued(2, None)
    assert runner.status().waiting == 2
    runner.abort(first.job.run_id)
    assert only_ending(first.done()).reason == "cancelled"
    assert only_ending(second.done()).text.startswith("def fib")
    assert only_ending(third.done()).text.startswith("The draft")
    places = [event.position for event in third.events if isinstance(event, Queued)]
    assert places == [2, 1]
    assert until(Queued, reversed(third.events)).expected_seconds is not None
    for reader in (first, second, third):
        steps = [event for event in reader.events if isinstance(event, Step)]
        assert [event for event in store.replay(reader.job.run_id) if isinstance(event, Step)] == steps
    assert store.run(second.job.run_id).prompt == "second"


def test_leaving_the_queue(runner, store):
    first = Reader(runner.start_run(endless(), "first"))
    first.wait_for(Step)
    aborted = Reader(runner.start_compare(config(), "aborted"))
    while runner.status().waiting != 1:
        time.sleep(0.01)
    closed = runner.start_run(config(), "closed")
    assert next(closed) == Queued(2, None)
    closed.close()
    aborted.job.abort()
    aborted.done()
    for arm, run_id in aborted.job.run_ids.items():
        assert only_ending([event for of, event in aborted.events if of == arm]).reason == "cancelled"
        assert stored_status(store, run_id) == "cancelled"
    assert stored_status(store, closed.run_id) == "cancelled"
    assert runner.status().waiting == 0
    first.job.abort()
    first.done()


def test_a_job_nobody_reads_holds_nobody_up(runner):
    unread = runner.start_run(config(), "unread")
    assert only_ending(list(runner.start_run(config(), "read"))).reason == "stop"
    unread.abort()
    assert only_ending(list(unread)).reason == "cancelled"


# -- cancelling --------------------------------------------------------------------------------------------------------


def test_a_closed_stream_cancels_its_run_and_leaves_the_engine_usable(runner, store):
    """CASES 26."""
    run = runner.start_run(endless(), "x")
    until(Step, run)
    until(Step, run)
    pid = child(runner)
    run.close()
    assert runner.status().state == "idle"
    assert stored_status(store, run.run_id) == "cancelled"
    assert only_ending(list(runner.start_run(config(), "next"))).reason == "stop"
    assert child(runner) == pid


def test_a_dropped_stream_is_a_closed_one(runner, store):
    """CASES 26: a page's generator that is thrown away mid-run."""
    run = runner.start_run(endless(), "x")
    until(Step, run)
    run_id = run.run_id
    del run
    assert stored_status(store, run_id) == "cancelled"
    assert runner.status().state == "idle"


@pytest.mark.parametrize("by", ["comparison", "running arm", "waiting arm"])
def test_aborting_a_comparison_by_any_of_its_ids(runner, store, by):
    reader = Reader(runner.start_compare(endless(), "x"))
    job = reader.job
    while not any(isinstance(event, Step) for _, event in reader.events):
        time.sleep(0.01)
    names = {"comparison": job.comparison_id, "running arm": job.run_ids["baseline"]}
    runner.abort(names.get(by, job.run_ids["speculative"]))
    reader.done()
    for arm, run_id in job.run_ids.items():
        assert only_ending([event for of, event in reader.events if of == arm]).reason == "cancelled"
        assert stored_status(store, run_id) == "cancelled"
    assert runner.status().state == "idle"


def test_abort_while_loading_ends_the_child(runner, store):
    before = children()
    reader = Reader(runner.start_run(config(load_seconds=500), "x"))
    while not any(isinstance(event, Loading) and event.stage == "weights" for event in reader.events):
        time.sleep(0.01)
    assert (runner.status().state, runner.status().run_id) == ("loading", reader.job.run_id)
    assert runner.status().detail.startswith("Pretending")
    reader.job.abort()
    assert only_ending(reader.done()).reason == "cancelled"
    assert runner.status().state == "none"
    assert children() <= before
    assert stored_status(store, reader.job.run_id) == "cancelled"


def test_unknown_and_finished_ids_are_ignored(runner):
    job = runner.start_run(config(), "x")
    list(job)
    runner.abort(job.run_id)
    runner.abort("nobody")
    assert only_ending(list(runner.start_run(config(), "y"))).reason == "stop"


def test_an_engine_deaf_to_abort_is_ended(runner, monkeypatch):
    monkeypatch.setattr("playground.live.ABORT_GRACE", 0.2)
    reader = Reader(runner.start_run(config(fail="hang", length=4), "x"))
    reader.wait_for(Step)
    reader.job.abort()
    assert only_ending(reader.done()).reason == "cancelled"
    assert only_ending(list(runner.start_run(config(), "y"))).reason == "stop"


def test_closing_the_runner_cancels_everything(runner, store):
    readers = [Reader(runner.start_run(endless(), "x"))]
    readers[0].wait_for(Step)
    readers.append(Reader(runner.start_run(config(), "y")))
    readers[1].wait_for(Queued)
    runner.close()
    for reader in readers:
        assert only_ending(reader.done()).reason == "cancelled"
        assert stored_status(store, reader.job.run_id) == "cancelled"
    with pytest.raises(PlaygroundError, match="shutting down"):
        runner.start_run(config(), "z")


# -- failing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fail", "code"),
    [
        ("load", "load"),
        ("oom", "out_of_memory"),
        ("mid_run", "mid_run"),
        ("nan", "nan"),
        ("crash", "engine_died"),
        ("exit", "engine_died"),
    ],
)
def test_every_failure_is_one_recorded_ending_and_the_next_run_works(runner, store, fail, code):
    """CASES 3 and 29."""
    job = runner.start_run(config(fail=fail), "x")
    ending = only_ending(list(job))
    assert (ending.reason, ending.code) == ("error", code)
    assert ending.error
    assert ending.hint
    row = store.run(job.run_id)
    assert (row.status, row.error) == ("error", ending.error)
    assert only_ending(list(runner.start_run(config(), "next"))).reason == "stop"


def test_kill_9_of_the_engine_keeps_what_was_recorded(runner, store):
    """CASES 29."""
    job = runner.start_run(endless(), "x")
    seen = [until(Step, job) for _ in range(5)]
    os.kill(child(runner), signal.SIGKILL)
    rest = list(job)
    assert only_ending(rest).code == "engine_died"
    assert "memory" in rest[-1].hint
    steps = [event for event in store.replay(job.run_id) if isinstance(event, Step)]
    assert steps[:5] == seen
    assert only_ending(list(runner.start_run(config(), "next"))).reason == "stop"


def test_a_failed_baseline_ends_the_comparison(runner, store):
    job = runner.start_compare(config(fail="mid_run"), "x")
    events = list(job)
    endings = {arm: only_ending([e for of, e in events if of == arm]) for arm in job.run_ids}
    assert endings["baseline"].code == "mid_run"
    assert endings["speculative"].code == "not_begun"
    assert [stored_status(store, run_id) for run_id in job.run_ids.values()] == ["error", "error"]


class BrokenStore:
    """A store whose disk is full: at the start, or at the end of each run."""

    def __init__(self, when):
        self.when = when

    def record(self, info, events):
        if self.when == "start":
            raise PlaygroundError("The disk is full.", "Free some space.", code="disk_full")
        yield from events
        raise PlaygroundError("The disk is full.", "Free some space.", code="disk_full")


@pytest.mark.parametrize("when", ["start", "end"])
def test_a_full_disk_is_one_clear_ending(tmp_path, when):
    """CASES 29: said as the run's ending; the runner lives."""
    runner = Runner(Settings(data=tmp_path, _env_file=None), BrokenStore(when))
    try:
        for _ in range(2):
            ending = only_ending(list(runner.start_run(config(), "x")))
            assert (ending.reason, ending.code, ending.hint) == ("error", "disk_full", "Free some space.")
            assert (ending.text is not None) == (when == "end")
    finally:
        runner.close()


# -- the device --------------------------------------------------------------------------------------------------------


def test_waiting_for_another_process_names_it_and_can_be_cancelled(runner, tmp_path):
    other = DeviceLock(tmp_path / "locks", "cpu")
    list(other.acquire("benchmark of y"))
    reader = Reader(runner.start_run(config(device="cpu"), "x"))
    reader.wait_for(Loading)
    reader.job.abort()
    events = reader.done()
    assert until(Loading, events).stage == "device"
    assert f"process {os.getpid()}: benchmark of y" in until(Loading, events).detail
    assert only_ending(events).reason == "cancelled"
    other.release()
    assert only_ending(list(runner.start_run(config(device="cpu"), "x"))).reason == "stop"


@pytest.mark.parametrize(("device", "held"), [("cpu", False), ("cuda:0", True)])
def test_a_cpu_is_free_between_runs_and_a_gpu_is_not(runner, tmp_path, device, held):
    other = DeviceLock(tmp_path / "locks", device)
    run = runner.start_run(endless(device=device), "x")
    until(Step, run)
    assert next(other.acquire("other")).detail.endswith(": page, scripted with t.")
    run.close()
    assert bool(list(zip(range(1), other.acquire("other"), strict=False))) == held
    other.release()
    list(runner.start_run(config(target="elsewhere"), "x"))  # replaces the engine: the device is free again
    assert list(other.acquire("other")) == []


def test_a_killed_parents_device_is_free_again(tmp_path):
    """CASES 29: kill -9 of the whole playground mid-run leaves no child and no lock."""
    script = (
        "import sys, pathlib\n"
        "from tests.test_runner import *\n"
        "data = pathlib.Path(sys.argv[1])\n"
        "runner = Runner(Settings(data=data, _env_file=None), Store(data / 'runs.db'))\n"
        "run = runner.start_run(endless(device='cuda:0'), 'x')\n"
        "until(Step, run)\n"
        "print(child(runner), flush=True)\n"
        "for _ in run: pass\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    lock = DeviceLock(tmp_path / "locks", "cuda:0")
    list(lock.acquire("after"))
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_the_parent_never_loads_what_touches_a_device():
    loaded = subprocess.run(
        [sys.executable, "-c", "import playground.runner, sys; print('torch' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout == "False\n"


def test_ids_sort_by_time_and_suit_urls():
    ids = [new_id() for _ in range(1000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 1000
    assert all(re.fullmatch(r"[0-9a-z]{13}", id) for id in ids)


def test_heartbeats_come_while_nothing_else_does(runner):
    """A closed tab is noticed only where something is yielded: loading, prefill and queue never fall silent."""
    run = runner.start_run(config(pace=True, load_seconds=3, prefill_seconds=2, length=3), "x")
    kinds = [type(event) for event in run]
    assert Heartbeat in kinds[: kinds.index(RunStarted)]
    assert Heartbeat in kinds[kinds.index(RunStarted) : kinds.index(Step)]


def test_preloading_spares_the_first_run_its_load(runner, store):
    runner.preload(config())
    assert (runner.status().state, runner.status().waiting) == ("idle", 0)
    assert not any(isinstance(event, Loading) for event in runner.start_run(config(), "x"))
    with pytest.raises(PlaygroundError, match="cannot be loaded"):
        runner.preload(config(fail="load"))
    assert only_ending(list(runner.start_run(config(), "y"))).reason == "stop"
