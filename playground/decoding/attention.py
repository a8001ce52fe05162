"""Attention for a handful of queries over a long cache, without copying the cache.

Verifying a draft asks 2..65 queries of thousands of keys. transformers' SDPA path then repeats every key and value
once per query head of a group (grouped-query attention), and turns the mask into numbers again in every layer. Here
the query heads of a group become more queries of one key head instead: the same sums, no copies. Where that does not
apply (whole prompts, masks of another kind) transformers' own function is called, so results do not change.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "grouped_sdpa"


def install(module: Any) -> bool:
    """Use it in a loaded transformers model; False where that stays as it is: not on SDPA, or attention of its own."""
    config = module.config.get_text_config(decoder=True)
    exchangeable = bool(getattr(module, "_supports_attention_backend", False)) and config is module.config
    if not exchangeable or getattr(config, "_attn_implementation", None) != "sdpa":
        return False
    AttentionInterface.register(NAME, grouped_sdpa)
    AttentionMaskInterface.register(NAME, additive_mask)
    config._attn_implementation = NAME
    return True


def grouped_sdpa(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """transformers' attention protocol.

    query [1, heads, n, d], key and value [1, key heads, length, d] -> [1, n, heads, d].
    """
    heads, count = query.shape[1], query.shape[2]
    groups = heads // key.shape[1]
    plain = dropout == 0.0 and not (kwargs.keys() & {"position_bias", "cache", "is_causal"})
    decodes = count == 1 if attention_mask is None else attention_mask.shape[-2] == count
    # With one float32 query a CPU shares the work better by query head than by key head.
    by_head = count == 1 and query.dtype == torch.float32 and query.device.type == "cpu"
    if groups == 1 or by_head or not plain or not decodes or query.shape[0] != 1:
        result: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
        return result
    together = query.reshape(1, key.shape[1], groups * count, query.shape[3])
    mask = None if attention_mask is None else _tiled(attention_mask, groups)
    output = scaled_dot_product_attention(together, key, value, attn_mask=mask, scale=scaling)
    return output.reshape(1, heads, count, -1).transpose(1, 2), None


def additive_mask(*args: Any, dtype: torch.dtype = torch.float32, **kwargs: Any) -> Tensor | None:
    """SDPA's mask as numbers to add, made once a forward instead of once a layer."""
    allowed: Tensor | None = sdpa_mask(*args, dtype=dtype, **kwargs)
    if allowed is None or allowed.dtype != torch.bool:
        return allowed
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(~allowed, -torch.inf)


def _tiled(mask: Tensor, groups: int) -> Tensor:
    """The mask [1, 1, n, length] for `groups` times as many queries, kept on the mask: every layer asks for it."""
    kept: dict[int, Tensor] | None = getattr(mask, "_tiled", None)
    if kept is None:
        kept = {}
        mask._tiled = kept  # type: ignore[attr-defined]
    if groups not in kept:
        kept[groups] = mask.repeat(1, 1, groups, 1)
    return kept[groups]
