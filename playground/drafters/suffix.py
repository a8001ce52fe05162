"""Suffix decoding: what most often followed the end of the text before is drafted again, further where more matches.

Oliaro et al. 2024; counting, option names and defaults are those of Arctic Inference's suffix method, which is what
vLLM's `suffix` runs, so that its acceptance carries over. Only the prompt and the answer of this run are searched: to a
server that means `suffix_decoding_max_cached_requests=0`, since a memory of other runs would make none comparable.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from playground.drafters import Draft
from playground.drafters._context import KnownIds
from playground.drafters._suffix_index import NOTHING, Continuation, SuffixIndex


class SuffixOptions(BaseModel):
    """How far a draft may look and how sure it must be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    suffix_decoding_max_tree_depth: int = Field(
        24, ge=1, le=1024, title="Tree depth", description="Tokens of match and draft together, at most."
    )
    suffix_decoding_max_spec_factor: float = Field(
        1.0, ge=0.0, le=64.0, title="Draft factor", description="Draft tokens per matched token, at most."
    )
    suffix_decoding_min_token_prob: float = Field(
        0.1, ge=0.0, le=1.0, title="Least probability", description="Draft only tokens at least this likely by count."
    )


class SuffixLookup:
    """One run's index, kept up with its context; shared by the methods that look up."""

    def __init__(self, options: SuffixOptions, vocab_size: int) -> None:
        self._options = options
        self._vocab_size = vocab_size
        self._known = KnownIds()
        self._index = SuffixIndex(options.suffix_decoding_max_tree_depth)

    def find(self, context: Sequence[int], k: int) -> Continuation:
        """At most k ids that may follow `context`; k = 0 only reads."""
        before = len(self._known.ids)
        if self._known.keep(context) < before:
            self._known.ids.clear()
            self._index = SuffixIndex(self._options.suffix_decoding_max_tree_depth)
        for token in self._known.follow(context, len(context)):
            self._index.append(token)
        if k < 1:
            return NOTHING
        found = self._index.continuation(
            k, self._options.suffix_decoding_max_spec_factor, self._options.suffix_decoding_min_token_prob
        )
        past = next((i for i, id_ in enumerate(found.ids) if id_ >= self._vocab_size), None)
        return found if past is None else Continuation(found.ids[:past], found.match_length, found.score)


class Drafter:
    """One run's suffix drafter."""

    Options = SuffixOptions
    NEEDS_MODEL = False
    DRAFTS_WITH: frozenset[str] = frozenset()

    def __init__(self, options: SuffixOptions, run: Any) -> None:
        self._run = run
        self._lookup = SuffixLookup(options, run.vocab_size)

    def propose(self, context: Sequence[int], k: int) -> Draft:
        """Up to k tokens that most often followed what the context ends with."""
        import torch

        ids = self._lookup.find(context, k).ids
        return Draft(token_ids=torch.tensor(ids, dtype=torch.long, device=self._run.device))
