"""A key/value cache that can be rewound. The only file that touches transformers' cache API (5.19).

Rolling back is "do not advance": keys and values live in buffers that keep room for what comes, a rewind only lowers
the length, and nothing is copied when a token is added. A sliding-window layer keeps its whole past too and shows
its window only, so that it can be rewound like any other. `Cache.crop`, whose meaning changes between
transformers releases, is never called. Layers with a state that cannot be rewound (linear attention, Mamba) pass
through untouched: such a model runs, but not speculatively.
"""

from typing import Any

from torch import Tensor
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

ROOM = 256
"""Least number of positions a buffer grows by."""


class RewindableCache(DynamicCache):
    """The cache of one sequence.

    Args:
        config: the model's transformers configuration; decides the kind of each layer.
        expected_length: positions to make room for at once.
    """

    def __init__(self, config: Any, expected_length: int = 0) -> None:
        super().__init__(config=config)
        self.layers: list[Any] = [_rewindable(layer, expected_length) for layer in self.layers]
        self._length = 0

    @property
    def length(self) -> int:
        """Positions held."""
        return self._length

    @property
    def rewindable(self) -> bool:
        """Whether `rewind` can give back an earlier state."""
        return bool(self.layers) and all(isinstance(layer, _RewindableLayer) for layer in self.layers)

    def advance(self, count: int) -> None:
        """Tell that a forward pass has added `count` positions."""
        self._length += count

    def rewind(self, length: int) -> None:
        """Forget all positions from `length` on.

        Raises:
            ValueError: `length` lies ahead, or a layer cannot be rewound.
        """
        if length == self._length:
            return
        if not 0 <= length < self._length:
            raise ValueError(f"cannot rewind from {self._length} positions to {length}")
        if not self.rewindable:
            raise ValueError("this model keeps a state that cannot be rewound")
        for layer in self.layers:
            layer.length = length
        self._length = length


class _RewindableLayer(DynamicLayer):
    """Full attention: all positions so far, as a view of a roomier buffer [1, heads, room, head size]."""

    def __init__(self, expected_length: int) -> None:
        super().__init__()
        self.is_initialized: bool = False
        self.length = 0
        self._room = expected_length

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        end = self.length + key_states.shape[-2]
        if not self.is_initialized or end > self.keys.shape[-2]:
            self._grow(key_states, value_states, end)
        self.keys[:, :, self.length : end].copy_(key_states)
        self.values[:, :, self.length : end].copy_(value_states)
        start, self.length = self._first_shown(key_states.shape[-2]), end
        return self.keys[:, :, start:end], self.values[:, :, start:end]

    def _first_shown(self, query_length: int) -> int:
        return 0

    def _grow(self, key_states: Tensor, value_states: Tensor, end: int) -> None:
        held = self.keys.shape[-2] if self.is_initialized else self._room
        room = max(end, held) if not self.is_initialized else max(end, held + max(ROOM, held // 2))
        for name, states in (("keys", key_states), ("values", value_states)):
            buffer = states.new_empty((*states.shape[:-2], room, states.shape[-1]))
            if self.is_initialized:
                buffer[:, :, : self.length].copy_(getattr(self, name)[:, :, : self.length])
            setattr(self, name, buffer)
        self.dtype, self.device, self.is_initialized = key_states.dtype, key_states.device, True

    def get_seq_length(self) -> int:
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        start = self._first_shown(query_length)
        return self.length + query_length - start, start


class _RewindableSlidingLayer(_RewindableLayer):
    """Sliding window: keeps the whole past, shows the last `window - 1` positions and the new ones."""

    is_sliding = True

    def __init__(self, expected_length: int, window: int) -> None:
        super().__init__(expected_length)
        self.sliding_window = window

    def _first_shown(self, query_length: int) -> int:
        return max(self.length - self.sliding_window + 1, 0)


def _rewindable(layer: Any, expected_length: int) -> Any:
    # Exact types: a subclass may keep more than keys and values.
    if type(layer) is DynamicLayer:
        return _RewindableLayer(expected_length)
    if type(layer) is DynamicSlidingWindowLayer:
        return _RewindableSlidingLayer(expected_length, layer.sliding_window)
    return layer
