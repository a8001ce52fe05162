"""The History tab in a browser: find, open, replay, compare, note, delete, take out and bring back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Board, ask, choose, finished, pane_state, text_of

pytestmark = pytest.mark.browser

Tab = Callable[..., Any]


def run(page: Any, prompt: str) -> None:
    ask(page, prompt)
    finished(page)


def history(page: Any, search: str = "") -> Any:
    """The table's lines, once it has been searched."""
    page.locator("[data-tab-id=history]").click()
    page.locator("#history tbody tr").first.wait_for()
    if search:
        page.locator("#history .h-search").fill(search)
        every = "(s) => [...document.querySelectorAll('#history tbody tr')].every((r) => r.innerText.includes(s))"
        page.wait_for_function(every, arg=search)
    return page.locator("#history tbody tr")


def test_search_sort_note_and_delete(board: Board, tab: Tab) -> None:
    page = tab()
    run(page, "zebra one")
    run(page, "zebra two")
    lines = history(page, "zebra")
    assert lines.count() == 4
    page.locator("#history th[data-field=tokens_per_second] button").click()
    page.locator("#history th[aria-sort=descending][data-field=tokens_per_second]").wait_for()
    page.wait_for_function("document.querySelector('#history tbody tr').innerText.includes('ngram')")
    lines.first.locator(".h-note").click()
    page.keyboard.type("the <b>fast</b> one")
    page.keyboard.press("Enter")
    lines.first.locator(".h-note", has_text="the <b>fast</b> one").wait_for()
    assert board.runs(search="fast").total == 1
    lines.first.locator("input[type=checkbox]").check()
    page.locator("#history .h-remove").first.click()
    page.get_by_role("button", name="Keep").click()
    assert board.runs(search="zebra").total == 4
    page.locator("#history .h-remove").first.click()
    page.locator("dialog .h-remove").click()
    page.wait_for_function("document.querySelectorAll('#history tbody tr').length === 3")
    assert board.runs(search="zebra").total == 3


def test_a_recorded_run_opens_without_the_engine(board: Board, tab: Tab) -> None:
    page = tab()
    run(page, "walrus")
    shown = text_of(page, "speculative")
    other = tab()
    history(other, "walrus").first.locator("a").click()
    other.locator("#pane-speculative .db-pane[data-state=done]").wait_for()
    finished(other)
    assert text_of(other, "speculative") == text_of(other, "baseline") == shown
    assert "RECORDED" in other.locator("#pane-baseline").inner_text()
    assert other.locator("#prompt textarea").input_value() == "walrus"
    assert "×" in other.locator("#strip").inner_text()


def test_a_permalink_shows_its_run_and_a_wrong_one_says_so(board: Board, tab: Tab) -> None:
    page = tab()
    run(page, "heron")
    shown = text_of(page, "speculative")
    page.get_by_role("button", name="Copy link").first.click()
    page.locator("#toast.shown").wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    other = tab(link.removeprefix(board.url))
    other.locator("#pane-speculative .db-pane[data-state=done]").wait_for()
    assert text_of(other, "speculative") == text_of(other, "baseline") == shown
    wrong = tab("?run=nothing-like-this")
    wrong.locator("#pane-speculative .db-pane[data-state=failed]").wait_for()
    assert "There is no run" in wrong.locator("#pane-speculative").inner_text()


def test_a_replay_keeps_its_own_time_and_can_be_stopped(board: Board, tab: Tab) -> None:
    page = tab()
    choose(page, "slow")
    ask(page, "tortoise")
    page.locator("#pane-baseline .db-pane-box span").nth(200).wait_for()
    page.locator("#stop").click()
    finished(page)
    before = board.runs().total
    page.locator("#replay").click()
    page.locator("#pane-baseline .db-pane-badge b").wait_for()
    page.locator("#pane-baseline .db-pane-box span").nth(3).wait_for()
    page.locator("#stop").click()
    finished(page)
    assert pane_state(page, "baseline") == "stopped"
    assert "RECORDED" in page.locator("#pane-baseline").inner_text()
    assert board.runs().total == before


def test_a_run_replaces_a_replay_of_the_same_tab(tab: Tab) -> None:
    page = tab()
    run(page, "swift")
    history(page, "swift")
    page.locator("#history tbody input[type=checkbox]").first.check()
    page.locator("#history .h-replay").first.click()
    page.locator("#pane-baseline .db-pane-badge b").wait_for()
    page.locator("#run:not(:disabled)").wait_for()
    run(page, "swallow")
    assert "RECORDED" not in page.locator("#pane-baseline").inner_text()


def test_any_two_runs_stand_side_by_side(board: Board, tab: Tab) -> None:
    page = tab()
    run(page, "otter")
    choose(page, "three")
    run(page, "otter")
    lines = history(page, "otter")
    for line in lines.filter(has_text="ngram").all():
        line.locator("input[type=checkbox]").check()
    page.locator("#history .h-compare").first.click()
    page.locator("#pane-speculative .db-pane[data-state=done] .db-pane-badge b").wait_for()
    finished(page)
    assert page.locator("#pane-baseline .a").count() > 0
    assert "identical" in page.locator("#strip").inner_text()


def test_runs_leave_as_jsonl_and_csv_and_come_back(board: Board, tab: Tab, tmp_path: Path) -> None:
    page = tab()
    run(page, "lynx, with a comma")
    lines = history(page, "lynx")
    for line in lines.all():
        line.locator("input[type=checkbox]").check()
    with page.expect_download() as download:
        page.locator("#history .h-csv").first.click()
    assert "lynx" in Path(download.value.path()).read_text(encoding="utf-8")
    with page.expect_download() as download:
        page.locator("#history .h-jsonl").first.click()
    file = tmp_path / "runs.jsonl"
    download.value.save_as(file)
    prompts = [json.loads(line)["prompt"] for line in file.read_text(encoding="utf-8").splitlines()]
    assert prompts == ["lynx, with a comma"] * 2
    ids = [run.run_id for run in board.runs(search="lynx").rows]
    page.locator("#history .h-remove").first.click()
    page.locator("dialog .h-remove").click()
    page.locator("#history .h-empty", has_text="No run matches").wait_for()
    page.locator("#history-files input[type=file]").set_input_files(file)
    page.wait_for_function("document.querySelectorAll('#history tbody tr').length === 2")
    assert sorted(run.run_id for run in board.runs(search="lynx").rows) == sorted(ids)
    (tmp_path / "bad.jsonl").write_text("{}\n")
    page.locator("#history-files input[type=file]").set_input_files(tmp_path / "bad.jsonl")
    page.locator("#history-imported .problem").wait_for()
