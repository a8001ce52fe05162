"""A smaller model with the target's tokenizer drafts token by token (Leviathan et al. 2023; Chen et al. 2023).

`draft_sample_method` is vLLM's: "greedy" drafts the draft model's best token whatever the temperature and is judged as
a one-hot law; "probabilistic" draws from the draft's own law and is judged by it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from playground.drafters import Draft
from playground.drafters._context import KnownIds

if TYPE_CHECKING:
    from torch import Tensor

    from playground.decoding.law import History

CHUNK = 512
"""Prompt tokens fed at once."""


class DraftModelOptions(BaseModel):
    """How the draft model chooses its tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draft_sample_method: Literal["greedy", "probabilistic"] = Field(
        "greedy",
        title="Draft sampling",
        description="greedy: the draft's best token; probabilistic: drawn from its law (only with a temperature).",
    )


class Drafter:
    """One run's draft model and its cache."""

    Options = DraftModelOptions
    NEEDS_MODEL = True

    def __init__(self, options: DraftModelOptions, run: Any) -> None:
        from playground.decoding.model import ModelSession

        self._run = run
        self._session = ModelSession(run.model, run.vocab_size, run.expected_length)
        self._draws = options.draft_sample_method == "probabilistic" and not run.law.greedy
        self._known = KnownIds()
        self._fed: Tensor | None = None
        self._history: History | None = None
        self._counted = 0

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
        self._count(context, kept)
        return self._draft(self._read(context, len(context)), k)

    def _rewind(self, context: Sequence[int]) -> int:
        """Back to the common prefix of cache and context, leaving at least the last id to feed; the length kept.

        After full acceptance the last draft token was never fed: it then is part of what `_read` feeds.
        """
        if self._fed is not None:
            self._known.ids += self._fed.tolist()
            self._fed = None
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

    def _count(self, context: Sequence[int], kept: int) -> None:
        """Bring the penalties' history up to the context."""
        from playground.decoding.law import History

        start = self._run.prompt_length
        if self._history is None or kept < self._counted:
            self._history = History(self._run.law, context[:start], self._run.vocab_size, self._run.device)
            self._counted = min(start, len(context))
        self._history.append(context[self._counted :])
        self._counted = len(context)

    def _draft(self, logits: "Tensor", k: int) -> Draft:
        import torch

        from playground.decoding.accept import draw

        law, history = self._run.law, self._history
        ids: list[Tensor] = []
        laws: list[Tensor] = []
        raw: list[Tensor] = []
        for i in range(k):
            prefix = torch.cat(ids) if ids and law.penalised else None
            scores = law.scores(logits, history, prefix, offset=i)
            raw.append(logits)
            if self._draws:
                laws.append(law.probs(scores))
                ids.append(draw(laws[-1], self._run.generator))
            else:
                ids.append(scores.argmax(-1))
            if i < k - 1:
                logits = self._session.feed(ids[-1], keep=1)
        drafted = torch.cat(ids)
        self._fed = drafted[:-1]
        return Draft(token_ids=drafted, probs=torch.cat(laws) if self._draws else None, logits=torch.cat(raw))
