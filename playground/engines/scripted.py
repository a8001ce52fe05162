"""An engine without a model: canned streams, the same every time, with every failure on demand.

For tests, for building the page, and for looking at the page without a model. It shows what an engine's stream looks
like; its numbers measure nothing.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict

from playground import drafters
from playground.config import RunConfig, checked
from playground.engines import EngineContext
from playground.engines._script import Script, ScriptedOptions
from playground.errors import PlaygroundError
from playground.events import Event, Heartbeat, Loading, RunFinished, Step
from playground.registry import discover
from playground.sentence import Sentence

HEARTBEAT = 0.5  # seconds: how long a consumer may wait to notice that it was closed


class _NoOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Engine:
    """See `playground.engines.Engine`. Works for any number of runs at once, each on its own clock."""

    Options = ScriptedOptions
    CONCURRENT = True
    CANNED = True
    """Its drafts have nothing to do with its text: what a lookup would find in that says nothing of them."""

    @staticmethod
    def methods() -> dict[str, type[BaseModel]]:
        found = {name: module.Drafter.Options for name, module in discover(drafters.PACKAGE).items()}
        return {"draft_model": _NoOptions, "ngram": _NoOptions} | found

    @staticmethod
    def load_key(config: RunConfig, context: EngineContext) -> Any:
        options = checked(ScriptedOptions, config.engine_options, where=Sentence("the scripted engine's options"))
        failing = options.fail in ("load", "oom")
        # As engines do whose honest baseline is another load: the speculation is part of what is loaded.
        loaded = config.speculation if options.separate_baseline else None
        return (config.target, config.dtype, options.device, options.load_seconds, failing, loaded)

    @staticmethod
    def device(config: RunConfig, context: EngineContext) -> str | None:
        return checked(ScriptedOptions, config.engine_options).device or None

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        self._options = checked(ScriptedOptions, config.engine_options)
        self._target = config.target
        self._changed = threading.Condition()
        self._runs: dict[str, _Run] = {}
        self._closed = False

    def load(self) -> Iterator[Event]:
        options, start = self._options, time.monotonic()
        for i, stage in enumerate(("weights", "draft", "warm-up")):
            yield Loading(
                stage,
                Sentence("Pretending: {stage} of {model}.", stage=stage, model=self._target),
                i / 3,
                time.monotonic() - start,
            )
            time.sleep(options.load_seconds / 3)
        if options.fail == "load":
            raise PlaygroundError(
                Sentence("The model {model} cannot be loaded.", model=self._target),
                Sentence("It was asked to fail; choose no failure."),
                code="load",
            )
        if options.fail == "oom":
            raise MemoryError("asked to run out of memory")
        yield Loading("warm-up", Sentence("Ready."), 1.0, time.monotonic() - start)

    def submit(self, run_id: str, config: RunConfig, prompt: str) -> None:
        with self._changed:
            self._runs[run_id] = _Run(config, prompt)
            self._changed.notify()

    def abort(self, run_id: str) -> None:
        with self._changed:
            if run := self._runs.get(run_id):
                run.aborted = True
                self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def events(self) -> Iterator[tuple[str, Event]]:
        while True:
            with self._changed:
                run_id = self._next_due()
                while run_id is None and not self._closed:
                    self._changed.wait(self._patience())
                    run_id = self._next_due()
                if run_id is None:
                    return
                run = self._runs[run_id]
            event = run.advance()
            if isinstance(event, RunFinished):
                with self._changed:
                    del self._runs[run_id]
            yield run_id, event

    def _next_due(self) -> str | None:
        """The run whose next event is most overdue, if any is due."""
        due = {run_id: run.due() for run_id, run in self._runs.items()}
        first = min(due, key=due.__getitem__, default=None)
        return first if first is not None and due[first] <= time.monotonic() else None

    def _patience(self) -> float | None:
        times = [run.due() for run in self._runs.values()]
        return max(0.0, min(times) - time.monotonic()) if times else None


class _Run:
    """One run on its clock: `due` says when its next event is to be sent, `advance` gives it."""

    def __init__(self, config: RunConfig, prompt: str) -> None:
        self.aborted = False
        self._submitted = self._spoke = time.monotonic()
        self._options = options = checked(ScriptedOptions, config.engine_options)
        self._script = Script(config, options, prompt)
        self._events = iter(self._script)
        self._half = min(options.length, config.sampling.max_tokens) / 2
        self._next: tuple[float, Event] = next(self._events)
        self._delivered = 0

    def due(self) -> float:
        if self.aborted and self._options.fail != "hang":
            return 0.0
        at = self._submitted + (self._next[0] if self._options.pace else 0.0)
        return min(at, self._spoke + HEARTBEAT)

    def advance(self) -> Event:
        now = time.monotonic()
        self._spoke = now
        elapsed = now - self._submitted
        if self.aborted and self._options.fail != "hang":
            return RunFinished("cancelled", elapsed, usage_completion_tokens=self._delivered)
        planned, event = self._next
        if self._options.pace and planned > elapsed:
            return Heartbeat()
        if self._options.fail and self._delivered >= self._half:
            return self._fail(elapsed)
        if isinstance(event, Step):
            self._delivered += len(event.tokens)
        if not isinstance(event, RunFinished):
            self._next = next(self._events)
        return event

    def _fail(self, elapsed: float) -> Event:
        match self._options.fail:
            case "crash":
                print("asked to crash", file=sys.stderr, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                print("first line\nFatal: asked to exit", file=sys.stderr, flush=True)
                os._exit(7)
            case "hang":
                return Heartbeat()
        if self._options.fail == "nan":
            message, hint = Sentence("The target gave no valid numbers (NaN)."), Sentence("Try dtype float32.")
        else:
            message, hint = Sentence("The run failed half-way, as asked."), Sentence("Choose no failure.")
        return RunFinished("error", elapsed, error=message, hint=hint, code=self._options.fail)
