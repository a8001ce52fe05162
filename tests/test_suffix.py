"""The suffix drafter against counting by hand, and its cost per token."""

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from playground.drafters._suffix_index import SuffixIndex
from playground.drafters.suffix import Drafter, SuffixLookup, SuffixOptions
from tests.rig import Rig

ids_of_few = st.lists(st.integers(0, 2), min_size=1, max_size=40)


def occurrences(ids: Sequence[int], part: Sequence[int]) -> int:
    return sum(list(ids[i : i + len(part)]) == list(part) for i in range(len(ids) - len(part) + 1))


def first_to_reach(ids: Sequence[int], match: list[int], count: int) -> int:
    """Of the tokens seen `count` times after `match`, the one that was so first."""
    seen: dict[int, int] = {}
    for i in range(len(ids) - len(match)):
        if list(ids[i : i + len(match)]) == match:
            token = ids[i + len(match)]
            seen[token] = seen.get(token, 0) + 1
            if seen[token] == count:
                return token
    raise AssertionError


def by_counting(ids: list[int], k: int, depth: int, factor: float, least: float) -> tuple[list[int], float]:
    """The definition, by counting in the whole text."""
    best: tuple[list[int], float] = ([], 0.0)
    for length in range(1, min(len(ids), depth)):
        match = ids[-length:]
        if occurrences(ids, match) < 2:
            break
        path, prob, score = list(match), 1.0, 0.0
        while len(path) - length < min(k, int(length * factor + 1e-6), depth - length):
            counts = {t: occurrences(ids, [*path, t]) for t in set(ids)}
            most = max(counts.values())
            if most == 0:
                break
            prob *= most / occurrences(ids, path)
            if prob < least:
                break
            path.append(first_to_reach(ids, path, most))
            score += prob
        if score >= best[1]:
            best = (path[length:], score)
    return best


@given(ids_of_few, st.integers(1, 6), st.integers(2, 8), st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from([0.0, 0.3]))
def test_it_is_counting(ids: list[int], k: int, depth: int, factor: float, least: float) -> None:
    index = SuffixIndex(depth)
    for token in ids:
        index.append(token)
    found = index.continuation(k, factor, least)
    expected, score = by_counting(ids, k, depth, factor, least)
    assert found.ids == expected
    assert found.score == pytest.approx(score)


def drafter(vocab_size: int = 100, **options: float) -> Drafter:
    run = SimpleNamespace(device=torch.device("cpu"), vocab_size=vocab_size)
    return Drafter(SuffixOptions.model_validate(options), run)


def test_longer_matches_draft_further() -> None:
    text = [*range(20), 50, *range(20)]
    assert drafter().propose([*text[:22]], 16).token_ids.tolist() == [1]
    assert drafter().propose([*text[:25]], 16).token_ids.tolist() == [4, 5, 6, 7]
    assert len(drafter().propose([*text[:33]], 16).token_ids) == 12  # depth 24: match and draft together
    assert len(drafter(suffix_decoding_max_spec_factor=2.0).propose([*text[:25]], 16).token_ids) == 8


def test_rare_continuations_are_left_alone() -> None:
    text = [1, 2, 3, 1, 2, 4, 1, 2, 5, 1, 2]
    assert drafter().propose(text, 4).token_ids.tolist() == [3, 1]
    assert drafter(suffix_decoding_min_token_prob=0.5).propose(text, 4).token_ids.tolist() == []


def test_ids_past_the_vocabulary_are_never_drafted() -> None:
    """CASES 1."""
    assert drafter(vocab_size=8).propose([5, 6, 7, 9, 5, 6, 7], 5).token_ids.tolist() == []
    assert drafter(vocab_size=8).propose([5, 6, 7, 4, 9, 5, 6, 7], 5).token_ids.tolist() == [4]


def test_one_runs_text_stays_its_own() -> None:
    """CASES 18: a new drafter, or another context, knows nothing of the one before."""
    made = drafter()
    assert made.propose([1, 2, 3, 4, 1, 2, 3], 3).token_ids.tolist() == [4, 1, 2]
    assert made.propose([1, 2, 3], 3).token_ids.tolist() == []
    assert drafter().propose([1, 2, 3], 3).token_ids.tolist() == []


def test_a_token_costs_the_same_late_as_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes visited per token are bounded by the depth, also in the worst text there is; only new ids are read."""
    appended: list[int] = []
    append = SuffixIndex.append

    def watched(self: SuffixIndex, token: int) -> None:
        append(self, token)
        appended.append(len(self._open))

    monkeypatch.setattr(SuffixIndex, "append", watched)
    lookup, context = SuffixLookup(SuffixOptions(), 100), [7] * 2000
    lookup.find(context, 4)
    assert max(appended) <= 24
    appended.clear()
    context += [7, 7, 7]
    lookup.find(context, 4)
    assert len(appended) == 3


def test_text_seen_once_stays_small() -> None:
    """A suffix that never came back is one leaf: memory grows with repetition, not with length times depth."""
    index = SuffixIndex(24)
    for token in range(500):
        index.append(token)
    assert len(index._root.children) == 500
    assert sum(len(node.children) for node in index._root.children.values()) == 0


def test_on_a_target(rig: Rig) -> None:
    from playground.config import Speculation

    prompt = "one two three four one two three four one two"
    baseline = rig.run(prompt, max_tokens=40, ignore_eos=True)
    out = rig.run(prompt, Speculation(method="suffix", num_speculative_tokens=8), max_tokens=40, ignore_eos=True)
    assert out.ids == baseline.ids
    assert out.result.num_draft_tokens > 0


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    from tests import tiny

    return Rig(tiny.make_model(tmp_path_factory.mktemp("suffix"), max_position_embeddings=256))
