"""Charts and the step inspector's payload: what is drawn is what was measured, at any size, in safe markup."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from playground.comparison import Comparison
from playground.events import UNKNOWN_TOKEN_ID, Candidate, GpuSample, Step, Token
from playground.metrics import RunResult
from playground.ui import charts
from playground.ui.charts import StepTiming, by_position, compact, device_chart, timeline, why
from playground.ui.inspector import set_step_source, step, step_payload
from playground.ui.svg import TABLE_ROWS, table, ticks
from tests.test_ui_views_text import NASTY, checked, comparison


def timings(n: int, split: bool = True) -> list[StepTiming]:
    parts = (0.004, 0.02) if split else (None, None)
    return [StepTiming(i, 0.1 + 0.025 * i, 5, i % 6, i % 6 + 1, *parts) for i in range(n + 1)]


def drawing(chart: str) -> ElementTree.Element:
    """The SVG of a chart, parsed: it must be well-formed XML."""
    found = re.search(r"<svg.*?</svg>", chart, re.S)
    assert found
    return ElementTree.fromstring(found.group())


def rows(chart: str) -> list[dict[str, str]]:
    """The CSV behind a chart."""
    found = re.search(r'href="data:text/csv;charset=utf-8,([^"]*)"', chart)
    assert found
    return list(csv.DictReader(io.StringIO(unquote(found.group(1)))))


# ---------------------------------------------------------------- by position


def test_by_position_draws_both_shares_with_their_n() -> None:
    result = comparison().speculative
    chart = checked(by_position(result))
    drawing(chart)
    found = rows(chart)
    assert len(found) == 5
    assert [int(row["survival_n"]) for row in found] == list(result.drafted_at)
    assert [float(row["survival"]) for row in found] == pytest.approx(list(result.survival))
    assert [int(row["conditional_n"]) for row in found] == list(result.judged_at)


@pytest.mark.parametrize("k", [1, 5, 64])
def test_by_position_for_any_k(k: int) -> None:
    numbers = tuple(range(k, 0, -1))
    drafted = (k,) * k
    result = RunResult(status="stop", accepted_at=numbers, drafted_at=drafted, judged_at=(k, *numbers[:-1]))
    drawing(checked(by_position(result)))


def test_a_position_nobody_reached_is_not_drawn_as_zero() -> None:
    result = RunResult(status="stop", accepted_at=(0, 0), drafted_at=(4, 4), judged_at=(4, 0))
    found = rows(by_position(result))
    assert found[1]["conditional"] == ""
    assert found[1]["conditional_n"] == "0"


def test_nothing_drafted_says_so() -> None:
    """CASES 17."""
    assert "Nothing was drafted" in checked(by_position(comparison(no_draft=1.0).speculative))
    assert "svg" not in by_position(RunResult())


def test_intervals_are_wilsons() -> None:
    low, high = charts._wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.49, 0.943)  # as published for 8 of 10
    assert charts._wilson(0, 5)[0] == 0.0
    assert charts._wilson(5, 5)[1] == 1.0


# ---------------------------------------------------------------- timeline


def test_timeline_draws_a_bar_for_each_step() -> None:
    chart = checked(timeline(timings(50)))
    assert len([r for r in drawing(chart).iter("rect") if r.get("class") == "hit"]) == 50
    drawn = {path.get("class"): path.get("d", "").count("M") for path in drawing(chart).iter("path")}
    assert drawn == {"draft": 50, "verify": 50, "overhead": 50, "drafted": 50, "accepted": 42}  # 8 steps accepted none
    assert len(rows(chart)) == 51


def test_timeline_of_4000_steps_stays_small_and_keeps_the_means() -> None:
    chart = timeline(timings(4000))
    assert len(list(drawing(chart).iter("rect"))) <= charts.MAX_BARS + 10
    bars = charts._bars(timings(4000))
    assert len(bars) <= charts.MAX_BARS
    assert bars[0].whole == pytest.approx(25.0)
    assert bars[0].draft == pytest.approx(4.0)
    assert bars[-1].last == 4000
    assert len(rows(chart)) == 4001
    assert chart.count("<tr>") == TABLE_ROWS + 1


def test_timeline_takes_steps_and_compact_ones_alike() -> None:
    steps = [Step(i, 0.1 * i, (), (), 3, 1, None, 0.01, 0.05) for i in range(5)]
    assert timeline(steps) == timeline([compact(s) for s in steps])


def test_timeline_without_a_split_draws_the_whole_step() -> None:
    chart = checked(timeline(timings(9, split=False)))
    assert "no split" in chart
    assert {path.get("class") for path in drawing(chart).iter("path")} == {"step_time", "drafted", "accepted"}


def test_overhead_is_what_is_left_of_the_step() -> None:
    bar = charts._bars(timings(3))[1]
    assert bar.whole - (bar.draft or 0) - (bar.verify or 0) == pytest.approx(1.0)


def test_one_outlier_does_not_flatten_the_rest() -> None:
    slow = [*timings(100), StepTiming(101, 60.0, 5, 0, 1, 0.004, 57.0)]
    assert "▲" in timeline(slow)
    assert charts._limit([25.0] * 100 + [57_000.0]) == pytest.approx(37.5)


def test_no_steps_yet() -> None:
    for found in ([], timings(0)):
        assert "No decode steps" in checked(timeline(found))


def test_a_live_chart_leaves_out_its_table() -> None:
    assert "data:text/csv" not in timeline(timings(400), live=True)
    assert "<summary>" in timeline(timings(400), live=True)


# ---------------------------------------------------------------- device


def sample(at: float, device: str = "cuda:0", **readings: Any) -> GpuSample:
    return GpuSample(at, device, readings.pop("name", "NVIDIA H200"), **readings)


def test_device_draws_what_is_there_and_says_what_is_not() -> None:
    """CASES 28: "n/a", never 0."""
    chart = checked(device_chart([sample(i / 2, utilisation=80.0, power=300.0) for i in range(20)], 1.25))
    assert len(list(drawing(chart).iter("polyline"))) == 2
    assert chart.count("n/a: the device does not report it") == 4
    assert "1.25 J per token" in chart
    assert rows(chart)[0]["temperature"] == ""


def test_device_of_a_machine_without_gpu_is_labelled() -> None:
    chart = checked(device_chart([sample(float(i), "cpu", name="EPYC", utilisation=50.0) for i in range(3)]))
    assert "No GPU readings" in chart
    assert "no energy counter" in chart


def test_several_devices_have_a_line_each() -> None:
    samples = [sample(float(i), f"cuda:{d}", utilisation=10.0 * d) for i in range(5) for d in range(3)]
    curves = {e.get("class") for e in drawing(device_chart(samples)).iter("polyline")}
    assert curves == {"curve device-0", "curve device-1", "curve device-2"}


def test_device_names_are_text() -> None:
    """CASES 27; and a name that begins like a formula stays text in a spreadsheet."""
    chart = checked(device_chart([sample(0.0, "=cmd()", name=NASTY, utilisation=1.0)]))
    assert rows(chart)[0]["device"] == "'=cmd()"


def test_one_sample_and_none() -> None:
    drawing(checked(device_chart([sample(0.0, utilisation=0.0)])))
    assert "No device was sampled" in checked(device_chart([]))


def test_many_samples_are_thinned() -> None:
    chart = device_chart([sample(i / 10, utilisation=float(i % 100)) for i in range(6000)])
    points = next(drawing(chart).iter("polyline")).get("points", "").split()
    assert len(points) <= 300


# ---------------------------------------------------------------- why


def test_why_names_what_ate_most_and_what_to_try() -> None:
    c = comparison(acceptance=0.2)
    chart = checked(why(c))
    assert "Rejected drafts cost the most" in chart
    assert "num_speculative_tokens" in chart
    found = {row["part"]: row for row in rows(chart)}
    assert float(found["measured"]["reached"]) == pytest.approx(c.speedup)
    product = math.prod(float(found[part]["multiplier"]) for part in ("acceptance", "verify", "draft", "overhead"))
    assert float(found["ideal"]["reached"]) * product == pytest.approx(c.speedup)


def test_why_blames_drafting_where_drafting_is_dear() -> None:
    assert "Drafting cost the most" in why(comparison(draft_cost=3.0, acceptance=0.95))


def test_why_half_way_is_so_far() -> None:
    assert "so far" in why(comparison(finish=False))
    assert "so far" not in why(comparison())


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (lambda: None, "Once both arms have run"),
        (lambda: Comparison(), "Once both arms have run"),
        (lambda: comparison(no_draft=1.0, split=False), "nothing to gain"),
        (lambda: comparison(split=False), "does not report"),
    ],
)
def test_why_says_why_it_cannot_say(found: Any, words: str) -> None:
    chart = checked(why(found()))
    assert words in chart
    assert "<svg" not in chart


# ---------------------------------------------------------------- pieces


@pytest.mark.parametrize(("top", "last"), [(30, 30), (31, 40), (0.8, 0.8), (6, 6), (1e-3, 1e-3), (0, 1)])
def test_ticks_are_round_and_reach_the_top(top: float, last: float) -> None:
    found = ticks(top)
    assert found[0] == 0
    assert found[-1] == pytest.approx(last)
    assert 2 <= len(found) <= 7


def test_tables_say_na_and_csv_leaves_empty() -> None:
    found = str(table("t", ("step", "at"), [(1, None)]))
    assert "<td>n/a</td>" in found
    assert rows(found) == [{"step": "1", "at": ""}]


# ---------------------------------------------------------------- the inspector's payload


def cand(text: str, prob: float, id: int = 1) -> Candidate:
    return Candidate(id, text, prob, 10 * prob)


REJECTING = Step(
    4,
    1.5,
    (Token(1, " the", "accepted", 0.8, 0.7), Token(2, " cat", "recovered", 0.62)),
    (Token(3, " dog", "rejected", 0.03, 0.5), Token(4, " ran", "rejected", None, 0.4)),
    num_draft_tokens=3,
    num_accepted_tokens=1,
    draft_seconds=0.003,
    verify_seconds=0.02,
    logit_gaps=(1.5, 2.5),
    target_candidates=((cand(" the", 0.8, 1),), (cand(" cat", 0.62, 2), cand(" dog", 0.03, 3))),
    draft_candidates=((cand(" the", 0.7, 1),), (cand(" dog", 0.5, 3),), (cand(" ran", 0.4, 4),)),
)


def test_the_payload_puts_drafted_and_verified_side_by_side() -> None:
    payload = step_payload(REJECTING, "once upon", greedy=True)
    assert json.loads(json.dumps(payload)) == payload
    assert [p["drafted"]["fate"] for p in payload["positions"]] == ["accepted", "rejected", "discarded"]
    assert [p["delivered"] and p["delivered"]["text"] for p in payload["positions"]] == [" the", " cat", None]
    assert [p["reason"] for p in payload["positions"]] == ["greedy_accepted", "greedy_rejected", "discarded"]
    assert payload["positions"][1]["words"] == {
        "best": {"token": " cat", "prob": 0.62},
        "draft": {"token": " dog", "prob": 0.03},
    }
    assert [p["gap"] for p in payload["positions"]] == [1.5, 2.5, None]


def test_a_sampled_steps_reason_is_the_accept_test() -> None:
    payload = step_payload(REJECTING, greedy=False)
    assert [p["reason"] for p in payload["positions"]] == ["sampled_accepted", "sampled_rejected", "discarded"]
    assert payload["positions"][0]["words"]["accept"]["prob"] == 1.0
    assert payload["positions"][1]["words"]["accept"]["prob"] == pytest.approx(0.06)


def test_the_bonus_token_has_a_column_of_its_own() -> None:
    full = Step(1, 0.5, (Token(1, "a", "accepted"), Token(2, "b", "bonus")), (), 1, 1)
    payload = step_payload(full)
    assert [p["reason"] for p in payload["positions"]] == ["accepted_bare", "bonus"]
    assert payload["positions"][1]["drafted"] is None


def test_accepted_drafts_beyond_the_end_are_marked_as_not_delivered() -> None:
    """CASES 9: EOS accepted mid-block."""
    cut = Step(1, 0.5, (Token(2, "", "accepted"),), (), 4, 3, "eos")
    payload = step_payload(cut, greedy=True)
    assert [p["reason"] for p in payload["positions"]][:3] == ["greedy_accepted_bare", "cut", "cut"]
    assert payload["positions"][0]["eos"]
    assert not payload["positions"][1]["drafted"]["known"]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (Step(0, 0.1, (Token(1, "a", "target"),)), "prefill"),
        (Step(3, 0.1, (Token(1, "a", "target"),)), "target"),
    ],
)
def test_steps_without_drafts(found: Step, reason: str) -> None:
    payload = step_payload(found)
    assert [p["reason"] for p in payload["positions"]] == [reason]


def test_a_draft_the_engine_cannot_name() -> None:
    found = replace(REJECTING, rejected=(Token(UNKNOWN_TOKEN_ID, "", "rejected"),), num_draft_tokens=2)
    drafted = step_payload(found)["positions"][1]["drafted"]
    assert not drafted["known"]


def test_the_text_before_is_cut_to_its_end() -> None:
    payload = step_payload(REJECTING, "x" * 10_000)
    assert len(payload["prefix"]) < 300
    assert payload["cut"]


def test_every_reason_has_its_words() -> None:
    from playground.ui.i18n import STRINGS

    for found in (REJECTING, replace(REJECTING, target_candidates=()), Step(1, 0.1, (), (), 2, 2, "stop")):
        for greedy in (True, False, None):
            for position in step_payload(found, greedy=greedy)["positions"]:
                assert f"inspector.why.{position['reason']}" in STRINGS


def test_the_step_source_is_asked() -> None:
    set_step_source(lambda arguments: {"asked": arguments})
    assert step(["run", 4]) == {"asked": ["run", 4]}
    set_step_source(lambda _: None)
