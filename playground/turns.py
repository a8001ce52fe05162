"""First come, first served: whose turn it is among the threads that want the one engine.

Knows tickets and threads; nothing of engines or runs.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Literal

from playground.events import Heartbeat, Queued

PATIENCE = 0.5  # seconds a waiting thread sleeps at most, so that it notices that its consumer closed it
_REMEMBERED = 10  # turns whose durations make the expectation


class Ticket:
    """One place in the queue, from first wish to end. `aborted` may be set by any thread, for good."""

    def __init__(self, *ids: str) -> None:
        self.ids = frozenset(ids)
        self.state: Literal["new", "waiting", "served", "done"] = "new"
        self._aborted = threading.Event()

    @property
    def aborted(self) -> bool:
        return self._aborted.is_set()

    def abort(self) -> None:
        self._aborted.set()


class Turns:
    """The queue. A thread that got its turn keeps it until it `leave`s."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tickets: deque[Ticket] = deque()
        self._durations: deque[float] = deque(maxlen=_REMEMBERED)
        self._since = 0.0

    @property
    def waiting(self) -> int:
        """How many wait, the one being served not counted."""
        with self._changed:
            return sum(ticket.state == "waiting" for ticket in self._tickets)

    def wait(self, ticket: Ticket) -> Iterator[Queued | Heartbeat]:
        """Ends at `ticket`'s turn, or when it is aborted: see `ticket.state`. Tells the place when it changes."""
        told = 0
        with self._changed:
            ticket.state = "waiting"
            self._tickets.append(ticket)
        while not ticket.aborted:
            with self._changed:
                position = self._tickets.index(ticket)
                if position == 0:
                    ticket.state, self._since = "served", time.monotonic()
                    return
                event = Heartbeat() if position == told else Queued(position, self._expected(position))
                told = position
            yield event
            with self._changed:
                if not ticket.aborted and self._tickets.index(ticket) == position:
                    self._changed.wait(PATIENCE)

    def leave(self, ticket: Ticket) -> None:
        """Gives up the turn or the place; harmless for who has neither."""
        with self._changed:
            if ticket.state == "served":
                self._durations.append(time.monotonic() - self._since)
            if ticket in self._tickets:
                self._tickets.remove(ticket)
            ticket.state = "done"
            self._changed.notify_all()

    def wake(self) -> None:
        """Lets waiting threads look at their tickets again, after an abort."""
        with self._changed:
            self._changed.notify_all()

    def _expected(self, position: int) -> float | None:
        """Seconds until the turn, by the mean of the last turns; None before there was one."""
        if not self._durations:
            return None
        mean = sum(self._durations) / len(self._durations)
        return max(0.0, position * mean - (time.monotonic() - self._since))
