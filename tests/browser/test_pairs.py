"""The Pairs tab in a browser: choosing shows the verdict, refusals are said, a pair goes over to Compare."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.conftest import Board, pick
from tests.pair_folders import model, swapped

pytestmark = pytest.mark.browser

Tab = Callable[..., Any]


@pytest.fixture(scope="module")
def models(board: Board) -> Iterator[None]:
    """Three small folders in the application's own folder of models, for this file's tests only."""
    import shutil

    folder = board.data / "models"
    model(folder, "pairs-target", numbers=90_000)
    model(folder, "pairs-small", context=32)
    model(folder, "pairs-swapped", words=swapped(7, 9))
    yield
    for name in ("pairs-target", "pairs-small", "pairs-swapped"):
        shutil.rmtree(folder / name)


def opened(tab: Tab) -> Any:
    page = tab()
    page.locator("[data-tab-id=pairs]").click()
    page.locator("#pairs-catalogue .p-known").wait_for()
    return page


def verdict(page: Any, words: str) -> None:
    page.locator("#pairs-view .p-verdict", has_text=words).wait_for()


def test_choosing_two_models_shows_what_speaks_for_and_against(tab: Tab, models: None) -> None:
    page = opened(tab)
    page.locator("#pairs-view .p-empty").wait_for()
    pick(page, "pairs-target", "pairs-target")
    pick(page, "pairs-draft", "pairs-small")
    verdict(page, "works, with care")
    assert "reads 32 tokens" in page.locator("#pairs-view").inner_text()
    assert page.locator("#pairs-view .p-engines tr").count() == 5
    pick(page, "pairs-draft", "pairs-swapped")
    verdict(page, "does not work")
    assert "the first is 7: target “w7”, draft “w9”" in page.locator("#pairs-view .p-verdict").inner_text()
    page.locator("#language").click()
    verdict(page, "这对模型不可用")
    page.locator("#language").click()


def test_the_catalogue_shows_this_machine_and_the_public_pairs(tab: Tab, models: None) -> None:
    page = opened(tab)
    group = page.locator("#pairs-catalogue .p-group", has_text="pairs-target")
    assert "pairs-small" in group.inner_text()
    assert "pairs-swapped" not in group.inner_text()
    assert page.locator("#pairs-catalogue .p-known", has_text="untested").count() == 1


def test_a_test_of_what_cannot_work_says_why(tab: Tab, models: None) -> None:
    page = opened(tab)
    pick(page, "pairs-target", "pairs-target")
    pick(page, "pairs-draft", "pairs-swapped")
    verdict(page, "does not work")
    page.locator("#pairs-start").click()
    page.locator("#pairs-trial .p-problem", has_text="first is 7").wait_for()
    page.locator("#pairs-start:not(:disabled)").wait_for()


def test_a_pair_is_used_in_compare(tab: Tab, models: None) -> None:
    page = opened(tab)
    pick(page, "pairs-target", "pairs-target")
    pick(page, "pairs-draft", "pairs-small")
    verdict(page, "works")
    page.locator("#pairs-use").click()
    page.locator("#run").wait_for(state="visible")
    for name, value in (("target", "pairs-target"), ("speculation-model", "pairs-small")):
        script = "([id, value]) => document.querySelector(`#ctl-${id} input`)?.value === value"
        page.wait_for_function(script, arg=[name, value])
    refused = page.locator("#compatible .pair-refused")
    refused.locator("summary").click()
    assert "pairs-swapped" in refused.inner_text()
    page.locator("#ctl-speculation-model input").click()
    offered = page.get_by_role("option").all_inner_texts()
    assert any("pairs-small" in text for text in offered)
    assert not any("pairs-swapped" in text for text in offered)


def test_a_wrong_context_is_said_where_the_report_stands(tab: Tab, models: None) -> None:
    page = opened(tab)
    pick(page, "pairs-target", "pairs-target")
    pick(page, "pairs-draft", "pairs-small")
    verdict(page, "works")
    field = page.locator("#pairs-context input, #pairs-context textarea").first
    field.fill("many")
    page.locator("#pairs-examine").click()
    page.locator("#pairs-view .p-problem", has_text="no number of tokens").wait_for()
