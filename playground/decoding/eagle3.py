"""The EAGLE-3 draft head (Li et al. 2025): one decoder layer over the target's hidden states and the next embedding.

At position i it reads the target's hidden states of token i, low, middle and high layers fused by one matrix, and the
embedding of token i + 1, and gives the law of token i + 2 over a reduced vocabulary. Going on by itself it takes its
own output in place of the target's states. The arithmetic and its variants are those of vLLM's `eagle3` (Llama).
Tensors in, tensors out: knows no files, no sampling and no training.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu

from playground.decoding.cache import RewindableCache

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(query [b, heads, n, d], key [b, key heads, n, d], value like key), rotated -> [b, heads, n, d]."""


@dataclass(frozen=True, slots=True)
class Eagle3Shape:
    """What decides a head's weights and arithmetic. Names are those of its config.json; `taps` are its
    `eagle_aux_hidden_state_layer_ids`: the target's layers before which hidden states are taken.
    """

    hidden_size: int
    target_hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    draft_vocab_size: int
    taps: tuple[int, ...]
    rms_norm_eps: float = 1e-5
    max_position_embeddings: int = 2048
    rope_parameters: Mapping[str, Any] = field(default_factory=lambda: {"rope_type": "default", "rope_theta": 10000.0})
    attention_bias: bool = False
    norm_before_residual: bool = False
    norm_before_fc: bool = False
    fc_norm: bool = False
    norm_output: bool = False
    logit_scale: float = 1.0

    def llama_config(self) -> Any:
        """One layer of it as transformers' configuration, for its rotary embedding and its cache."""
        from transformers import LlamaConfig

        return LlamaConfig(
            hidden_size=self.hidden_size,
            num_attention_heads=self.num_attention_heads,
            num_key_value_heads=self.num_key_value_heads,
            head_dim=self.head_dim,
            num_hidden_layers=1,
            max_position_embeddings=self.max_position_embeddings,
            rope_parameters=dict(self.rope_parameters),
        )


class Eagle3Head(nn.Module):
    """The weights and one layer's arithmetic.

    Attributes:
        targets: int64 [draft_vocab_size], the target's id of each draft id (vLLM's `d2t` plus the draft id).
        embed_tokens: [vocab_size, hidden_size]; the target's own where the checkpoint brings none.
    """

    targets: Tensor
    embed_tokens: Tensor

    def __init__(self, shape: Eagle3Shape, embed_tokens: Tensor, targets: Tensor) -> None:
        super().__init__()
        self.shape = shape
        size, heads, keys = shape.hidden_size, shape.num_attention_heads, shape.num_key_value_heads
        fused = shape.target_hidden_size * len(shape.taps)
        self.input_norm = _norm(fused) if shape.norm_before_fc else None
        self.fc_norm = (
            nn.ParameterList([_norm(shape.target_hidden_size) for _ in shape.taps]) if shape.fc_norm else None
        )
        self.fc = nn.Linear(fused, size, bias=False)
        self.input_layernorm, self.hidden_norm = _norm(size), _norm(size)
        self.qkv_proj = nn.Linear(2 * size, (heads + 2 * keys) * shape.head_dim, bias=shape.attention_bias)
        self.o_proj = nn.Linear(heads * shape.head_dim, size, bias=False)
        self.post_attention_layernorm = _norm(size)
        self.gate_up_proj = nn.Linear(size, 2 * shape.intermediate_size, bias=False)
        self.down_proj = nn.Linear(shape.intermediate_size, size, bias=False)
        self.norm = _norm(size)
        self.lm_head = nn.Linear(size, shape.draft_vocab_size, bias=False)
        self.register_buffer("embed_tokens", embed_tokens, persistent=False)
        self.register_buffer("targets", targets, persistent=False)

    @property
    def device(self) -> torch.device:
        return self.fc.weight.device

    def embed(self, ids: Tensor) -> Tensor:
        """[..., n] -> [..., n, hidden_size]."""
        return nn.functional.embedding(ids, self.embed_tokens).to(self.fc.weight.dtype)

    def fuse(self, hidden: Tensor) -> Tensor:
        """The target's states side by side, [..., taps * target_hidden_size] -> [..., hidden_size]."""
        hidden = hidden.to(self.fc.weight.dtype)
        if self.input_norm is not None:
            hidden = self._rms(hidden, self.input_norm)
        if self.fc_norm is not None:
            parts = hidden.chunk(len(self.fc_norm), dim=-1)
            hidden = torch.cat([self._rms(p, w) for p, w in zip(parts, self.fc_norm, strict=True)], dim=-1)
        fused: Tensor = self.fc(hidden)
        return fused

    def layer(self, embeds: Tensor, hidden: Tensor, rotation: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        """[b, n, hidden_size] each -> the output before the last norm, of the same shape.

        Args:
            rotation: cosines and sines of the n positions, [n, head_dim] each.
            attend: decides what each position sees, its own key and value included.
        """
        shape, (batch, count) = self.shape, hidden.shape[:2]
        normed = self._rms(hidden, self.hidden_norm)
        residual = normed if shape.norm_before_residual else hidden
        both = torch.cat((self._rms(embeds, self.input_layernorm), normed), dim=-1)
        heads, keys = shape.num_attention_heads, shape.num_key_value_heads
        qkv = self.qkv_proj(both).view(batch, count, heads + 2 * keys, shape.head_dim).transpose(1, 2)
        turned = _rotated(qkv[:, : heads + keys], *rotation)
        seen = attend(turned[:, :heads], turned[:, heads:], qkv[:, heads + keys :])
        hidden = residual + self.o_proj(seen.transpose(1, 2).reshape(batch, count, heads * shape.head_dim))
        gate, up = self.gate_up_proj(self._rms(hidden, self.post_attention_layernorm)).chunk(2, dim=-1)
        result: Tensor = hidden + self.down_proj(silu(gate) * up)
        return result

    def logits(self, hidden: Tensor) -> Tensor:
        """The layer's output -> [..., draft_vocab_size]."""
        logits = linear(self._rms(hidden, self.norm), self.lm_head.weight)
        return logits if self.shape.logit_scale == 1.0 else logits * self.shape.logit_scale

    def following(self, hidden: Tensor) -> Tensor:
        """The layer's output as the next position's hidden state."""
        return self._rms(hidden, self.norm) if self.shape.norm_output else hidden

    def _rms(self, x: Tensor, weight: Tensor) -> Tensor:
        return rms_norm(x, (x.shape[-1],), weight.to(x.dtype), self.shape.rms_norm_eps)


class Rotation:
    """Cosines and sines of positions, whatever the head's kind of rotary embedding; the table grows as asked."""

    def __init__(self, shape: Eagle3Shape, device: torch.device, dtype: torch.dtype, expected_length: int = 0) -> None:
        from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

        self._embedding = LlamaRotaryEmbedding(shape.llama_config()).to(device)
        self._like = torch.empty(0, device=device, dtype=dtype)
        self._tables = (self._like, self._like)
        self(0, max(expected_length, 256))

    def __call__(self, start: int, end: int) -> tuple[Tensor, Tensor]:
        """Two tensors [end - start, head_dim]."""
        if end > len(self._tables[0]):
            positions = torch.arange(max(end, 2 * len(self._tables[0])), device=self._like.device)
            cosines, sines = self._embedding(self._like, positions.unsqueeze(0))
            self._tables = (cosines[0], sines[0])
        return self._tables[0][start:end], self._tables[1][start:end]


class Eagle3Session:
    """One sequence on one head, with its keys and values: feed it, rewind it."""

    def __init__(self, head: Eagle3Head, expected_length: int = 0) -> None:
        self.head = head
        self._cache = RewindableCache(head.shape.llama_config(), expected_length)
        self._rotation = Rotation(head.shape, head.device, head.fc.weight.dtype, expected_length)

    @property
    def length(self) -> int:
        """Positions held."""
        return self._cache.length

    def rewind(self, length: int) -> None:
        """Forget all positions from `length` on."""
        self._cache.rewind(length)

    def feed(self, ids: Tensor, hidden: Tensor) -> Tensor:
        """The next positions: the tokens after them, int64 [n], and their hidden states, fused or the head's own,
        [n, hidden_size] -> the layer's output [n, hidden_size].
        """
        start, count = self._cache.length, len(ids)
        rotation = self._rotation(start, start + count)
        output = self.head.layer(self.head.embed(ids).unsqueeze(0), hidden.unsqueeze(0), rotation, self._attend)
        self._cache.advance(count)
        return output[0]

    def _attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        key, value = self._cache.update(key, value, 0)
        heads, count, length = query.shape[1], query.shape[2], key.shape[2]
        # The query heads of a group as more queries of their one key head: nothing of the cache is copied.
        groups = heads // key.shape[1]
        together = query.reshape(1, key.shape[1], groups * count, query.shape[3])
        mask = None
        if count > 1:
            mask = torch.ones(count, length, dtype=torch.bool, device=query.device).tril(length - count)
            mask = mask.repeat(groups, 1)
        seen = scaled_dot_product_attention(together, key, value, attn_mask=mask)
        return seen.reshape(1, heads, count, -1)


def widened(logits: Tensor, head: Eagle3Head, vocab_size: int) -> Tensor:
    """Logits over the reduced vocabulary, [n, draft_vocab_size], as float32 [n, vocab_size]: -inf outside of it.

    Ids from `vocab_size` on, padding that must not be drafted, are dropped.
    """
    width = max(vocab_size, head.shape.vocab_size)
    wide = torch.full((len(logits), width), -torch.inf, dtype=torch.float32, device=logits.device)
    return wide.index_copy_(1, head.targets, logits.float())[:, :vocab_size]


def _norm(size: int) -> nn.Parameter:
    return nn.Parameter(torch.ones(size))


def _rotated(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cosines + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sines
