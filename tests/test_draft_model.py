"""The draft-model drafter: its drafts are the draft model's own continuation, its cache never goes stale."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaForCausalLM

from playground.decoding.accept import draw
from playground.decoding.draft_run import DraftRun
from playground.decoding.law import History, SamplingLaw
from playground.decoding.model import CausalModel, ModelSession
from playground.drafters.draft_model import Drafter, DraftModelOptions
from tests import tiny
from tests.rig import Rig, draft_model

torch.manual_seed(3)
MODEL = CausalModel(LlamaForCausalLM(tiny.make_config(max_position_embeddings=64)).eval(), 64)


def drafter(law: SamplingLaw | None = None, *, prompt_length: int = 4, seed: int = 0, **options: Any) -> Drafter:
    run = DraftRun(
        device=torch.device("cpu"),
        vocab_size=tiny.VOCAB,
        law=law or SamplingLaw(),
        prompt_length=prompt_length,
        generator=torch.Generator().manual_seed(seed),
        model=MODEL,
    )
    return Drafter(DraftModelOptions(**options), run)


def fresh_logits(ids: list[int]) -> torch.Tensor:
    logits: torch.Tensor = MODEL.module(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1:].float()
    return logits


def continued(context: list[int], k: int) -> list[int]:
    """The greedy continuation, each token by a fresh forward pass without cache."""
    ids = list(context)
    for _ in range(k):
        ids.append(int(fresh_logits(ids).argmax()))
    return ids[len(context) :]


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_after_any_outcome_the_next_draft_is_a_fresh_models(data: st.DataObject) -> None:
    """CASES 8: full acceptance, rejection at any place, empty drafts; the cache then holds the context's prefix."""
    made, context = drafter(), tiny.random_ids(4)
    with torch.inference_mode():
        made.propose(context, 0)
        for _ in range(6):
            k = data.draw(st.integers(0, 6))
            ids = made.propose(context, k).token_ids.tolist()
            assert ids == continued(context, k)
            accepted = data.draw(st.integers(0, len(ids)))
            context += ids[:accepted]
            context.append(data.draw(st.integers(3, tiny.VOCAB - 1)))


def test_only_new_tokens_are_fed(monkeypatch: pytest.MonkeyPatch) -> None:
    """CASES 8: after a rejection one token, after full acceptance two (the last draft was never fed)."""
    fed: list[int] = []
    feed = ModelSession.feed

    def watched(self: ModelSession, ids: torch.Tensor, keep: int) -> torch.Tensor:
        fed.append(len(ids))
        return feed(self, ids, keep)

    monkeypatch.setattr(ModelSession, "feed", watched)
    made, context = drafter(), tiny.random_ids(6)
    with torch.inference_mode():
        made.propose(context, 0)
        for accepted, new in ((3, 1), (3, 2), (1, 2), (0, 1), (3, 1)):
            fed.clear()
            ids = made.propose(context, 3).token_ids.tolist()
            assert fed == [new, 1, 1]
            context += [*ids[:accepted], 7]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.integers(3, 6), min_size=1, max_size=9), min_size=1, max_size=4))
def test_any_context_at_any_time(contexts: list[list[int]]) -> None:
    """Stateless to callers: it rewinds to the common prefix, also with penalties to count anew."""
    law = SamplingLaw(repetition_penalty=1.3, frequency_penalty=0.7)
    made = drafter(law, prompt_length=2)
    with torch.inference_mode():
        for context in contexts:
            assert (
                made.propose(context, 3).token_ids.tolist()
                == drafter(law, prompt_length=2).propose(context, 3).token_ids.tolist()
            )


def test_full_acceptance_over_512_tokens(tmp_path: Path) -> None:
    """CASES 7 and 8: the target as its own draft, k = 4: 100 %, exactly 5 tokens a step, to the end."""
    target = tiny.make_model(tmp_path / "target", max_position_embeddings=600)
    out = Rig(target, {"same": target}).run("the quick", draft_model("same"), max_tokens=1 + 5 * 102, ignore_eos=True)
    assert out.result.draft_acceptance_rate == 1.0
    assert {len(s.tokens) for s in out.steps[1:]} == {5}
    assert out.result.num_delivered == 511


@pytest.mark.parametrize("length", [59, 60, 63, 64, 65, 80])
def test_the_window_ends_drafting_never_the_run(length: int) -> None:
    """CASES 16: a context near, at and past the draft's 64 positions."""
    made, context = drafter(), tiny.random_ids(length)
    with torch.inference_mode():
        made.propose(context, 0)
        ids = made.propose(context, 6).token_ids.tolist()
        assert len(ids) == max(0, min(6, 64 - length + 1))
        if ids:
            assert ids == continued(context, len(ids))
        context.append(5)
        assert len(made.propose(context, 6).token_ids) == max(0, min(6, 64 - length))


def test_probabilistic_drafts_are_drawn_from_the_draft_law_with_its_prefix() -> None:
    """CASES 19: the reported laws are those drawn from, penalties counting the draft's own tokens."""
    law = SamplingLaw(temperature=0.9, top_k=20, repetition_penalty=1.5, frequency_penalty=0.5)
    context = tiny.random_ids(7)
    made = drafter(law, draft_sample_method="probabilistic", seed=9)
    with torch.inference_mode():
        draft = made.propose(context, 4)
        assert draft.probs is not None
        assert draft.probs.shape == (4, tiny.VOCAB)
        generator = torch.Generator().manual_seed(9)
        history = History(law, context[:4], tiny.VOCAB, torch.device("cpu"))
        history.append(context[4:])
        ids: list[int] = []
        for i in range(4):
            scores = law.scores(fresh_logits(context + ids), history, torch.tensor(ids).long(), offset=i)
            torch.testing.assert_close(draft.probs[i : i + 1], law.probs(scores), rtol=1e-3, atol=1e-5)
            ids.append(int(draw(draft.probs[i : i + 1], generator)))
        assert draft.token_ids.tolist() == ids


def test_greedy_drafts_are_certain_whatever_the_temperature() -> None:
    draft = drafter(SamplingLaw(temperature=1.0)).propose(tiny.random_ids(5), 3)
    assert draft.probs is None
    assert draft.logits is not None
    assert draft.logits.shape == (3, tiny.VOCAB)
    greedy = drafter(SamplingLaw(), draft_sample_method="probabilistic").propose(tiny.random_ids(5), 3)
    assert greedy.probs is None


def test_a_long_prompt_is_read_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playground.drafters.draft_model.CHUNK", 8)
    context = tiny.random_ids(30)
    with torch.inference_mode():
        assert drafter().propose(context, 2).token_ids.tolist() == continued(context, 2)
