"""Drafting a chain, one token after another from a model's own law: shared by the drafters with a model.

`draft_sample_method` is vLLM's: "greedy" drafts the model's best token whatever the temperature and is judged as a
one-hot law; "probabilistic" draws from the model's law and is judged by it. `draft_p_min` is llama.cpp's p_min: a chain
ends before a token when the model gives even its best one less. That is exact at any temperature, since it is decided
before the token is drawn, by the tokens before it alone: whether a position is drafted or not, its token has the
target's law. To drop a token AFTER it was drawn, because it came out unlikely, would bend the law.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from playground.drafters import Draft

if TYPE_CHECKING:
    from torch import Tensor

    from playground.decoding.law import History


class ChainOptions(BaseModel):
    """How a draft model chooses its tokens, and when it stops."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draft_sample_method: Literal["greedy", "probabilistic"] = Field(
        "greedy",
        title="Draft sampling",
        description="greedy: the draft's best token; probabilistic: drawn from its law (only with a temperature).",
    )
    draft_p_min: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        title="Least confidence",
        description="Stop drafting where the draft gives its best token less than this; 0 always drafts k.",
    )


class Chain:
    """One run's drawing of drafts; keeps count of what penalties need to know."""

    def __init__(self, options: ChainOptions, run: Any) -> None:
        self._run = run
        self._draws = options.draft_sample_method == "probabilistic" and not run.law.greedy
        self._p_min = options.draft_p_min
        self._history: History | None = None
        self._counted = 0

    def count(self, context: Sequence[int], kept: int) -> None:
        """Bring the penalties' history up to the context, of which the first `kept` ids are as they were."""
        from playground.decoding.law import History

        start = self._run.prompt_length
        if self._history is None or kept < self._counted:
            self._history = History(self._run.law, context[:start], self._run.vocab_size, self._run.device)
            self._counted = min(start, len(context))
        self._history.append(context[self._counted :])
        self._counted = len(context)

    def draft(self, logits: "Tensor", k: int, feed: "Callable[[Tensor], Tensor]") -> Draft:
        """Up to k tokens, the first by `logits`, float32 [1, V]. Call `count` first.

        Without `draft_p_min` there is no host sync.

        Args:
            feed: appends a drafted id, int64 [1], to the model and gives the logits after it; not asked for the last.
        """
        import torch

        from playground.decoding.accept import draw

        law, history = self._run.law, self._history
        ids: list[Tensor] = []
        laws: list[Tensor] = []
        raw: list[Tensor] = []
        while True:
            prefix = torch.cat(ids) if ids and law.penalised else None
            scores = law.scores(logits, history, prefix, offset=len(ids))
            probs = law.probs(scores) if self._draws or self._p_min > 0.0 else None
            if probs is not None and float(probs.max()) < self._p_min:
                break
            raw.append(logits)
            if self._draws and probs is not None:
                laws.append(probs)
                ids.append(draw(probs, self._run.generator))
            else:
                ids.append(scores.argmax(-1))
            if len(ids) == k:
                break
            logits = feed(ids[-1])
        if not ids:
            return Draft(token_ids=torch.empty(0, dtype=torch.long, device=self._run.device))
        return Draft(token_ids=torch.cat(ids), probs=torch.cat(laws) if laws else None, logits=torch.cat(raw))
