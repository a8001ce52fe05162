"""Several streams of events as one, each pulled by a thread of its own: how runs are in flight at the same time.

Knows iterators and threads; nothing of engines or of what a run is.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from queue import Empty, SimpleQueue
from typing import TypeVar

from playground.events import Event, Heartbeat

PATIENCE = 0.5
"""Seconds of silence after which a Heartbeat lets the consumer notice that it was closed."""

Tag = TypeVar("Tag")


def merged(
    streams: Sequence[tuple[Tag, Generator[Event, None, None]]], abort: Callable[[], None]
) -> Generator[tuple[Tag, Event], None, None]:
    """(tag, event) of all streams, as they come; ends when all have.

    Args:
        abort: makes the streams end soon; called when this iterator is closed, which then waits for their threads.
    """
    arrived: SimpleQueue[tuple[Tag, Event | None]] = SimpleQueue()

    def pull(tag: Tag, events: Generator[Event, None, None]) -> None:
        try:
            for event in events:
                arrived.put((tag, event))
        finally:
            arrived.put((tag, None))

    threads = [threading.Thread(target=pull, args=stream, name="together", daemon=True) for stream in streams]
    for thread in threads:
        thread.start()
    left = len(threads)
    try:
        while left:
            try:
                tag, event = arrived.get(timeout=PATIENCE)
            except Empty:
                tag, event = streams[0][0], Heartbeat()
            if event is None:
                left -= 1
            else:
                yield tag, event
    finally:
        if left:
            abort()
        for thread in threads:
            thread.join()
