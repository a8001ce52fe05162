"""Where a command's words go: results to stdout, progress to stderr, and with --json one object as stdout's last line.

Knows streams and exit codes; no command.
"""

import contextlib
import io
import json
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO, Any

from rich.console import Console

from playground.terminal import console_for, sanitised

OK, FAILED, BAD_INPUT, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143


class Output:
    """One command's output. `console` prints for people; nothing reaches stdout through it with --json."""

    def __init__(self, as_json: bool, stdout: IO[str], stderr: IO[str]) -> None:
        self.as_json = as_json
        self.stdout, self.stderr = stdout, stderr
        self.errors = console_for(stderr)
        self.console = Console(file=io.StringIO(), quiet=True) if as_json else console_for(stdout)

    @property
    def side(self) -> Console:
        """For remarks beside a result that may be piped somewhere: stdout on a terminal, stderr otherwise."""
        return self.console if self.as_json or self.console.is_terminal else self.errors

    def line(self, text: str) -> None:
        """A line of ours, with any stranger's word in it made harmless."""
        if not self.as_json:
            self.stdout.write(sanitised(text) + "\n")

    def result(self, data: dict[str, Any]) -> None:
        """The one JSON object of a command; without --json nothing, since it was shown already."""
        if self.as_json:
            self.stdout.write(json.dumps(_finite(data), ensure_ascii=True, allow_nan=False, default=str) + "\n")
            self.stdout.flush()


@contextlib.contextmanager
def only_json_on_stdout(as_json: bool) -> Iterator[IO[str]]:
    """stdout for the result alone: with --json all else that writes to it, child processes too, goes to stderr."""
    if not as_json:
        yield sys.stdout
        return
    real = sys.stdout
    try:
        kept = os.dup(real.fileno())
    except (OSError, ValueError, AttributeError):  # a stdout that is no file: captured by a test or a notebook
        with contextlib.redirect_stdout(sys.stderr):
            yield real
        return
    real.flush()
    os.dup2(sys.stderr.fileno(), real.fileno())
    try:
        with contextlib.redirect_stdout(sys.stderr), os.fdopen(kept, "w", encoding="utf-8") as result:
            yield result
    finally:
        with contextlib.suppress(OSError):
            real.flush()


class Terminated(KeyboardInterrupt):
    """SIGTERM, taken as Ctrl-C is."""


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM raises, so that what is open is closed and the result still said."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def asked(number: int, _: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, asked)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Stop:
    """Whether the user asked to stop, and by which signal."""

    signal: int | None = None

    @property
    def code(self) -> int:
        return TERMINATED if self.signal == signal.SIGTERM else INTERRUPTED


@contextlib.contextmanager
def stopping(abort: Callable[[], None]) -> Iterator[Stop]:
    """Ctrl-C and SIGTERM call `abort`, so that a run ends and is stored as cancelled; the second one breaks off.

    `abort` is called from another thread, since the interrupted one may hold the locks that it needs.
    """
    stop = Stop()

    def asked(number: int, _: object) -> None:
        if stop.signal is not None:
            raise KeyboardInterrupt
        stop.signal = number
        threading.Thread(target=abort, name="abort", daemon=True).start()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they are null."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
