"""On the default model in float32: every drafter, every k, gives exactly the baseline's tokens. `real`, minutes."""

from pathlib import Path

import pytest

from playground import drafters
from playground.config import Speculation
from playground.engines.embedded import Engine
from playground.registry import discover
from tests import heads
from tests.rig import Rig

PROMPTS = (
    "Repeat after me, word for word: one two three, one two three, one two three, one two three.",
    "Write a short poem about the sea.",
)
TOKENS = 16


@pytest.fixture(scope="module")
def rig(default_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    head = heads.make_head(tmp_path_factory.mktemp("head"), default_model, targets=range(8192), like_target=True)
    return Rig(default_model, {"itself": default_model, "head": head}, chat=True)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(Engine.methods()))
def test_greedy_float32_is_the_baselines(rig: Rig, method: str) -> None:
    kind = discover(drafters.PACKAGE)[method].Drafter
    draft = "head" if "head" in kind.DRAFTS_WITH else "itself" if kind.NEEDS_MODEL else None
    for prompt, ks in zip(PROMPTS, (range(1, 9), (4,)), strict=True):
        baseline = rig.run(prompt, max_tokens=TOKENS)
        # A draft of the target's size costs k more passes a step: fewer values of k there; tiny models try them all.
        for k in ks if draft != "itself" else (3, 8):
            form = Speculation(method=method, num_speculative_tokens=k, model=draft)
            out = rig.run(prompt, form, max_tokens=TOKENS)
            assert out.ids == baseline.ids
            assert out.result.reconciled is True
            if draft == "itself":
                assert out.result.draft_acceptance_rate == 1.0


@pytest.mark.real
def test_the_default_models_text_is_its_one_shot_decoding(rig: Rig) -> None:
    """CASES 14 on a real tokenizer, with an answer in several scripts."""
    out = rig.run("Say hello in Chinese, with an emoji: 你好 🙂", max_tokens=TOKENS)
    assert out.shown == out.finished.text
    assert out.result.reconciled is True
