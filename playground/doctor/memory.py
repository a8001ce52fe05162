"""The memory a pair needs at a context, against what the device says is free. Arithmetic over facts, no loading.

Weights and keys and values only: activations and the engine itself come on top, so less than a tenth left is "tight".
"""

import platform
from dataclasses import dataclass
from pathlib import Path

import psutil

from playground.config import Dtype
from playground.doctor.facts import Facts
from playground.doctor.findings import Finding, Memory, Size, finding
from playground.gpu import Occupancy, occupancy

TIGHT = 0.9
"""Share of the free memory from which on the rest is little."""

_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True, slots=True)
class Room:
    """Where a pair would be loaded: "cuda:0" or "cpu", and its free and total bytes (None: not told)."""

    device: str
    free: int | None
    total: int | None


def room(device: str) -> Room:
    """The room on the device of the settings ("auto": the GPU with most free memory, or the machine's own memory)."""
    kind, _, number = device.partition(":")
    if kind in ("auto", "cuda") and (gpus := occupancy()):
        chosen = _numbered(gpus, int(number)) if number.isdecimal() else max(gpus, key=lambda gpu: gpu.free)
        return Room(chosen.device, chosen.free, chosen.total)
    if kind == "cuda":
        return Room(device, None, None)
    memory = psutil.virtual_memory()
    limit, used = _container()
    free = memory.available if limit is None else min(memory.available, max(0, limit - used))
    return Room("mps" if kind == "mps" else "cpu", int(free), int(min(memory.total, limit or memory.total)))


def memory_of(target: Facts, draft: Facts, context: int | None, dtype: Dtype, place: Room) -> Memory:
    """What both need together, in the number format the embedded engine would run them in.

    Args:
        context: positions, prompt and answer together; None is the target's own window, at most 8,192.
    """
    positions = context or min(target.context or 8192, 8192)
    used = run_dtype(target, dtype, place.device)
    size = _BYTES[used]
    head = draft.role != "model"
    return Memory(
        context=positions,
        dtype=used,
        target_weights=_weights(target, size),
        target_kv=target.kv_bytes(positions, size),
        draft_weights=_weights(draft, size),
        draft_kv=draft.kv_bytes(positions if head else min(positions, draft.context or positions), size),
        device=place.device,
        free=place.free,
        total=place.total,
    )


def run_dtype(target: Facts, dtype: Dtype, device: str) -> str:
    """The number format "auto" comes to: bfloat16, or float32 on a CPU without bfloat16 arithmetic."""
    if dtype != "auto":
        return dtype
    return "float32" if device == "cpu" and not _cpu_has_bfloat16() else "bfloat16"


def judged(memory: Memory) -> Finding:
    if memory.need is None or memory.free is None:
        return finding("memory_unknown", "note")
    params = {
        "need": Size(memory.need),
        "free": Size(memory.free),
        "device": memory.device,
        "context": memory.context,
        "dtype": memory.dtype,
    }
    if memory.need > memory.free:
        return finding("memory_short", "error", **params)
    if memory.need > TIGHT * memory.free:
        return finding("memory_tight", "warning", **params)
    return finding("memory_fits", "ok", **params)


def _weights(model: Facts, size: int) -> int | None:
    """GGUF files are unpacked when they are loaded here; packed folders stay packed."""
    if model.quantization is not None and model.kind == "folder":
        return model.size or None
    return model.parameters * size if model.parameters else None


def _numbered(gpus: list[Occupancy], number: int) -> Occupancy:
    return gpus[min(number, len(gpus) - 1)]


def _container() -> tuple[int | None, int]:
    """(limit, used) of this process's memory by its control group; (None, 0) without one."""
    for limit, used, stat, reclaimable in _GROUPS:
        try:
            most, now = Path(limit).read_text().strip(), Path(used).read_text().strip()
            counts = dict(line.split()[:2] for line in Path(stat).read_text().splitlines() if " " in line)
        except OSError:
            continue
        if most.isdecimal() and now.isdecimal() and int(most) < 1 << 60:
            return int(most), max(0, int(now) - int(counts.get(reclaimable, 0)))
    return None, 0


_V1 = "/sys/fs/cgroup/memory/memory"
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file"),
    (f"{_V1}.limit_in_bytes", f"{_V1}.usage_in_bytes", f"{_V1}.stat", "total_inactive_file"),
)
"""Limit, usage, statistics, and the statistic of what the system gives back when asked: files read lately."""


def _cpu_has_bfloat16() -> bool:
    """As torch's own kernels ask, as far as the processor's flags tell: the parent must not import torch for it."""
    if platform.machine() in ("arm64", "aarch64"):
        return True
    try:
        flags = Path("/proc/cpuinfo").read_text().partition("flags")[2].partition("\n")[0].split()
    except OSError:
        return False
    return {"avx512bw", "avx512vl", "avx512dq"} <= set(flags)
