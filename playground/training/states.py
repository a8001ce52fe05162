"""What the head learns from: the target's hidden states and last state of every exchange, computed once where they fit.

Rows are bfloat16, the tapped layers side by side and then the last normed state, one row per token. On disk they lie in
one file in the exchanges' order. Knows the target's module and files; nothing of the head.
"""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from playground.errors import PlaygroundError
from playground.headfiles import write_json
from playground.sentence import Sentence

WINDOW = 64
"""Exchanges computed between two notes of how far it came."""

BATCH_TOKENS = 8192

SPARE = 2**30
"""Bytes left free on the disk."""


class States(Protocol):
    """Gives the rows of some exchanges: for each bfloat16 [tokens, (taps + 1) * hidden size], on the host."""

    def rows(self, indices: Sequence[int]) -> list[Tensor]: ...


class LiveStates:
    """Computed whenever asked."""

    def __init__(self, module: Any, taps: tuple[int, ...], sequences: Sequence[tuple[int, ...]]) -> None:
        self._module = module
        self._taps = taps
        self._sequences = sequences

    @property
    def width(self) -> int:
        return (len(self._taps) + 1) * int(self._module.config.get_text_config(decoder=True).hidden_size)

    @torch.inference_mode()
    def rows(self, indices: Sequence[int]) -> list[Tensor]:
        lengths = [len(self._sequences[i]) for i in indices]
        # Padded on the right: a causal model never looks there.
        ids = torch.zeros(len(indices), max(lengths), dtype=torch.long)
        for row, i in enumerate(indices):
            ids[row, : lengths[row]] = torch.tensor(self._sequences[i])
        decoder = self._module.get_decoder()
        output = decoder(input_ids=ids.to(self._module.device), output_hidden_states=True, use_cache=False)
        kept = [output.hidden_states[tap] for tap in self._taps] + [output.last_hidden_state]
        rows = torch.cat(kept, dim=-1).to("cpu", torch.bfloat16)
        return [rows[row, :length] for row, length in enumerate(lengths)]


class DiskStates:
    """Read from a file that `fill` has written."""

    def __init__(self, file: Path, live: LiveStates, lengths: Sequence[int]) -> None:
        self._file = file
        self._note = file.with_suffix(".json")
        self._live = live
        self._starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        self._shape = (int(self._starts[-1]), live.width)
        self._map: Any = None

    @property
    def bytes(self) -> int:
        return self._shape[0] * self._shape[1] * 2

    def fill(self, said: Callable[[int], None], stopped: Callable[[], bool]) -> None:
        """Computes what is not there yet; `said` hears how many exchanges are done."""
        done = self._done()
        mode: Literal["r+", "w+"] = "r+" if done else "w+"
        self._map = np.memmap(self._file, np.int16, mode, shape=self._shape)
        count = len(self._starts) - 1
        while done < count and not stopped():
            window = range(done, min(done + WINDOW, count))
            for batch in _batches(window, self._starts):
                for index, rows in zip(batch, self._live.rows(batch), strict=True):
                    self._map[self._starts[index] : self._starts[index + 1]] = rows.view(torch.int16).numpy()
            self._map.flush()
            done = window.stop
            write_json(self._note, {"done": done, "shape": list(self._shape)})
            said(done)

    def rows(self, indices: Sequence[int]) -> list[Tensor]:
        parts = [np.array(self._map[self._starts[i] : self._starts[i + 1]]) for i in indices]
        return [torch.from_numpy(part).view(torch.bfloat16) for part in parts]

    def _done(self) -> int:
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            whole = self._file.stat().st_size == self.bytes and note["shape"] == list(self._shape)
            return int(note["done"]) if whole else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0


def fits_on_disk(states: DiskStates, folder: Path, wanted: Literal["auto", "disk"]) -> bool:
    """Whether there is room for them.

    Raises:
        PlaygroundError: there is not, and `wanted` insists.
    """
    free = shutil.disk_usage(folder).free - SPARE
    if states.bytes <= free or states._done():
        return True
    if wanted == "disk":
        raise PlaygroundError(
            Sentence(
                "The hidden states need {need:.1f} GB, {free:.1f} GB are free in {folder}.",
                need=states.bytes / 1e9,
                free=max(free, 0) / 1e9,
                folder=folder,
            ),
            Sentence("Train on fewer tokens, on another disk, or without keeping them (states: none)."),
            code="no_room",
        )
    return False


def _batches(window: range, starts: Any) -> list[list[int]]:
    """The window's exchanges in batches of like length."""
    lengths = {i: int(starts[i + 1] - starts[i]) for i in window}
    batches: list[list[int]] = [[]]
    for index in sorted(window, key=lengths.__getitem__):
        if batches[-1] and (len(batches[-1]) + 1) * lengths[index] > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(index)
    return [batch for batch in batches if batch]
