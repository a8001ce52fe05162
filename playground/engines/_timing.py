"""Two spans of one step, drafting and verifying, on the clock of the device that does the work.

An accelerator runs behind the program: its own event timers are recorded as the work is queued and read after the one
sync of the step. Knows devices' timers only.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any


class StepTimer:
    """`start`, `drafted`, `verified` in this order; then `seconds()`."""

    def __init__(self, device: Any) -> None:
        import torch

        self._make: Callable[[], Any] | None = None
        if device.type in ("cuda", "mps"):
            self._make = partial({"cuda": torch.cuda.Event, "mps": torch.mps.Event}[device.type], enable_timing=True)
        self._marks: list[Any] = []

    def start(self) -> None:
        self._marks = []
        self._mark()

    def drafted(self) -> None:
        self._mark()

    def verified(self) -> None:
        """Call before the sync on an accelerator: it marks the end of what was queued."""
        self._mark()

    def seconds(self) -> tuple[float, float]:
        """(drafting, verifying); call after the sync."""
        first, second, third = self._marks
        if self._make is None:
            return second - first, third - second
        return first.elapsed_time(second) / 1000, second.elapsed_time(third) / 1000

    def _mark(self) -> None:
        if self._make is None:
            self._marks.append(time.perf_counter())
            return
        event = self._make()
        event.record()
        self._marks.append(event)
