"""The ways of producing tokens that benchmarks time: our engine in this process, in its child, and transformers.

All are timed by the same clock in the same place: when the consumer has the tokens.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from playground import models
from playground.config import Dtype, RunConfig, SamplingParams, Speculation
from playground.engines import EngineContext
from playground.errors import PlaygroundError
from playground.events import Event, RunFinished, Step
from playground.metrics import RunResult
from playground.settings import Settings


@dataclass(frozen=True, slots=True)
class Timing:
    """One generation: ids delivered, seconds to the first of them, seconds from the first to the last."""

    ids: tuple[int, ...]
    first: float
    decode: float
    result: RunResult | None = None
    events: tuple[Event, ...] = ()

    @property
    def tokens_per_second(self) -> float:
        """Decode speed, METRICS' definition: (delivered - 1) / (last - first)."""
        return (len(self.ids) - 1) / self.decode


Arm = Callable[[str], Timing]


def config(target: str, *, max_tokens: int, dtype: Dtype, speculation: Speculation | None = None) -> RunConfig:
    """A greedy run of the embedded engine."""
    return RunConfig(
        target=target,
        dtype=dtype,
        speculation=speculation,
        sampling=SamplingParams(temperature=0.0, max_tokens=max_tokens),
    )


class Engines:
    """Embedded engines in this process, one per load key: the loop itself, without process or pipe."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._loaded: dict[Any, tuple[Any, Iterator[tuple[str, Event]]]] = {}
        self._runs = 0

    def run(self, config: RunConfig, prompt: str) -> Timing:
        engine, stream = self._engine(config)
        self._runs += 1
        run_id, start = f"bench-{self._runs}", time.perf_counter()
        engine.submit(run_id, config, prompt)
        return timed(_of_run(stream, run_id), start)

    def _engine(self, config: RunConfig) -> tuple[Any, Iterator[tuple[str, Event]]]:
        from playground.engines.embedded import Engine

        key = repr(Engine.load_key(config, self._context))
        if key not in self._loaded:
            engine = Engine(config, self._context)
            for _ in engine.load():
                pass
            self._loaded[key] = (engine, engine.events())
        return self._loaded[key]

    def close(self) -> None:
        for engine, _ in self._loaded.values():
            engine.close()
        self._loaded.clear()


def _of_run(stream: Iterator[tuple[str, Event]], run_id: str) -> Iterator[Event]:
    for owner, event in stream:
        if owner == run_id:
            yield event
            if isinstance(event, RunFinished):
                return


def timed(events: Iterator[Event], start: float) -> Timing:
    """Consumes one run's events, noting when each step's tokens are here."""
    ids: list[int] = []
    seen: list[Event] = []
    first = last = start
    result = RunResult()
    for event in events:
        now = time.perf_counter()
        result = result.add(event)
        seen.append(event)
        if isinstance(event, Step) and event.tokens:
            first = first if ids else now
            last = now
            ids += [token.id for token in event.tokens]
        if isinstance(event, RunFinished) and event.reason == "error":
            raise PlaygroundError(event.error, event.hint, code=event.code)
    return Timing(tuple(ids), first - start, last - first, result, tuple(seen))


class Transformers:
    """transformers' own `generate` on the same folder, as a user would call it."""

    def __init__(self, folder: Path, dtype: str, device: str = "cpu") -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.device = device
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self._model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).to(device).eval()

    def run(self, prompt: str, *, max_tokens: int, **generate: Any) -> Timing:
        """`generate` takes what `generate()` takes, such as `prompt_lookup_num_tokens`."""
        chat = [{"role": "user", "content": prompt}]
        inputs = self._tokenizer.apply_chat_template(
            chat, add_generation_prompt=True, return_tensors="pt", return_dict=True
        ).to(self.device)
        clock = _Clock(prompt_length=inputs["input_ids"].shape[1])
        start = time.perf_counter()
        self._model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False, streamer=clock, **generate)
        return Timing(tuple(clock.ids), clock.first - start, clock.last - clock.first)


def side_by_side(dtype: str, threads: int) -> tuple[Settings, Engines, Transformers]:
    """Our engines and transformers on the default model, in this process, with the same threads (0: torch's choice)."""
    import torch

    settings = Settings()
    folder = models.prepare_default(settings)
    if threads:
        torch.set_num_threads(threads)
    context = replace(settings.engine_context(models.model_paths(settings)), threads=torch.get_num_threads())
    device = "cuda" if torch.cuda.is_available() and settings.device in ("auto", "cuda") else "cpu"
    return settings, Engines(context), Transformers(folder, dtype, device)


class _Clock:
    """A streamer that only notes ids and times: the cheapest way to see when each token was there."""

    def __init__(self, prompt_length: int) -> None:
        self._prompt_left = prompt_length
        self.ids: list[int] = []
        self.first = self.last = 0.0

    def put(self, value: Any) -> None:
        ids = value.reshape(-1).tolist()
        if self._prompt_left:
            self._prompt_left -= len(ids)  # generate puts the prompt first
            return
        self.last = time.perf_counter()
        self.first = self.first or self.last
        self.ids += ids

    def end(self) -> None:
        """Nothing is held back."""
