"""Which device and which number format: chosen in the child; named for the lock in a parent that never touches CUDA."""

import os
import platform
import shutil
import sys
from importlib import metadata
from typing import Any

from playground.config import Dtype
from playground.errors import PlaygroundError
from playground.sentence import Sentence


def pick_device(wanted: str) -> Any:
    """A torch device for "auto", "cpu", "cuda", "cuda:1" or "mps".

    Raises:
        PlaygroundError: it is not here.
    """
    import torch

    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    kind, _, number = wanted.partition(":")
    here = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}.get(kind, False)
    if not here or (kind == "cuda" and int(number or 0) >= torch.cuda.device_count()):
        raise PlaygroundError(
            Sentence("The device {wanted} is not here.", wanted=wanted),
            Sentence("Set DRAFTBOARD_DEVICE to auto, cpu, cuda or mps."),
            code="no_device",
        )
    return torch.device(kind, int(number or 0)) if kind == "cuda" else torch.device(kind)


def pick_dtype(wanted: Dtype, device: Any) -> Any:
    """A torch dtype: "auto" is bfloat16, or float32 where the hardware has no bfloat16 arithmetic."""
    import torch

    if wanted != "auto":
        return getattr(torch, wanted)
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # Without it a CPU emulates: one token is cheap, but verifying k of them costs k times as much.
        fast = device.type == "mps" or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.bfloat16 if fast else torch.float32


def device_lock(wanted: str) -> str:
    """The device's name for the lock between processes, without touching it: no CUDA in the parent, ever."""
    kind, _, number = wanted.partition(":")
    if kind == "auto":
        kind = (
            "cuda" if _has_nvidia() else "mps" if sys.platform == "darwin" and platform.machine() == "arm64" else "cpu"
        )
    if kind != "cuda":
        return kind
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = [name.strip() for name in visible.split(",") if name.strip()]
    index = int(number or 0)
    return f"cuda:{names[index]}" if index < len(names) else f"cuda:{index}"


def _has_nvidia() -> bool:
    """Whether torch would find an NVIDIA GPU, as far as files tell."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    try:
        cpu_build = metadata.version("torch").endswith("+cpu")
    except metadata.PackageNotFoundError:
        cpu_build = True
    return not hidden and not cpu_build and (os.path.exists("/dev/nvidiactl") or shutil.which("nvidia-smi") is not None)
