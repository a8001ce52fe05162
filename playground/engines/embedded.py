"""The embedded engine: transformers' causal language models on cuda, mps or cpu, one run at a time.

All torch work happens in one thread; `events` hands its events out and sends a Heartbeat while a forward pass is slow.
Knows queues, loading order and the life of a run; the step loop is in _generation.py.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from playground import drafters
from playground.config import RunConfig, checked
from playground.engines import EngineContext
from playground.events import Event, Heartbeat, Loading, Queued, RunFinished
from playground.registry import discover
from playground.sentence import Sentence

if TYPE_CHECKING:
    from playground.engines._models import Models

HEARTBEAT = 0.2
"""Seconds of silence before a Heartbeat."""

JOIN = 5.0
"""Seconds that a closing engine gives its thread to leave a forward pass."""


class EmbeddedOptions(BaseModel):
    """Options of the embedded engine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attn_implementation: Literal["auto", "sdpa", "eager"] = Field(
        "auto", title="Attention", description="auto: SDPA that copies no cache; sdpa, eager: transformers' own."
    )
    forward_pass: Literal["auto", "transformers"] = Field(
        "auto",
        title="Forward pass",
        description="auto: a leaner one where it agrees with transformers'; transformers: always its own.",
    )
    max_model_len: int | None = Field(
        None, ge=2, title="Context limit", description="Prompt and answer together, in tokens; empty: the model's own."
    )
    prefill_chunk: int = Field(
        512,
        ge=1,
        le=65_536,
        title="Prefill chunk",
        description="Prompt tokens read at once; Stop works between chunks.",
    )
    candidates: int = Field(
        5, ge=0, le=20, title="Candidates", description="Best tokens of each model reported per position."
    )
    counterfactual: tuple[Annotated[int, Field(ge=1, le=64)], ...] = Field(
        (),
        max_length=64,
        title="Counterfactual k",
        description="Also record what each of these k would have accepted, at temperature 0; what the tuner asks for.",
        json_schema_extra={"internal": True},
    )


@dataclass(frozen=True, slots=True)
class _Submitted:
    run_id: str
    config: RunConfig
    prompt: str


class Engine:
    """See `playground.engines.Engine`."""

    Options = EmbeddedOptions

    @staticmethod
    def methods() -> dict[str, type[BaseModel]]:
        return {name: module.Drafter.Options for name, module in discover(drafters.PACKAGE).items()}

    @staticmethod
    def load_key(config: RunConfig, context: EngineContext) -> Any:
        # Without the draft: both arms of a comparison share one load, drafts join it when first asked for.
        options = checked(EmbeddedOptions, config.engine_options, where=Sentence("the embedded engine's options"))
        path = (context.model_paths or {}).get(config.target, config.target)
        return (
            path,
            config.dtype,
            options.attn_implementation,
            options.forward_pass,
            context.device,
            context.threads,
        )

    @staticmethod
    def device(config: RunConfig, context: EngineContext) -> str | None:
        from playground.engines._device import device_lock

        return device_lock(context.device)

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        self._config = config
        self._context = context
        self._waiting: deque[_Submitted] = deque()
        self._current: str | None = None
        self._aborted: set[str] = set()
        self._closed = False
        self._ready = False
        self._changed = threading.Condition()
        self._out: SimpleQueue[tuple[str, Event] | BaseException | None] = SimpleQueue()
        self._worker = threading.Thread(target=self._work, name="embedded-engine", daemon=True)

    def load(self) -> Iterator[Event]:
        """Loads the target and warms up. Raises PlaygroundError when it cannot."""
        start = time.monotonic()
        last = Loading("start", Sentence("Starting PyTorch."))
        yield last
        self._worker.start()
        while True:
            try:
                item = self._out.get(timeout=HEARTBEAT)
            except Empty:
                yield replace(last, seconds=time.monotonic() - start)
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            if isinstance(item[1], Loading):
                last = item[1]
                yield replace(last, seconds=time.monotonic() - start)

    def submit(self, run_id: str, config: RunConfig, prompt: str) -> None:
        with self._changed:
            self._waiting.append(_Submitted(run_id, config, prompt))
            position = len(self._waiting) - (self._current is None)
            # Also wakes `events`, which waits without end while there is no run.
            self._out.put((run_id, Queued(position) if position else Heartbeat()))
            self._changed.notify()

    def abort(self, run_id: str) -> None:
        with self._changed:
            for run in self._waiting:
                if run.run_id == run_id:
                    self._waiting.remove(run)
                    self._out.put((run_id, RunFinished("cancelled", 0.0)))
                    return
            if run_id == self._current:
                self._aborted.add(run_id)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            for run in self._waiting:
                self._out.put((run.run_id, RunFinished("cancelled", 0.0)))
            self._waiting.clear()
            self._changed.notify()
        # A thread still inside torch when the interpreter ends aborts the whole process.
        if self._ready and self._worker.is_alive() and threading.current_thread() is not self._worker:
            self._worker.join(JOIN)

    def events(self) -> Iterator[tuple[str, Event]]:
        while True:
            try:
                item = self._out.get(timeout=HEARTBEAT if self._active() else None)
            except Empty:
                yield from ((run_id, Heartbeat()) for run_id in self._active())
                continue
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def _active(self) -> list[str]:
        with self._changed:
            current = [] if self._current is None else [self._current]
            return current + [run.run_id for run in self._waiting]

    def _work(self) -> None:
        """The one thread that touches torch."""
        if self._context.offline:  # before the hub's library is imported, which reads it once
            os.environ["HF_HUB_OFFLINE"] = "1"
        try:
            from playground.engines._models import Models

            models = Models(self._config, self._context)
            for event in models.load():
                self._out.put(("", event))
            self._ready = True
            self._out.put(None)
        except BaseException as error:  # noqa: BLE001 - raised again by load(), in the engine's main thread
            self._out.put(error)
            return
        try:
            while (run := self._next()) is not None:
                self._perform(models, run)
        except BaseException as error:  # noqa: BLE001 - raised again by events(), in the engine's main thread
            self._out.put(error)
        self._out.put(None)

    def _next(self) -> _Submitted | None:
        with self._changed:
            while not self._waiting and not self._closed:
                self._changed.wait()
            if self._closed:
                return None
            run = self._waiting.popleft()
            self._current = run.run_id
            for place, other in enumerate(self._waiting, 1):
                self._out.put((other.run_id, Queued(place)))
            return run

    def _perform(self, models: "Models", run: _Submitted) -> None:
        from playground.engines._child import translated
        from playground.engines._counterfactual import run as start
        from playground.engines._run import is_fatal

        def aborted() -> bool:
            return self._closed or run.run_id in self._aborted

        finished: Event | None = None
        failure: BaseException | None = None
        origin = time.perf_counter()
        try:
            for event in start(models, run.config, run.prompt, aborted):
                if isinstance(event, RunFinished):
                    finished = event
                else:
                    self._out.put((run.run_id, event))
        except Exception as error:  # noqa: BLE001 - any failure ends this run only, as its RunFinished
            problem = translated(error)
            at = time.perf_counter() - origin
            finished = RunFinished("error", at, error=problem.message, hint=problem.hint, code=problem.code)
            failure = error if is_fatal(error) else None
        with self._changed:
            self._current = None
            self._aborted.discard(run.run_id)
        assert finished is not None
        self._out.put((run.run_id, finished))
        if failure is not None:
            raise failure
