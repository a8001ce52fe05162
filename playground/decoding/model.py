"""A causal language model with its cache: ids in, logits out. Knows transformers' forward call, no text, no law."""

import inspect
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from playground.decoding.cache import RewindableCache
from playground.decoding.lean import LeanForward


@dataclass(frozen=True, slots=True)
class CausalModel:
    """A loaded model, shared by all sessions on it.

    Attributes:
        module: transformers' causal language model, in eval mode, on its device.
        max_positions: how many positions it was made for.
        lean: stands in for the module's own forward pass, where it can.
    """

    module: Any
    max_positions: int
    lean: LeanForward | None = None
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
        taps: layers before which the hidden states are kept, ascending; transformers' number of `hidden_states`.

    Attributes:
        tapped: after `feed` of n ids, one [n, hidden size] for each of `taps`.
    """

    def __init__(
        self, model: CausalModel, vocab_size: int, expected_length: int = 0, taps: tuple[int, ...] = ()
    ) -> None:
        self.model = model
        self.vocab_size = vocab_size
        self.taps = taps
        self.tapped: tuple[Tensor, ...] = ()
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
        if self.model.lean is not None:
            logits, self.tapped = self.model.lean(ids, self.cache, self.length, keep, self.taps)
        else:
            logits = self._plain(ids, end, keep)
        self.cache.advance(count)
        return self._fitted(logits)

    def _plain(self, ids: Tensor, end: int, keep: int) -> Tensor:
        """By the module's own forward pass."""
        arguments: dict[str, Any] = {}
        if "position_ids" in self.model.accepts:
            arguments["position_ids"] = self.model.positions[:, self.length : end]
        if "logits_to_keep" in self.model.accepts:
            arguments["logits_to_keep"] = max(keep, 1)
        if self.taps:
            arguments["output_hidden_states"] = True
        output = self.model.module(
            input_ids=ids.unsqueeze(0), past_key_values=self.cache, use_cache=True, return_dict=True, **arguments
        )
        if self.taps:
            self.tapped = tuple(output.hidden_states[tap][0] for tap in self.taps)
        logits: Tensor = output.logits[0, -keep:] if keep else output.logits[0, :0]
        return logits

    def _fitted(self, logits: Tensor) -> Tensor:
        logits = logits[:, : self.vocab_size].float()
        missing = self.vocab_size - logits.shape[1]
        return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf) if missing else logits
