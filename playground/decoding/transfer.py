"""Many small tensors to the host in one copy: on an accelerator every copy waits for the whole queue of kernels.

Knows shapes and number formats, nothing of their meaning.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


def to_host(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Each tensor as (nested) Python lists or a scalar, by ONE device-to-host copy.

    Integers and booleans must fit in 32 bits; floats come as float32. On a CPU nothing is copied.
    """
    if all(t.device.type == "cpu" for t in tensors.values()):
        return {name: t.tolist() for name, t in tensors.items()}
    return unpack(tensors, pack(tensors).cpu())


def pack(tensors: Mapping[str, Tensor]) -> Tensor:
    """All of them in one int32 tensor [total], floats as their bits."""
    return torch.cat([_as_int32(t).reshape(-1) for t in tensors.values()])


def unpack(tensors: Mapping[str, Tensor], host: Tensor) -> dict[str, Any]:
    """`host`, made by `pack` from `tensors`, taken apart again; of `tensors` only names, shapes and types are used."""
    result: dict[str, Any] = {}
    start = 0
    for name, tensor in tensors.items():
        part = host[start : start + tensor.numel()]
        start += tensor.numel()
        if tensor.is_floating_point():
            part = part.view(torch.float32)
        result[name] = part.view(tensor.shape).tolist()
    return result


def _as_int32(tensor: Tensor) -> Tensor:
    if tensor.is_floating_point():
        return tensor.float().contiguous().view(torch.int32)
    return tensor.to(torch.int32)
