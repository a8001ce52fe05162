"""A linear layer by whichever of the CPU's ways is fastest here, for one row and for a few.

A decoding step multiplies 1..65 rows by every weight of the model. For such shapes a CPU library's usual call may take
four times the time of reading the weights, and verifying k tokens then costs nearly k forward passes. Which call is
good depends on processor, library, threads, number format and shape, so it is measured once, on the model's weights.
The results differ by rounding only; both arms of a comparison use the same. Knows matrices only.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear

FEW = 6
"""Rows that stand for a verification of a handful of draft tokens when ways are measured."""

TRIES = 5
LAYERS = 6
"""Layers a way is measured on, one after the other: one alone would stay in the processor's cache."""

GAIN = 0.9
"""Another way than the usual one must take at most this share of its time."""

HOPELESS = 1.5
"""Times the fastest call so far; a way this slow once will not win."""

Call = Callable[[Tensor], Tensor]
Prepare = Callable[[Tensor, Tensor | None], Call]
"""(weight [out, in], bias [out] or None) -> x [n, in] -> [n, out]."""


def _usual(weight: Tensor, bias: Tensor | None) -> Call:
    return lambda x: linear(x, weight, bias)


def _transposed(weight: Tensor, bias: Tensor | None) -> Call:
    columns = weight.t().contiguous()
    if bias is None:
        return lambda x: torch.mm(x, columns)
    return lambda x: torch.addmm(bias, x, columns)


def _left(weight: Tensor, bias: Tensor | None) -> Call:
    if bias is None:
        return lambda x: torch.mm(weight, x.t()).t()
    return lambda x: torch.mm(weight, x.t()).t() + bias


def _packed(weight: Tensor, bias: Tensor | None) -> Call:
    """oneDNN's own layout of the weights, as TorchInductor uses it."""
    packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), FEW)
    call = torch.ops.mkldnn._linear_pointwise
    return lambda x: call(x, packed, bias, "none", [], "")


WAYS: dict[str, tuple[Prepare, int]] = {
    "linear": (_usual, 0),
    "transposed": (_transposed, 1),
    "left": (_left, 0),
    "packed": (_packed, 1),
}
"""Name -> how it is prepared, and how many more copies of the weights it keeps."""


@dataclass(frozen=True, slots=True)
class Ways:
    """The names in WAYS of what serves one row, and more rows."""

    one: str = "linear"
    few: str = "linear"

    @property
    def copies(self) -> int:
        return sum(WAYS[name][1] for name in {self.one, self.few})


class Projection:
    """x [n, in] -> [n, out]."""

    def __init__(self, weight: Tensor, bias: Tensor | None, ways: Ways) -> None:
        made = {name: WAYS[name][0](weight, bias) for name in {ways.one, ways.few}}
        self._one, self._few = made[ways.one], made[ways.few]

    def __call__(self, x: Tensor) -> Tensor:
        return self._one(x) if x.shape[0] == 1 else self._few(x)


def fastest(weights: Sequence[Tensor], *, spare: bool) -> Ways:
    """The fastest ways for weights of one shape [out, in], measured on the first few of them.

    Args:
        spare: whether memory may be spent on more copies of the weights.
    """
    sample = weights[:LAYERS]
    if sample[0].device.type != "cpu":
        return Ways()
    calls = {name: _prepared(name, sample) for name, (_, copies) in WAYS.items() if spare or not copies}
    width = sample[0].shape[1]
    one, few = (
        _best(_race({name: found for name, found in calls.items() if found}, sample[0].new_zeros(rows, width)))
        for rows in (1, FEW)
    )
    return Ways(one, few)


def _prepared(name: str, weights: Sequence[Tensor]) -> list[Call]:
    """Empty where this build of torch lacks the way."""
    try:
        calls = [WAYS[name][0](weight, None) for weight in weights]
        calls[0](weights[0].new_zeros(1, weights[0].shape[1]))
    except (RuntimeError, AttributeError, NotImplementedError):
        return []
    return calls


def _race(ways: dict[str, list[Call]], x: Tensor) -> dict[str, float]:
    """Median seconds of each way's calls; a way that is hopelessly behind is not tried again."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    running = list(ways)
    for name in running:
        ways[name][0](x)  # the first call of a shape also makes its plan
    for _ in range(TRIES):
        for name in running:
            start = time.perf_counter()
            for call in ways[name]:
                call(x)
            seconds[name].append(time.perf_counter() - start)
        first = min(min(found) for found in seconds.values())
        running = [name for name in running if min(seconds[name]) <= HOPELESS * first]
    return {name: statistics.median(found) for name, found in seconds.items()}


def _best(seconds: dict[str, float]) -> str:
    name = min(seconds, key=lambda way: seconds[way])
    return name if seconds[name] <= GAIN * seconds["linear"] else "linear"
