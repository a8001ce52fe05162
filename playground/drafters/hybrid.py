"""Look up first, model otherwise: what the text repeats is copied at no cost, a model drafts where nothing matches.

The lookup is prompt lookup (`ngram`) or suffix decoding (`suffix`), the model an EAGLE-3 head or a draft model. Which
of them drafts is decided by the text so far, never by what was drawn, so that the law stays the target's. Option names
are those of the parts.
"""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from playground.drafters import Draft, draft_model, eagle3
from playground.drafters._chain import ChainOptions
from playground.drafters.ngram import Drafter as Ngram
from playground.drafters.ngram import NgramOptions
from playground.drafters.suffix import SuffixLookup, SuffixOptions


class HybridOptions(ChainOptions, SuffixOptions, NgramOptions):
    """Which lookup, when it is trusted, and how far the model drafts otherwise."""

    prompt_lookup_max: int = Field(
        5, ge=1, le=32, title="Longest match", description="ngram: tokens that must match, at most; tried first."
    )
    prompt_lookup_min: int = Field(
        3, ge=1, le=32, title="Shortest match", description="Tokens that must match for the lookup to draft."
    )
    match: Literal["earliest", "most_recent"] = Field(
        "most_recent", title="Match", description="ngram: which earlier occurrence to copy from."
    )
    lookup: Literal["suffix", "ngram"] = Field(
        "suffix", title="Lookup", description="suffix: what followed most often; ngram: a copy of one earlier place."
    )
    draft_max_tokens: int | None = Field(
        None, ge=1, le=64, title="Model's k", description="Tokens the model drafts, at most; empty: as the lookup."
    )


class Drafter:
    """One run's lookup and model, each with its own state."""

    Options = HybridOptions
    NEEDS_MODEL = True
    DRAFTS_WITH = frozenset({"model", "head"})

    def __init__(self, options: HybridOptions, run: Any) -> None:
        self._options = options
        self._run = run
        self._model = (draft_model if run.head is None else eagle3).Drafter(options, run)
        names = NgramOptions.model_fields if options.lookup == "ngram" else SuffixOptions.model_fields
        values = {name: getattr(options, name) for name in names}
        self._ngram = Ngram(NgramOptions(**values), run) if options.lookup == "ngram" else None
        self._suffix = SuffixLookup(SuffixOptions(**values), run.vocab_size) if options.lookup == "suffix" else None

    def propose(self, context: Sequence[int], k: int) -> Draft:
        """What the lookup finds; else what the model drafts, having caught up with the text."""
        looked_up = self._look_up(context, k)
        if k > 0 and len(looked_up.token_ids):
            return looked_up
        most = k if self._options.draft_max_tokens is None else min(k, self._options.draft_max_tokens)
        draft: Draft = self._model.propose(context, most)
        return draft

    def _look_up(self, context: Sequence[int], k: int) -> Draft:
        import torch

        if self._ngram is not None:
            return self._ngram.propose(context, k)
        assert self._suffix is not None
        found = self._suffix.find(context, k)
        ids = found.ids if found.match_length >= self._options.prompt_lookup_min else []
        return Draft(token_ids=torch.tensor(ids, dtype=torch.long, device=self._run.device))
