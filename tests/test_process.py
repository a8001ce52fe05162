"""The engine's process: its stream split per run, its death in every way, and nothing left behind."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import psutil
import pytest

from playground import process
from playground.config import RunConfig
from playground.engines import EngineContext
from playground.errors import PlaygroundError
from playground.events import Heartbeat, Loading, RunFinished, RunStarted, Step
from playground.process import EngineProcess
from tests.children import children

SCRIPTED = "playground.engines.scripted"
WORKER = "tests.engine_with_worker"


def scripted(**options):
    return RunConfig(engine="scripted", engine_options={"load_seconds": 0, "prefill_seconds": 0} | options)


@contextmanager
def started(module, config):
    """A loaded process and its loading events; afterwards nothing of it may be left."""
    before = children()
    engine = EngineProcess(module, config, EngineContext())
    try:
        loading = list(engine.load())
        yield engine, loading
    finally:
        engine.close()
        assert children() <= before


def gone(pid, seconds=10):
    """Whether a process ends in time; a zombie waiting for init to notice has ended."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def shown(events):
    return [event for event in events if not isinstance(event, Heartbeat)]


def test_a_run_and_the_next(capfd):
    config = scripted(pace=False, length=30)
    with started(SCRIPTED, config) as (engine, loading):
        assert loading[0].stage == "start"
        seconds = [e.seconds for e in loading if isinstance(e, Loading)]
        assert seconds == sorted(seconds)
        for run_id in ("a", "b"):
            events = shown(engine.generate(run_id, config, "Hello"))
            assert isinstance(events[0], RunStarted)
            assert isinstance(events[-1], RunFinished)
            assert sum(len(e.tokens) for e in events if isinstance(e, Step)) == 31
        assert engine.alive
    assert not engine.alive
    assert capfd.readouterr() == ("", "")


def test_runs_at_once_are_kept_apart():
    fast, slow = scripted(pace=False, length=20), scripted(length=40, tokens_per_second=400, source="code")
    with started(SCRIPTED, fast) as (engine, _):
        first = engine.generate("slow", slow, "x")
        next(first)
        other = shown(engine.generate("fast", fast, "x"))
        rest = shown(first)
    assert other[-1].text.startswith("The draft")
    assert rest[-1].text.startswith("def fib")


def test_closed_generator_aborts_its_run_and_leaves_the_engine_usable():
    """CASES 26."""
    config = scripted(length=100_000, tokens_per_second=200)
    config = config.model_copy(update={"sampling": config.sampling.model_copy(update={"max_tokens": 100_000})})
    with started(SCRIPTED, config) as (engine, _):
        run = engine.generate("a", config, "x")
        while not isinstance(next(run), Step):
            pass
        run.close()
        assert shown(engine.generate("b", scripted(pace=False), "x"))[-1].reason == "stop"


def test_abort_from_another_thread():
    config = scripted(length=200, tokens_per_second=2)
    with started(SCRIPTED, config) as (engine, _):
        run = engine.generate("a", config, "x")
        assert isinstance(next(run), RunStarted)
        threading.Timer(0.1, engine.abort, ["a"]).start()
        assert list(run)[-1].reason == "cancelled"


@pytest.mark.parametrize(
    ("fail", "words"), [("crash", "killed by SIGKILL; its last lines: asked to crash"), ("exit", "exit code 7")]
)
def test_a_crash_is_one_typed_error(fail, words):
    """CASES 29."""
    config = scripted(pace=False, fail=fail)
    with started(SCRIPTED, config) as (engine, _):
        with pytest.raises(PlaygroundError, match=words) as caught:
            list(engine.generate("a", config, "x"))
        assert caught.value.code == "engine_died"
        assert ("memory" in caught.value.hint) == (fail == "crash")
        assert ("Fatal: asked to exit" in caught.value.message) == (fail == "exit")
        assert not engine.alive
        with pytest.raises(PlaygroundError, match=words):
            list(engine.generate("b", config, "x"))


def test_kill_9_in_mid_run():
    """CASES 29."""
    config = scripted(length=200, tokens_per_second=20)
    with started(SCRIPTED, config) as (engine, _):
        run = engine.generate("a", config, "x")
        while not isinstance(next(run), Step):
            pass
        os.kill(engine.pid, signal.SIGKILL)
        with pytest.raises(PlaygroundError, match="SIGKILL"):
            list(run)


@pytest.mark.parametrize(
    ("module", "options", "code", "words"),
    [
        (SCRIPTED, {"fail": "load", "load_seconds": 0}, "load", "cannot be loaded"),
        (SCRIPTED, {"fail": "oom", "load_seconds": 0}, "out_of_memory", "asked to run out of memory"),
        (WORKER, {"then": "typed"}, "no_model", "No such model"),
        (WORKER, {"then": "untyped"}, "out_of_memory", "CUDA error: out of memory"),
        (WORKER, {"then": "missing"}, "missing_package", "a_package_that_is_not_there"),
        ("tests.no_such_engine", {}, "missing_package", "no_such_engine"),
    ],
)
def test_a_failed_load_arrives_typed(module, options, code, words):
    """CASES 29."""
    with pytest.raises(PlaygroundError, match=words) as caught, started(module, RunConfig(engine_options=options)):
        pass
    assert caught.value.code == code
    assert caught.value.hint


def test_an_engine_that_breaks_says_why():
    config = RunConfig(engine_options={"then": "break"})
    with started(WORKER, config) as (engine, _), pytest.raises(PlaygroundError, match="RuntimeError: broken") as caught:
        list(engine.generate("a", config, "x"))
    assert caught.value.code == "engine_failed"


def test_a_run_the_engine_refuses_ends_alone():
    config = RunConfig()
    with started(WORKER, config) as (engine, _):
        (refused,) = shown(engine.generate("a", config, "refuse"))
        assert refused.reason == "error"
        assert "refused" in refused.error
        assert shown(engine.generate("b", config, "x"))[-1].reason == "stop"


@pytest.mark.parametrize("then", ["slow", "stuck"])
def test_closing_the_loading_ends_the_child_and_its_workers(then):
    before = children()
    engine = EngineProcess(WORKER, RunConfig(engine_options={"then": then}), EngineContext())
    loading = engine.load()
    worker = next(int(e.detail) for e in loading if isinstance(e, Loading) and e.stage == "worker")
    loading.close()
    assert children() <= before
    assert gone(worker)


def test_kill_ends_a_load_in_another_thread():
    engine = EngineProcess(WORKER, RunConfig(engine_options={"then": "slow"}), EngineContext())
    loading = engine.load()
    next(e for e in loading if isinstance(e, Loading) and e.stage == "worker")
    threading.Timer(0.1, engine.kill).start()
    with pytest.raises(PlaygroundError) as caught:
        list(loading)
    assert caught.value.code == "closed"


def test_a_deaf_engine_is_killed(monkeypatch):
    """Neither an abort nor a close is heeded: the process ends all the same, workers included."""
    monkeypatch.setattr(process, "ABORT_GRACE", 0.2)
    monkeypatch.setattr(process, "CLOSE_GRACE", 0.2)
    config = RunConfig(engine_options={"then": "mute"})
    with started(WORKER, config) as (engine, loading):
        run = engine.generate("a", config, "x")
        assert isinstance(next(run), Heartbeat)
        run.close()
        assert not engine.alive
    with started(WORKER, RunConfig(engine_options={"then": "deaf"})) as (engine, loading):
        worker = next(int(e.detail) for e in loading if isinstance(e, Loading) and e.stage == "worker")
    assert gone(worker)


PARENT = """
import sys, time
from playground.config import RunConfig
from playground.engines import EngineContext
from playground.events import Loading
from playground.process import EngineProcess
from tests.children import children

engine = EngineProcess("tests.engine_with_worker", RunConfig(engine_options={"then": sys.argv[1]}), EngineContext())
loading = engine.load()
worker = next(e.detail for e in loading if isinstance(e, Loading) and e.stage == "worker")
if sys.argv[1] == "":
    list(loading)
print(engine.pid, engine._guard.pid, worker, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("then", ["", "slow", "stuck"])
def test_kill_9_of_the_parent_leaves_nobody(then):
    """CASES 29: idle, loading, and with no thread of the child able to run."""
    with subprocess.Popen([sys.executable, "-c", PARENT, then], stdout=subprocess.PIPE, text=True) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 3
        parent.kill()
    assert [pid for pid in pids if not gone(pid)] == []


def test_the_operators_password_stays_with_the_parent(monkeypatch):
    monkeypatch.setenv("DRAFTBOARD_AUTH_PASSWORD", "secret")
    with started(SCRIPTED, scripted()) as (engine, _):
        assert "secret" not in str(psutil.Process(engine.pid).environ())
