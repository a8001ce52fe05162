"""The target's hidden states by position, as far as a drafter has not read them yet. Knows tensors and positions."""

import torch
from torch import Tensor


class HiddenStates:
    """Rows of the target's tapped layers side by side, one per position from `start` to `length`.

    The step loop appends what each target pass gave and rewinds with the target's cache; the drafter takes rows once
    and keeps what it made of them, so that memory does not grow with the text.

    Args:
        taps: the layers before which the states are taken, ascending (vLLM's `eagle_aux_hidden_state_layer_ids`).
    """

    def __init__(self, taps: tuple[int, ...]) -> None:
        self.taps = taps
        self.start = 0
        self.length = 0
        self._parts: list[Tensor] = []

    def append(self, tapped: tuple[Tensor, ...]) -> None:
        """The next positions: for each tap one [n, hidden size]."""
        rows = torch.cat(tapped, dim=-1)
        self._parts.append(rows)
        self.length += len(rows)

    def rewind(self, length: int) -> None:
        """Forget all positions from `length` on."""
        while self._parts and self.length - len(self._parts[-1]) >= length:
            self.length -= len(self._parts.pop())
        if self._parts and self.length > length:
            self._parts[-1] = self._parts[-1][: length - self.length]
        self.length = min(self.length, length)
        self.start = min(self.start, length)

    def take(self, end: int) -> Tensor:
        """The rows before position `end` that were not taken yet: [n, taps * hidden size]; call it with rows there."""
        rows = self._parts[0] if len(self._parts) == 1 else torch.cat(self._parts)
        count = end - self.start
        self._parts = [rows[count:]] if count < len(rows) else []
        self.start = end
        return rows[:count]
