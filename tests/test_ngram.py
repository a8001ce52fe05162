"""The n-gram drafter against a plain search of the whole context."""

from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from playground.config import checked
from playground.decoding.draft_run import DraftRun
from playground.drafters.ngram import Drafter, NgramOptions
from playground.errors import PlaygroundError


def drafter(vocab_size: int = 100, **options: Any) -> Drafter:
    return Drafter(NgramOptions(**options), DraftRun(device=torch.device("cpu"), vocab_size=vocab_size))


def plain(context: list[int], k: int, options: NgramOptions) -> list[int]:
    """vLLM's rule, by trying everything: longest n first; an earlier occurrence with something after it."""
    for n in range(options.prompt_lookup_max, options.prompt_lookup_min - 1, -1):
        ends = [e for e in range(n, len(context)) if context[e - n : e] == context[-n:]]
        if ends:
            end = ends[0] if options.match == "earliest" else ends[-1]
            return context[end : end + k]
    return []


OPTIONS = st.builds(
    lambda low, more, match: NgramOptions(prompt_lookup_min=low, prompt_lookup_max=low + more, match=match),
    st.integers(1, 3),
    st.integers(0, 2),
    st.sampled_from(["earliest", "most_recent"]),
)


@settings(max_examples=200, deadline=None)
@given(OPTIONS, st.lists(st.integers(0, 3), max_size=30), st.lists(st.integers(0, 3), max_size=20), st.integers(1, 8))
def test_a_growing_context_drafts_what_a_search_finds(
    options: NgramOptions, prompt: list[int], answer: list[int], k: int
) -> None:
    made = Drafter(options, DraftRun(device=torch.device("cpu"), vocab_size=100))
    context = list(prompt)
    made.propose(context, 0)
    for token in answer:
        assert made.propose(context, k).token_ids.tolist() == plain(context, k, options)
        context.append(token)
    assert made.propose(context, k).token_ids.tolist() == plain(context, k, options)


@settings(max_examples=100, deadline=None)
@example(NgramOptions(prompt_lookup_min=1, prompt_lookup_max=1, match="most_recent"), [[0, 0, 0], [0, 0]])
@given(OPTIONS, st.lists(st.lists(st.integers(0, 2), max_size=20), min_size=1, max_size=5))
def test_any_other_context_is_read_afresh(options: NgramOptions, contexts: list[list[int]]) -> None:
    """A context that is not the last one continued: nothing of the old one is left."""
    made = Drafter(options, DraftRun(device=torch.device("cpu"), vocab_size=100))
    for context in contexts:
        assert made.propose(context, 4).token_ids.tolist() == plain(context, 4, options)


@pytest.mark.parametrize("context", [[], [7]])
def test_nothing_to_match_drafts_nothing(context: list[int]) -> None:
    """CASES 17."""
    draft = drafter(prompt_lookup_min=1).propose(context, 5)
    assert draft.token_ids.shape == (0,)
    assert draft.token_ids.dtype == torch.long
    assert draft.probs is None


def test_earliest_or_most_recent() -> None:
    context = [1, 2, 30, 9, 1, 2, 40, 9, 1, 2]
    both = {"prompt_lookup_min": 2, "prompt_lookup_max": 2}
    assert drafter(**both).propose(context, 1).token_ids.tolist() == [30]
    assert drafter(**both, match="most_recent").propose(context, 1).token_ids.tolist() == [40]


def test_a_longer_match_wins_over_an_earlier_one() -> None:
    context = [1, 2, 30, 5, 1, 2, 40, 8, 5, 1, 2]
    assert drafter(prompt_lookup_min=2, prompt_lookup_max=3).propose(context, 2).token_ids.tolist() == [40, 8]


def test_repeats_overlap_and_what_exists_is_drafted() -> None:
    assert drafter(prompt_lookup_min=1).propose([1, 1, 1], 5).token_ids.tolist() == [1]
    assert drafter(prompt_lookup_min=1).propose([3, 3, 3, 3, 3, 3], 5).token_ids.tolist() == [3, 3]


def test_memory_does_not_leak_from_one_run_into_the_next() -> None:
    """CASES 18: one drafter per run, and nothing shared by them."""
    drafter().propose([1, 2, 3, 4, 5], 5)
    assert drafter().propose([9, 1, 2], 5).token_ids.tolist() == []


def test_ids_past_the_vocabulary_are_not_drafted() -> None:
    """CASES 1."""
    assert drafter(vocab_size=50).propose([1, 2, 30, 60, 31, 1, 2], 5).token_ids.tolist() == [30]


def test_cost_does_not_grow_with_the_context() -> None:
    """Only new tokens are looked at while the same list grows."""

    class Counting(list[int]):
        reads = 0

        def __getitem__(self, index: Any) -> Any:
            Counting.reads += 1
            return super().__getitem__(index)

    context = Counting(i % 97 for i in range(3000))
    made = drafter()
    made.propose(context, 5)
    Counting.reads = 0
    for token in range(10):
        context.append(token)
        made.propose(context, 5)
    assert Counting.reads < 200


def test_options_are_checked() -> None:
    with pytest.raises(PlaygroundError, match="prompt_lookup_min"):
        checked(NgramOptions, {"prompt_lookup_min": 5, "prompt_lookup_max": 3})
    with pytest.raises(PlaygroundError, match="not a known key"):
        checked(NgramOptions, {"n": 5})
