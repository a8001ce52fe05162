"""The hybrid drafter: whose turn it is, and that the model has caught up when its turn comes."""

from pathlib import Path
from typing import Any

import pytest
import torch

from playground.config import Speculation
from playground.decoding.draft_run import DraftRun
from playground.decoding.hidden import HiddenStates
from playground.decoding.model import CausalModel
from playground.drafters import eagle3, hybrid
from tests import heads, tiny
from tests.rig import Rig

FRESH = tiny.random_ids(12, low=3, high=60)
REPEATED = [*FRESH, *tiny.random_ids(6, seed=1, low=100), *FRESH[:5]]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> CausalModel:
    rig = Rig(tiny.make_model(tmp_path_factory.mktemp("hybrid"), max_position_embeddings=128))
    return rig.models.target.model


def made(target: CausalModel, kind: Any, **options: Any) -> heads.WithTarget:
    head = heads.random_head(target.module)
    hidden = HiddenStates(head.shape.taps)
    run = DraftRun(torch.device("cpu"), tiny.VOCAB, prompt_length=4, head=head, hidden=hidden)
    return heads.WithTarget(kind.Drafter(kind.Drafter.Options(**options), run), target, hidden)


@pytest.mark.parametrize("lookup", ["suffix", "ngram"])
def test_a_match_is_copied_and_the_head_drafts_otherwise(target: CausalModel, lookup: str) -> None:
    drafter, alone = made(target, hybrid, lookup=lookup), made(target, eagle3)
    with torch.inference_mode():
        copied = drafter.propose(REPEATED, 4)
        assert copied.token_ids.tolist() == FRESH[5:9]
        assert copied.probs is None
        # The head has slept through the match; now it reads everything at once and is as good as ever.
        context = [*REPEATED, 99, 77, 98]
        assert drafter.propose(context, 4).token_ids.tolist() == alone.propose(context, 4).token_ids.tolist()
        assert len(drafter.propose([*context, 5], 4).token_ids) == 4


@pytest.mark.parametrize("lookup", ["suffix", "ngram"])
def test_short_matches_are_left_to_the_model(target: CausalModel, lookup: str) -> None:
    alone = made(target, eagle3)
    with torch.inference_mode():
        expected = alone.propose(REPEATED, 4).token_ids.tolist()
        drafter = made(target, hybrid, lookup=lookup, prompt_lookup_min=6, prompt_lookup_max=8)
        assert drafter.propose(REPEATED, 4).token_ids.tolist() == expected


def test_the_model_may_draft_fewer(target: CausalModel) -> None:
    drafter = made(target, hybrid, draft_max_tokens=2)
    with torch.inference_mode():
        assert len(drafter.propose(FRESH, 8).token_ids) == 2
        assert len(drafter.propose(REPEATED, 5).token_ids) == 5


def test_both_take_part_in_a_run(tmp_path: Path) -> None:
    target = tiny.make_model(tmp_path / "target", max_position_embeddings=256)
    rig = Rig(target, {"head": heads.make_head(tmp_path / "head", target, like_target=True)})
    prompt = "one two three four five six seven eight nine ten one two three four five"
    baseline = rig.run(prompt, max_tokens=60, ignore_eos=True)
    form = Speculation(method="hybrid", model="head", num_speculative_tokens=4, options={"draft_max_tokens": 2})
    out = rig.run(prompt, form, max_tokens=60, ignore_eos=True)
    assert out.ids == baseline.ids
    by_head = [s for s in out.steps if s.draft_candidates]
    looked_up = [s for s in out.steps if s.num_draft_tokens and not s.draft_candidates]
    assert by_head
    assert looked_up
