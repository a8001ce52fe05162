"""Speculative sampling draws from the target's own law: chi-square over 50,000 steps on a vocabulary of eight.

CASES 19. The two laws are made to disagree; the draft is greedy or drawn; filters and penalties are on. The first token
of a step must follow the target's law, and the share of accepted drafts must be the sum of the smaller of the two laws.
Given acceptance, the token after must follow the law conditioned on what was accepted.
"""

import pytest
import torch
from scipy import stats
from torch import Tensor

from playground.decoding.accept import accept, draw
from playground.decoding.law import History, SamplingLaw
from playground.decoding.verify import verify

V = 8
DRAWS = 50_000
REJECT_BELOW = 1e-4
"""Seeds are fixed: a p-value this small means a wrong law, not bad luck."""

LAWS = {
    "temperature": SamplingLaw(temperature=0.8),
    "top_k": SamplingLaw(temperature=1.0, top_k=4),
    "top_p": SamplingLaw(temperature=1.0, top_p=0.8),
    "min_p": SamplingLaw(temperature=1.3, min_p=0.15),
    "penalties": SamplingLaw(
        temperature=0.9,
        repetition_penalty=1.4,
        presence_penalty=0.5,
        frequency_penalty=0.3,
        min_tokens=4,
        stop_ids=(7,),
    ),
    "all": SamplingLaw(temperature=0.7, top_k=6, top_p=0.9, min_p=0.05, presence_penalty=-0.4, repetition_penalty=1.2),
}
PROMPT, OUTPUTS = [1, 2, 2], [3, 3, 5]

torch.manual_seed(11)
TARGET = 1.5 * torch.randn(3, V)
"""Row i: the target's logits after i draft tokens (the same whatever they are; penalties then tell them apart)."""
DRAFT = TARGET[:2] + 1.2 * torch.randn(2, V)


def history(law: SamplingLaw) -> History:
    made = History(law, PROMPT, V, torch.device("cpu"))
    made.append(OUTPUTS)
    return made


def law_after(law: SamplingLaw, logits: Tensor, prefix: tuple[int, ...]) -> Tensor:
    """The law at position len(prefix), alone: how a drafter and the baseline ask for it."""
    row = len(prefix)
    return law.probs(law.scores(logits[row : row + 1], history(law), torch.tensor(prefix).long(), offset=row))[0]


def one_hot(token: int) -> Tensor:
    return torch.nn.functional.one_hot(torch.tensor(token), V).float()


def fits(counts: Tensor, law: Tensor) -> bool:
    """Whether counts [V] could come from the law [V]; nothing impossible may occur."""
    possible = law > 0
    if counts[~possible].sum() > 0:
        return False
    if possible.sum() == 1:
        return True
    expected = law[possible].double() / law[possible].double().sum() * counts.sum()
    return bool(stats.chisquare(counts[possible].double().numpy(), expected.numpy()).pvalue > REJECT_BELOW)


def laws_of_pairs(law: SamplingLaw) -> tuple[Tensor, Tensor]:
    """The target's three laws [V, V, 3, V] and the draft's two [V, 2, V], per pair (or first) of draft tokens."""
    target = torch.empty(V, V, 3, V)
    draft = torch.empty(V, 2, V)
    for i in range(V):
        draft[i] = torch.stack((law_after(law, DRAFT, ()), law_after(law, DRAFT, (i,))))
        for j in range(V):
            target[i, j] = law.probs(law.scores(TARGET, history(law), torch.tensor([i, j])))
    return target, draft


@pytest.mark.parametrize("sampled", [False, True], ids=["greedy-draft", "sampled-draft"])
@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_the_targets(name: str, sampled: bool) -> None:
    law, generator = LAWS[name], torch.Generator().manual_seed(5)
    target, draft = laws_of_pairs(law)
    first_law = draft[0, 0] if sampled else one_hot(int(draft[0, 0].argmax()))
    first_draft = draw(first_law.expand(DRAWS, V), generator)
    second_laws = draft[first_draft, 1]
    second_draft = draw(second_laws, generator) if sampled else second_laws.argmax(-1)
    ids = torch.stack((first_draft, second_draft), dim=1)
    drafted_from = draft[first_draft] if sampled else None
    count, follows = accept(target[first_draft, second_draft], ids, drafted_from, generator)

    first = torch.where(count >= 1, ids[:, 0], follows)
    target_law = law_after(law, TARGET, ())
    assert fits(first.bincount(minlength=V), target_law)
    share = float(torch.minimum(target_law, first_law).sum())
    assert stats.binomtest(int((count >= 1).sum()), DRAWS, min(share, 1.0)).pvalue > REJECT_BELOW
    second = torch.where(count >= 2, ids[:, 1], follows)[count >= 1]
    for token in range(V):
        here = second[ids[count >= 1, 0] == token]
        if len(here) >= 500:
            assert fits(here.bincount(minlength=V), law_after(law, TARGET, (token,)))
    pairs = ids[count == 2]
    pair, _ = torch.mode(pairs[:, 0] * V + pairs[:, 1]) if len(pairs) else (torch.tensor(0), None)
    chosen = follows[count == 2][(pairs[:, 0] * V + pairs[:, 1]) == pair]
    if len(chosen) >= 500:
        assert fits(chosen.bincount(minlength=V), law_after(law, TARGET, (int(pair) // V, int(pair) % V)))


def test_verify_decides_by_this_test() -> None:
    """The step loop's entry gives what `accept` gives with the same randomness."""
    law = LAWS["all"]
    drafted = torch.tensor([3, 1])
    scores = law.scores(TARGET, history(law), drafted)
    laws = torch.stack([law_after(law, DRAFT, ()), law_after(law, DRAFT, (3,))])
    for seed in range(200):
        verdict = verify(law, TARGET, scores, drafted, laws, generator=torch.Generator().manual_seed(seed))
        count, follows = accept(law.probs(scores)[None], drafted[None], laws[None], torch.Generator().manual_seed(seed))
        assert (int(verdict.num_accepted), int(verdict.next_id)) == (int(count[0]), int(follows[0]))
        assert verdict.draft_probs.tolist() == pytest.approx([float(laws[0, 3]), float(laws[1, 1])])
        assert float(verdict.next_prob) == pytest.approx(float(law.probs(scores)[count[0], follows[0]]))


def test_the_test_can_fail() -> None:
    """Counts from the draft's law are told from the target's."""
    law = LAWS["temperature"]
    wrong = (law_after(law, DRAFT, ()) * 5000).round()
    assert not fits(wrong, law_after(law, TARGET, ()))
