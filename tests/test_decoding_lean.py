"""The lean forward pass equals transformers' own, is used for nothing else, and its matrix ways are one result."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import (
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from playground.decoding import attention, lean, projection
from playground.decoding.model import CausalModel, ModelSession
from playground.engines import EngineContext, _threads
from tests import tiny
from tests.test_decoding_cache import CLOSE, SMALL, gemma, mistral, plain_logits

LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
KIN: dict[str, Any] = {
    "llama": lambda: LlamaForCausalLM(tiny.make_config(max_position_embeddings=256)),
    "tied, biased": lambda: LlamaForCausalLM(
        tiny.make_config(tie_word_embeddings=True, attention_bias=True, mlp_bias=True)
    ),
    "one key head a head": lambda: LlamaForCausalLM(tiny.make_config(num_key_value_heads=4)),
    "llama 3": lambda: LlamaForCausalLM(tiny.make_config(rope_parameters=LLAMA3_ROPE)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(**SMALL, sliding_window=None)),
    "qwen 2": lambda: Qwen2ForCausalLM(Qwen2Config(**SMALL)),
    "qwen 3": lambda: Qwen3ForCausalLM(Qwen3Config(**SMALL)),
}


def made(kin: str) -> Any:
    torch.manual_seed(0)
    module = KIN[kin]().eval()
    for name, parameter in module.named_parameters():
        if name.endswith("bias") or "norm" in name:  # else zeros and ones: a forgotten one would not show
            torch.nn.init.normal_(parameter, mean=0.5, std=0.5)
    assert attention.install(module)
    return module


@pytest.mark.parametrize("spare", [False, True])
@pytest.mark.parametrize("kin", KIN)
def test_it_is_the_same_model(kin: str, spare: bool) -> None:
    """CASES 8: in chunks, one by one, after rewinds, and past the length at which queries are grouped."""
    module, ids = made(kin), tiny.random_ids(180)
    reference = plain_logits(CausalModel(module, 256), ids)
    with torch.inference_mode():
        stand_in = lean.stand_in(module, spare=spare)
        assert stand_in is not None
        session = ModelSession(CausalModel(module, 256, stand_in), tiny.VOCAB)
        torch.testing.assert_close(session.feed(torch.tensor(ids[:140]), keep=140), reference[:140], **CLOSE)
        session.rewind(20)
        torch.testing.assert_close(session.feed(torch.tensor(ids[20:21]), keep=1), reference[20:21], **CLOSE)
        torch.testing.assert_close(session.feed(torch.tensor(ids[21:28]), keep=7), reference[21:28], **CLOSE)
        torch.testing.assert_close(session.feed(torch.tensor(ids[28:]), keep=1), reference[179:], **CLOSE)
    # The module's weights are views of the fused ones now, and still the same.
    torch.testing.assert_close(plain_logits(CausalModel(module, 256), ids), reference)


@pytest.mark.parametrize("kin", ["llama", "qwen 3"])
def test_hidden_states_before_layers(kin: str) -> None:
    """As transformers numbers them, by either forward pass."""
    module, ids = made(kin), torch.tensor(tiny.random_ids(12))
    with torch.inference_mode():
        expected = module(input_ids=ids.unsqueeze(0), output_hidden_states=True).hidden_states
        for stand_in in (None, lean.stand_in(module, spare=False)):
            session = ModelSession(CausalModel(module, 256, stand_in), tiny.VOCAB, taps=(0, 1))
            session.feed(ids[:5], keep=1)
            session.feed(ids[5:], keep=1)
            assert len(session.tapped) == 2
            for tap, found in enumerate(session.tapped):
                torch.testing.assert_close(found, expected[tap][0, 5:], **CLOSE)


def dynamic_rope() -> Any:
    rope = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
    return LlamaForCausalLM(tiny.make_config(rope_parameters=rope))


def eager() -> Any:
    return LlamaForCausalLM._from_config(tiny.make_config(), attn_implementation="eager")


def gelu() -> Any:
    return LlamaForCausalLM(tiny.make_config(hidden_act="gelu"))


def adapted() -> Any:
    """A layer that is more than a matrix, as quantisation and adapters make them."""

    class Adapted(torch.nn.Linear):
        pass

    module = LlamaForCausalLM(tiny.make_config())
    module.model.layers[1].mlp.down_proj = Adapted(64, 32, bias=False)
    return module


@pytest.mark.parametrize("other", [gemma, mistral, dynamic_rope, eager, gelu, adapted])
def test_anything_else_keeps_transformers_forward(other: Any) -> None:
    assert lean.stand_in(other().eval(), spare=True) is None


def test_a_model_that_computes_otherwise_is_found_out() -> None:
    """A subclass of transformers' own, or a later version, may differ where no configuration tells."""
    module = made("llama")
    module.model.layers[1].input_layernorm.register_forward_hook(lambda _, __, output: output * 1.5)
    with torch.inference_mode():
        assert lean.stand_in(module, spare=False) is None


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("way", projection.WAYS)
def test_every_way_is_the_same_product(way: str, biased: bool) -> None:
    torch.manual_seed(0)
    weight, bias = torch.randn(48, 32), torch.randn(48) if biased else None
    both = projection.Projection(weight, bias, projection.Ways(one=way, few=way))
    for rows in (1, 2, 6, 65):
        x = torch.randn(rows, 32)
        torch.testing.assert_close(both(x), torch.nn.functional.linear(x, weight, bias), **CLOSE)


def test_the_fastest_way_wins_only_when_it_is_clearly_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"linear": (1.0, 4.0), "transposed": (0.5, 5.0), "left": (0.95, 3.9), "packed": (0.6, 2.0)}

    def race(ways: dict[str, Any], x: torch.Tensor) -> dict[str, float]:
        return {name: times[name][len(x) > 1] for name in ways}

    monkeypatch.setattr(projection, "_race", race)
    weights = [torch.ones(4, 4)]
    assert projection.fastest(weights, spare=True) == projection.Ways("transposed", "packed")
    assert projection.fastest(weights, spare=False) == projection.Ways("linear", "linear")
    monkeypatch.setattr(projection, "_prepared", lambda name, weights: [str] if name == "linear" else [])
    assert projection.fastest(weights, spare=True) == projection.Ways()


def test_a_hopeless_way_is_tried_once() -> None:
    calls = {"linear": 0, "left": 0}

    def way(name: str, seconds: float) -> list[Any]:
        def call(x: torch.Tensor) -> None:
            calls[name] += 1
            time.sleep(seconds)

        return [call]

    found = projection._race({"linear": way("linear", 0.001), "left": way("left", 0.1)}, torch.ones(1, 1))
    assert found["linear"] < found["left"]
    assert calls == {"linear": 1 + projection.TRIES, "left": 2}


@pytest.fixture
def threads() -> Any:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("seconds", "chosen"),
    [({4: 1.0, 2: 2.0, 1: 4.0}, 4), ({4: 1.04, 2: 1.0, 1: 3.0}, 4), ({4: 9.0, 2: 5.0, 1: 1.0}, 1)],
)
def test_as_many_threads_as_pay(
    monkeypatch: pytest.MonkeyPatch, threads: None, seconds: dict[int, float], chosen: int
) -> None:
    kept = SimpleNamespace(threads=4)
    monkeypatch.setattr(_threads.torch, "get_num_threads", lambda: 4)
    monkeypatch.setattr(_threads.torch, "set_num_threads", lambda count: setattr(kept, "threads", count))
    monkeypatch.setattr(_threads, "_seconds", lambda count, calls: seconds[count])
    _threads.set_threads(EngineContext(threads=0))
    assert kept.threads == chosen
    _threads.set_threads(EngineContext(threads=3))
    assert kept.threads == 3
