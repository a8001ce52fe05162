"""The accept test: which draft tokens the target keeps, and the token that follows them.

At temperature 0 a draft token is accepted exactly when it is the target's best, lowest id on ties; else accept.py
decides. Also gathers what is to be shown of the target's choice. Tensors in, tensors out, without a host sync.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from playground.decoding.accept import accept, at
from playground.decoding.candidates import top_candidates
from playground.decoding.law import SamplingLaw


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
        num_accepted = (draft_ids == ids[:-1, 0]).long().cumprod(0).sum()
        next_id = ids[:, 0].index_select(0, num_accepted.view(1)).squeeze(0)
        at_draft = (at(scores, draft_ids) - row_mass[:-1, 0]).exp()
        next_prob = best_probs[:, 0].index_select(0, num_accepted.view(1)).squeeze(0)
    else:
        probs = law.probs(scores)
        sound = torch.isfinite(probs[:, 0]).all()
        if draft_law is not None:
            sound = sound & torch.isfinite(draft_law[:, 0]).all()
        best_probs = probs.gather(-1, ids)
        at_draft = at(probs, draft_ids)
        drafted = None if draft_law is None else draft_law.unsqueeze(0)
        counts, ids_after = accept(probs.unsqueeze(0), draft_ids.unsqueeze(0), drafted, generator)
        num_accepted, next_id = counts[0], ids_after[0]
        next_prob = probs.index_select(0, num_accepted.view(1)).squeeze(0).index_select(0, next_id.view(1)).squeeze(0)
    return Verdict(
        num_accepted=num_accepted,
        next_id=next_id,
        draft_target_probs=at_draft,
        draft_probs=torch.ones_like(at_draft) if draft_law is None else at(draft_law, draft_ids),
        next_prob=next_prob,
        best_ids=ids[:, :candidates],
        best_probs=best_probs[:, :candidates],
        best_logits=logits.gather(-1, ids[:, :candidates]),
        gaps=gaps.nan_to_num(),
        sound=sound,
    )
