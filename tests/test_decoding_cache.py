"""The rewindable cache and the session on it: after any rewind the next logits equal a fresh forward pass's."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen3NextConfig,
    Qwen3NextForCausalLM,
)

from playground.decoding import attention
from playground.decoding.cache import RewindableCache
from playground.decoding.model import CausalModel, ModelSession
from tests import tiny

SMALL: dict[str, Any] = {
    "vocab_size": tiny.VOCAB,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "initializer_range": 0.3,
}

CLOSE = {"rtol": 1e-4, "atol": 1e-4}


def llama() -> Any:
    return LlamaForCausalLM(tiny.make_config(max_position_embeddings=256))


def mistral() -> Any:
    return MistralForCausalLM(MistralConfig(**SMALL, sliding_window=8))


def gemma() -> Any:
    """Sliding and full layers mixed."""
    config = Gemma3TextConfig(
        **SMALL, sliding_window=8, layer_types=["sliding_attention", "full_attention"], query_pre_attn_scalar=8
    )
    return Gemma3ForCausalLM(config)


FAMILIES = {"llama": llama, "mistral": mistral, "gemma": gemma}


def made(family: str, *, grouped: bool) -> CausalModel:
    torch.manual_seed(0)
    module = FAMILIES[family]().eval()
    if grouped:
        assert attention.install(module)
    return CausalModel(module, 256)


def plain_logits(model: CausalModel, ids: list[int]) -> torch.Tensor:
    """Without any cache: the reference."""
    with torch.inference_mode():
        logits: torch.Tensor = model.module(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()
    return logits


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
def test_rewinding_forgets_without_trace(family: str, grouped: bool) -> None:
    """CASES 8: also beyond a sliding window, and with transformers' own attention."""
    model = made(family, grouped=grouped)
    ids = tiny.random_ids(40)
    reference = plain_logits(model, ids)
    with torch.inference_mode():
        session = ModelSession(model, tiny.VOCAB, expected_length=8)
        torch.testing.assert_close(session.feed(torch.tensor(ids[:20]), keep=20), reference[:20], **CLOSE)
        session.feed(torch.tensor([5, 6, 7, 8, 9]), keep=5)
        session.rewind(17)
        torch.testing.assert_close(session.feed(torch.tensor(ids[17:18]), keep=1), reference[17:18], **CLOSE)
        torch.testing.assert_close(session.feed(torch.tensor(ids[18:24]), keep=6), reference[18:24], **CLOSE)
        session.rewind(3)
        torch.testing.assert_close(session.feed(torch.tensor(ids[3:]), keep=37), reference[3:], **CLOSE)
    assert session.length == 40


@settings(max_examples=25, deadline=None)
@given(moves=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=12), seed=st.integers(0, 9))
def test_any_walk_of_feeding_and_rewinding(moves: list[tuple[int, int]], seed: int) -> None:
    """CASES 8, as a property, on a model with a window of 8."""
    model, held = WALKED, list[int]()
    source = iter(tiny.random_ids(200, seed=seed))
    with torch.inference_mode():
        session = ModelSession(model, tiny.VOCAB)
        for fed, back in moves:
            new = [next(source) for _ in range(fed)]
            logits = session.feed(torch.tensor(new), keep=fed)
            held += new
            torch.testing.assert_close(logits, plain_logits(model, held)[-fed:], **CLOSE)
            held = held[: len(held) - min(back, len(held) - 1)]
            session.rewind(len(held))


WALKED = made("mistral", grouped=True)


def test_rewinding_forward_or_below_zero_is_refused() -> None:
    cache = RewindableCache(tiny.make_config())
    cache.advance(3)
    for length in (-1, 4):
        with pytest.raises(ValueError, match="cannot rewind"):
            cache.rewind(length)


def test_a_state_that_cannot_be_rewound_says_so() -> None:
    config = Qwen3NextConfig(
        **SMALL, layer_types=["linear_attention", "full_attention"], num_experts=2, num_experts_per_tok=1
    )
    model = CausalModel(Qwen3NextForCausalLM(config).eval(), 256)
    assert not model.rewindable
    ids = tiny.random_ids(12)
    session = ModelSession(model, tiny.VOCAB)
    with torch.inference_mode():  # a run without speculation works
        logits = [session.feed(torch.tensor(ids[:10]), keep=10)] + [
            session.feed(torch.tensor([i]), 1) for i in ids[10:]
        ]
    torch.testing.assert_close(torch.cat(logits), plain_logits(model, ids), rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="cannot be rewound"):
        session.rewind(3)


def test_state_space_models_are_not_rewindable() -> None:
    config = MambaConfig(vocab_size=tiny.VOCAB, hidden_size=16, state_size=4, num_hidden_layers=1)
    mamba = CausalModel(MambaForCausalLM(config), 64)
    assert not mamba.rewindable
    assert not mamba.keeps_cache
    assert CausalModel(llama(), 64).rewindable


def test_padding_of_the_vocabulary_is_cut_off_and_filled_up() -> None:
    """CASES 1: fewer logits than the tokenizer has ids become impossible ones."""
    model = made("llama", grouped=True)
    with torch.inference_mode():
        narrow = ModelSession(model, tiny.VOCAB - 20).feed(torch.tensor([5, 6]), keep=2)
        wide = ModelSession(model, tiny.VOCAB + 4).feed(torch.tensor([5, 6]), keep=2)
    assert narrow.shape == (2, tiny.VOCAB - 20)
    assert torch.equal(wide[:, : tiny.VOCAB - 20], narrow)
    assert wide[:, tiny.VOCAB :].eq(-torch.inf).all()


def test_positions_past_the_model_are_refused() -> None:
    session = ModelSession(CausalModel(llama(), 8), tiny.VOCAB)
    with pytest.raises(ValueError, match="made for 8"):
        session.feed(torch.tensor(tiny.random_ids(9)), keep=1)


def test_the_cache_is_not_copied_for_each_token() -> None:
    """Keys stay where they are while there is room: adding a token costs the same at any length."""
    session = ModelSession(made("llama", grouped=True), tiny.VOCAB, expected_length=100)
    with torch.inference_mode():
        session.feed(torch.tensor(tiny.random_ids(10)), keep=1)
        before = session.cache.layers[0].keys.data_ptr()
        for id_ in tiny.random_ids(90):
            session.feed(torch.tensor([id_]), keep=1)
    assert session.cache.layers[0].keys.data_ptr() == before


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_grouped_attention_is_transformers_own(count: int, dtype: torch.dtype) -> None:
    torch.manual_seed(count)
    theirs = LlamaForCausalLM(tiny.make_config(num_attention_heads=6, num_key_value_heads=2, hidden_size=48)).to(dtype)
    ours = LlamaForCausalLM(theirs.config).to(dtype)
    ours.load_state_dict(theirs.state_dict())
    assert attention.install(ours)
    past, new = torch.tensor(tiny.random_ids(30)), torch.tensor(tiny.random_ids(count, seed=1))
    results = []
    with torch.inference_mode():
        for module in (theirs.eval(), ours.eval()):
            session = ModelSession(CausalModel(module, 256), tiny.VOCAB)
            session.feed(past, keep=1)
            results.append(session.feed(new, keep=count))
    tolerance = 1e-4 if dtype == torch.float32 else 0.2
    torch.testing.assert_close(results[1], results[0], rtol=tolerance, atol=tolerance)


def test_other_attention_stays_as_it_is() -> None:
    module = LlamaForCausalLM._from_config(tiny.make_config(), attn_implementation="eager")
    assert not attention.install(module)
    assert module.config._attn_implementation == "eager"
