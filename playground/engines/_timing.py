"""Two spans of one step, drafting and verifying, on the clock of the device that does the work.

An accelerator runs behind the program: its own event timers are recorded as the work is queued and read after the one
sync of the step. Knows devices' timers only.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any


class StepTimer:
    """`start`, then `drafted` and `verified` as spans of either kind end, in any order; then `seconds()`."""

    def __init__(self, device: Any) -> None:
        import torch

        self._make: Callable[[], Any] | None = None
        if device.type in ("cuda", "mps"):
            self._make = partial({"cuda": torch.cuda.Event, "mps": torch.mps.Event}[device.type], enable_timing=True)
        self._marks: list[tuple[str, Any]] = []

    def start(self) -> None:
        self._marks = []
        self._mark("start")

    def drafted(self) -> None:
        self._mark("drafted")

    def verified(self) -> None:
        """The last one: call it before the sync on an accelerator, so that it marks the end of what was queued."""
        self._mark("verified")

    def seconds(self) -> tuple[float, float]:
        """(drafting, verifying); call after the sync."""
        spans = {"drafted": 0.0, "verified": 0.0}
        for (_, before), (kind, after) in zip(self._marks, self._marks[1:], strict=False):
            spans[kind] += after - before if self._make is None else before.elapsed_time(after) / 1000
        return spans["drafted"], spans["verified"]

    def _mark(self, kind: str) -> None:
        if self._make is None:
            self._marks.append((kind, time.perf_counter()))
            return
        event = self._make()
        event.record()
        self._marks.append((kind, event))
