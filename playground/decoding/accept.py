"""The accept test at temperature > 0, for any number of independent drafts at once.

Exact speculative sampling (Leviathan et al. 2023, algorithm 1; Chen et al. 2023, algorithm 2): draft token x at
position i is accepted with probability min(1, target_i(x) / draft_i(x)); at the first rejection a token is drawn from
the positive part of target - draft, after full acceptance from the target's next law. Laws in, ids out; no host sync.
"""

import torch
from torch import Tensor


def accept(
    target: Tensor, draft_ids: Tensor, draft: Tensor | None, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Judge drafts of k tokens (k may be 0).

    Args:
        target: [batch, k + 1, V], the target's laws at the draft tokens' positions and the one after.
        draft_ids: int64 [batch, k].
        draft: [batch, k, V], the laws the draft tokens were drawn from; None: each was certain (one-hot).

    Returns:
        int64 [batch]: how many are accepted; int64 [batch]: the token that follows them.
    """
    k = draft_ids.shape[1]
    chance = torch.rand(draft_ids.shape, generator=generator, device=target.device)
    bar = chance if draft is None else chance * at(draft, draft_ids)
    accepted = (bar < at(target, draft_ids)).long().cumprod(1).sum(1)
    weights = _row(target, accepted)
    if k == 0:
        return accepted, draw(weights, generator)
    # One expression for both endings: after full acceptance there is nothing to subtract.
    refused = (accepted < k).to(target.dtype).unsqueeze(1)
    last = accepted.clamp(max=k - 1)
    if draft is None:
        token = draft_ids.gather(1, last.unsqueeze(1))
        rest = weights.scatter(1, token, weights.gather(1, token) * (1.0 - refused))
    else:
        rest = (weights - refused * _row(draft, last)).clamp(min=0.0)
    # Equal laws leave nothing after rounding; a rejection there has probability zero, the target's law is as good.
    rest = torch.where(rest.sum(1, keepdim=True) > 0, rest, weights)
    return accepted, draw(rest, generator)


def draw(weights: Tensor, generator: torch.Generator | None) -> Tensor:
    """One id of each row, drawn in proportion to `weights` [batch, V] (need not sum to 1): int64 [batch].

    By the inverse of the cumulative sum, in double precision where the device has it; a weight of zero is never drawn.
    """
    exact = torch.float32 if weights.device.type == "mps" else torch.float64
    mass = weights.cumsum(-1, dtype=exact)
    point = torch.rand(len(weights), 1, generator=generator, device=weights.device, dtype=exact) * mass[:, -1:]
    return torch.searchsorted(mass, point, right=True).clamp(max=weights.shape[-1] - 1).squeeze(1)


def at(rows: Tensor, ids: Tensor) -> Tensor:
    """rows[..., i, ids[..., i]] for the first k rows; rows [..., >= k, V], ids [..., k]."""
    return rows[..., : ids.shape[-1], :].gather(-1, ids.unsqueeze(-1)).squeeze(-1)


def _row(rows: Tensor, index: Tensor) -> Tensor:
    """rows[b, index[b]]: [batch, V]."""
    return rows.gather(1, index.view(-1, 1, 1).expand(-1, 1, rows.shape[-1])).squeeze(1)
