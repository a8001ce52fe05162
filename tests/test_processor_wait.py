"""Whether a measured speed is the machine's: what other programs took of the processor is seen, said and stored."""

import multiprocessing
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from playground import processor_wait
from playground.events import RunFinished, RunStarted
from playground.metrics import BUSY, METRICS, RunResult
from playground.processor_wait import ProcessorWait
from playground.ui.verdict import run_strip

SECOND = 1_000_000_000


class Account:
    """A stand-in for the system's account, with a clock of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads, self.machine, self.now = folder / "task", folder / "stat", 100.0
        self.threads.mkdir()
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(processor_wait, "time", clock)

    def write(self, stolen: float = 0.0, **threads: tuple[float, float]) -> None:
        """Threads as (seconds run, seconds waited)."""
        for name, (ran, waited) in threads.items():
            (self.threads / name).mkdir(exist_ok=True)
            text = f"{round(ran * SECOND)} {round(waited * SECOND)} 7\n"
            (self.threads / name / "schedstat").write_text(text, encoding="ascii")
        ticks = round(stolen * os.sysconf("SC_CLK_TCK"))
        self.machine.write_text(f"cpu  1 2 3 4 5 6 7 {ticks} 0 0\ncpu0 1 2\n", encoding="ascii")

    def begin(self) -> ProcessorWait:
        return ProcessorWait(self.threads, self.machine)


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Account:
    return Account(tmp_path, monkeypatch)


def test_the_slowest_computing_thread_counts_and_sleepers_do_not(account: Account) -> None:
    account.write(a=(5.0, 1.0), b=(5.0, 1.0), sleeper=(1.0, 0.0))
    span = account.begin()
    account.now += 10
    account.write(a=(14.0, 2.0), b=(11.0, 5.0), sleeper=(1.5, 0.9))
    assert span.share() == pytest.approx(0.4)


def test_a_thread_born_meanwhile_counts(account: Account) -> None:
    account.write(a=(5.0, 0.0))
    span = account.begin()
    account.now += 10
    account.write(a=(14.0, 0.0), new=(5.0, 3.0))
    assert span.share() == pytest.approx(0.3)


def test_what_the_host_took_counts(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    account.write(a=(0.0, 0.0), stolen=3.0)
    span = account.begin()
    account.now += 10
    account.write(a=(8.0, 0.5), stolen=7.0)
    assert span.share() == pytest.approx(0.05 + 0.2)


def test_without_the_account_nothing_is_claimed(account: Account, tmp_path: Path) -> None:
    span = ProcessorWait(tmp_path / "none", tmp_path / "none")
    account.now += 10
    assert span.share() is None
    account.write(a=(0.0, 0.0))
    (account.threads / "a" / "schedstat").write_text("what", encoding="ascii")
    span = account.begin()
    account.now += 10
    assert span.share() is None


def test_a_span_without_computing_tells_nothing(account: Account) -> None:
    account.write(a=(0.0, 0.0))
    span = account.begin()
    account.now += 10
    account.write(a=(0.1, 0.1))
    assert span.share() is None


def _spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system keeps no such account")
def test_a_real_competitor_is_seen() -> None:
    """Three programs on one processor: this one waits for about two thirds of the time."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        rivals = [multiprocessing.get_context("fork").Process(target=_spin, args=(1.5,)) for _ in range(2)]
        for rival in rivals:
            rival.start()
        span = ProcessorWait()
        _spin(1.0)
        share = span.share()
        for rival in rivals:
            rival.join()
    finally:
        os.sched_setaffinity(0, allowed)
    assert share is not None
    assert share > BUSY


def result(wait: float | None) -> RunResult:
    return RunResult.of([RunStarted((1,), "x", {}), RunFinished("stop", 1.0, engine_counters={"processor_wait": wait})])


def test_a_disturbed_run_says_so_and_a_quiet_one_does_not() -> None:
    assert "processor_wait" in METRICS
    quiet, loud, unknown = result(BUSY / 2), result(0.34), result(None)
    assert (quiet.disturbed, loud.disturbed, unknown.disturbed) == (False, True, False)
    assert loud.metrics()["processor_wait"] == 0.34
    assert "34.0 %" in run_strip(loud)
    assert "verdict.disturbed" not in run_strip(quiet)
