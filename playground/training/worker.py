"""The child process of a training: runs the stages one after another, each from where an earlier session left it.

`python -m playground.training.worker OUT`; what to do stands in order.json in its folder “work”. A termination signal,
or the end of its standard input (its parent has gone), makes it save and end. Knows every stage, and no page or command
line.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from playground.config import checked
from playground.devices import DeviceLock
from playground.engines import EngineContext
from playground.errors import PlaygroundError
from playground.training.options import TrainOptions
from playground.training.progress import Progress


class Worker:
    """One session of a training."""

    def __init__(self, folder: Path, options: TrainOptions, context: EngineContext, locks: Path) -> None:
        self._folder, self._work = folder, folder / "work"
        self._options, self._context, self._locks = options, context, locks
        self._stop = threading.Event()
        self._progress = Progress(folder)

    def stop(self) -> None:
        """Save and end soon. Thread-safe."""
        self._stop.set()

    def run(self) -> None:
        """To the report, or to the stop. Never raises: how it ended is the progress file's last word."""
        from playground.engines._child import translated

        try:
            report = self._run()
            self._progress.end("cancelled" if report is None else "done", report=report)
        except Exception as error:  # told to whoever reads the progress
            problem = translated(error)
            self._progress.end("failed", error=problem.as_dict())
            if not isinstance(error, PlaygroundError):
                raise

    def _run(self) -> dict[str, Any] | None:
        from playground.engines._device import device_lock

        lock = DeviceLock(self._locks, device_lock(self._context.device))
        self._progress.stage("device", 0)
        for loading in lock.acquire(f"training a head for {self._options.target}", self._stop.is_set):
            self._progress.stage("device", 0, note=loading.detail)
        try:
            return self._on_device() if not self._stop.is_set() else None
        finally:
            lock.close()

    def _on_device(self) -> dict[str, Any] | None:
        from playground.training.stages import Stages

        stages = Stages(self._work, self._folder, self._options, self._context, self._progress, self._stop.is_set)
        return stages.run()


def main(folder: Path) -> int:
    """Runs the order in the folder; 0 unless it failed."""
    order = json.loads((folder / "work" / "order.json").read_text(encoding="utf-8"))
    context = EngineContext(**order["context"])
    if context.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
    worker = Worker(folder, checked(TrainOptions, order["options"]), context, Path(order["locks"]))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    threading.Thread(target=_orphaned, args=(worker,), name="parent", daemon=True).start()
    worker.run()
    return 0


def _orphaned(worker: Worker) -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    worker.stop()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
