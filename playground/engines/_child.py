"""The child process of one loaded engine: loads it, obeys the pipe, sends its events. Started by process.py only.

Engine work stays on the main thread (some engines insist); a second thread reads the parent's orders. Stdout and stderr
go to the parent's crash file, never to a terminal.
"""

import atexit
import copyreg
import faulthandler
import importlib
import logging
import os
import signal
import sys
import threading
from dataclasses import fields
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import Any, NoReturn

from playground.engines import Engine
from playground.errors import PlaygroundError
from playground.events import Candidate, RunFinished, Step, Token
from playground.sentence import Sentence

log = logging.getLogger(__name__)

_OUT_OF_MEMORY_HINT = Sentence(
    "Choose a smaller model, a smaller dtype or a shorter context, or close what else uses the device."
)


def _pickle_by_fields(kind: type[Any]) -> None:
    of = attrgetter(*(field.name for field in fields(kind)))
    copyreg.pickle(kind, lambda value: (kind, of(value)))


# A step holds some sixty of these. By its own way a frozen dataclass pickles four times as slowly, and this is work
# beside the engine's own.
for _kind in (Candidate, Step, Token):
    _pickle_by_fields(_kind)


class _Parent:
    """The parent at the other end of the pipe; sending is safe from both threads."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, *message: Any) -> None:
        try:
            with self._lock:
                self._pipe.send(message)
        except OSError:
            _die_with_group()

    def receive(self) -> Any:
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            _die_with_group()


def _die_with_group() -> NoReturn:
    """The parent is gone, so are we: workers an engine started as well, if this process leads its own group."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def main() -> None:
    faulthandler.enable()
    pipe, *inherited = (int(argument) for argument in sys.argv[1:])
    for fd in (pipe, *inherited):
        os.set_inheritable(fd, False)
    parent = _Parent(Connection(pipe))
    try:
        _work(parent)
    except Exception as error:
        log.exception("The engine failed.")  # to stderr: the parent quotes its last lines
        parent.send("failed", translated(error))
        _leave(1)
    _leave(0)


def _leave(status: int) -> NoReturn:
    """Ends without taking apart what the system frees faster: with torch loaded that costs seconds."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _work(parent: _Parent) -> None:
    module, config, context = parent.receive()
    engine: Engine = importlib.import_module(module).Engine(config, context)
    threading.Thread(target=_obey, args=(parent, engine), name="orders", daemon=True).start()
    for event in engine.load():
        parent.send("event", "", event)
    parent.send("ready")
    for run_id, event in engine.events():
        parent.send("event", run_id, event)


def _obey(parent: _Parent, engine: Engine) -> None:
    while True:
        order, *arguments = parent.receive()
        match order:
            case "submit":
                _submit(parent, engine, *arguments)
            case "abort":
                engine.abort(*arguments)
            case "close":
                engine.close()


def _submit(parent: _Parent, engine: Engine, run_id: str, config: Any, prompt: str) -> None:
    try:
        engine.submit(run_id, config, prompt)
    except Exception as error:
        log.exception("The engine refused a run.")
        problem = translated(error)
        finished = RunFinished("error", 0.0, error=problem.message, hint=problem.hint, code=problem.code)
        parent.send("event", run_id, finished)


def translated(error: BaseException) -> PlaygroundError:
    """Any exception of an engine as a sentence and its fix."""
    name, text = type(error).__name__, str(error).strip()
    first_line = text.splitlines()[0] if text else ""
    if isinstance(error, PlaygroundError):
        return error
    if isinstance(error, MemoryError) or "OutOfMemory" in name or "out of memory" in text.lower():
        detail = Sentence(": {words}", words=first_line) if first_line else ""
        return PlaygroundError(
            Sentence("The engine ran out of memory{detail}.", detail=detail), _OUT_OF_MEMORY_HINT, code="out_of_memory"
        )
    if isinstance(error, ModuleNotFoundError):
        return PlaygroundError(
            Sentence("The engine needs the Python package {package}, which is not installed.", package=error.name),
            Sentence("Install it: pip install {package}", package=error.name),
            code="missing_package",
        )
    why = first_line or Sentence("no further word")
    return PlaygroundError(
        Sentence("The engine failed with {name}: {why}.", name=name, why=why),
        Sentence("Try other settings; if it stays, report it with this message."),
        code="engine_failed",
    )


if __name__ == "__main__":
    main()
