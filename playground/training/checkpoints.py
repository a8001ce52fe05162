"""Where a training stands, on disk: safetensors and JSON, a folder made whole before it counts. No pickles.

Knows the head, the optimiser and folders; nothing of data or progress.
"""

import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from playground.headfiles import write_json
from playground.modelfiles import read_object

KEPT = 2


@dataclass(frozen=True, slots=True)
class Place:
    """How far a training came.

    Attributes:
        step: optimiser steps done. number, batch: the pass and the batch of it that come next.
        best: expected tokens per step of the best evaluation. stale: evaluations since then.
        seconds: spent training in all sessions. tokens: judged positions seen in all passes.
    """

    step: int = 0
    number: int = 0
    batch: int = 0
    best: float = 0.0
    stale: int = 0
    seconds: float = 0.0
    tokens: int = 0


def save(folder: Path, head: nn.Module, optimizer: torch.optim.Optimizer, place: Place, history: list[Any]) -> None:
    """A new checkpoint; older ones but the last go."""
    final = folder / f"step-{place.step:08d}"
    scratch = folder / f".{final.name}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    tensors = {f"head.{name}": weight.detach().cpu().contiguous() for name, weight in head.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": _tensor(value) for name, value in state.items()}
    save_file(tensors, scratch / "state.safetensors")
    write_json(scratch / "place.json", {"place": asdict(place), "history": history})
    shutil.rmtree(final, ignore_errors=True)
    os.replace(scratch, final)
    for old in _found(folder)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def restore(folder: Path, head: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[Place, list[Any]]:
    """The newest checkpoint into `head` and `optimizer`; (Place(), []) where there is none."""
    found = _found(folder)
    if not found:
        return Place(), []
    note = read_object(found[-1] / "place.json") or {}
    tensors = load_file(found[-1] / "state.safetensors")
    head.load_state_dict({k.removeprefix("head."): v for k, v in tensors.items() if k.startswith("head.")})
    states: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            states.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": states, "param_groups": optimizer.state_dict()["param_groups"]})
    return Place(**note["place"]), list(note["history"])


def _found(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("step-*") if (path / "place.json").exists())


def _tensor(value: Any) -> Tensor:
    made: Tensor = value.detach().cpu().contiguous() if isinstance(value, Tensor) else torch.tensor(float(value))
    return made
