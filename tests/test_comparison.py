"""Two arms, one verdict: speed-ups, the parts that ate the gain, and divergences at temperature 0."""

import math

import pytest

from playground.comparison import ARMS, Arm, Comparison, ComparisonFold
from playground.events import Candidate, RunFinished, RunStarted, Step, Token


def run(
    fold: ComparisonFold,
    arm: Arm,
    ids: list[int],
    seconds: float,
    *,
    dtype: str = "float32",
    gaps: dict[int, float] | None = None,
    best: dict[int, tuple[float, float]] | None = None,
    per_step: int = 1,
    draft: float = 0.0,
    verify: float | None = None,
    reason: str = "length",
) -> None:
    """Adds a run that delivers `ids`, `per_step` a step of `seconds`; `best`: position -> logits of ids 1 and 2."""
    fold.add(arm, RunStarted((0,), "", {"dtype": dtype}))
    at = 0.5
    groups = [ids[:1]] + [ids[i : i + per_step] for i in range(1, len(ids), per_step)]
    position = 0
    for index, group in enumerate(groups):
        k = len(group) - 1 if index else 0
        at += seconds if index else 0
        spots = range(position, position + len(group))
        position += len(group)
        fold.add(
            arm,
            Step(
                index,
                at,
                tuple(Token(i, f"<{i}>", "target") for i in group),
                num_draft_tokens=k,
                num_accepted_tokens=k,
                draft_seconds=draft,
                verify_seconds=seconds - draft if verify is None else verify,
                logit_gaps=tuple((gaps or {}).get(s, 9.0) for s in spots),
                target_candidates=tuple(
                    tuple(Candidate(i + 1, "", 0.5, v) for i, v in enumerate((best or {}).get(s, (20.0, 11.0))))
                    for s in spots
                ),
            ),
        )
    fold.add(arm, RunFinished(reason, at))  # type: ignore[arg-type]


def both(baseline: list[int], speculative: list[int], **more: object) -> Comparison:
    fold = ComparisonFold(greedy=True)
    for arm, ids in zip(ARMS, (baseline, speculative), strict=True):
        run(fold, arm, ids, 0.1, **more)  # type: ignore[arg-type]
    return fold.result()


def test_a_slow_down_is_shown_as_one() -> None:
    """CASES 23: never clamped."""
    fold = ComparisonFold(greedy=True)
    run(fold, "baseline", [1, 2, 3, 4], 0.1)
    run(fold, "speculative", [1, 2, 3, 4], 0.2)
    result = fold.result()
    assert result.speedup == pytest.approx(0.5)
    assert result.outputs_identical is True


def test_factors_multiply_from_ideal_to_measured() -> None:
    fold = ComparisonFold(greedy=True)
    run(fold, "baseline", list(range(9)), 0.1)
    run(fold, "speculative", list(range(9)), 0.2, per_step=4, draft=0.04, verify=0.12)
    result = fold.result()
    assert result.ideal_speedup is not None
    assert result.speedup == pytest.approx(2.0)
    assert result.ideal_speedup * math.prod(f.multiplier for f in result.factors) == pytest.approx(result.speedup)
    assert result.predicted_speedup == pytest.approx(4 * 0.1 / 0.16)
    assert result.per_step_overhead == pytest.approx(0.04)
    assert [f.name for f in result.factors] == ["acceptance", "verify", "draft", "overhead"]
    assert result.largest_loss is not None
    assert result.largest_loss.name == "draft"


def test_no_split_no_prediction() -> None:
    assert Comparison().predicted_speedup is None
    assert Comparison().factors == ()


def test_real_mismatch_is_named() -> None:
    """CASES 4, float32: a gap far above what the arms' numbers differ by is a fault."""
    result = both([1, 2, 3], [1, 2, 4])
    assert result.outputs_identical is False
    assert result.first_divergence is not None
    assert result.first_divergence.position == 2
    assert result.first_divergence.kind == "real mismatch"
    assert result.first_divergence.logit_gap == 9.0


@pytest.mark.parametrize(("dtype", "kind"), [("bfloat16", "numeric tie"), ("float32", "real mismatch")])
def test_near_tie_depends_on_the_dtype(dtype: str, kind: str) -> None:
    """CASES 4: 0.0625 at a logit of 20 is one bfloat16 rounding, and 30,000 float32 ones."""
    gaps, best = {2: 0.0625}, {2: (20.0, 19.9375)}
    result = both([1, 2, 3], [1, 2, 4], dtype=dtype, gaps=gaps, best=best)
    assert result.first_divergence is not None
    assert result.first_divergence.kind == kind


def test_float32_tie_within_the_arms_difference() -> None:
    fold = ComparisonFold(greedy=True)
    run(fold, "baseline", [1, 2], 0.1, gaps={1: 1e-6}, best={1: (20.0, 20.0 - 1e-6)})
    run(fold, "speculative", [1, 3], 0.1, gaps={1: 1e-6}, best={1: (20.0 - 2e-6, 20.0 - 1e-6)})
    divergence = fold.result().first_divergence
    assert divergence is not None
    assert divergence.kind == "numeric tie"
    assert divergence.arms_difference == pytest.approx(2e-6, rel=0.01)


@pytest.mark.parametrize(("gap", "kind"), [(0.001, "numeric tie"), (0.5, "real mismatch")])
def test_probabilities_serve_where_an_engine_reports_no_logits(gap: float, kind: str) -> None:
    """As vLLM's log-probabilities: the arms differ by 0.002 at the first candidate."""

    def step(token: int, shift: float) -> Step:
        best = (Candidate(2, "2", 0.4 * math.exp(shift), None), Candidate(3, "3", 0.4 * math.exp(-gap), None))
        return Step(0, 0.1, (Token(token, str(token), "target"),), logit_gaps=(gap,), target_candidates=(best,))

    fold = ComparisonFold(greedy=True)
    for arm, token, shift in (("baseline", 2, 0.0), ("speculative", 3, 0.002)):
        for event in (RunStarted((1,), "", {"dtype": "bfloat16"}), step(token, shift), RunFinished("length", 0.2)):
            fold.add(arm, event)
    divergence = fold.result().first_divergence
    assert divergence is not None
    assert divergence.kind == kind


def test_one_arm_longer_is_a_divergence() -> None:
    result = both([1, 2, 3], [1, 2])
    assert result.outputs_identical is False
    assert result.first_divergence is not None
    assert result.first_divergence.speculative_id is None


def test_sampled_runs_are_not_compared_token_by_token() -> None:
    fold = ComparisonFold(greedy=False)
    run(fold, "baseline", [1, 2], 0.1)
    run(fold, "speculative", [1, 3], 0.1)
    result = fold.result()
    assert result.outputs_identical is None
    assert "sampled" in result.why_not_compared


def test_a_stopped_arm_proves_nothing_but_a_difference() -> None:
    """CASES 26: half an output equals as far as it goes; a difference inside it still counts."""
    for ids, expected in (([1, 2], None), ([1, 9], False)):
        fold = ComparisonFold(greedy=True)
        run(fold, "baseline", [1, 2, 3], 0.1)
        run(fold, "speculative", ids, 0.1, reason="cancelled")
        assert fold.result().outputs_identical is expected
