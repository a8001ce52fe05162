"""The EAGLE-3 drafter: its arithmetic, its cache against a fresh head's, its reduced vocabulary, and its files."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch.nn.functional import silu
from transformers import AutoModelForCausalLM, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRMSNorm, LlamaRotaryEmbedding, apply_rotary_pos_emb

from playground.config import Speculation
from playground.decoding.draft_run import DraftRun
from playground.decoding.eagle3 import Eagle3Head, Eagle3Session
from playground.decoding.hidden import HiddenStates
from playground.decoding.law import SamplingLaw
from playground.decoding.model import CausalModel
from playground.drafters.eagle3 import Drafter, Eagle3Options
from playground.errors import PlaygroundError
from playground.headfiles import head_config, read_shape
from playground.headweights import read_head, write_head
from tests import heads, tiny
from tests.rig import Rig

torch.manual_seed(3)
MODEL = LlamaForCausalLM(tiny.make_config(max_position_embeddings=128)).eval()
HEAD = heads.random_head(MODEL)


def drafter(law: SamplingLaw | None = None, *, head: Eagle3Head = HEAD, seed: int = 0, **options: Any) -> Any:
    hidden = HiddenStates(head.shape.taps)
    run = DraftRun(
        device=torch.device("cpu"),
        vocab_size=tiny.VOCAB,
        law=law or SamplingLaw(),
        prompt_length=4,
        generator=torch.Generator().manual_seed(seed),
        head=head,
        hidden=hidden,
    )
    made = Drafter(Eagle3Options.model_validate(options), run)
    return heads.WithTarget(made, CausalModel(MODEL, 128), hidden)


def by_the_formulas(head: Eagle3Head, ids: list[int], k: int) -> list[int]:
    """The greedy chain, each token from all positions anew, by transformers' own parts: no cache, no fused weights."""
    shape, state = head.shape, head.state_dict()
    widths = [n * shape.head_dim for n in (shape.num_attention_heads, *[shape.num_key_value_heads] * 2)]
    q_w, k_w, v_w = state["qkv_proj.weight"].split(widths)
    gate_w, up_w = state["gate_up_proj.weight"].chunk(2)
    rotary = LlamaRotaryEmbedding(shape.llama_config())

    def norm(x: torch.Tensor, name: str) -> torch.Tensor:
        made = LlamaRMSNorm(x.shape[-1], shape.rms_norm_eps)
        made.weight.data.copy_(state[name])
        return made(x)

    states = MODEL(input_ids=torch.tensor([ids[:-1]]), output_hidden_states=True).hidden_states
    hidden = torch.cat([states[tap] for tap in shape.taps], dim=-1) @ state["fc.weight"].T
    drafted: list[int] = []
    for _ in range(k):
        tokens = torch.tensor([[*ids[1:], *drafted]])
        normed = norm(hidden, "hidden_norm")
        x = torch.cat([norm(MODEL.model.embed_tokens(tokens), "input_layernorm"), normed], dim=-1)
        n = x.shape[1]
        q, key, value = ((x @ w.T).view(1, n, -1, shape.head_dim).transpose(1, 2) for w in (q_w, k_w, v_w))
        cos, sin = rotary(x, torch.arange(n)[None])
        q, key = apply_rotary_pos_emb(q, key, cos, sin)
        groups = shape.num_attention_heads // shape.num_key_value_heads
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        scores = q @ key.transpose(2, 3) / shape.head_dim**0.5
        scores = scores.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -torch.inf)
        seen = (scores.softmax(-1) @ value).transpose(1, 2).reshape(1, n, -1)
        after = (normed if shape.norm_before_residual else hidden) + seen @ state["o_proj.weight"].T
        inner = norm(after, "post_attention_layernorm")
        output = after + (silu(inner @ gate_w.T) * (inner @ up_w.T)) @ state["down_proj.weight"].T
        logits = norm(output, "norm")[0, -1] @ state["lm_head.weight"].T
        drafted.append(int(head.targets[logits.argmax()]))
        follows = norm(output, "norm") if shape.norm_output else output
        hidden = torch.cat([hidden, follows[:, -1:]], dim=1)
    return drafted


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_after_any_outcome_the_next_draft_is_a_fresh_heads(data: st.DataObject) -> None:
    """CASES 8: full acceptance, rejection at any place, empty drafts; guesses of the head never stay in its cache."""
    made, context = drafter(), tiny.random_ids(4)
    with torch.inference_mode():
        made.propose(context, 0)
        for _ in range(5):
            k = data.draw(st.integers(0, 5))
            ids = made.propose(context, k).token_ids.tolist()
            assert ids == by_the_formulas(HEAD, context, k)
            context += ids[: data.draw(st.integers(0, len(ids)))]
            context.append(data.draw(st.integers(3, tiny.VOCAB - 1)))


@pytest.mark.parametrize("variant", ["norm_before_residual", "norm_output"])
def test_variants_of_published_heads(variant: str) -> None:
    head = heads.random_head(MODEL, **{variant: True})
    context = tiny.random_ids(9)
    with torch.inference_mode():
        assert drafter(head=head).propose(context, 4).token_ids.tolist() == by_the_formulas(head, context, 4)


def test_only_new_positions_are_fed(monkeypatch: pytest.MonkeyPatch) -> None:
    """CASES 8: what was accepted and the token after it, read together with the target's own states."""
    fed: list[int] = []
    feed = Eagle3Session.feed

    def watched(self: Eagle3Session, ids: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        fed.append(len(ids))
        return feed(self, ids, hidden)

    monkeypatch.setattr(Eagle3Session, "feed", watched)
    made, context = drafter(), tiny.random_ids(6)
    with torch.inference_mode():
        made.propose(context, 0)
        for accepted in (0, 3, 1, 2):
            ids = made.propose(context, 3).token_ids.tolist()
            context += [*ids[:accepted], 7]
            fed.clear()
            made.propose(context, 3)
            assert fed == [accepted + 1, 1, 1]


def test_without_the_targets_states_nothing_is_drafted() -> None:
    run = DraftRun(torch.device("cpu"), tiny.VOCAB, head=HEAD, hidden=HiddenStates(HEAD.shape.taps))
    made = Drafter(Eagle3Options(), run)
    for context in ([], [5], tiny.random_ids(8)):
        assert made.propose(context, 3).token_ids.tolist() == []


def test_outside_the_reduced_vocabulary_the_law_is_zero() -> None:
    head = heads.random_head(MODEL, targets=[300, 7, 11, 250, 40])
    made = drafter(SamplingLaw(temperature=1.0), head=head, draft_sample_method="probabilistic")
    with torch.inference_mode():
        draft = made.propose(tiny.random_ids(8), 6)
    assert draft.probs is not None
    assert draft.probs.shape == (6, tiny.VOCAB)
    assert set(draft.token_ids.tolist()) <= {300, 7, 11, 250, 40}
    inside = draft.probs[:, [300, 7, 11, 250, 40]].sum(-1)
    torch.testing.assert_close(inside, torch.ones(6))


def test_padding_is_never_drafted() -> None:
    """CASES 1: a head that knows ids the tokenizer does not."""
    head = heads.random_head(MODEL, targets=[3, 4, 318, 319])
    run = DraftRun(torch.device("cpu"), 318, head=head, hidden=HiddenStates(head.shape.taps))
    made = heads.WithTarget(Drafter(Eagle3Options(), run), CausalModel(MODEL, 128), run.hidden)
    with torch.inference_mode():
        for seed in range(20):
            assert set(made.propose(tiny.random_ids(8, seed=seed), 4).token_ids.tolist()) <= {3, 4}


# -- files ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_head(tmp_path / "head", HEAD, {"bos_token_id": 0})
    return tmp_path / "head"


def read(folder: Path) -> Eagle3Head:
    config = head_config(folder)
    assert config is not None
    return read_head("it", folder, read_shape("it", config, 2), MODEL.model.embed_tokens.weight.detach(), None)


def rewrite(folder: Path, change: Any) -> None:
    """The folder's weights as `change` makes them."""
    tensors = load_file(folder / "model.safetensors")
    save_file(change(tensors), folder / "model.safetensors")


def test_what_is_written_is_read(folder: Path) -> None:
    head = read(folder)
    assert head.shape == HEAD.shape
    assert head.targets.tolist() == HEAD.targets.tolist()
    for name, weight in HEAD.state_dict().items():
        torch.testing.assert_close(head.state_dict()[name], weight.bfloat16().float())
    names = load_file(folder / "model.safetensors").keys()
    assert {"midlayer.self_attn.q_proj.weight", "midlayer.hidden_norm.weight", "d2t", "t2d"} <= names


def test_the_speculators_layout_is_read(folder: Path) -> None:
    """A nested configuration, another name of the layer, its own embeddings, norms in another order by default."""
    config = json.loads((folder / "config.json").read_text())
    taps = config.pop("eagle_aux_hidden_state_layer_ids")
    for key in ("norm_before_residual", "eagle_config", "architectures"):
        config.pop(key)
    outer = {
        "speculators_model_type": "eagle3",
        "architectures": ["Eagle3DraftModel"],
        "draft_vocab_size": config.pop("draft_vocab_size"),
        "eagle_aux_hidden_state_layer_ids": taps,
        "transformer_layer_config": config,
    }
    (folder / "config.json").write_text(json.dumps(outer))
    own = torch.randn(tiny.VOCAB, 32)
    rewrite(
        folder,
        lambda tensors: (
            {k.replace("midlayer.", "layers.0."): v for k, v in tensors.items()}
            | {"embed_tokens.weight": own, "verifier_norm.weight": torch.ones(32)}
        ),
    )
    head = read(folder)
    assert head.shape.norm_before_residual is True
    torch.testing.assert_close(head.embed_tokens, own)


def test_unsaid_states_are_vllms_default(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    del config["eagle_aux_hidden_state_layer_ids"], config["eagle_config"]
    assert read_shape("it", config, 32).taps == (2, 16, 29)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: {k: v for k, v in t.items() if k != "fc.weight"}, "lacks fc.weight"),
        (lambda t: t | {"midlayer.self_attn.q_norm.weight": torch.ones(8)}, "does not know"),
        (lambda t: t | {"norm.weight": torch.ones(5)}, "norm is of size"),
        (lambda t: t | {"embed_tokens.weight": torch.ones(7, 32)}, "embeddings"),
        (lambda t: t | {"norm.weight": torch.full((32,), torch.nan)}, "not numbers"),
        (lambda t: t | {"d2t": t["d2t"] + 1000}, "out of the vocabulary"),
        (lambda t: t | {"d2t": -torch.arange(len(t["d2t"]))}, "twice"),
        (lambda t: {k: v for k, v in t.items() if k != "d2t"}, "lacks d2t"),
    ],
)
def test_a_broken_head_is_refused(folder: Path, change: Any, says: str) -> None:
    """CASES 33."""
    rewrite(folder, change)
    with pytest.raises(PlaygroundError, match=says):
        read(folder)


def test_a_pickle_is_never_opened(folder: Path) -> None:
    """CASES 33."""
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(PlaygroundError, match="only pickled weights"):
        read(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"num_hidden_layers": 4}, "4 layers"),
        ({"eagle_config": {"use_aux_hidden_state": False}}, "last hidden state"),
        ({"hidden_size": None}, "not whole"),
        ({"eagle_aux_hidden_state_layer_ids": [0, 9]}, "the target has 2"),
    ],
)
def test_a_head_of_another_kind_is_refused(folder: Path, change: dict[str, Any], says: str) -> None:
    config = json.loads((folder / "config.json").read_text()) | change
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(PlaygroundError, match=says):
        read(folder)


# -- in the engine --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    folder = tmp_path_factory.mktemp("models")
    target = tiny.make_model(folder / "target", max_position_embeddings=256)
    other = tiny.make_model(folder / "other", hidden_size=48, max_position_embeddings=256)
    drafts = {
        "likely": heads.make_head(folder / "likely", target, like_target=True),
        "strange": heads.make_head(folder / "strange", other),
        "model": other,
    }
    return Rig(target, drafts)


def eagle3(name: str, k: int = 3, **options: Any) -> Speculation:
    return Speculation(method="eagle3", model=name, num_speculative_tokens=k, options=options)


def test_on_a_target_it_is_sometimes_right(rig: Rig) -> None:
    """CASES 8: accepted drafts, rejected ones and full acceptance all occur; a long prompt is read in chunks."""
    prompt = "the quick brown fox jumps over the lazy dog. " * 3
    baseline = rig.run(prompt, max_tokens=60, ignore_eos=True)
    chunked = {"engine_options": {"prefill_chunk": 7}}
    for config in ({}, chunked):
        out = rig.run(prompt, eagle3("likely"), max_tokens=60, ignore_eos=True, config=config)
        assert out.ids == baseline.ids
        assert 0 < out.result.num_accepted_tokens < out.result.num_draft_tokens


def test_a_head_for_another_target_is_refused(rig: Rig) -> None:
    with pytest.raises(PlaygroundError, match="hidden states of width 48"):
        rig.run("a", eagle3("strange"), max_tokens=4)


def test_a_method_says_what_it_drafts_with(rig: Rig) -> None:
    with pytest.raises(PlaygroundError, match="drafts with an EAGLE-3 head; model is no head"):
        rig.run("a", eagle3("model"), max_tokens=4)
    with pytest.raises(PlaygroundError, match="likely is a head"):
        rig.run("a", Speculation(method="draft_model", model="likely"), max_tokens=4)


def test_tiny_models_load_as_they_were_saved(rig: Rig) -> None:
    """The head's embeddings are the target's own tensor, not a copy."""
    loaded = rig.models.draft(eagle3("likely"))
    embeddings = rig.models.target.model.module.get_input_embeddings().weight
    assert loaded.head.embed_tokens.data_ptr() == embeddings.data_ptr()
    assert isinstance(rig.models.target.model.module, type(AutoModelForCausalLM.from_config(tiny.make_config())))
