"""Long work that outlives whoever began it: a thread pulls it, any number of views follow it, anyone may stop it.

Knows iterators of stages and threads; neither benchmarks nor pages.
"""

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

from playground.errors import PlaygroundError
from playground.sentence import Sentence

log = logging.getLogger(__name__)

LOOK = 0.5
"""Seconds after which a follower hears the newest stage again, so that it notices that it was closed."""

S = TypeVar("S")


class Work(Generic[S]):
    """One piece of work, running from the start.

    Attributes:
        latest: the newest stage; None before the first. error: why it failed; None while it goes well.
    """

    def __init__(self, name: str, stages: Callable[[], Iterator[S]]) -> None:
        self.name = name
        self.latest: S | None = None
        self.error: PlaygroundError | None = None
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._ended = False
        self._thread = threading.Thread(target=self._pull, args=(stages,), name=f"work-{name}", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        return self._ended

    def stop(self) -> None:
        """Ends it after the stage it is at, keeping what is done; returns at once."""
        self._stopping.set()

    def join(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    def follow(self) -> Generator[S | None, None, None]:
        """The newest stage at each change, and about twice a second; ends with the work, its last stage told."""
        told: S | None = None
        while True:
            with self._changed:
                if self.latest is told and not self._ended:
                    self._changed.wait(LOOK)
                told, ended = self.latest, self._ended
            yield told
            if ended:
                return

    def _pull(self, stages: Callable[[], Iterator[S]]) -> None:
        stream: Any = None
        try:
            stream = stages()
            for stage in stream:
                with self._changed:
                    self.latest = stage
                    self._changed.notify_all()
                if self._stopping.is_set():
                    break
        except PlaygroundError as error:
            self.error = error
        except Exception as error:
            log.exception("Work %s failed in Draftboard itself.", self.name)
            wrong = Sentence("Draftboard itself failed: {kind}: {error}.", kind=type(error).__name__, error=error)
            self.error = PlaygroundError(wrong, Sentence("Its log says more; please report it."), code="internal")
        finally:
            if isinstance(stream, Generator):
                stream.close()
            with self._changed:
                self._ended = True
                self._changed.notify_all()


class Works:
    """All work of this process, by name. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._works: dict[str, Work[Any]] = {}

    def start(self, name: str, stages: Callable[[], Iterator[S]]) -> "Work[S]":
        """Begin `stages` in a thread.

        Raises:
            PlaygroundError: work of this name is running ("still_running").
        """
        with self._lock:
            known = self._works.get(name)
            if known is not None and not known.ended:
                raise PlaygroundError(
                    Sentence("{name} is running.", name=name),
                    Sentence("Stop it, or wait for its end."),
                    code="still_running",
                )
            for other in [n for n, work in self._works.items() if work.ended and n != name]:
                del self._works[other]
            work = self._works[name] = Work(name, stages)
        return work

    def find(self, prefix: str) -> "Work[Any] | None":
        """The newest running work whose name begins so."""
        with self._lock:
            found = [work for name, work in self._works.items() if name.startswith(prefix) and not work.ended]
        return found[-1] if found else None

    def stop_all(self, seconds: float = 5.0) -> None:
        """Ends all of it; waits so long, at most, for what is being written."""
        with self._lock:
            works = list(self._works.values())
        for work in works:
            work.stop()
        deadline = time.monotonic() + seconds
        for work in works:
            work.join(max(0.0, deadline - time.monotonic()))
