"""A smaller model with the target's tokenizer drafts token by token (Leviathan et al. 2023; Chen et al. 2023)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from playground.drafters import Draft
from playground.drafters._chain import Chain, ChainOptions
from playground.drafters._context import KnownIds

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 512
"""Prompt tokens fed at once."""


class DraftModelOptions(ChainOptions):
    """How the draft model chooses its tokens."""


class Drafter:
    """One run's draft model and its cache."""

    Options = DraftModelOptions
    NEEDS_MODEL = True
    DRAFTS_WITH = frozenset({"model"})

    def __init__(self, options: ChainOptions, run: Any) -> None:
        from playground.decoding.model import ModelSession

        self._run = run
        self._session = ModelSession(run.model, run.vocab_size, run.expected_length)
        self._chain = Chain(options, run)
        self._known = KnownIds()
        self._fed: list[Tensor] = []

    def propose(self, context: Sequence[int], k: int) -> Draft:
        """Up to k tokens after `context`; fewer, or none, where the draft model's window ends. k = 0 only reads.

        k forward passes and no host sync, but for the one that learns which drafts of the last call are in the cache.
        """
        import torch

        window = self._session.model.max_positions
        # The last draft token is never fed, so the window holds the context and k - 1 drafts.
        k = min(k, window - len(context) + 1)
        kept = self._rewind(context)
        if k <= 0:
            self._read(context, min(len(context) - 1, window))
            return Draft(token_ids=torch.empty(0, dtype=torch.long, device=self._run.device))
        self._chain.count(context, kept)
        return self._chain.draft(self._read(context, len(context)), k, self._feed)

    def _rewind(self, context: Sequence[int]) -> int:
        """Back to the common prefix of cache and context, leaving at least the last id to feed; the length kept.

        After full acceptance the last draft token was never fed: it then is part of what `_read` feeds.
        """
        if self._fed:
            import torch

            self._known.ids += torch.cat(self._fed).tolist()
            self._fed = []
        kept = self._known.keep(context)
        length = max(0, min(kept, len(context) - 1))
        del self._known.ids[length:]
        self._session.rewind(min(length, self._session.length))
        return kept

    def _read(self, context: Sequence[int], end: int) -> "Tensor":
        """Feed the context's ids up to `end`; the logits after the last one, float32 [1, V] ([0, V] if none)."""
        import torch

        new = torch.tensor(self._known.follow(context, end), dtype=torch.long, device=self._run.device)
        logits = torch.empty(0, self._run.vocab_size, device=self._run.device)
        for chunk in new.split(CHUNK):
            if len(chunk):
                logits = self._session.feed(chunk, keep=1)
        return logits

    def _feed(self, ids: "Tensor") -> "Tensor":
        self._fed.append(ids)
        return self._session.feed(ids, keep=1)
