"""EngineProcess: an engine in a child process of its own, its one stream of events split into one iterator a run.

Device memory comes back only when a process ends and a crash takes only its process along, so: one child per loaded
engine, in its own process group, killed and reaped as a group. Knows no store, no queue, no device.
"""

import logging
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from multiprocessing import connection
from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.engines import EngineContext
from playground.errors import PlaygroundError
from playground.events import Event, Heartbeat, Loading, RunFinished
from playground.sentence import Sentence

log = logging.getLogger(__name__)

HEARTBEAT = 0.5  # seconds of silence after which a consumer hears a Heartbeat
ABORT_GRACE = 10.0  # seconds an engine has to end an aborted run before its process is ended instead
CLOSE_GRACE = 5.0  # seconds an engine has to end by itself when closed
_ROOT = Path(__file__).resolve().parent.parent

# A process apart, in the child's group, that ends the group once the parent has gone: it works while the child's own
# threads are stuck, reaches workers the child started, and keeps the group's number from being given to another.
_GUARD = ["/bin/sh", "-c", "read -r _; kill -s KILL 0"]

_SECRET = ("DRAFTBOARD_AUTH", "DRAFTBOARD_REMOTE_KEYS")
"""How the names of variables begin that no child is to see."""

_SEGMENT = re.compile(r"(/dev/shm/(?:psm_|sem\.mp-|torch_)\S+)")

_Item = Event | PlaygroundError | None  # None: loaded


class EngineProcess:
    """One loaded engine. Order of calls: `load` to its end, then any number of `generate`, then `close`.

    Every method may be called from any thread. Once the child has died `alive` is False and stays so.
    """

    def __init__(self, module: str, config: RunConfig, context: EngineContext, inherited: Sequence[int] = ()) -> None:
        """Nothing starts yet.

        Args:
            module: dotted name of the engine's file.
            inherited: file descriptors the child keeps open as long as it lives (the device lock's).
        """
        self._order = (module, config, context)
        self._inherited = tuple(inherited)
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._inboxes: dict[str, queue.SimpleQueue[_Item]] = {"": queue.SimpleQueue()}
        self._failure: PlaygroundError | None = None
        self._ending = False
        self._ready = self._gone = False
        self._reader: threading.Thread | None = None
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._segments: set[Path] = set()

    @property
    def alive(self) -> bool:
        """Whether it is loaded and can serve a run."""
        return self._ready and self._failure is None and not self._ending

    @property
    def pid(self) -> int:
        return self._child.pid

    def load(self) -> Generator[Event, None, None]:
        """Starts the child and follows its loading: Loading events, and Heartbeats while it is silent.

        Closing this iterator early ends the child.

        Raises:
            PlaygroundError: the engine's own, or "engine_died" with exit code and last lines, or "closed".
        """
        start = time.monotonic()
        yield Loading("start", Sentence("Starting the engine's process."))
        try:
            self._spawn()
            while (event := self._next("")) is not None:
                yield replace(event, seconds=time.monotonic() - start) if isinstance(event, Loading) else event
            self._ready = True
        finally:
            if not self._ready:
                self.kill()

    def generate(self, run_id: str, config: RunConfig, prompt: str) -> Generator[Event, None, None]:
        """One run's events through its RunFinished. Closing this iterator early aborts the run and waits for its end.

        Raises:
            PlaygroundError: the child died ("engine_died"), or was closed meanwhile ("closed").
        """
        with self._lock:
            if self._failure:
                raise _again(self._failure)
            self._inboxes[run_id] = queue.SimpleQueue()
        finished = False
        try:
            self._send("submit", run_id, config, prompt)
            while not finished:
                event = self._next(run_id)
                assert event is not None
                finished = isinstance(event, RunFinished)
                yield event
        finally:
            if not finished and self._failure is None:
                self._abandon(run_id)
            del self._inboxes[run_id]

    def abort(self, run_id: str) -> None:
        """Asks a run to end as cancelled; its `generate` then ends with the engine's RunFinished."""
        self._send("abort", run_id)

    def close(self) -> None:
        """Lets the engine end, kills what has not after a few seconds, and returns when all of it is gone."""
        self._ending = True
        if self._ready and self._failure is None:
            self._send("close")
            self._join(CLOSE_GRACE)
        self.kill()

    def kill(self) -> None:
        """Ends the child's whole group at once; returns when it is reaped. Ends a `load` in progress."""
        self._ending = True
        if self._reader is not None:
            self._kill_group()
        self._join(None)

    def _join(self, seconds: float | None) -> None:
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(seconds)

    def _spawn(self) -> None:
        ours, theirs = connection.Pipe()
        with self._lock:
            if self._ending:
                raise _closed()
            try:
                self._start(theirs.fileno())
            except OSError as error:
                raise PlaygroundError(
                    Sentence("The engine's process cannot be started: {why}.", why=error.strerror or error),
                    Sentence("Close other programs, or raise this user's limits on processes and open files."),
                    code="engine_start",
                ) from None
            self._pipe = ours
            self._reader = threading.Thread(target=self._read, name=f"engine-{self._child.pid}", daemon=True)
            self._reader.start()
        theirs.close()
        self._send(*self._order)

    def _start(self, pipe: int) -> None:
        """Child and guard, or neither."""
        fds = (pipe, *self._inherited)
        self._scratch = tempfile.TemporaryDirectory(prefix="draftboard-", ignore_cleanup_errors=True)
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "playground.engines._child", *map(str, fds)],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            pass_fds=fds,
            process_group=0,
            env=_environment(self._order[2], self._scratch.name),
        )
        try:
            self._guard = subprocess.Popen(_GUARD, stdin=subprocess.PIPE, process_group=self._child.pid)
        except OSError:
            self._child.kill()
            self._child.wait()
            self._scratch.cleanup()
            raise

    def _send(self, *message: Any) -> None:
        """To the child; if it is gone the reader finds out and tells every run."""
        if self._reader is None:
            return
        try:
            with self._sending:
                self._pipe.send(message)
        except OSError:
            log.debug("The engine process is gone; %s was not sent.", message[0])

    def _next(self, run_id: str) -> Event | None:
        try:
            item = self._inboxes[run_id].get(timeout=HEARTBEAT)
        except queue.Empty:
            return Heartbeat()
        if isinstance(item, PlaygroundError):
            raise _again(item)
        return item

    def _abandon(self, run_id: str) -> None:
        """Aborts a run nobody listens to any more; on return the engine is idle, or its process has ended."""
        self.abort(run_id)
        deadline = time.monotonic() + ABORT_GRACE
        while (left := deadline - time.monotonic()) > 0:
            try:
                item = self._inboxes[run_id].get(timeout=left)
            except queue.Empty:
                break
            if isinstance(item, RunFinished | PlaygroundError):
                return
        log.warning("The engine did not end run %s in %.0f s; ending its process.", run_id, ABORT_GRACE)
        self.kill()

    def _read(self) -> None:
        """The reader thread: hands each message to its run until the child is gone, then reaps it."""
        failure: PlaygroundError | None = None
        try:
            while True:
                match self._pipe.recv():
                    case ("event", str(run_id), event):
                        if inbox := self._inboxes.get(run_id):
                            inbox.put(event)
                    case ("ready",):
                        self._segments |= _shared_memory(self._child.pid)
                        self._inboxes[""].put(None)
                    case ("failed", PlaygroundError() as failure):
                        pass
        except (EOFError, OSError):
            pass
        finally:
            status = self._reap()
            with self._lock:
                self._failure = _closed() if self._ending else failure or _died(status, self._last_lines())
                inboxes = list(self._inboxes.values())
            for inbox in inboxes:
                inbox.put(self._failure)
            self._pipe.close()
            self._output.close()

    def _reap(self) -> int:
        """Waits for the child, ends whatever it has left behind, and returns its exit status."""
        try:
            status = self._child.wait(CLOSE_GRACE)
        except subprocess.TimeoutExpired:
            self._kill_group()
            status = self._child.wait()
        self._kill_group()
        with self._lock:
            self._gone = True
            self._guard.communicate()
        for segment in self._segments:  # a killed process leaves what it shared with its workers
            segment.unlink(missing_ok=True)
        if self._scratch is not None:
            self._scratch.cleanup()
        return status

    def _kill_group(self) -> None:
        with self._lock:
            if not self._gone:  # while the guard is not reaped, the group's number is still ours
                self._segments |= _shared_memory(self._child.pid)
                try:
                    os.killpg(self._child.pid, signal.SIGKILL)
                except (ProcessLookupError, PermissionError):  # macOS says EPERM of a group of zombies
                    pass

    def _last_lines(self) -> str:
        """The end of what the child wrote, for the person who has to find out why it died."""
        fd = self._output.fileno()
        tail = os.pread(fd, 4096, max(0, os.fstat(fd).st_size - 4096)).decode(errors="replace")
        return "\n".join([line for line in tail.splitlines() if line.strip()][-5:])[-1000:]


def _shared_memory(group: int) -> set[Path]:
    """Named shared memory of Python or torch that a process of this group has mapped; where there is no /proc, none."""
    found: set[Path] = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            # "pid (name) state ppid pgrp ...": the name may hold anything, the last parenthesis ends it.
            if int((process / "stat").read_text().rpartition(")")[2].split()[2]) == group:
                found |= {Path(name) for name in _SEGMENT.findall((process / "maps").read_text())}
        except (OSError, IndexError, ValueError):
            continue  # it has ended meanwhile, or is another user's
    return found


def _environment(context: EngineContext, scratch: str) -> dict[str, str]:
    """The parent's, without its secrets, with the checkout importable and no hub where none is allowed.

    Temporary files lie in `scratch`, which goes with the child; what torch compiles is kept where it would be kept.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_SECRET)}
    path = os.pathsep.join(filter(None, (str(_ROOT), kept.get("PYTHONPATH"))))
    ours = {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "TOKENIZERS_PARALLELISM": "false", "TMPDIR": scratch}
    kept.setdefault("TORCHINDUCTOR_CACHE_DIR", f"{tempfile.gettempdir()}/torchinductor_{os.getuid()}")
    return kept | ours | ({"HF_HUB_OFFLINE": "1"} if context.offline else {})


def _died(status: int, last_lines: str) -> PlaygroundError:
    """What an unannounced end means. `status`: exit code, or minus the signal's number."""
    if status < 0:
        try:
            how = Sentence("was killed by {signal}", signal=signal.Signals(-status).name)
        except ValueError:
            how = Sentence("was killed by signal {number}", number=-status)
    else:
        how = Sentence("ended with exit code {number}", number=status)
    what = Sentence("The engine's process {how}.", how=how)
    if last_lines:
        what = Sentence("The engine's process {how}; its last lines: {lines}.", how=how, lines=last_lines)
    hint = Sentence("Run again: the engine is started afresh.")
    if status == -signal.SIGKILL:
        hint = Sentence(
            "The system kills a process like this when memory runs out: choose a smaller model or a shorter context, "
            "or close other programs, and run again."
        )
    return PlaygroundError(what, hint, code="engine_died")


def _closed() -> PlaygroundError:
    return PlaygroundError(Sentence("The engine was closed."), Sentence("Run again to start it afresh."), code="closed")


def _again(error: PlaygroundError) -> PlaygroundError:
    """A fresh copy: one failure may be raised in several threads."""
    return PlaygroundError(error.message, error.hint, code=error.code)
