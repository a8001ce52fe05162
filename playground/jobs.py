"""Started work as its consumer holds it: an iterator of events with ids and a way to end it.

Knows streams and names; nothing of how a run is made.
"""

import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

from playground.comparison import Arm
from playground.events import Event

if TYPE_CHECKING:
    from storage import RunInfo

Tagged = Generator[tuple["RunInfo", Event], None, None]
"""Events with the run they belong to."""


class _Job:
    """Work begins when the job is first iterated; closing or dropping the job cancels it."""

    def __init__(self, events: Tagged, abort: Callable[[], None]) -> None:
        self._events, self._abort = events, abort

    def abort(self) -> None:
        """Ends it as cancelled, from any thread; the iterator still gives what comes until then."""
        self._abort()

    def close(self) -> None:
        """Ends it as cancelled, for who iterates; nothing more comes."""
        self._events.close()


class RunJob(_Job, Iterator[Event]):
    """One run: `run_id`, and an iterator of its events."""

    def __init__(self, run_id: str, events: Tagged, abort: Callable[[], None]) -> None:
        super().__init__(events, abort)
        self.run_id = run_id

    def __next__(self) -> Event:
        return next(self._events)[1]


class CompareJob(_Job, Iterator[tuple[Arm, Event]]):
    """Two runs of one prompt on one loaded engine, the baseline first: an iterator of (arm, event)."""

    def __init__(self, comparison_id: str, run_ids: dict[Arm, str], events: Tagged, abort: Callable[[], None]) -> None:
        super().__init__(events, abort)
        self.comparison_id, self.run_ids = comparison_id, run_ids
        self._arms: dict[str, Arm] = {run_id: arm for arm, run_id in run_ids.items()}

    def __next__(self) -> tuple[Arm, Event]:
        info, event = next(self._events)
        return self._arms[info.run_id], event


class BatchJob(_Job, Iterator[tuple[str, Event]]):
    """Several runs in one turn: an iterator of (run id, event)."""

    def __next__(self) -> tuple[str, Event]:
        info, event = next(self._events)
        return info.run_id, event


def new_id() -> str:
    """A run's name: 13 characters, URL-safe, sorting by time, within one process also in one millisecond."""
    global _last_ms
    with _counting:
        _last_ms = max(_last_ms + 1, time.time_ns() // 1_000_000)
        number = _last_ms << 20 | secrets.randbits(20)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(60, -1, -5))


_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # in ASCII order, so that texts sort as their numbers
_counting = threading.Lock()
_last_ms = 0
