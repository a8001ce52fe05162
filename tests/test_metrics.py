"""The fold: hand-counted streams against METRICS.md's formulas; cost and edge cases."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.events import GpuSample, RunFinished, RunStarted, Step, Token
from playground.metrics import METRICS, RunResult, expected_tokens_per_step


def tokens(n: int, a: int, k: int) -> tuple[Token, ...]:
    """n delivered tokens of a step with k drafts and a accepted."""
    last = "target" if k == 0 else ("bonus" if a == k else "recovered")
    return tuple(Token(i, f"t{i}", "accepted" if i < a else last) for i in range(n))  # type: ignore[arg-type]


def step(index: int, at: float, k: int = 0, a: int = 0, n: int | None = None, **more: float) -> Step:
    return Step(index, at, tokens(a + 1 if n is None else n, a, k), (), k, a, **more)  # type: ignore[arg-type]


def test_hand_counted_run() -> None:
    """Prefill, a full step, a rejection, a step without drafts."""
    result = RunResult.of(
        [
            RunStarted((1, 2, 3)),
            step(0, 0.5),
            step(1, 1.0, k=4, a=4, draft_seconds=0.1, verify_seconds=0.3),
            step(2, 1.5, k=4, a=1, draft_seconds=0.1, verify_seconds=0.3),
            step(3, 2.0, k=0, a=0, draft_seconds=0.0, verify_seconds=0.2),
            RunFinished("length", 2.1, usage_completion_tokens=9),
        ]
    )
    assert result.draft_acceptance_rate == 5 / 8
    assert result.mean_acceptance_length == 1 + 5 / 2
    assert result.tokens_per_step == 8 / 3
    assert result.draft_share_of_output == 5 / 9
    assert result.wasted_draft_fraction == 1 - 5 / 8
    assert result.survival == (1.0, 0.5, 0.5, 0.5)
    assert result.conditional_acceptance == (1.0, 0.5, 1.0, 1.0)
    assert result.ttft == 0.5
    assert result.tpot == pytest.approx(1.5 / 8)
    assert result.tokens_per_second == pytest.approx(8 / 1.5)
    assert result.tokens_per_second_end_to_end == pytest.approx(9 / 2.0)
    assert result.alpha == 5 / (4 + 2)
    assert result.mean_draft_seconds == pytest.approx(0.2 / 3)
    assert result.finished
    assert result.valid


def test_nothing_drafted_is_not_a_number() -> None:
    """CASES 17: acceptance of a run without drafts is n/a, never 0 or 100 %."""
    result = RunResult.of([RunStarted(()), step(0, 0.1), step(1, 0.2), RunFinished("length", 0.2)])
    for name in (
        "draft_acceptance_rate",
        "mean_acceptance_length",
        "wasted_draft_fraction",
        "expected_tokens_per_step",
    ):
        assert getattr(result, name) is None, name
    assert result.tokens_per_step == 1


def test_an_empty_run_has_no_numbers() -> None:
    metrics = RunResult().metrics()
    assert all(metrics[name] is None for name in METRICS if name in metrics)


def test_usage_that_disagrees_is_invalid() -> None:
    result = RunResult.of([step(0, 0.1), RunFinished("stop", 0.1, usage_completion_tokens=2, reconciled=True)])
    assert result.reconciled is False
    assert not result.valid
    assert "counted 2" in result.problems[0]


def test_engine_counters_that_disagree_are_invalid() -> None:
    finish = RunFinished("stop", 1.0, engine_counters={"num_accepted_tokens": 3, "num_draft_tokens": 4})
    result = RunResult.of([step(0, 0.1), step(1, 1.0, k=4, a=2), finish])
    assert len(result.problems) == 1
    assert "num_accepted_tokens" in result.problems[0]


def test_energy_is_a_difference_of_counters_and_na_without() -> None:
    samples = [GpuSample(t, "cuda:0", "x", energy=e) for t, e in ((-1.0, 5.0), (0.0, 100.0), (1.0, 130.0))]
    result = RunResult.of([RunStarted(()), *samples, step(0, 0.5), step(1, 1.0)])
    assert result.joules == 30.0
    assert result.joules_per_token == 15.0
    assert RunResult.of([GpuSample(0.0, "cpu", "x"), step(0, 0.5)]).joules_per_token is None


def test_live_speed_covers_the_last_two_seconds() -> None:
    result = RunResult.of([step(i, float(i)) for i in range(10)])
    assert result.live_tokens_per_second == pytest.approx(1.0)
    assert len(result.recent) == 3


def test_theory_at_its_limits() -> None:
    assert expected_tokens_per_step(1.0, 4) == 5
    assert expected_tokens_per_step(0.0, 4) == 1
    assert expected_tokens_per_step(0.5, 1) == pytest.approx(1.5)


@st.composite
def streams(draw: st.DrawFn) -> list[Step]:
    at, out = 0.0, [step(0, 0.1)]
    for i in range(1, draw(st.integers(1, 12))):
        k = draw(st.integers(0, 8))
        a = draw(st.integers(0, k))
        at += draw(st.floats(0.001, 1))
        n = draw(st.integers(1, a + 1))
        out.append(step(i, 0.1 + at, k=k, a=a, n=n))
    return out


@given(streams())
def test_ratios_stay_in_range(events: list[Step]) -> None:
    """CASES 24: never negative, never above 1, whatever is truncated."""
    result = RunResult.of(events)
    for name in ("draft_acceptance_rate", "draft_share_of_output", "wasted_draft_fraction"):
        value = getattr(result, name)
        assert value is None or 0 <= value <= 1, name
    for value in (*result.survival, *result.conditional_acceptance):
        assert value is None or 0 <= value <= 1
    if result.mean_acceptance_length is not None:
        assert result.mean_acceptance_length >= 1
    assert result.num_decode_tokens == result.num_delivered - 1
    assert not any(isinstance(v, float) and math.isnan(v) for v in result.metrics().values())
