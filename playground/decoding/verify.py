"""The accept test: which draft tokens the target keeps, and the token that follows them.

Exact speculative sampling (Leviathan et al. 2023, algorithm 1; Chen et al. 2023, algorithm 2): draft token x at
position i is accepted with probability min(1, target_i(x) / draft_i(x)); at the first rejection a token is drawn from
the positive part of target - draft, after full acceptance from the target's next law. A draft without probabilities
counts as one-hot. At temperature 0 a draft token is accepted exactly when it is the target's best, lowest id on ties.

Tensors in, tensors out, without a host sync.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from playground.decoding.candidates import top_candidates
from playground.decoding.law import SamplingLaw, draw


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out of one verification of k draft tokens (k may be 0); all tensors on the device.

    `num_accepted`: int64 []. `next_id`: int64 [], the recovered, bonus or plain token. `draft_target_probs`,
    `draft_probs`: float32 [k], the two laws at the draft tokens. `next_prob`: float32 []. `best_*`: [k + 1, count], the
    target's best by score. `gaps`: float32 [k + 1], best score minus second best. `sound`: bool [], no NaN anywhere.
    """

    num_accepted: Tensor
    next_id: Tensor
    draft_target_probs: Tensor
    draft_probs: Tensor
    next_prob: Tensor
    best_ids: Tensor
    best_probs: Tensor
    best_logits: Tensor
    gaps: Tensor
    sound: Tensor


def verify(
    law: SamplingLaw,
    logits: Tensor,
    scores: Tensor,
    draft_ids: Tensor,
    draft_law: Tensor | None = None,
    *,
    generator: torch.Generator | None = None,
    candidates: int = 5,
) -> Verdict:
    """Judge a draft.

    Args:
        logits: float32 [k + 1, V], the target's raw logits at the positions of the draft tokens and the one after.
        scores: float32 [k + 1, V], the same after `SamplingLaw.scores`.
        draft_ids: int64 [k].
        draft_law: float32 [k, V] the laws the draft tokens were drawn from, or None for one-hot.
        candidates: how many of the target's best to report.
    """
    values, ids = top_candidates(scores, max(2, candidates))
    gaps = values[:, 0] - values[:, 1] if values.shape[1] > 1 else torch.zeros_like(values[:, 0])
    if law.greedy:
        row_mass = scores.logsumexp(-1, keepdim=True)
        sound = torch.isfinite(row_mass).all()
        best_probs = (values - row_mass).exp()
        num_accepted = _leading(draft_ids == ids[:-1, 0])
        next_id = ids[:, 0].index_select(0, num_accepted.view(1)).squeeze(0)
        at_draft = (_at(scores, draft_ids) - row_mass[:-1, 0]).exp()
        next_prob = best_probs[:, 0].index_select(0, num_accepted.view(1)).squeeze(0)
    else:
        probs = law.probs(scores)
        sound = torch.isfinite(probs[:, 0]).all()
        if draft_law is not None:
            sound = sound & torch.isfinite(draft_law[:, 0]).all()
        best_probs = probs.gather(-1, ids)
        at_draft = _at(probs, draft_ids)
        num_accepted, next_id = _sample(probs, at_draft, draft_ids, draft_law, generator)
        next_prob = probs.index_select(0, num_accepted.view(1)).squeeze(0).index_select(0, next_id.view(1)).squeeze(0)
    return Verdict(
        num_accepted=num_accepted,
        next_id=next_id,
        draft_target_probs=at_draft,
        draft_probs=torch.ones_like(at_draft) if draft_law is None else _at(draft_law, draft_ids),
        next_prob=next_prob,
        best_ids=ids[:, :candidates],
        best_probs=best_probs[:, :candidates],
        best_logits=logits.gather(-1, ids[:, :candidates]),
        gaps=gaps.nan_to_num(),
        sound=sound,
    )


def _sample(
    probs: Tensor, at_draft: Tensor, draft_ids: Tensor, draft_law: Tensor | None, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """(number accepted, next id) for temperature > 0."""
    k = draft_ids.shape[0]
    chance = torch.rand(k, generator=generator, device=probs.device)
    at_draft_law = torch.ones_like(at_draft) if draft_law is None else _at(draft_law, draft_ids)
    num_accepted = _leading(chance * at_draft_law < at_draft)
    row = num_accepted.view(1)
    weights = probs.index_select(0, row).squeeze(0)
    if k == 0:
        return num_accepted, draw(weights, generator)
    # One expression for both endings: after full acceptance there is nothing to subtract.
    refused = (num_accepted < k).to(probs.dtype)
    last = row.clamp(max=k - 1)
    if draft_law is None:
        token = draft_ids.index_select(0, last)
        rest = weights.scatter(0, token, weights.index_select(0, token) * (1.0 - refused))
    else:
        rest = (weights - refused * draft_law.index_select(0, last).squeeze(0)).clamp(min=0.0)
    # Equal laws leave nothing after rounding; a rejection there has probability zero, the target's law is as good.
    rest = torch.where(rest.sum() > 0, rest, weights)
    return num_accepted, draw(rest, generator)


def _leading(accepted: Tensor) -> Tensor:
    """How many of the flags [k] are true before the first false: int64 []."""
    return accepted.long().cumprod(0).sum()


def _at(rows: Tensor, ids: Tensor) -> Tensor:
    """rows[i, ids[i]] for the first len(ids) rows."""
    return rows[: ids.shape[0]].gather(-1, ids.unsqueeze(-1)).squeeze(-1)
