"""The Benchmark tab in a browser: start, watch, stop, resume, files; in both languages; what runs outlives its tab."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Board

pytestmark = pytest.mark.browser

Tab = Callable[..., Any]


def bench(page: Any) -> None:
    page.locator("[data-tab-id=bench]").click()
    page.locator("#bench-start").wait_for()


def fill(page: Any, **values: str) -> None:
    for name, value in values.items():
        box = page.locator(f"#bench-{name.replace('_', '-')} :is(input, textarea)").first
        box.fill(value)
        box.press("Tab")


def begin(page: Any) -> None:
    page.locator("#bench-start").click()
    page.locator("#bench-stop:not(:disabled)").wait_for()


def ended(page: Any) -> None:
    page.locator("#bench-start:not(:disabled)").wait_for()


def benchmarks(board: Board) -> list[Any]:
    store = board.store()
    try:
        return store.benchmarks.listed("bench")
    finally:
        store.close()


def test_a_benchmark_from_start_to_files(board: Board, tab: Tab, tmp_path: Path) -> None:
    page = tab()
    bench(page)
    assert "press Start" in page.locator("#bench-report").inner_text()
    fill(page, count="6", max_tokens="10", levels="1,2")
    begin(page)
    page.locator("#bench-progress progress").first.wait_for()
    ended(page)
    report = page.locator("#bench-report")
    report.locator(".b-verdict").wait_for()
    assert report.locator("svg.db-svg").count() == 3
    assert "Finished" in page.locator("#bench-progress").inner_text()
    for ending, holds in (("md", "# Benchmark"), ("csv", "item,turn"), ("json", "{"), ("html", "<!doctype html>")):
        with page.expect_download() as download:
            page.locator(f"#bench-{ending}").click()
        assert Path(download.value.path()).read_text(encoding="utf-8").startswith(holds)
        assert download.value.suggested_filename == f"draftboard-benchmark.{ending}"
        if ending == "json":
            found = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert found["speedup"]["n"] == 6
    assert benchmarks(board)[0].benchmark_id == found["benchmark_id"]


def test_stop_keeps_what_is_done_and_resume_goes_on(board: Board, tab: Tab) -> None:
    page = tab()
    bench(page)
    fill(page, count="8", max_tokens="40")
    begin(page)
    page.wait_for_function("+document.querySelector('#bench-progress progress')?.value >= 3")
    page.locator("#bench-stop").click()
    ended(page)
    assert "can be resumed" in page.locator("#bench-progress").inner_text()
    assert benchmarks(board)[0].status == "cancelled"
    page.locator("#bench-resume").click()
    page.locator("#bench-stop:not(:disabled)").wait_for()
    ended(page)
    assert benchmarks(board)[0].status == "done"


def test_it_goes_on_when_its_tab_is_closed_and_another_can_stop_it(board: Board, tab: Tab) -> None:
    page = tab()
    bench(page)
    fill(page, count="40", max_tokens="60", repeats="9")
    begin(page)
    page.wait_for_function("+document.querySelector('#bench-progress progress')?.value >= 1")
    page.close()
    other = tab()
    bench(other)
    other.locator("#bench-stop:not(:disabled)").wait_for()
    assert benchmarks(board)[0].status == "running"
    other.locator("#bench-report .b-verdict").wait_for()
    other.locator("#bench-stop").click()
    ended(other)
    assert benchmarks(board)[0].status == "cancelled"


def test_refusals_stand_where_the_report_would(tab: Tab) -> None:
    page = tab()
    bench(page)
    fill(page, levels="two")
    page.locator("#bench-start").click()
    page.locator("#bench-report .b-problem", has_text="no list of numbers").wait_for()


def test_a_file_of_ones_own(board: Board, tab: Tab, tmp_path: Path) -> None:
    page = tab()
    bench(page)
    (tmp_path / "mine.jsonl").write_text('{"prompt": "One"}\n{"prompt": "Two"}\n')
    with page.expect_file_chooser() as chooser:
        page.locator("#bench-file").click()
    chooser.value.set_files(tmp_path / "mine.jsonl")
    page.wait_for_function("document.querySelector('#bench-suite input').value === 'mine.jsonl'")
    fill(page, max_tokens="8")
    begin(page)
    ended(page)
    assert "mine.jsonl" in benchmarks(board)[0].title
    (tmp_path / "bad.jsonl").write_text('{"promt": "One"}\n')
    with page.expect_file_chooser() as chooser:
        page.locator("#bench-file").click()
    chooser.value.set_files(tmp_path / "bad.jsonl")
    page.get_by_text("its keys are promt").first.wait_for()


def test_chinese(tab: Tab) -> None:
    page = tab()
    bench(page)
    page.locator("#language").click()
    page.locator("#bench-start", has_text="开始").wait_for()
    assert "每个提示词" in page.locator("#bench-report").inner_text()
