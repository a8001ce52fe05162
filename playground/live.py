"""The one engine this process has: none, loading, or loaded; reused while it can serve, replaced when it cannot.

Holds the device's lock while the engine loads or runs and, on a GPU, while it stays loaded: an idle engine keeps a
GPU's memory, and so the GPU, but a CPU is free between runs. Knows no queue and no store.
"""

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playground import engines
from playground.config import RunConfig
from playground.devices import DeviceLock
from playground.engines import EngineContext
from playground.events import Event, Loading, RunFinished
from playground.process import ABORT_GRACE, EngineProcess
from playground.registry import extension
from playground.sentence import Sentence

Cancelled = Callable[[], bool]
Events = Generator[Event, None, None]
State = Literal["none", "loading", "loaded"]


@dataclass(slots=True)
class _Loaded:
    """An engine process, loading or loaded with `config`."""

    config: RunConfig
    key: Any
    process: EngineProcess
    lock: DeviceLock | None
    ready: bool = False

    def serves(self, key: Any) -> bool:
        """Whether a config with this load key needs no other engine: the engine's own word, also for its baseline."""
        return self.process.alive and key == self.key


class LiveEngine:
    """Used by one run at a time; `abort`, `close` and the properties by any thread."""

    def __init__(self, locks: Path) -> None:
        self._locks = locks
        self._loaded: _Loaded | None = None
        self._detail = ""

    @property
    def config(self) -> RunConfig | None:
        """What the engine is loaded with, or is loading."""
        loaded = self._loaded
        return loaded.config if loaded else None

    @property
    def state(self) -> State:
        loaded = self._loaded
        return "none" if loaded is None else "loaded" if loaded.ready else "loading"

    @property
    def detail(self) -> str:
        """What loading or waiting for the device is at, in words."""
        return self._detail

    def ready(self, config: RunConfig, context: EngineContext, purpose: str, cancelled: Cancelled) -> Events:
        """Until an engine for `config` is loaded and has its device, or `cancelled()`: Loading and Heartbeat events.

        Args:
            purpose: what others who wait for the device are told.

        Raises:
            PlaygroundError: the engine cannot be loaded; there is none then.
        """
        if (loaded := self._loaded) is not None:
            if loaded.serves(engine_class(config.engine).load_key(config, context)):
                yield from self._followed(_device(loaded.lock, purpose, cancelled))
                return
            yield Loading(
                "unload",
                Sentence("Ending {engine} with {target}.", engine=loaded.config.engine, target=loaded.config.target),
            )
            self.close()
        yield from self._load(config, context, purpose, cancelled)

    def generate(self, run_id: str, config: RunConfig, prompt: str, cancelled: Cancelled) -> Events:
        """One run on the loaded engine; once `cancelled()` it ends soon, if need be with the engine.

        Raises:
            PlaygroundError: the engine died or was closed.
        """
        loaded = self._loaded
        if loaded is None or cancelled():
            yield RunFinished("cancelled", 0.0)
            return
        patience = None
        with closing(loaded.process.generate(run_id, config, prompt)) as events:
            for event in events:
                if cancelled() and not isinstance(event, RunFinished):
                    patience = patience or time.monotonic() + ABORT_GRACE
                    loaded.process.abort(run_id)  # again: the first may have come before the run did
                    if time.monotonic() > patience:
                        loaded.process.kill()
                yield event

    def rest(self) -> None:
        """Between runs: gives the device back, if others can use it beside an idle engine."""
        loaded = self._loaded
        if loaded is not None and loaded.lock is not None and loaded.lock.device.startswith("cpu"):
            loaded.lock.release()

    def abort(self, run_id: str | None) -> None:
        """Ends a run, or the loading for it. The caller has made its `cancelled` true before."""
        loaded = self._loaded
        if loaded is not None and not loaded.ready:
            loaded.process.kill()
        elif loaded is not None and run_id is not None:
            loaded.process.abort(run_id)

    def close(self) -> None:
        """Ends the engine; its memory and device are free on return."""
        if (loaded := self._loaded) is not None:
            loaded.process.close()
            self._forget(loaded)

    def _load(self, config: RunConfig, context: EngineContext, purpose: str, cancelled: Cancelled) -> Events:
        engine = engine_class(config.engine)
        device = engine.device(config, context)
        lock = DeviceLock(self._locks, device) if device else None
        self._loaded = loaded = _Loaded(
            config,
            engine.load_key(config, context),
            EngineProcess(f"{engines.PACKAGE}.{config.engine}", config, context, [lock.fileno()] if lock else []),
            lock,
        )
        try:
            yield from self._followed(_device(lock, purpose, cancelled))
            if not cancelled():
                yield from self._followed(loaded.process.load())
                loaded.ready = True
        finally:
            if not loaded.ready:
                loaded.process.kill()
                self._forget(loaded)

    def _followed(self, loading: Events) -> Events:
        """`loading`, its last word kept for `detail`."""
        try:
            with closing(loading):
                for event in loading:
                    self._detail = event.detail if isinstance(event, Loading) else self._detail
                    yield event
        finally:
            self._detail = ""

    def _forget(self, loaded: _Loaded) -> None:
        if self._loaded is loaded:
            self._loaded = None
        if loaded.lock is not None:
            loaded.lock.close()


def engine_class(name: str) -> type[engines.Engine]:
    """Raises PlaygroundError when there is no such engine."""
    found: type[engines.Engine] = extension(engines.PACKAGE, name, Sentence("engine")).Engine
    return found


def _device(lock: DeviceLock | None, purpose: str, cancelled: Cancelled) -> Events:
    if lock is not None:
        yield from lock.acquire(purpose, cancelled)
