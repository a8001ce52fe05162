"""The law and its parts against plain Python: penalties, filters, best candidates, the one transfer."""

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.decoding import candidates, transfer
from playground.decoding.accept import draw
from playground.decoding.candidates import top_candidates
from playground.decoding.law import History, SamplingLaw
from playground.decoding.verify import verify

CPU = torch.device("cpu")


def naive_scores(law: SamplingLaw, logits: list[float], prompt: list[int], outputs: list[int]) -> list[float]:
    """vLLM's definitions, one token at a time."""
    result = []
    for token, logit in enumerate(logits):
        count = outputs.count(token)
        if count or token in prompt:
            logit = logit / law.repetition_penalty if logit > 0 else logit * law.repetition_penalty
        logit -= law.frequency_penalty * count + law.presence_penalty * (count > 0)
        result.append(-math.inf if len(outputs) < law.min_tokens and token in law.stop_ids else logit)
    return result


def naive_probs(law: SamplingLaw, scores: list[float]) -> list[float]:
    """Temperature, min_p, top_k, top_p, in this order; tokens that tie with the last one kept are kept."""
    scaled = [s / law.temperature for s in scores]
    if law.min_p:
        floor = max(scaled) + math.log(law.min_p)
        scaled = [s if s >= floor else -math.inf for s in scaled]
    if 0 < law.top_k < len(scaled):
        kth = sorted(scaled, reverse=True)[law.top_k - 1]
        scaled = [s if s >= kth else -math.inf for s in scaled]
    weights = [math.exp(s - max(scaled)) for s in scaled]
    probs = [w / sum(weights) for w in weights]
    if law.top_p < 1:
        mass, last = 0.0, 0.0
        for prob in sorted(probs, reverse=True):
            mass, last = mass + prob, prob
            if mass >= law.top_p - 1e-9:
                break
        probs = [p if p >= last - 1e-12 else 0.0 for p in probs]
    return [p / sum(probs) for p in probs]


LAWS = st.builds(
    SamplingLaw,
    temperature=st.floats(0.2, 2.0),
    top_k=st.integers(0, 8),
    top_p=st.sampled_from([1.0, 0.9, 0.5, 0.05]),
    min_p=st.sampled_from([0.0, 0.1, 0.5]),
    repetition_penalty=st.sampled_from([1.0, 1.5, 0.7]),
    presence_penalty=st.sampled_from([0.0, 0.6, -0.5]),
    frequency_penalty=st.sampled_from([0.0, 0.4, -0.3]),
    min_tokens=st.integers(0, 5),
    stop_ids=st.sampled_from([(), (1,), (1, 6)]),
)
TOKENS = st.lists(st.integers(0, 7), max_size=6)


@settings(max_examples=100, deadline=None)
@given(law=LAWS, prompt=TOKENS, outputs=TOKENS, draft=TOKENS, seed=st.integers(0, 999))
def test_every_row_is_conditioned_on_the_draft_before_it(
    law: SamplingLaw, prompt: list[int], outputs: list[int], draft: list[int], seed: int
) -> None:
    """CASES 19, 22: penalties and min_tokens at row i count the draft's first i tokens."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(len(draft) + 1, 8, generator=generator)
    before = logits.clone()
    history = History(law, prompt, 8, CPU)
    history.append(outputs)
    scores = law.scores(logits, history, torch.tensor(draft, dtype=torch.long))
    probs = law.probs(scores)
    for row in range(len(draft) + 1):
        wanted = naive_scores(law, logits[row].tolist(), prompt, outputs + draft[:row])
        assert scores[row].tolist() == pytest.approx(wanted, abs=1e-4)
        assert probs[row].tolist() == pytest.approx(naive_probs(law, wanted), abs=1e-4)
        # The drafter asks for one row at a time.
        alone = law.scores(logits[row : row + 1], history, torch.tensor(draft[:row], dtype=torch.long), offset=row)
        assert torch.equal(alone[0], scores[row])
    assert torch.equal(logits, before)


def test_nothing_to_apply_costs_nothing() -> None:
    logits = torch.randn(3, 8)
    law = SamplingLaw()
    assert law.scores(logits, History(law, [], 8, CPU)) is logits


@pytest.mark.parametrize("top_p", [0.999, 0.9, 0.3])
@pytest.mark.parametrize("scale", [0.05, 4.0])
def test_nucleus_of_a_wide_vocabulary(top_p: float, scale: float) -> None:
    """A nucleus of nearly everything (flat) and of a handful (peaked), beyond the first guess of its size."""
    torch.manual_seed(0)
    scores = scale * torch.randn(2, 9000)
    probs = SamplingLaw(temperature=1.0, top_p=top_p).probs(scores)
    for row in range(2):
        wanted = scores[row].double().softmax(-1)
        order = wanted.argsort(descending=True)
        size = int((wanted[order].cumsum(0) < top_p).sum()) + 1
        assert abs(int((probs[row] > 0).sum()) - size) <= 1
        assert probs[row].sum().item() == pytest.approx(1.0, abs=1e-5)


@settings(max_examples=80, deadline=None)
@given(
    width=st.sampled_from([1, 3, 8, 700, 2561, 3001]),
    levels=st.integers(1, 6),
    count=st.integers(1, 6),
    seed=st.integers(0, 999),
)
def test_top_candidates_are_exact_with_ties_by_id(width: int, levels: int, count: int, seed: int) -> None:
    """CASES 5: few distinct values, so that ties cross blocks; the lowest ids win."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, levels, (2, width), generator=generator).float()
    scores[:, :: max(2, width // 50)] = -torch.inf
    values, ids = top_candidates(scores, count)
    for row in range(2):
        wanted = sorted(range(width), key=lambda i: (-scores[row, i].item(), i))[:count]
        assert ids[row].tolist() == wanted
        assert values[row].tolist() == [scores[row, i].item() for i in wanted]


def test_blocks_are_really_used() -> None:
    assert 4 * candidates.BLOCK * 5 < 3001


def test_two_equal_maxima_choose_the_lowest_id_in_both_arms() -> None:
    """CASES 5."""
    logits = torch.zeros(3, 50)
    logits[:, [7, 31]] = 4.0
    law = SamplingLaw()
    plain = verify(law, logits[:1], logits[:1], torch.empty(0, dtype=torch.long))
    assert plain.next_id == 7
    judged = verify(law, logits, logits, torch.tensor([7, 31]))
    assert (judged.num_accepted, judged.next_id) == (1, 7)
    assert judged.gaps.tolist() == [0, 0, 0]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers_are_noticed(bad: float, temperature: float) -> None:
    """CASES 3."""
    law, logits = SamplingLaw(temperature=temperature), torch.randn(2, 50)
    assert verify(law, logits, logits, torch.tensor([3])).sound
    logits[1, 30] = bad
    assert not verify(law, logits, logits, torch.tensor([3])).sound
    impossible = torch.full((1, 50), -torch.inf)
    assert not verify(law, impossible, impossible, torch.empty(0, dtype=torch.long)).sound


def test_a_weight_of_zero_is_never_drawn() -> None:
    weights = torch.tensor([0.0, 1e-12, 0.0, 1.0, 0.0])
    generator = torch.Generator().manual_seed(0)
    assert set(draw(weights.expand(5000, 5), generator).tolist()) <= {1, 3}
    assert draw(torch.tensor([[0.0, 0.0, 1e-30]]), generator).tolist() == [2]


VALUES: dict[str, Any] = {
    "scalar": torch.tensor(3),
    "flag": torch.tensor(True),
    "ids": torch.tensor([49_151, 0, 262_143]),
    "nothing": torch.empty(0, dtype=torch.long),
    "floats": torch.tensor([[0.1, -torch.inf], [1e-30, 3.4e38]]),
    "half": torch.tensor([0.5, 2.0], dtype=torch.bfloat16),
}


def test_one_transfer_gives_back_every_tensor() -> None:
    wanted = {name: tensor.tolist() for name, tensor in VALUES.items()}
    assert transfer.to_host(VALUES) == wanted
    packed = transfer.pack(VALUES)
    assert packed.dtype == torch.int32
    assert transfer.unpack(VALUES, packed) == {**wanted, "flag": 1}
