"""The forward pass of Llama's kin with fewer and faster steps than transformers' own, on transformers' own weights.

Llama, Mistral, Qwen2 and Qwen3 share one layer: normalise, rotary attention, normalise, gated feed-forward. Here the
three attention projections are one, gate and up are one, rotary angles come from a table, and a layer is some fifteen
calls. A model that is anything else, or whose logits differ from transformers' on a probe, keeps transformers' forward.
Knows tensors and the cache, no text and no law.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding, rms_norm, scaled_dot_product_attention, silu

from playground.decoding.cache import RewindableCache
from playground.decoding.projection import Projection, Ways, fastest

KIN = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")
STATIC_ROPE = ("default", "linear", "llama3", "yarn")
"""Kinds of rotary embedding whose angles depend on the position alone."""

PROBE = 12
"""Tokens on which it must agree with transformers' forward before it is used."""

TOLERANCE = {torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 1.5e-1}
"""How far logits may be from transformers' at half of the probe's places, as a share of their spread (both root mean
squares): what rounding makes, and far less than another rotary or norm does.
"""

BLOCK = 2048
"""Positions the table of angles grows by."""

GROUPED = 128
"""Up to so many tokens at once query heads are grouped by key head; their mask is repeated for each."""


@dataclass(slots=True)
class _Layer:
    """Projections and norms of one layer; q_norm and k_norm [head size] are Qwen3's."""

    before_attention: Tensor
    qkv: Projection
    q_norm: Tensor | None
    k_norm: Tensor | None
    out: Projection
    before_mlp: Tensor
    gate_up: Projection
    down: Projection


def applies(module: Any) -> bool:
    """Whether `module`, a transformers causal language model, is one that `LeanForward` can stand in for."""
    config = module.config
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    windowed = getattr(config, "sliding_window", None) is not None and getattr(config, "use_sliding_window", True)
    return (
        type(module).__name__ in KIN
        and type(module).__module__.startswith("transformers.models.")
        and config._attn_implementation not in ("eager", "flex_attention")
        and kinds == {"full_attention"}
        and not (windowed and type(module).__name__ == "MistralForCausalLM")
        and rope in STATIC_ROPE
        and getattr(config, "hidden_act", "") == "silu"
        and all(type(part) is torch.nn.Linear for part in _linears(module))
    )


def _linears(module: Any) -> list[Any]:
    found = [module.lm_head]
    for layer in module.model.layers:
        attention, mlp = layer.self_attn, layer.mlp
        found += [attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj]
        found += [mlp.gate_proj, mlp.up_proj, mlp.down_proj]
    return found


def stand_in(module: Any, *, spare: bool) -> "LeanForward | None":
    """A LeanForward that was seen to agree with `module`; None where there is none. For `spare` see there."""
    if not applies(module):
        return None
    # Ordinary tokens from all over the vocabulary: the first ids are often special ones, after which half-precision
    # logits are noise in any implementation.
    size = int(module.config.vocab_size)
    probe = (torch.arange(1, PROBE + 1, device=module.device) * max(size // (PROBE + 1), 1)) % size
    expected = module(input_ids=probe.unsqueeze(0), use_cache=False).logits[0].float()
    lean, cache = LeanForward(module, spare=spare), RewindableCache(module.config)
    found = []
    for part in probe.split([PROBE - 3, 1, 2]):
        found.append(lean(part, cache, cache.length, len(part))[0].float())
        cache.advance(len(part))
    spread = (expected - expected.mean(-1, keepdim=True)).norm(dim=-1)
    apart = (torch.cat(found) - expected).norm(dim=-1)
    return lean if bool((apart / spread).median() <= TOLERANCE[module.dtype]) else None


class LeanForward:
    """Stands in for `module.forward`, with the same weights and a RewindableCache.

    Args:
        module: a model for which `applies` holds. Its fused projections become views of one weight, so that it keeps
            working and nothing is held twice, but for the copies that `ways` ask for.
        spare: whether memory may be spent on more copies of the weights where that is faster.
    """

    def __init__(self, module: Any, *, spare: bool) -> None:
        config = module.config
        self._heads: int = config.num_attention_heads
        self._key_heads: int = config.num_key_value_heads
        self._groups = self._heads // self._key_heads
        self._size: int = module.model.layers[0].self_attn.head_dim
        self._scale: float = module.model.layers[0].self_attn.scaling
        self._epsilon: float = config.rms_norm_eps
        self._rotary = module.model.rotary_emb
        self._embedding = module.model.embed_tokens.weight
        self._pad = module.model.embed_tokens.padding_idx
        self._final: Tensor = module.model.norm.weight
        self._hidden: int = self._embedding.shape[1]
        self._cos = self._sin = self._embedding.new_empty(0, self._size)
        self._build(module, spare)

    def _build(self, module: Any, spare: bool) -> None:
        fused = [_matrices(layer) for layer in module.model.layers]
        self.ways: dict[str, Ways] = {}
        """Per kind of projection what was chosen, for whoever wants to name it."""
        for at, name in enumerate(("qkv", "out", "gate_up", "down")):
            self.ways[name] = fastest([weights[at][0] for weights in fused], spare=spare)
        self.ways["head"] = fastest([module.lm_head.weight], spare=spare)
        self._head = Projection(module.lm_head.weight, module.lm_head.bias, self.ways["head"])
        self._layers = []
        for layer, weights in zip(module.model.layers, fused, strict=True):
            chosen = zip(weights, self.ways.values(), strict=False)
            qkv, out, gate_up, down = (Projection(weight, bias, ways) for (weight, bias), ways in chosen)
            attention = layer.self_attn
            self._layers.append(
                _Layer(
                    before_attention=layer.input_layernorm.weight,
                    qkv=qkv,
                    q_norm=attention.q_norm.weight if hasattr(attention, "q_norm") else None,
                    k_norm=attention.k_norm.weight if hasattr(attention, "k_norm") else None,
                    out=out,
                    before_mlp=layer.post_attention_layernorm.weight,
                    gate_up=gate_up,
                    down=down,
                )
            )

    @property
    def named(self) -> str:
        """The ways its projections were found fastest, in a few words."""
        found = sorted({f"{ways.one}/{ways.few}" for ways in self.ways.values()})
        return ", ".join(found)

    def __call__(
        self, ids: Tensor, cache: RewindableCache, start: int, keep: int, taps: tuple[int, ...] = ()
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Logits [keep, V] after the last `keep` of `ids` [n], which stand at positions start, start + 1, ...

        Also the hidden states [n, hidden] before each layer of `taps`, as transformers numbers them.
        """
        count = ids.shape[0]
        cos, sin = self._angles(start, start + count)
        mask = self._mask(start, count) if count > 1 else None
        hidden, tapped = embedding(ids, self._embedding, self._pad), []
        for number, (layer, kept) in enumerate(zip(self._layers, cache.layers, strict=True)):
            if number in taps:
                tapped.append(hidden)
            x = rms_norm(hidden, (self._hidden,), layer.before_attention, self._epsilon)
            hidden = hidden + layer.out(self._attend(layer, kept, layer.qkv(x), cos, sin, mask))
            x = rms_norm(hidden, (self._hidden,), layer.before_mlp, self._epsilon)
            gate, up = layer.gate_up(x).chunk(2, dim=-1)
            hidden = hidden + layer.down(silu(gate) * up)
        last = rms_norm(hidden[-keep:] if keep else hidden[:0], (self._hidden,), self._final, self._epsilon)
        return self._head(last), tuple(tapped)

    def _attend(self, layer: _Layer, kept: Any, qkv: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None) -> Tensor:
        """Attention of n queries over everything in the cache: [n, heads * head size].

        The query heads that share a key head become more queries of it, so that no key is copied.
        """
        count = qkv.shape[0]
        heads = qkv.view(count, -1, self._size)
        rotated, value = heads[:, : self._heads + self._key_heads], heads[:, self._heads + self._key_heads :]
        if layer.q_norm is not None:
            query, key = rotated[:, : self._heads], rotated[:, self._heads :]
            query = rms_norm(query, (self._size,), layer.q_norm, self._epsilon)
            rotated = torch.cat((query, rms_norm(key, (self._size,), layer.k_norm, self._epsilon)), dim=1)
        # rotate_half(x) is x rolled by half a head with its first half negated; the sign lies in `sin`.
        rotated = torch.addcmul(rotated * cos, rotated.roll(self._size // 2, -1), sin).transpose(0, 1).unsqueeze(0)
        keys, values = kept.update(rotated[:, self._heads :], value.transpose(0, 1).unsqueeze(0))
        query = rotated[:, : self._heads]
        if count <= GROUPED:
            query = query.reshape(1, self._key_heads, self._groups * count, self._size)
            mixed = scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=self._scale)
            mixed = mixed.reshape(1, self._heads, count, self._size)
        else:
            mixed = scaled_dot_product_attention(
                query, keys, values, attn_mask=mask, scale=self._scale, enable_gqa=self._groups > 1
            )
        joined: Tensor = mixed[0].transpose(0, 1).reshape(count, -1)
        return joined

    def _mask(self, start: int, count: int) -> Tensor:
        """To add to scores: [queries, start + count], tiled for the grouped queries of a handful of tokens."""
        mask: Tensor = self._embedding.new_zeros(count, start + count)
        mask[:, start:] = torch.full_like(mask[:, start:], -torch.inf).triu_(1)
        return mask.repeat(self._groups, 1) if count <= GROUPED else mask

    def _angles(self, start: int, end: int) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines [n, 1, head size] of the positions from `start` to `end`."""
        if end > self._cos.shape[0]:
            length = -(-end // BLOCK) * BLOCK
            positions = torch.arange(length, device=self._embedding.device).unsqueeze(0)
            cos, sin = self._rotary(self._embedding, position_ids=positions)
            half = self._size // 2
            self._cos, self._sin = cos[0], torch.cat((-sin[0, :, :half], sin[0, :, half:]), dim=-1)
        return self._cos[start:end].unsqueeze(1), self._sin[start:end].unsqueeze(1)


def _matrices(layer: Any) -> tuple[tuple[Tensor, Tensor | None], ...]:
    """Weight and bias of qkv, out, gate_up and down of a layer."""
    attention, mlp = layer.self_attn, layer.mlp
    return (
        _fuse([attention.q_proj, attention.k_proj, attention.v_proj]),
        (attention.o_proj.weight, attention.o_proj.bias),
        _fuse([mlp.gate_proj, mlp.up_proj]),
        (mlp.down_proj.weight, mlp.down_proj.bias),
    )


def _fuse(parts: list[Any]) -> tuple[Tensor, Tensor | None]:
    """One weight and bias for several linear layers, which become views of them."""
    weight = torch.cat([part.weight for part in parts])
    biases = [part.bias for part in parts]
    bias = None if biases[0] is None else torch.cat(biases)
    start = 0
    for part in parts:
        end = start + part.weight.shape[0]
        part.weight = torch.nn.Parameter(weight[start:end], requires_grad=False)
        if bias is not None:
            part.bias = torch.nn.Parameter(bias[start:end], requires_grad=False)
        start = end
    return weight, bias
