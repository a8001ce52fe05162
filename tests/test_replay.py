"""Pacing on a clock of the test's own: no test here waits."""

import math
from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from playground.events import Event, GpuSample, Heartbeat, RunFinished, RunStarted, Step, Token
from playground.replay import TICK, paced, paced_arms
from tests.runs import plain


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds <= TICK, "a consumer could not stop in the meantime"
        self.now += seconds


def times(events: list[Event], speed: float | None = 1.0) -> list[tuple[float, Event]]:
    """(seconds since the replay began, event)."""
    clock = Clock()
    return [(clock.now - 1000.0, event) for event in paced(iter(events), speed, clock=clock, sleep=clock.sleep)]


def test_events_come_at_their_own_times() -> None:
    events = plain()
    came = [(at, event) for at, event in times(events) if not isinstance(event, Heartbeat)]
    assert [event for _, event in came] == events
    for at, event in came:
        assert math.isclose(at, getattr(event, "at", 0.0), abs_tol=1e-9)


def test_speed_divides_the_times() -> None:
    for at, event in times(plain(), speed=4.0):
        if not isinstance(event, Heartbeat):
            assert math.isclose(at, getattr(event, "at", 0.0) / 4, abs_tol=1e-9)


def test_at_once() -> None:
    for speed in (0, None):
        assert times(plain(), speed) == [(0.0, event) for event in plain()]


def test_waiting_beats() -> None:
    """A long prefill: something comes every TICK, so that Stop works."""
    came = times([RunStarted((1,)), Step(0, 10.0, (Token(1, "a", "target"),))])
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(came)]
    assert max(gaps) <= TICK + 1e-9
    assert sum(isinstance(event, Heartbeat) for _, event in came) >= 98


def test_closing_while_waiting_closes_the_source() -> None:
    closed: list[bool] = []

    def source() -> Iterator[Event]:
        try:
            yield Step(0, 10.0, ())
        finally:
            closed.append(True)

    clock = Clock()
    stream = paced(source(), clock=clock, sleep=clock.sleep)
    assert next(stream) == Heartbeat()
    stream.close()  # type: ignore[attr-defined]
    del stream
    assert closed == [True]


def test_a_slow_consumer_is_not_delayed_further() -> None:
    clock = Clock()
    stream = paced(iter(plain()), clock=clock, sleep=clock.sleep)
    next(stream)
    clock.now += 60
    begin = clock.now
    assert [event for event in stream if isinstance(event, Heartbeat)] == []
    assert clock.now == begin


@given(st.lists(st.floats(max_value=5.0), max_size=6), st.sampled_from((0.5, 1.0, 3.0)))
def test_any_times_end(times_: list[float], speed: float) -> None:
    """Negative times (while loading), NaN, infinities and disorder neither hang nor lose an event."""
    events: list[Event] = [GpuSample(at, "cpu", "a CPU") for at in times_]
    came = [event for _, event in times(events, speed) if not isinstance(event, Heartbeat)]
    assert repr(came) == repr(events)


def test_infinite_times_do_not_wait() -> None:
    assert len(times([GpuSample(math.inf, "cpu", "a CPU"), RunFinished("stop", math.nan)])) == 2


def test_arms_follow_each_other() -> None:
    arms = {"speculative": iter(plain()), "baseline": iter(plain(k=0, a=0))}
    came = list(paced_arms(arms, speed=0))
    assert [event for arm, event in came if arm == "baseline"] == plain(k=0, a=0)
    assert [arm for arm, _ in came] == ["baseline"] * len(plain()) + ["speculative"] * len(plain())
