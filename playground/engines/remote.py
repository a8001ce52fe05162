"""The remote engine: any OpenAI-compatible server, watched from outside. Several runs at once.

It shows what a server tells and says what it does not: the tokens of each pass where its stream has them, its own
speculative figures where it reports them, never a histogram it does not give. `_remote/` holds the parts.
"""

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from pydantic import BaseModel

from playground.config import RunConfig, checked
from playground.engines import EngineContext
from playground.engines._remote.options import RemoteOptions, ServerOptions
from playground.errors import PlaygroundError
from playground.events import Event, Loading, RunFinished
from playground.sentence import Sentence

METHOD = "server"
"""The one method: as the server was started."""


class Engine:
    """See `playground.engines.Engine`."""

    Options = RemoteOptions
    CONCURRENT = True

    @staticmethod
    def methods() -> dict[str, type[BaseModel]]:
        return {METHOD: ServerOptions}

    @staticmethod
    def load_key(config: RunConfig, context: EngineContext) -> Any:
        # One connection serves both arms: which server a run goes to is decided by the run.
        options = checked(RemoteOptions, config.engine_options, where=Sentence("the remote engine's options"))
        return (config.target, config.chat, tuple(options.model_dump().items()))

    @staticmethod
    def device(config: RunConfig, context: EngineContext) -> str | None:
        return None

    @staticmethod
    def stored_baseline(config: RunConfig) -> bool:
        """Whether there is no server to run the baseline on, so that one recorded before stands for it."""
        return not checked(
            RemoteOptions, config.engine_options, where=Sentence("the remote engine's options")
        ).baseline_url

    def __init__(self, config: RunConfig, context: EngineContext) -> None:
        self._config, self._context = config, context
        self._out: SimpleQueue[tuple[str, Event] | None] = SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def load(self) -> Iterator[Event]:
        """Asks the servers what they are. Raises PlaygroundError when they cannot be used."""
        from playground.engines._remote.session import Session

        start = time.monotonic()
        self._session = Session(self._config, self._context)
        threading.Thread(target=self._loop.run_forever, name="remote", daemon=True).start()
        steps: SimpleQueue[Event | Exception | None] = SimpleQueue()
        self._do(self._loaded(steps))
        while (step := steps.get()) is not None:
            if isinstance(step, Exception):
                raise step
            yield replace(step, seconds=time.monotonic() - start) if isinstance(step, Loading) else step
        yield Loading("warm-up", Sentence("Ready."), 1.0, time.monotonic() - start)

    async def _loaded(self, steps: "SimpleQueue[Event | Exception | None]") -> None:
        try:
            async for event in self._session.load():
                steps.put(event)
        except Exception as error:  # noqa: BLE001 - raised again by `load`, in the engine's main thread
            steps.put(error)
        steps.put(None)

    def submit(self, run_id: str, config: RunConfig, prompt: str) -> None:
        self._loop.call_soon_threadsafe(self._begin, run_id, config, prompt)

    def _begin(self, run_id: str, config: RunConfig, prompt: str) -> None:
        task = self._loop.create_task(self._followed(run_id, config, prompt))
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._ended(run_id, task))

    def _ended(self, run_id: str, task: "asyncio.Task[None]") -> None:
        del self._tasks[run_id]
        if task.cancelled():  # before it had begun, so that nothing has said so
            self._out.put((run_id, RunFinished("cancelled", 0.0)))

    async def _followed(self, run_id: str, config: RunConfig, prompt: str) -> None:
        try:
            await self._session.follow(config, prompt, lambda event: self._out.put((run_id, event)))
        except asyncio.CancelledError:
            pass  # its ending has been sent
        except Exception as error:  # noqa: BLE001 - any failure here ends this run only
            self._out.put((run_id, _failure(error)))

    def abort(self, run_id: str) -> None:
        self._loop.call_soon_threadsafe(self._cancel, run_id)

    def _cancel(self, run_id: str) -> None:
        if task := self._tasks.get(run_id):
            task.cancel()

    def events(self) -> Iterator[tuple[str, Event]]:
        while (item := self._out.get()) is not None:
            yield item

    def close(self) -> None:
        self._do(self._closed())

    async def _closed(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._session.close()
        self._out.put(None)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop)


def _failure(error: Exception) -> Event:
    from playground.engines._child import translated

    problem = error if isinstance(error, PlaygroundError) else translated(error)
    return RunFinished("error", 0.0, error=problem.message, hint=problem.hint, code=problem.code)
