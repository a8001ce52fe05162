"""Prompt lookup: what followed the same few tokens before is drafted again. No model, no law of its own (one-hot).

Saxena 2023 ("prompt lookup decoding"); option names and the choice of the EARLIEST match are vLLM's, so that its
acceptance carries over. The index of n-grams grows with the context, a draft is a few dictionary look-ups.
"""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from playground.drafters import Draft
from playground.drafters._context import KnownIds
from playground.sentence import Sentence


class NgramOptions(BaseModel):
    """How far back a draft may look, and which match it takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_lookup_max: int = Field(
        4, ge=1, le=32, title="Longest n-gram", description="Tokens that must match, at most; tried first."
    )
    prompt_lookup_min: int = Field(
        2, ge=1, le=32, title="Shortest n-gram", description="Tokens that must match, at least; fewer draft nothing."
    )
    match: Literal["earliest", "most_recent"] = Field(
        "earliest", title="Match", description="Which earlier occurrence to copy from; vLLM takes the earliest."
    )

    @model_validator(mode="after")
    def _min_within_max(self) -> "NgramOptions":
        if self.prompt_lookup_min > self.prompt_lookup_max:
            raise ValueError(
                Sentence(
                    "prompt_lookup_min ({least}) must not exceed prompt_lookup_max ({most})",
                    least=self.prompt_lookup_min,
                    most=self.prompt_lookup_max,
                )
            )
        return self


class Drafter:
    """One run's n-gram index."""

    Options = NgramOptions
    NEEDS_MODEL = False
    DRAFTS_WITH: frozenset[str] = frozenset()

    def __init__(self, options: NgramOptions, run: Any) -> None:
        self._options = options
        self._run = run
        self._sizes = range(options.prompt_lookup_max, options.prompt_lookup_min - 1, -1)
        self._known = KnownIds()
        self._ends: dict[int, dict[tuple[int, ...], int]] = {}

    def propose(self, context: Sequence[int], k: int) -> Draft:
        """Up to k tokens that followed the longest n-gram the context ends with, where it occurred before."""
        import torch

        self._index(context)
        ids = self._continuation(context, k) if k > 0 else []
        return Draft(token_ids=torch.tensor(ids, dtype=torch.long, device=self._run.device))

    def _index(self, context: Sequence[int]) -> None:
        """Learn every n-gram that something follows; the one at the very end must not find itself."""
        before = len(self._known.ids)
        # Shorter than it was, it has its end where something followed: that n-gram would find itself.
        if self._known.keep(context) < before or len(context) <= before or not self._ends:
            self._known.ids.clear()
            self._ends = {n: {} for n in self._sizes}
        first = len(self._known.ids) + 1
        self._known.follow(context, max(len(context) - 1, 0))
        earliest = self._options.match == "earliest"
        for end in range(first, len(context)):
            for n, ends in self._ends.items():
                if n <= end:
                    gram = tuple(context[end - n : end])
                    if earliest:
                        ends.setdefault(gram, end)
                    else:
                        ends[gram] = end

    def _continuation(self, context: Sequence[int], k: int) -> list[int]:
        for n in self._sizes:
            if n < len(context):
                end = self._ends[n].get(tuple(context[-n:]))
                if end is not None:
                    ids = list(context[end : end + k])
                    past = next((i for i, id_ in enumerate(ids) if id_ >= self._run.vocab_size), len(ids))
                    return ids[:past]
        return []
