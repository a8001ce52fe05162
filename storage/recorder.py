"""Recording: passes a run's events on while they are written, about once a second, each flush one transaction.

The stream is never held up or lost for the disk's sake: a flush that fails keeps its events and is tried again with
the next; what still cannot be written when the run has ended is one PlaygroundError. Knows when to write, not what.
"""

import logging
import time
from collections.abc import Iterator

from playground.errors import PlaygroundError
from playground.events import Event, Reason, RunFinished
from storage import connections
from storage.connections import Connections
from storage.writer import RunInfo, Unwritten, insert_run

log = logging.getLogger(__name__)

FLUSH_SECONDS = 1.0
"""Recorded events reach the file at most this long after the next event or heartbeat."""


def record(pool: Connections, info: RunInfo, events: Iterator[Event]) -> Iterator[Event]:
    """See `Store.record`."""
    try:
        recording = _Recording(pool, info)
    except BaseException:
        _close(events)
        raise
    try:
        # Closed first: an engine must not go on while the disk is waited for.
        try:
            for event in events:
                recording.add(event)
                yield event
        finally:
            _close(events)
    except (GeneratorExit, KeyboardInterrupt):
        recording.close("cancelled")
        raise
    except PlaygroundError as error:
        recording.close("error", error.message, error.hint, error.code)
        raise
    except BaseException as error:
        recording.close("error", f"{type(error).__name__}: {error}")
        raise
    else:
        recording.end("interrupted", "The engine stopped without ending the run.")


def _close(events: Iterator[Event]) -> None:
    close = getattr(events, "close", None)
    if close is not None:
        close()


class _Recording:
    """The row of one run while it is written to, and when that was last done."""

    def __init__(self, pool: Connections, info: RunInfo) -> None:
        self._pool = pool
        self._unwritten = Unwritten()
        self._failure: PlaygroundError | None = None
        with pool.writing() as db:
            self._run = insert_run(db, info)
        self._flushed = time.monotonic()

    def add(self, event: Event) -> None:
        if self._unwritten.ended:
            return
        self._unwritten.add(event)
        if self._unwritten.ended:
            self._flush(connections.PATIENCE)
        elif time.monotonic() - self._flushed >= FLUSH_SECONDS:
            self._flush(connections.BRIEF_PATIENCE)  # the tokens behind it are waiting

    def end(self, reason: Reason, error: str = "", hint: str = "", code: str = "") -> None:
        """The last write, where none said how the run ended; once more, where it failed.

        Raises:
            PlaygroundError: it cannot be written; what was flushed before is in the file.
        """
        if not self._unwritten.ended:
            self.add(RunFinished(reason, at=self._unwritten.last_at, error=error, hint=hint, code=code))
        elif self._failure is not None:
            self._flush(connections.BRIEF_PATIENCE)
        if self._failure is not None:
            raise self._failure

    def close(self, reason: Reason, error: str = "", hint: str = "", code: str = "") -> None:
        """`end` while another exception is on its way, which a failure to store must not hide."""
        try:
            self.end(reason, error, hint, code)
        except PlaygroundError as failure:
            log.warning("The end of a run could not be stored. %s", failure)

    def _flush(self, patience: float) -> None:
        try:
            with self._pool.writing(patience) as db:
                self._unwritten.write(db, self._run)
        except PlaygroundError as failure:
            self._failure = failure
        else:
            self._failure = None
            self._unwritten.written()
        self._flushed = time.monotonic()
