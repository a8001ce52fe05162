"""The benchmark's arithmetic: intervals, verdicts in METRICS' order, lines, schedules, flags, rules."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.bench.flags import flags_of
from playground.bench.levels import crossover
from playground.bench.plan import BenchPlan
from playground.bench.rules import rules_of
from playground.bench.samples import pooled, repetition
from playground.bench.schedule import Slot, schedule
from playground.bench.statistics import LEAST, Interval, fitted, interval, judged, outliers, quantile, trusted
from playground.config import RunConfig, Speculation
from playground.metrics import RunResult
from playground.suites import Prompt, Suite

positive = st.floats(0.1, 10)


def spread(median, half, n=40):
    return Interval(median, median - half, median + half, n)


@given(st.lists(positive, min_size=LEAST, max_size=60))
def test_an_interval_holds_its_median_and_repeats(values):
    groups = [[v] for v in values]
    found = interval(groups, draws=200)
    assert found == interval(groups, draws=200)
    assert found.median == statistics.median(values)
    assert found.low <= found.median <= found.high
    assert min(values) <= found.low
    assert found.high <= max(values)


def test_an_interval_covers_the_truth_nineteen_times_of_twenty():
    source = random.Random(7)
    hits = sum(
        (found := interval([[source.gauss(1.5, 0.3)] for _ in range(30)], draws=300)).low <= 1.5 <= found.high
        for _ in range(200)
    )
    assert 0.9 <= hits / 200 <= 1.0


def test_turns_of_a_conversation_are_drawn_together():
    """Ten values of one prompt are not ten prompts."""
    one = [[1.0, 2.0]] * 5
    assert interval(one).low is None
    assert interval(one).n == 10
    assert interval([*one, [3.0]]).low is not None


def test_nothing_has_no_interval():
    assert interval([]) == interval([[], []]) == Interval()


@given(st.lists(st.floats(-100, 100), min_size=1), st.floats(0, 1))
def test_quantiles_lie_between_values(values, share):
    assert min(values) <= quantile(values, share) <= max(values)


def test_quantiles_are_the_usual_ones():
    assert quantile([1, 2, 3, 4], 0.5) == 2.5
    assert quantile(list(range(101)), 0.99) == 99
    assert quantile([], 0.5) is None


@pytest.mark.parametrize(
    ("speedup", "more", "verdict"),
    [
        (spread(3.0, 0.1), {"mismatches": 1}, "INVALID"),
        (spread(3.0, 0.1), {"unreconciled": 1}, "INVALID"),
        (spread(0.5, 0.1), {"mismatches": 1, "drafted": 0}, "INVALID"),
        (spread(0.9, 0.05), {"drafted": 0}, "NO DRAFTS"),
        (spread(0.9, 0.05), {}, "SLOWER"),
        (spread(1.0, 0.05), {}, "FAIL"),
        (spread(1.5, 0.4), {}, "FAIL"),
        (spread(2.2, 0.2), {}, "PASS"),
        (spread(2.5, 0.4), {}, "PASS"),
        (spread(2.1, 0.2), {}, "INCONCLUSIVE"),
        (spread(1.95, 0.1), {}, "INCONCLUSIVE"),
        (Interval(5.0, None, None, 3), {}, "INCONCLUSIVE"),
        (Interval(), {}, "INCONCLUSIVE"),
    ],
)
def test_the_first_verdict_that_matches(speedup, more, verdict):
    assert judged(speedup, 2.0, **more).verdict == verdict


def test_the_threshold_is_adjustable():
    assert judged(spread(1.5, 0.1), 1.3).verdict == "PASS"
    assert judged(spread(1.5, 0.1), 1.7).verdict == "FAIL"


@pytest.mark.parametrize(
    ("check", "code"),
    [
        (spread(1.001, 0.02), "ok"),
        (spread(1.001, 0.06), "wide"),
        (spread(1.03, 0.01), "biased"),
        (Interval(), "not_run"),
        (Interval(1.0, None, None, 3), "too_few"),
    ],
)
def test_an_aa_check_must_hold_one_and_be_narrow(check, code):
    assert trusted(check) == (code == "ok", code)


def test_a_fitted_line():
    line = fitted([(x / 10, 2 * x / 10 + 1) for x in range(10)])
    assert line.slope == pytest.approx(2)
    assert line.at(0.5) == pytest.approx(2)
    assert line.low == pytest.approx(2)
    assert fitted([(0.5, 1.0)] * 10) is None
    assert fitted([(0.1, 1.0), (0.2, 2.0)]) is None


def test_outliers_need_company():
    assert outliers([1.0, 50.0]) is None
    low, high = outliers([1.0, 1.1, 1.2, 1.0, 1.1, 1.2, 1.1, 1.1])
    assert low < 1.0
    assert 1.2 < high < 50


def plan(turns=(1, 1, 2), **more):
    prompts = tuple(Prompt(id=f"p{i}", category="abc"[i % 3], turns=("x",) * count) for i, count in enumerate(turns))
    config = RunConfig(engine="scripted", speculation=Speculation(method="ngram"))
    return BenchPlan(config=config, suite=Suite(name="s", prompts=prompts), **more)


def measured(groups):
    return [slot for group in groups for slot in group.slots if slot.phase == "measure"]


@given(st.booleans(), st.booleans(), st.integers(1, 3))
def test_every_arm_of_every_turn_is_run_once_a_repeat(check, one_load, repeats):
    groups = schedule(plan(check=check, one_load=one_load, repeats=repeats))
    slots = measured(groups)
    assert len(slots) == len(set(slots)) == 4 * (3 if check else 2) * repeats
    for slot in slots:
        if slot.turn:  # answered in order, and never before the baseline's answer to the turn before is there
            before = slots.index(Slot("measure", slot.item, "baseline", slot.turn - 1))
            assert before < slots.index(slot)


def test_arms_stand_next_to_each_other_and_take_turns_at_being_first():
    groups = [g for g in schedule(plan()) if g.slots[0].phase == "measure"]
    assert [[slot.arm for slot in g.slots] for g in groups[:2]] == [
        ["baseline", "speculative", "again"],
        ["again", "speculative", "baseline"],
    ]


def test_two_loads_run_in_passes_each_behind_a_warm_up():
    groups = schedule(plan(one_load=False, check=False, repeats=2))
    said = [(g.slots[0].phase, g.slots[0].arm) for g in groups]
    changes = [pair for i, pair in enumerate(said) if i == 0 or said[i - 1] != pair]
    assert changes == [
        ("warm-up", "baseline"),
        ("measure", "baseline"),
        ("warm-up", "speculative"),
        ("measure", "speculative"),
        ("warm-up", "baseline"),
        ("measure", "baseline"),
    ]  # fmt: skip  - A B B A: the two middle passes share a load


def test_waves_are_full_and_paired():
    groups = [g for g in schedule(plan(levels=(1, 4))) if g.together]
    for level in (1, 4):
        mine = [g for g in groups if g.slots[0].level == level]
        assert all(len(g.slots) == level for g in mine)
        arms = [(g.slots[0].wave, g.slots[0].arm) for g in mine]
        assert len(arms) == len(set(arms)) >= 12
    assert len({slot for g in groups for slot in g.slots}) == sum(len(g.slots) for g in groups)


def request(**more):
    base = {
        "turn": 0, "prompt": str(more), "speedup": 1.5, "draft_acceptance_rate": 0.5, "repetition": 0.1,
        "prompt_repetition": 0.1, "num_delivered": 100, "num_draft_tokens": 50, "method": "ngram",
    }  # fmt: skip
    return base | more


@pytest.mark.parametrize(
    ("more", "flag"),
    [
        ({"draft_acceptance_rate": 0.99}, "copied"),
        ({"repetition": 0.8}, "repetitive"),
        ({"prompt_repetition": 0.8}, "repetitive"),
        ({"num_delivered": 3}, "short"),
        ({"num_draft_tokens": 0, "draft_acceptance_rate": None}, "nothing_drafted"),
    ],
)
def test_unrepresentative_requests_are_flagged(more, flag):
    """CASES 31."""
    requests = [request(**more), request()]
    flags_of(requests)
    assert requests[0]["flags"] == [flag]
    assert requests[1]["flags"] == []


def test_a_model_that_agrees_with_its_target_copies_nothing():
    requests = [request(draft_acceptance_rate=0.99, method="draft_model")]
    flags_of(requests)
    assert requests[0]["flags"] == []


def test_duplicates_and_outliers_are_flagged():
    requests = [request(prompt=str(i), speedup=1.5 + i / 100) for i in range(9)]
    requests += [request(prompt="0"), request(prompt="fast", speedup=40.0)]
    flags_of(requests)
    assert [r["flags"] for r in requests[9:]] == [["duplicate"], ["outlier"]]
    assert not any(r["flags"] for r in requests[:9])


def test_repetition_of_a_text():
    assert repetition([1, 2, 3]) is None
    assert repetition(list(range(50))) == 0
    assert repetition([1, 1, 1, 1] * 20) > 0.95
    assert 0.4 < repetition([*range(40), *range(40)]) < 0.6


def test_rules_of_thumb_that_hold():
    requests = [request(draft_acceptance_rate=a / 20, speedup=2.3 * 1.15 ** (a / 2 - 8)) for a in range(4, 20)]
    rules = rules_of(requests)
    assert rules["ten_points"]["measured"] == pytest.approx(0.15)
    assert rules["ten_points"]["holds"] is True
    assert rules["high_acceptance"]["n"] == 6
    assert rules["high_acceptance"]["within"] == 6
    assert rules["high_acceptance"]["holds"] is True


def test_rules_of_thumb_that_do_not_hold_and_those_that_cannot_be_said():
    requests = [request(draft_acceptance_rate=a / 20, speedup=1.0) for a in range(8, 20)]
    rules = rules_of(requests)
    assert rules["ten_points"]["holds"] is False
    assert rules["high_acceptance"]["holds"] is False
    few = rules_of(requests[:2])
    assert few["ten_points"]["holds"] is few["high_acceptance"]["holds"] is None


def test_the_crossover_lies_between_two_levels():
    assert crossover([(1, 2.0), (4, 1.5), (16, 0.5)]) == pytest.approx(8.0)
    assert crossover([(1, 2.0), (4, 1.5)]) is None
    assert crossover([(1, 0.9), (4, 0.8)]) is None
    assert crossover([(1, None), (4, 1.5)]) is None


def test_pooled_figures_are_sums_before_they_are_quotients():
    one = RunResult(num_draft_tokens=10, num_accepted_tokens=9, num_drafting_steps=2, num_steps=2, num_decode_tokens=11)
    two = RunResult(
        num_draft_tokens=90, num_accepted_tokens=9, num_drafting_steps=18, num_steps=20, num_decode_tokens=29
    )
    found = pooled([one, two])
    assert found["draft_acceptance_rate"] == 18 / 100
    assert found["mean_acceptance_length"] == 1 + 18 / 20
    assert found["tokens_per_step"] == 40 / 22
    assert pooled([])["draft_acceptance_rate"] is None
