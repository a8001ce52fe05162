"""Repairs the sampling of vLLM's CPU build under speculation at a temperature. Imported in vLLM's workers only.

Two faults of 0.32.0, neither of which greedy decoding meets:

- The CPU stand-in for `expand_kernel` converts its output tensor to int64, writes into that copy and drops it, so that
  temperature, top_k and top_p of every drafted position are whatever lay in memory. Here with torch alone.
- A step in which nobody drafted (every prompt's first) asks for the largest top_k of no positions, which ends the
  engine. Here such a step has nothing to filter.
"""

from typing import Any

import torch
from vllm.v1.sample import rejection_sampler


def expand_batch_to_tokens(
    x: Any, cu_num_tokens: Any, num_tokens: int, replace_from: int = 0, replace_to: int = 0
) -> Any:
    """[batch] values -> [num_tokens] values, each repeated for its request's tokens; one value replaced by another."""
    counts = torch.diff(cu_num_tokens, prepend=cu_num_tokens.new_zeros(1)).to(torch.int64)
    x = torch.where(x == replace_from, torch.full_like(x, replace_to), x)
    return torch.repeat_interleave(x, counts, output_size=num_tokens)


def apply_top_k_top_p(logits: Any, k: Any, p: Any) -> Any:
    """vLLM's own filter of [tokens, vocabulary] logits, where there are any."""
    return _apply_top_k_top_p(logits, k, p) if len(logits) else logits


if not torch.cuda.is_available():
    _apply_top_k_top_p = rejection_sampler.apply_top_k_top_p
    rejection_sampler.expand_batch_to_tokens = expand_batch_to_tokens
    rejection_sampler.apply_top_k_top_p = apply_top_k_top_p


class Repair:
    """For `worker_extension_cls`: vLLM mixes it into every worker, and so imports this module there."""
