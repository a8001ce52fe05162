"""Replay: recorded events again, at the pace of their own timestamps. Knows events; not where they were recorded."""

import math
import time
from collections.abc import Callable, Iterator, Mapping

from playground.events import Event, Heartbeat

TICK = 0.1
"""Seconds between heartbeats while waiting: how soon a consumer that wants to stop can."""


def paced(
    events: Iterator[Event],
    speed: float | None = 1.0,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Event]:
    """`events`, none before its own time has come, with Heartbeats while waiting.

    A consumer that falls behind is not waited for: the next events come at once until it has caught up. What happened
    while loading (negative times), and events without a time, come at once.

    Args:
        speed: 2.0 replays twice as fast; 0 or None does not wait at all.
        clock, sleep: seconds; for tests.
    """
    if not speed or speed < 0:
        yield from events
        return
    begin = clock()
    for event in events:
        at = getattr(event, "at", 0.0)
        due = begin + at / speed if math.isfinite(at) else begin
        while (left := due - clock()) > 0:
            sleep(min(left, TICK))
            if left > TICK:
                yield Heartbeat()
        yield event


def paced_arms(arms: Mapping[str, Iterator[Event]], speed: float | None = 1.0) -> Iterator[tuple[str, Event]]:
    """A comparison's arms, one after the other as they ran, each event with its arm's name.

    Args:
        arms: arm ("baseline", "speculative") -> its events; the baseline is replayed first.
    """
    for arm in sorted(arms):
        for event in paced(arms[arm], speed):
            yield arm, event
