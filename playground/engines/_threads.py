"""How many threads torch computes with on a CPU: as many as pay now, unless the operator says a number.

Threads of one multiplication wait for each other. On cores that other programs use too, one more thread can make a
step slower, not faster; so a few multiplications of a step's shape are timed once, when the engine loads.
"""

import statistics
import time

import torch

from playground.decoding.projection import WAYS, Call
from playground.engines import EngineContext

ROWS, WIDTH, MATRICES = 6, 1024, 8
"""A verification step's shape, over 32 MiB of weights: more than most cores keep to themselves."""

TRIES = 9
CLOSE = 1.05
"""Fewer threads must be faster by more than this."""


def set_threads(context: EngineContext) -> None:
    """`context.threads`, or for 0 the best of torch's own choice, half of it and so on down to one."""
    if context.threads:
        torch.set_num_threads(context.threads)
        return
    candidates = [torch.get_num_threads()]
    while candidates[-1] > 1:
        candidates.append(candidates[-1] // 2)
    if len(candidates) == 1:
        return
    calls = [WAYS["linear"][0](torch.ones(WIDTH, WIDTH), None) for _ in range(MATRICES)]
    seconds = {count: _seconds(count, calls) for count in candidates}
    best = min(seconds.values())
    torch.set_num_threads(next(count for count in candidates if seconds[count] <= CLOSE * best))


def _seconds(count: int, calls: list[Call]) -> float:
    """Median time of a step's multiplications."""
    torch.set_num_threads(count)
    rows, found = torch.ones(ROWS, WIDTH), []
    for _ in range(TRIES):
        start = time.perf_counter()
        for call in calls:
            call(rows)
        found.append(time.perf_counter() - start)
    return statistics.median(found)
