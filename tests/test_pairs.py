"""Two vocabularies side by side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import PlaygroundError
from playground.pairs import check_vocabulary, compare_vocabularies
from tests.pair_folders import WORDS, swapped


class Loaded:
    """A tokenizer as the engine has it."""

    def __init__(self, words: dict[str, int]) -> None:
        self.words = words

    def get_vocab(self) -> dict[str, int]:
        return self.words


def test_padding_only_is_no_difference_of_tokens() -> None:
    """CASES 1: 151,936 against 152,064 logits, one tokenizer."""
    found = compare_vocabularies(WORDS, dict(WORDS), 151_936, 152_064)
    assert found.verdict == "padding only"
    assert found.same_tokens
    assert check_vocabulary(Loaded(WORDS), Loaded(dict(WORDS)), 151_936, 152_064) == found


def test_one_swapped_token_names_the_id_and_both_strings() -> None:
    """CASES 2: same size, two ids that mean each other's string."""
    found = compare_vocabularies(WORDS, swapped(7, 9), 100, 100)
    assert found.verdict == "tokens differ"
    assert (found.num_different, found.first_id, found.target_text, found.draft_text) == (2, 7, "w7", "w9")
    with pytest.raises(PlaygroundError, match="first is 7: target 'w7', draft 'w9'") as error:
        check_vocabulary(Loaded(WORDS), Loaded(swapped(7, 9)), 100, 100)
    assert error.value.code == "incompatible_pair"


def test_an_id_of_one_side_only_is_a_difference() -> None:
    found = compare_vocabularies(WORDS, WORDS | {"<tool>": 100}, 128, 128)
    assert (found.verdict, found.first_id, found.target_text, found.draft_text) == (
        "tokens differ",
        100,
        None,
        "<tool>",
    )
    assert found.share == 1.0
    assert "has no such id" in found.sentence


def test_different_vocabularies_are_incompatible() -> None:
    found = compare_vocabularies(WORDS, {f"x{i}": i for i in range(100)}, 100, 100)
    assert found.verdict == "incompatible"
    assert found.num_different == 100


def test_order_does_not_matter() -> None:
    assert compare_vocabularies(WORDS, dict(reversed(list(WORDS.items()))), 100, 100).verdict == "identical"


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 60), max_size=40), st.integers(0, 60))
def test_the_first_difference_is_the_lowest(words: dict[str, int], number: int) -> None:
    ours = {text: i for i, text in {i: text for text, i in words.items()}.items()}
    theirs = {text: i for text, i in ours.items() if i != number}
    found = compare_vocabularies(ours, theirs, None, None)
    if len(ours) == len(theirs):
        assert found.verdict == "identical"
    else:
        assert (found.num_different, found.first_id) == (1, number)
        assert not found.same_tokens
