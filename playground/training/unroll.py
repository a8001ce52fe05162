"""Training-time test (Li et al. 2025, section 3.2): the head guesses on from its own guesses, as it will when drafting.

At unrolled step s the state at index i is the head's own output of step s - 1 at index i - 1, and attention sees the
target's states up to index i - s and after them the head's own chain. The labels are the target's laws over the reduced
vocabulary. Tensors in, tensors out; knows no files and no optimiser.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from playground.decoding.eagle3 import Eagle3Head, Rotation


@dataclass(frozen=True, slots=True)
class Batch:
    """Some exchanges, padded on the right.

    Attributes:
        ids: int64 [b, n]. hidden: [b, n, taps * hidden size]. last: [b, n, hidden size], the target's last states.
        judged: bool [b, n - 2]; at index i whether token i + 2 is part of an answer.
    """

    ids: Tensor
    hidden: Tensor
    last: Tensor
    judged: Tensor


@dataclass(frozen=True, slots=True)
class Unrolled:
    """Per step s: `losses` [steps], the mean cross-entropy; `alive` and `hits` [steps], counts of positions whose
    guesses before s were all right, and of those that are right at s too.
    """

    losses: Tensor
    alive: Tensor
    hits: Tensor


def collated(
    sequences: list[tuple[int, ...]], prompts: list[int], rows: list[Tensor], width: int, device: torch.device
) -> Batch:
    """A batch of exchanges.

    Args:
        prompts: how many ids at each start are the prompt. rows: as `states.States` gives them.
        width: of the last state, which ends each row.
    """
    longest = max(max(map(len, sequences)), 3)
    ids = torch.zeros(len(sequences), longest, dtype=torch.long)
    judged = torch.zeros(len(sequences), longest - 2, dtype=torch.bool)
    for row, (tokens, prompt) in enumerate(zip(sequences, prompts, strict=True)):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        judged[row, max(prompt - 2, 0) : max(len(tokens) - 2, 0)] = True
    states = torch.stack([pad(part, (0, 0, 0, longest - len(part))) for part in rows]).to(device)
    return Batch(ids.to(device), states[..., :-width], states[..., -width:], judged.to(device))


def unrolled(head: Eagle3Head, output: Tensor, batch: Batch, steps: int, rotation: Rotation) -> Unrolled:
    """Losses and hits of `steps` steps.

    Args:
        output: [draft_vocab_size, hidden size], the target's output layer at the reduced vocabulary.
    """
    count = batch.ids.shape[1] - 2
    embeds, hidden = head.embed(batch.ids[:, 1:-1]), head.fuse(batch.hidden[:, :count])
    # At index i the head, like the target at index i + 1, says what token i + 2 is.
    with torch.no_grad():
        laws = (batch.last[:, 1:-1][batch.judged].to(output.dtype) @ output.T).float().softmax(-1)
    said = batch.ids[:, 2:]
    keys: list[Tensor] = []
    values: list[Tensor] = []

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        keys.append(key)
        values.append(value)
        mask = chain_mask(count, len(keys) - 1, query.device)
        return scaled_dot_product_attention(
            query, torch.cat(keys, 2), torch.cat(values, 2), attn_mask=mask, enable_gqa=True
        )

    losses, alives, hits = [], [], []
    alive = batch.judged
    index = torch.arange(count, device=said.device)
    for step in range(steps):
        after = head.layer(embeds, hidden, rotation(0, count), attend)
        logits = head.logits(after[batch.judged]).float()
        entropy = torch.zeros_like(alive, dtype=torch.float32)
        entropy[batch.judged] = -(laws * logits.log_softmax(-1)).sum(-1)
        chained = batch.judged & (index >= step)
        losses.append((entropy * chained).sum() / chained.sum().clamp(min=1))
        right = torch.zeros_like(alive)
        right[batch.judged] = head.targets[logits.argmax(-1)] == said[batch.judged]
        right &= alive
        alives.append(alive.sum())
        hits.append(right.sum())
        alive = batch.judged & _moved(right)
        hidden = _moved(head.following(after))
    return Unrolled(torch.stack(losses), torch.stack(alives), torch.stack(hits))


def chain_mask(count: int, step: int, device: torch.device) -> Tensor:
    """bool [count, (step + 1) * count]: what index i sees at a step, of the keys of step 0, 1, ... side by side.

    Of step 0 everything up to i - step; of step r only the chain's own place, i - step + r.
    """
    i = torch.arange(count, device=device).unsqueeze(1)
    j = torch.arange(count, device=device).unsqueeze(0)
    seen = [j <= i - step, *(j == i - step + r for r in range(1, step + 1))]
    return torch.cat(seen, dim=1)


def _moved(x: Tensor) -> Tensor:
    """One index later: index i holds what index i - 1 held; index 0 nothing."""
    return torch.cat((torch.zeros_like(x[:, :1]), x[:, :-1]), dim=1)
