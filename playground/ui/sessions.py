"""Who is streaming what: one stream per open tab, reachable from Stop, from a closed tab and from the next stream.

Knows sessions by their hash and streams by their `abort`; knows neither Gradio nor the runner.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Ticket:
    """A tab's right to stream. `alive` turns false when it was stopped or another stream took its place."""

    def __init__(self, abort: Callable[[], None]) -> None:
        self._abort = abort
        self.alive = True
        self.replaced = False

    def end(self, *, replaced: bool = False) -> None:
        self.alive = False
        self.replaced = replaced
        self._abort()


class Sessions:
    """Thread-safe. A session streams one thing at a time: what begins ends what was before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tickets: dict[str, Ticket] = {}

    @contextmanager
    def streaming(self, session: str, abort: Callable[[], None]) -> Iterator[Ticket]:
        """Registers a stream for as long as the block lasts; leaving it by any way aborts what is not finished.

        Args:
            abort: idempotent; must reach the engine whatever state the stream is in.
        """
        ticket = Ticket(abort)
        with self._lock:
            former = self._tickets.get(session)
            self._tickets[session] = ticket
        if former is not None:
            former.end(replaced=True)
        try:
            yield ticket
        finally:
            with self._lock:
                if self._tickets.get(session) is ticket:
                    del self._tickets[session]
            abort()

    def stop(self, session: str) -> bool:
        """Ends what the session streams; False where there was nothing."""
        with self._lock:
            ticket = self._tickets.get(session)
        if ticket is not None:
            ticket.end()
        return ticket is not None

    def __len__(self) -> int:
        with self._lock:
            return len(self._tickets)
