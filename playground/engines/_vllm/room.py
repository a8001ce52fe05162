"""Room on the GPUs before vLLM starts: what an engine before it held comes back late, what others hold does not.

Knows NVML's readings through `gpu.py` only; on a CPU there is nothing to wait for.
"""

import time
from collections.abc import Iterator

import psutil

from playground.config import RunConfig
from playground.engines import EngineContext
from playground.engines._vllm import arguments
from playground.errors import PlaygroundError
from playground.events import Loading
from playground.gpu import Occupancy, occupancy
from playground.sentence import Sentence

PATIENCE = 15.0
"""Seconds that memory may take to come back after a process has ended."""

LOOK = 0.5
_GIB = 1 << 30


def wait_for_room(config: RunConfig, context: EngineContext) -> Iterator[Loading]:
    """Until every GPU this engine takes has the memory it will ask for.

    Raises:
        PlaygroundError: it has not; the message says how much is free and who has the rest.
    """
    if arguments.on_cpu(context):
        return
    options = arguments.checked_options(config)
    share = options.gpu_memory_utilization
    count = options.tensor_parallel_size * options.pipeline_parallel_size * options.data_parallel_size
    start = time.monotonic()
    while full := [gpu for gpu in occupancy()[:count] if gpu.free < share * gpu.total]:
        seconds = time.monotonic() - start
        if seconds > PATIENCE:
            raise _no_room(full[0], share)
        yield Loading("device", Sentence("Waiting for memory: {free}.", free=_free(full[0])), None, seconds)
        time.sleep(LOOK)


def _no_room(gpu: Occupancy, share: float) -> PlaygroundError:
    named = ", ".join(_holder(pid, held) for pid, held in gpu.holders)
    holders = named or Sentence("processes NVML does not name")
    lower = max(int(100 * gpu.free / gpu.total) - 1, 1) / 100
    return PlaygroundError(
        Sentence(
            "vLLM would run out of memory: {free}, gpu_memory_utilization {share:g} asks for {wanted:.1f} "
            "GiB. In use by {holders}.",
            free=_free(gpu),
            share=share,
            wanted=share * gpu.total / _GIB,
            holders=holders,
        ),
        Sentence("End what uses the GPU, or lower gpu_memory_utilization to {lower:g} or less.", lower=lower),
        code="out_of_memory",
    )


def _free(gpu: Occupancy) -> Sentence:
    return Sentence(
        "{free:.1f} of {total:.1f} GiB are free on {device}",
        free=gpu.free / _GIB,
        total=gpu.total / _GIB,
        device=gpu.device,
    )


def _holder(pid: int, held: int | None) -> str:
    try:
        name = psutil.Process(pid).name()
    except psutil.Error:
        name = "a process"
    return f"{name} ({pid}{'' if held is None else f', {held / _GIB:.1f} GiB'})"
