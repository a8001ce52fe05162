"""The vLLM engine: the real vLLM in our child process, with every draft token's fate. Several runs at once.

vLLM is imported in the child only, in the one thread that drives it; here are its options, its load key, and the queues
between that thread and the engine protocol. `_vllm/` holds the rest.
"""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from pydantic import BaseModel

from playground.config import RunConfig
from playground.engines import EngineContext
from playground.engines._vllm import arguments, schema
from playground.engines._vllm.failure import load_failure
from playground.engines._vllm.log import Log, progress
from playground.engines._vllm.options import VllmOptions
from playground.engines._vllm.room import wait_for_room
from playground.errors import PlaygroundError
from playground.events import Event, Loading
from playground.sentence import Sentence

LOOK = 0.2
"""Seconds between two looks at what vLLM writes while it loads."""

_Order = tuple[str, Any]


class Engine:
    """See `playground.engines.Engine`."""

    Options = VllmOptions
    CONCURRENT = True

    @staticmethod
    def methods() -> dict[str, type[BaseModel]]:
        return schema.methods()

    @staticmethod
    def unavailable() -> PlaygroundError | None:
        """Why vLLM cannot run here: it is not installed."""
        return None if schema.distribution() else not_installed()

    @staticmethod
    def load_key(config: RunConfig, context: EngineContext) -> Any:
        # With the speculation: vLLM keeps the drafter it was started with, and a model-based one drafts in every step.
        options = arguments.checked_options(config)
        found = arguments.checked_speculation(config)
        paths = context.model_paths or {}
        drafting = None
        if found is not None:
            speculation, chosen = found
            model = paths.get(speculation.model or "", speculation.model)
            drafting = (speculation.method, model, arguments.loaded_k(config), tuple(sorted(chosen.items())))
        kept = options.model_dump(exclude={"max_num_speculative_tokens"})
        target = paths.get(config.target, config.target)
        return (target, config.dtype, tuple(kept.items()), drafting, context.device, context.threads)

    @staticmethod
    def device(config: RunConfig, context: EngineContext) -> str | None:
        from playground.engines._device import device_lock

        return "cpu" if arguments.on_cpu(context) else device_lock(context.device)

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        self._config, self._context = config, context
        self._orders: SimpleQueue[_Order] = SimpleQueue()
        self._out: SimpleQueue[tuple[str, Event] | BaseException | None] = SimpleQueue()
        self._closing = threading.Event()
        self._worker = threading.Thread(target=self._work, name="vllm-engine", daemon=True)

    def load(self) -> Iterator[Event]:
        """Starts vLLM and warms up. Raises PlaygroundError when it cannot."""
        if schema.distribution() is None:
            raise not_installed()
        start = time.monotonic()
        last = Loading("import", Sentence("Starting vLLM."))
        yield last
        os.environ.update(arguments.environment(self._config, self._context))
        yield from wait_for_room(self._config, self._context)
        log = Log()
        self._worker.start()
        while True:
            try:
                item = self._out.get(timeout=LOOK)
            except Empty:
                last = progress(log.new()) or last
                yield replace(last, seconds=time.monotonic() - start)
                continue
            if isinstance(item, BaseException):
                raise load_failure(item, log.all()) from item
            yield Loading("warm-up", Sentence("Ready."), 1.0, time.monotonic() - start)
            return

    def submit(self, run_id: str, config: RunConfig, prompt: str) -> None:
        self._orders.put(("submit", (run_id, config, prompt, time.monotonic())))

    def abort(self, run_id: str) -> None:
        self._orders.put(("abort", run_id))

    def close(self) -> None:
        self._closing.set()
        self._orders.put(("close", None))

    def events(self) -> Iterator[tuple[str, Event]]:
        while (item := self._out.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    def _work(self) -> None:
        """The one thread that touches vLLM."""
        try:
            from playground.engines._vllm.session import Session

            session = Session(self._config, self._context)
        except BaseException as error:  # noqa: BLE001 - raised again by load(), in the engine's main thread
            self._out.put(error)
            return
        self._out.put(None)
        try:
            while not self._closing.is_set():
                self._obey(session)
                for item in session.step():
                    self._out.put(item)
        except BaseException as error:  # noqa: BLE001 - raised again by events(), in the engine's main thread
            self._out.put(error)
        try:
            session.close()
        finally:
            self._out.put(None)

    def _obey(self, session: Any) -> None:
        """Takes the orders there are; waits for one while nothing runs."""
        while True:
            try:
                order, argument = self._orders.get(block=not session.busy)
            except Empty:
                return
            match order:
                case "submit":
                    run_id = argument[0]
                    events = session.start(*argument)
                case "abort":
                    run_id = argument
                    events = session.abort(argument)
                case _:
                    return
            for event in events:
                self._out.put((run_id, event))


def not_installed() -> PlaygroundError:
    """vLLM is not here: the one command that brings it."""
    return PlaygroundError(
        Sentence("vLLM is not installed."),
        Sentence("Stop Draftboard and start it with: make run ENGINE=vllm (the first time installs vLLM)."),
        code="missing_package",
    )
