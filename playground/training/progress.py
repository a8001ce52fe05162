"""What a training says of itself while it runs: one small JSON file, replaced whole, that anyone may read at any time.

Knows no stage by name.
"""

import os
import time
from pathlib import Path
from typing import Any, Literal

from playground.headfiles import write_json
from playground.modelfiles import read_object

FILE = "progress.json"
SECONDS = 0.5  # between writes

State = Literal["running", "done", "cancelled", "failed"]


class Progress:
    """Written by the worker. Stages follow each other; the last word is `end`."""

    def __init__(self, folder: Path, history: list[dict[str, Any]] | None = None) -> None:
        self._file = folder / FILE
        self._begun = time.time()
        self._written = 0.0
        self._data: dict[str, Any] = {
            "state": "running",
            "pid": os.getpid(),
            "stage": "start",
            "done": 0,
            "total": 0,
            "seconds_left": None,
            "note": "",
            "history": history or [],
        }

    def stage(self, name: str, total: int, done: int = 0, note: str = "") -> None:
        """A new stage of `total` units, `done` of them in an earlier session."""
        self._stage_begun, self._stage_first = time.monotonic(), done
        self._data |= {"stage": name, "done": done, "total": total, "seconds_left": None, "note": note}
        self._write()

    def at(self, done: int, note: str = "") -> None:
        """So many units are done; cheap, may be called for every batch."""
        data, fresh = self._data, done - self._stage_first
        spent = time.monotonic() - self._stage_begun
        data["done"], data["note"] = done, note or data["note"]
        data["seconds_left"] = spent / fresh * max(data["total"] - done, 0) if fresh > 0 else None
        if time.monotonic() - self._written > SECONDS:
            self._write()

    def evaluated(self, figures: dict[str, Any]) -> None:
        """One evaluation, for the curve."""
        self._data["history"] = [*self._data["history"], figures]
        self._write()

    @property
    def history(self) -> list[dict[str, Any]]:
        return list(self._data["history"])

    def end(self, state: State, error: dict[str, str] | None = None, report: dict[str, Any] | None = None) -> None:
        self._data |= {"state": state, "seconds_left": 0 if state == "done" else None, "error": error, "report": report}
        self._write()

    def _write(self) -> None:
        self._written = time.monotonic()
        write_json(self._file, {**self._data, "seconds": time.time() - self._begun, "written": time.time()})


def read_progress(folder: Path) -> dict[str, Any] | None:
    """The last word of the training in `folder`; None where there was none. One that died says "running" for ever:
    the caller knows its process.
    """
    return read_object(folder / FILE)
