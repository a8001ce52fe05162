"""Drafts that stop by the draft's own confidence: the target's law stays, tested by chi-square through the real chain.

CASES 19. The rule looks at the law a token would be drawn from, before it is drawn. A rule that looks at the token that
came out is tried too, to show that the test would notice.
"""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from playground.decoding.accept import accept
from playground.decoding.law import SamplingLaw
from playground.drafters import Draft
from playground.drafters._chain import Chain, ChainOptions

V = 6
DRAWS = 4000
REJECT_BELOW = 1e-4

torch.manual_seed(2)
TARGET = 1.2 * torch.randn(1 + V, V)
"""The target's logits for the first token, then for the second after each first."""
DRAFT = TARGET + 1.2 * torch.randn(1 + V, V)
LAW = SamplingLaw(temperature=0.9, top_k=5)


def chain(sampled: bool, p_min: float, seed: int = 4, law: SamplingLaw = LAW) -> Chain:
    generator = torch.Generator().manual_seed(seed)
    run = SimpleNamespace(law=law, vocab_size=V, device=torch.device("cpu"), prompt_length=1, generator=generator)
    method = "probabilistic" if sampled else "greedy"
    made = Chain(ChainOptions(draft_sample_method=method, draft_p_min=p_min), run)
    made.count([0], 0)
    return made


def drafted(made: Chain, k: int = 2) -> Draft:
    return made.draft(DRAFT[:1], k, lambda ids: DRAFT[1 + int(ids) :][:1])


def first_two(drafts: list[Draft], sampled: bool) -> Tensor:
    """The first two tokens of each step as the target leaves them, [n, 2]; -1 where the step ended before."""
    laws = LAW.probs(TARGET)
    generator = torch.Generator().manual_seed(8)
    rows = []
    for count in (0, 1, 2):
        group = [draft for draft in drafts if len(draft.token_ids) == count]
        if not group:
            continue
        ids = torch.stack([draft.token_ids for draft in group])
        after = laws[1 + ids[:, 0]] if count else laws[:1].expand(len(group), V)
        target = torch.stack([laws[0].expand(len(group), V), after, after][: count + 1], dim=1)
        probs = torch.stack([draft.probs for draft in group]) if sampled and count else None
        accepted, follows = accept(target, ids, probs, generator)
        both = torch.full((len(group), 2), -1)
        for row, (n, last) in enumerate(zip(accepted.tolist(), follows.tolist(), strict=True)):
            said = [*ids[row, :n].tolist(), last][:2]
            both[row, : len(said)] = torch.tensor(said)
        rows.append(both)
    return torch.cat(rows)


def fits(tokens: Tensor, law: Tensor) -> bool:
    counts, possible = tokens.bincount(minlength=V), law > 0
    assert counts[~possible].sum() == 0
    expected = law[possible].double() / law[possible].double().sum() * len(tokens)
    return bool(stats.chisquare(counts[possible].double().numpy(), expected.numpy()).pvalue > REJECT_BELOW)


@pytest.mark.parametrize("sampled", [False, True], ids=["greedy-draft", "sampled-draft"])
def test_the_law_is_the_targets(sampled: bool) -> None:
    confidence = LAW.probs(DRAFT[1:]).amax(-1)
    threshold = float(confidence.median())
    threshold = min(threshold, float(LAW.probs(DRAFT[:1]).max()))
    made = chain(sampled, threshold)
    drafts = [drafted(made) for _ in range(DRAWS)]
    if sampled:
        assert {len(draft.token_ids) for draft in drafts} == {1, 2}
    said = first_two(drafts, sampled)
    laws = LAW.probs(TARGET)
    assert fits(said[:, 0], laws[0])
    for token in range(V):
        second = said[(said[:, 0] == token) & (said[:, 1] >= 0), 1]
        if len(second) >= 300:
            assert fits(second, laws[1 + token])


def test_dropping_what_came_out_unlikely_would_be_noticed() -> None:
    made = chain(True, 0.0)
    drafts = []
    for draft in (drafted(made, 1) for _ in range(DRAWS)):
        assert draft.probs is not None
        kept = float(draft.probs[0, draft.token_ids[0]]) >= float(draft.probs[0].max())
        drafts.append(draft if kept else Draft(token_ids=draft.token_ids[:0]))
    assert not fits(first_two(drafts, True)[:, 0], LAW.probs(TARGET)[0])


@given(st.floats(0.0, 1.0), st.integers(1, 5), st.booleans())
def test_it_stops_exactly_before_the_first_unsure_token(p_min: float, k: int, sampled: bool) -> None:
    draft = drafted(chain(sampled, p_min), k)
    ids, rows = draft.token_ids.tolist(), [0]
    rows += [1 + token for token in ids]
    confidence = [float(LAW.probs(DRAFT[row : row + 1]).max()) for row in rows]
    assert all(c >= p_min for c in confidence[: len(ids)])
    assert len(ids) == k or confidence[len(ids)] < p_min


def test_greedy_confidence_is_the_softmax() -> None:
    """At temperature 0 the law is a point; how sure the draft is shows in its softmax."""
    best = float(DRAFT[:1].softmax(-1).max())
    assert len(drafted(chain(False, best - 1e-4, law=SamplingLaw()), 1).token_ids) == 1
    assert len(drafted(chain(False, best + 1e-4, law=SamplingLaw()), 1).token_ids) == 0
