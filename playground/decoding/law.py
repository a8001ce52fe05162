"""From logits to the law tokens are drawn from: penalties, temperature, min_p, top_k, top_p, in vLLM's order.

One law serves target and draft alike, which is what makes the accept test exact (Leviathan et al. 2023, section 3.4;
Chen et al. 2023). Every position is conditioned on the draft before it: penalties at row i count the draft's first i
tokens, `min_tokens` counts them too. Knows no model and no configuration file.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

FIRST_GUESS = 256
"""Tokens looked at first for the nucleus on a CPU; a full sort of 50,000 costs 20 times a top-k."""


@dataclass(frozen=True, slots=True)
class SamplingLaw:
    """How logits become probabilities. Field meanings are vLLM's `SamplingParams`; temperature 0 is greedy.

    `stop_ids` cannot be drawn before `min_tokens` tokens were generated.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    min_tokens: int = 0
    stop_ids: tuple[int, ...] = ()

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0

    @property
    def penalised(self) -> bool:
        return self.repetition_penalty != 1.0 or self.presence_penalty != 0.0 or self.frequency_penalty != 0.0

    def scores(self, logits: Tensor, history: "History", prefix: Tensor | None = None, offset: int = 0) -> Tensor:
        """Logits after penalties and min_tokens, before temperature: what greedy decoding compares.

        Args:
            logits: float32 [n, V]; row i follows the history and the first `offset + i` tokens of the prefix.
            prefix: int64 [offset + n - 1] (or longer) draft tokens; None where there are none.

        Returns:
            float32 [n, V]; `logits` itself where nothing applies, else a new tensor.
        """
        blocked = min(logits.shape[0], max(0, self.min_tokens - history.num_outputs - offset))
        if self.penalised:
            logits = self._penalise(logits, history, prefix, offset)
        elif blocked and self.stop_ids:
            logits = logits.clone()
        if blocked and self.stop_ids:
            logits[:blocked, list(self.stop_ids)] = -torch.inf
        return logits

    def _penalise(self, logits: Tensor, history: "History", prefix: Tensor | None, offset: int) -> Tensor:
        rows, width = logits.shape
        counts = history.counts.expand(rows, width)
        if prefix is not None and offset + rows > 1:
            counts = counts + _prefix_counts(prefix, offset, rows, width)
        if self.repetition_penalty != 1.0:
            seen = history.in_prompt | (counts > 0)
            scaled = torch.where(logits > 0, logits / self.repetition_penalty, logits * self.repetition_penalty)
            logits = torch.where(seen, scaled, logits)
        return logits - self.frequency_penalty * counts - self.presence_penalty * (counts > 0)

    def probs(self, scores: Tensor) -> Tensor:
        """The law itself: temperature, min_p, top_k, top_p. [n, V] float32, rows sum to 1.

        At temperature 0 it is the softmax of the scores: for display only, greedy never draws from it. Tokens that tie
        with the last one kept are kept too, so that the law does not depend on a sort's order.
        """
        if self.greedy:
            return scores.softmax(-1)
        scaled = scores / self.temperature
        if self.min_p > 0.0:
            floor = scaled.amax(-1, keepdim=True) + math.log(self.min_p)
            scaled = scaled.masked_fill(scaled < floor, -torch.inf)
        if 0 < self.top_k < scaled.shape[-1]:
            kth = scaled.topk(self.top_k).values[:, -1:]
            scaled = scaled.masked_fill(scaled < kth, -torch.inf)
        probs = scaled.softmax(-1)
        if self.top_p < 1.0:
            probs = probs.masked_fill(probs < _nucleus_floor(probs, self.top_p), 0.0)
            probs = probs / probs.sum(-1, keepdim=True)
        return probs


class History:
    """What penalties need to know of the tokens so far: which were in the prompt, how often each was generated.

    Grows by what was delivered; never rewound, since draft tokens are passed to the law as a prefix instead.
    """

    def __init__(self, law: SamplingLaw, prompt: Sequence[int], vocab_size: int, device: torch.device) -> None:
        self.num_outputs = 0
        self._tracks = law.penalised
        width = vocab_size if law.penalised else 0
        self.in_prompt = torch.zeros(width, dtype=torch.bool, device=device)
        self.counts = torch.zeros(width, dtype=torch.float32, device=device)
        if law.penalised:
            known = [i for i in prompt if i < vocab_size]
            self.in_prompt[torch.tensor(known, dtype=torch.long, device=device)] = True

    def append(self, ids: Sequence[int]) -> None:
        """Count delivered tokens."""
        self.num_outputs += len(ids)
        if self._tracks and ids:
            index = torch.tensor(ids, dtype=torch.long, device=self.counts.device)
            self.counts.index_add_(0, index, torch.ones_like(index, dtype=torch.float32))


def _prefix_counts(prefix: Tensor, offset: int, rows: int, width: int) -> Tensor:
    """[rows, width]: row i counts the first `offset + i` ids of the prefix."""
    length = offset + rows - 1
    single = torch.zeros(length + 1, width, device=prefix.device)
    single[1:].scatter_(1, prefix[:length].unsqueeze(1), 1.0)
    return single.cumsum(0)[offset:]


def _nucleus_floor(probs: Tensor, top_p: float) -> Tensor:
    """[n, 1]: the smallest probability inside the smallest set of tokens whose total is at least `top_p`."""
    width = probs.shape[-1]
    # Asking whether a guess was enough costs nothing on a CPU; elsewhere it would wait for the device.
    guesses = (FIRST_GUESS, 16 * FIRST_GUESS) if probs.device.type == "cpu" else ()
    for size in guesses:
        if size < width:
            best = probs.topk(size).values
            mass = best.cumsum(-1)
            if bool((mass[:, -1] >= top_p).all()):
                break
    else:
        best = probs.sort(-1, descending=True).values
        mass = best.cumsum(-1)
    last = (mass < top_p).sum(-1, keepdim=True).clamp(max=best.shape[-1] - 1)
    return best.gather(-1, last)
