"""What every drafting method of the embedded engine must keep, tried on each one discovered.

A new file in `playground/drafters/` is tried here without being named: one that needs a model gets tiny drafts.
"""

from pathlib import Path
from typing import Any

import pytest
import torch

from playground import drafters
from playground.config import Speculation
from playground.decoding.draft_run import DraftRun
from playground.decoding.hidden import HiddenStates
from playground.decoding.law import SamplingLaw
from playground.engines import _loading
from playground.engines.embedded import Engine
from playground.registry import discover
from tests import heads, tiny
from tests.rig import Rig

METHODS = sorted(discover(drafters.PACKAGE))
PROMPTS = ("the quick brown fox jumps over the lazy dog. the quick brown", "one two three one two three one", "a")
DRAFTS = {"model": ("same", "near", "far"), "head": ("likely-head", "far-head")}
"""Of each kind that a method may draft with."""


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    folder = tmp_path_factory.mktemp("models")
    target = tiny.make_model(folder / "target", max_position_embeddings=256)
    near = tiny.make_draft(folder / "near", target, noise=0.01)
    far = tiny.make_model(folder / "far", seed=7, num_hidden_layers=1, max_position_embeddings=256)
    likely = heads.make_head(folder / "likely-head", target, like_target=True)
    far_head = heads.make_head(folder / "far-head", target, seed=5)
    return Rig(target, {"same": target, "near": near, "far": far, "likely-head": likely, "far-head": far_head})


def forms(method: str, k: int) -> list[Speculation]:
    """The method with each draft, where it needs one."""
    kind = discover(drafters.PACKAGE)[method].Drafter
    models = [name for sort in sorted(kind.DRAFTS_WITH, reverse=True) for name in DRAFTS[sort]]
    return [Speculation(method=method, num_speculative_tokens=k, model=model) for model in models or [None]]


def built(rig: Rig, method: str, law: SamplingLaw | None = None) -> Any:
    """A drafter as the engine makes it; one with a head reads along with the target."""
    kind = discover(drafters.PACKAGE)[method].Drafter
    common = {
        "device": torch.device("cpu"),
        "vocab_size": tiny.VOCAB,
        "law": law or SamplingLaw(),
        "prompt_length": 3,
        "generator": torch.Generator().manual_seed(0),
    }
    if "head" in kind.DRAFTS_WITH:
        target = rig.models.target.model
        head = heads.random_head(target.module)
        hidden = HiddenStates(head.shape.taps)
        return heads.WithTarget(kind(kind.Options(), DraftRun(**common, head=head, hidden=hidden)), target, hidden)
    model = _loading.load("near", "float32", "auto", rig.context).model if kind.NEEDS_MODEL else None
    return kind(kind.Options(), DraftRun(**common, model=model))


def test_the_page_can_list_every_method() -> None:
    assert sorted(Engine.methods()) == METHODS
    for method in METHODS:
        kind = discover(drafters.PACKAGE)[method].Drafter
        assert isinstance(kind.NEEDS_MODEL, bool)
        assert bool(kind.DRAFTS_WITH) == kind.NEEDS_MODEL
        kind.Options()  # every option has a default
        for name, field in kind.Options.model_fields.items():
            assert field.title, f"{method}.{name} has no title"
            assert field.description, f"{method}.{name} has no description"


@pytest.mark.parametrize("k", range(1, 9))
@pytest.mark.parametrize("method", METHODS)
def test_greedy_output_is_the_baselines(rig: Rig, method: str, k: int) -> None:
    """CASES 1, 6, 8: losslessness, float32."""
    for prompt in PROMPTS:
        baseline = rig.run(prompt, max_tokens=28, ignore_eos=True)
        for form in forms(method, k):
            out = rig.run(prompt, form, max_tokens=28, ignore_eos=True)
            assert out.ids == baseline.ids, f"{form.model}"
            assert out.result.reconciled is True
            assert all(len(s.rejected) <= s.num_draft_tokens <= k for s in out.steps)


@pytest.mark.parametrize(
    "settings",
    [
        {"repetition_penalty": 1.4},
        {"presence_penalty": 0.8, "frequency_penalty": 0.4},
        {"frequency_penalty": -0.5, "min_tokens": 20},
        {"min_tokens": 15},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", METHODS)
def test_penalties_equal_the_baseline_with_the_same_settings(rig: Rig, method: str, settings: dict[str, Any]) -> None:
    """CASES 22."""
    baseline = rig.run(PROMPTS[0], max_tokens=24, **settings)
    for k in (1, 3, 7):
        for form in forms(method, k):
            assert rig.run(PROMPTS[0], form, max_tokens=24, **settings).ids == baseline.ids


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_text(rig: Rig, method: str) -> None:
    """CASES 20."""
    for form in forms(method, 4):
        one, two = (rig.run(PROMPTS[0], form, max_tokens=24, temperature=0.9, seed=5) for _ in range(2))
        assert one.ids == two.ids
        assert one.result.reconciled is True


@pytest.mark.parametrize("method", METHODS)
def test_never_more_than_k_and_the_context_is_left_alone(rig: Rig, method: str) -> None:
    made = built(rig, method)
    context = [5, 6, 7, 5, 6, 7, 5, 6]
    before = list(context)
    with torch.inference_mode():
        for k in (0, 1, 2, 5, 8):
            draft = made.propose(context, k)
            assert len(draft.token_ids) <= k
            assert draft.token_ids.dtype == torch.long
            assert draft.token_ids.dim() == 1
            assert all(0 <= i < tiny.VOCAB for i in draft.token_ids.tolist())
            for rows in (draft.probs, draft.logits):
                assert rows is None or rows.shape == (len(draft.token_ids), tiny.VOCAB)
            assert context == before


@pytest.mark.parametrize("method", METHODS)
def test_it_rewinds_itself_to_any_context(rig: Rig, method: str) -> None:
    """After any history a proposal is what a new drafter would propose."""
    base = [5, 6, 7, 8, 5, 6, 7]
    contexts = [base, [*base, 8, 5], [*base, 9], base[:3], [4, 4, 4], base, [*base, 8, 5, 6, 7, 8]]
    made = built(rig, method)
    with torch.inference_mode():
        for context in contexts:
            fresh = built(rig, method)
            assert made.propose(context, 5).token_ids.tolist() == fresh.propose(context, 5).token_ids.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_go_by(rig: Rig, method: str) -> None:
    """CASES 17: an empty prompt and a prompt of one token."""
    for prompt in ("", "a"):
        baseline = rig.run(prompt, max_tokens=6, ignore_eos=True)
        for form in forms(method, 3):
            assert rig.run(prompt, form, max_tokens=6, ignore_eos=True).ids == baseline.ids


@pytest.mark.parametrize("method", METHODS)
def test_up_to_the_last_position_the_model_has(method: str, tmp_path: Path) -> None:
    """CASES 15: the same where the limit is the model's own, so that one position more would fail."""
    target = tiny.make_model(tmp_path / "small", max_position_embeddings=24)
    head = heads.make_head(tmp_path / "head", target, like_target=True)
    rig = Rig(target, {**dict.fromkeys(DRAFTS["model"], target), **dict.fromkeys(DRAFTS["head"], head)})
    for prompt in ("the quick brown", "the quick brown fox ju"):
        baseline = rig.run(prompt, max_tokens=100, ignore_eos=True)
        assert len(baseline.started.prompt_token_ids) + len(baseline.ids) == 24
        for form in forms(method, 5)[:1]:
            assert rig.run(prompt, form, max_tokens=100, ignore_eos=True).ids == baseline.ids


@pytest.mark.parametrize("method", METHODS)
def test_up_to_the_last_position_of_the_context(rig: Rig, method: str) -> None:
    """CASES 15: prompt + max_tokens = context exactly, then fewer left than asked: k shrinks, no error."""
    limit = {"engine_options": {"max_model_len": 24}}
    prompt = "the quick brown"
    length = len(rig.run(prompt, max_tokens=1).started.prompt_token_ids)
    for max_tokens, delivered in ((24 - length, 24 - length), (24 - length + 9, 24 - length)):
        baseline = rig.run(prompt, max_tokens=max_tokens, ignore_eos=True, config=limit)
        assert len(baseline.ids) == delivered
        for form in forms(method, 5):
            out = rig.run(prompt, form, max_tokens=max_tokens, ignore_eos=True, config=limit)
            assert out.ids == baseline.ids
            assert out.finished.reason == "length"
            warned = out.started.environment["warnings"]
            assert bool([w for w in warned if "context of 24" in w]) == (max_tokens > delivered)
