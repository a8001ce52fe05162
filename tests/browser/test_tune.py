"""The Tune tab in a browser: the curve, the recommendation, one click to keep it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Board

pytestmark = pytest.mark.browser

Tab = Callable[..., Any]


def tune(page: Any) -> None:
    page.locator("[data-tab-id=tune]").click()
    page.locator("#tune-start").wait_for()


def fill(page: Any, **values: str) -> None:
    for name, value in values.items():
        box = page.locator(f"#tune-{name.replace('_', '-')} :is(input, textarea)").first
        box.fill(value)
        box.press("Tab")


def test_a_tuning_from_start_to_preset(board: Board, tab: Tab) -> None:
    page = tab()
    tune(page)
    fill(page, count="12", max_tokens="24", ks="2,6")
    page.locator("#tune-start").click()
    page.locator("#tune-stop:not(:disabled)").wait_for()
    page.locator("#tune-start:not(:disabled)").wait_for()
    report = page.locator("#tune-report")
    report.locator(".b-verdict").wait_for()
    assert report.locator("svg.db-svg .ring").count() >= 2
    page.locator("#tune-save").click()
    page.wait_for_function("document.querySelector('#tune-name :is(input, textarea)').value.startsWith('tuned-')")
    name = page.locator("#tune-name :is(input, textarea)").input_value()
    assert (board.data / "presets" / f"{name}.yaml").is_file()


def test_what_is_wrong_is_said(tab: Tab) -> None:
    page = tab()
    tune(page)
    fill(page, options="nonsense")
    page.locator("#tune-start").click()
    page.locator("#tune-report .b-problem", has_text="no OPTION").wait_for()
