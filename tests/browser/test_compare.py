"""The Compare tab in a browser: run, stop, fail, queue, and text that tries to break the page."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Board, ask, choose, finished, pane_state, text_of

pytestmark = pytest.mark.browser

Tab = Callable[..., Any]


def test_a_comparison_from_prompt_to_verdict(board: Board, tab: Tab) -> None:
    page = tab()
    before = board.runs().total
    ask(page)
    finished(page)
    baseline = text_of(page, "baseline")
    assert len(baseline) > 100
    assert text_of(page, "speculative") == baseline
    assert page.locator("#pane-speculative .a").count() > 0
    assert page.locator("#pane-baseline .a").count() == 0
    strip = page.locator("#strip").inner_text()
    assert "×" in strip
    assert "identical" in strip
    runs = board.runs()
    assert runs.total == before + 2
    assert {run.arm for run in runs.rows[:2]} == {"baseline", "speculative"}
    assert runs.rows[0].prompt == "Tell me about drafts."


def test_one_arm_alone(board: Board, tab: Tab) -> None:
    page = tab()
    before = board.runs().total
    page.locator("#arms label").nth(2).click()
    ask(page)
    finished(page)
    assert text_of(page, "baseline")
    assert not text_of(page, "speculative")
    assert board.runs().total == before + 1
    assert board.runs().rows[0].method is None


def test_stop_leaves_what_there_is_and_says_so(board: Board, tab: Tab) -> None:
    """CASES 26"""
    page = tab()
    choose(page, "slow")
    ask(page)
    page.locator("#pane-baseline .db-pane-box span").nth(10).wait_for()
    page.locator("#stop").click()
    finished(page)
    assert pane_state(page, "baseline") == "stopped"
    assert "partial" in page.locator("#pane-baseline .db-pane-foot").inner_text()
    assert len(text_of(page, "baseline")) > 10
    assert [run.status for run in board.runs().rows[:2]] == ["cancelled", "cancelled"]
    choose(page, "default")
    ask(page)
    finished(page)
    assert text_of(page, "baseline") == text_of(page, "speculative") != ""


def test_a_closed_tab_ends_its_run(board: Board, tab: Tab) -> None:
    """CASES 26"""
    page = tab()
    choose(page, "slow")
    ask(page)
    page.locator("#pane-baseline .db-pane-box span").nth(5).wait_for()
    page.close()
    deadline = time.monotonic() + 20
    while board.runs(status="running").total and time.monotonic() < deadline:
        time.sleep(0.1)
    assert board.runs().rows[0].status == "cancelled"


def test_the_second_of_two_sees_its_place_and_then_runs(board: Board, tab: Tab) -> None:
    """CASES 30"""
    first, second = tab(), tab()
    choose(first, "slow")
    ask(first, "The first one's prompt")
    first.locator("#pane-baseline .db-pane-box span").nth(3).wait_for()
    ask(second, "The second one's prompt")
    second.locator("#pane-baseline .db-pane[data-state=queued]").wait_for()
    assert "next" in second.locator("#pane-baseline .db-pane-state").inner_text()
    first.locator("#stop").click()
    finished(first)
    finished(second)
    assert text_of(second, "baseline") == text_of(second, "speculative") != ""
    assert text_of(first, "baseline") != text_of(second, "baseline")
    prompts = {run.prompt for run in board.runs().rows[:4]}
    assert prompts == {"The first one's prompt", "The second one's prompt"}


def test_hostile_text_stays_text(tab: Tab) -> None:
    """CASES 27. That no script ran and no image was fetched is what `tab` checks afterwards."""
    page = tab()
    choose(page, "hostile")
    ask(page, "</textarea><script>alert(1)</script> ${alert(1)} {{alert(1)}}")
    finished(page)
    shown = text_of(page, "speculative")
    for piece in ("<b>", "</span><script>", "${x}", "{{x}}", "<img src=x onerror=alert(1)>", "&amp;", "```python"):
        assert piece in shown
    assert page.locator("#panes img, #panes script, #strip img").count() == 0
    page.locator("[data-tab-id=history]").click()
    page.locator("#history tbody tr").first.wait_for()
    assert "<script>alert(1)</script> ${alert(1)} {{alert(1)}}" in page.locator("#history tbody tr").first.inner_text()


@pytest.mark.parametrize(
    ("name", "said"), [("mid-run-failure", "half-way"), ("load-failure", "cannot be loaded"), ("crash", "killed")]
)
def test_a_failed_run_says_why_and_the_next_one_works(board: Board, tab: Tab, name: str, said: str) -> None:
    """CASES 29"""
    page = tab()
    choose(page, name)
    ask(page)
    finished(page)
    assert pane_state(page, "baseline") == "failed"
    assert said in page.locator("#pane-baseline .db-pane-state").inner_text()
    assert board.runs().rows[-1].status
    choose(page, "default")
    ask(page)
    finished(page)
    assert text_of(page, "baseline") == text_of(page, "speculative") != ""


def test_settings_that_contradict_each_other_are_refused_by_name(board: Board, tab: Tab) -> None:
    page = tab()
    before = board.runs().total
    page.locator("#column .fold-button").first.click()
    page.locator("#ctl-sampling-min-tokens input").fill("500")
    page.locator("#prompt textarea").fill("Hello")
    page.keyboard.press("Control+Enter")
    page.locator("#pane-speculative .db-pane[data-state=failed]").wait_for()
    assert "min_tokens (500) must not exceed max_tokens" in page.locator("#pane-speculative").inner_text()
    assert board.runs().total == before


def test_an_empty_prompt_is_refused_with_the_way_out(tab: Tab) -> None:
    page = tab()
    page.locator("#run").click()
    page.locator("#pane-speculative .db-pane[data-state=failed]").wait_for()
    assert "click an example" in page.locator("#pane-speculative").inner_text()


def test_an_example_fills_the_prompt_and_a_second_click_shows_another(tab: Tab) -> None:
    page = tab()
    box = page.locator("#prompt textarea")
    page.locator("#pane-baseline .db-state-action").click()
    page.wait_for_function("document.querySelector('#prompt textarea').value !== ''")
    first = box.input_value()
    page.locator("#examples button").first.click()
    page.wait_for_function("(first) => document.querySelector('#prompt textarea').value !== first", arg=first)
    assert len(box.input_value()) > 20


def test_a_token_opens_its_step(tab: Tab) -> None:
    page = tab()
    ask(page)
    finished(page)
    page.locator("#pane-speculative .db-pane-box .a").first.click()
    page.locator("#below [data-tab-id=inspector][aria-selected=true]").wait_for()
    page.wait_for_function("document.querySelector('#inspector').innerText.length > 40")
