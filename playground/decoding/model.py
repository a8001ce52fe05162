"""A causal language model with its cache: ids in, logits out. Knows transformers' forward call, no text, no law."""

import inspect
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from playground.decoding.cache import RewindableCache


@dataclass(frozen=True, slots=True)
class CausalModel:
    """A loaded model, shared by all sessions on it.

    Attributes:
        module: transformers' causal language model, in eval mode, on its device.
        max_positions: how many positions it was made for.
    """

    module: Any
    max_positions: int
    positions: Tensor = field(init=False, repr=False)
    accepts: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        positions = torch.arange(self.max_positions, device=self.device).unsqueeze(0)
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "accepts", frozenset(inspect.signature(self.module.forward).parameters))

    @property
    def device(self) -> torch.device:
        device: torch.device = self.module.device
        return device

    @property
    def keeps_cache(self) -> bool:
        """Whether it continues from a cache of ours; some architectures keep their state in another way."""
        return "past_key_values" in self.accepts

    @property
    def rewindable(self) -> bool:
        """Whether its cache can be rewound, which speculation needs."""
        return self.keeps_cache and RewindableCache(self.module.config).rewindable


class ModelSession:
    """One sequence on one model: feed it ids, rewind it.

    Args:
        vocab_size: logits from here on are padding and are cut off; missing ones are -inf.
        expected_length: positions to make room for at once.
    """

    def __init__(self, model: CausalModel, vocab_size: int, expected_length: int = 0) -> None:
        self.model = model
        self.vocab_size = vocab_size
        self.cache = RewindableCache(model.module.config, min(expected_length, model.max_positions))

    @property
    def length(self) -> int:
        """Positions in the cache."""
        return self.cache.length

    def rewind(self, length: int) -> None:
        """Forget all positions from `length` on."""
        self.cache.rewind(length)

    def feed(self, ids: Tensor, keep: int) -> Tensor:
        """Append ids, int64 [n], and return the logits after the last `keep` of them: float32 [keep, vocab_size].

        Raises:
            ValueError: more positions than the model was made for.
        """
        count = ids.shape[0]
        end = self.length + count
        if end > self.model.max_positions:
            raise ValueError(f"{end} positions asked of a model made for {self.model.max_positions}")
        arguments: dict[str, Any] = {}
        if "position_ids" in self.model.accepts:
            arguments["position_ids"] = self.model.positions[:, self.length : end]
        if "logits_to_keep" in self.model.accepts:
            arguments["logits_to_keep"] = max(keep, 1)
        output = self.model.module(
            input_ids=ids.unsqueeze(0), past_key_values=self.cache, use_cache=True, return_dict=True, **arguments
        )
        self.cache.advance(count)
        return self._fitted(output.logits[0, -keep:] if keep else output.logits[0, :0])

    def _fitted(self, logits: Tensor) -> Tensor:
        logits = logits[:, : self.vocab_size].float()
        missing = self.vocab_size - logits.shape[1]
        return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf) if missing else logits
