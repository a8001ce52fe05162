"""vLLM itself, driven: start it, give it requests, step it. The only file that calls vLLM's front-end API.

Two front ends behind one shape: `LLMEngine`, stepped by us, and for data parallelism `AsyncLLM`, which alone spreads
requests over several engines. Used by one thread; knows no configuration and no events.
"""

import asyncio
import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

SHUTDOWN_SECONDS = 3.0
IDLE_WAIT = 0.05  # seconds a poll waits for outputs at most


class Refused(Exception):
    """vLLM does not take a request; its words are the message."""


class Driver(Protocol):
    """What the session needs of vLLM."""

    config: Any
    """vLLM's `VllmConfig` as it was resolved."""

    def add(self, request_id: str, prompt_ids: Sequence[int], sampling: dict[str, Any]) -> None:
        """Raises Refused for what vLLM does not take."""

    def abort(self, request_id: str) -> None: ...

    def poll(self) -> Iterator[Any]:
        """Outputs there are now, after at most one step. Raises what ends the whole engine."""

    def close(self) -> None: ...


def start(arguments: dict[str, Any]) -> Driver:
    """Builds vLLM's engine; takes seconds to minutes and raises whatever vLLM raises."""
    from vllm.engine.arg_utils import AsyncEngineArgs

    known = AsyncEngineArgs(**arguments)
    return _Async(known) if known.data_parallel_size > 1 else _Stepped(known)


def _configured(arguments: Any) -> Any:
    """vLLM's resolved configuration, with the scheduler that fits what it chose."""
    from vllm.usage.usage_lib import UsageContext

    config = arguments.create_engine_config(UsageContext.ENGINE_CONTEXT)
    scheduler = config.scheduler_config
    if scheduler.async_scheduling and isinstance(scheduler.scheduler_cls, str):
        scheduler.scheduler_cls = scheduler.scheduler_cls.replace("TraceScheduler", "HeadlineScheduler")
    return config


def _sampling(arguments: dict[str, Any]) -> Any:
    from vllm.sampling_params import RequestOutputKind, SamplingParams

    return SamplingParams(**arguments, output_kind=RequestOutputKind.DELTA)


def _refusals() -> tuple[type[Exception], ...]:
    """What vLLM raises for a request that it, but not the engine, cannot take."""
    from vllm.exceptions import VLLMClientError

    return (VLLMClientError, ValueError, TypeError)


def _prompt(ids: Sequence[int]) -> dict[str, Any]:
    return {"type": "token", "prompt_token_ids": list(ids)}


class _Stepped:
    def __init__(self, arguments: Any) -> None:
        from vllm import envs
        from vllm.v1.engine.llm_engine import LLMEngine
        from vllm.v1.executor.abstract import Executor

        self.config = _configured(arguments)
        self._engine = LLMEngine(
            vllm_config=self.config,
            executor_class=Executor.get_class(self.config),
            log_stats=False,
            multiprocess_mode=envs.VLLM_ENABLE_V1_MULTIPROCESSING,
        )

    def add(self, request_id: str, prompt_ids: Sequence[int], sampling: dict[str, Any]) -> None:
        try:
            self._engine.add_request(request_id, _prompt(prompt_ids), _sampling(sampling))
        except _refusals() as error:
            raise Refused(str(error)) from error

    def abort(self, request_id: str) -> None:
        self._engine.abort_request([request_id])

    def poll(self) -> Iterator[Any]:
        if self._engine.has_unfinished_requests():
            yield from self._engine.step()

    def close(self) -> None:
        self._engine.engine_core.shutdown(timeout=SHUTDOWN_SECONDS)


class _Async:
    """`AsyncLLM` on an event loop in a thread of its own."""

    def __init__(self, arguments: Any) -> None:
        from playground.engines._vllm.trace import keep_all_records

        keep_all_records()
        self._outputs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="vllm-loop", daemon=True).start()
        self.config = _configured(arguments)
        self._engine = self._wait(self._start())

    async def _start(self) -> Any:
        from vllm.v1.engine.async_llm import AsyncLLM

        return AsyncLLM.from_vllm_config(self.config, disable_log_stats=True)

    def _wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def add(self, request_id: str, prompt_ids: Sequence[int], sampling: dict[str, Any]) -> None:
        accepted: Future[None] = Future()
        asyncio.run_coroutine_threadsafe(self._follow(request_id, prompt_ids, sampling, accepted), self._loop)
        try:
            accepted.result()
        except _refusals() as error:
            raise Refused(str(error)) from error

    async def _follow(
        self, request_id: str, prompt_ids: Sequence[int], sampling: dict[str, Any], accepted: "Future[None]"
    ) -> None:
        """Outputs of one request into the queue; what vLLM refuses goes to `accepted`, a dead engine to the queue."""
        try:
            collector = await self._engine.add_request(request_id, _prompt(prompt_ids), _sampling(sampling))
        except Exception as error:  # noqa: BLE001 - raised again by `add`
            accepted.set_exception(error)
            return
        accepted.set_result(None)
        try:
            finished = False
            while not finished:
                output = await collector.get()
                finished = output.finished
                self._outputs.put(output)
        except Exception as error:  # noqa: BLE001 - raised again by `poll`
            self._outputs.put(error)

    def abort(self, request_id: str) -> None:
        self._wait(self._engine.abort(request_id))

    def poll(self) -> Iterator[Any]:
        try:
            output = self._outputs.get(timeout=IDLE_WAIT)
            while True:
                if isinstance(output, Exception):
                    raise output
                yield output
                output = self._outputs.get_nowait()
        except queue.Empty:
            return

    def close(self) -> None:
        self._engine.shutdown(timeout=SHUTDOWN_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
