"""The page as a whole: first screen, languages, light and dark, keyboard, and that it talks to nobody else."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Board, ask, finished, text_of

pytestmark = pytest.mark.browser

Tab = Callable[..., Any]

FOCUSED = """() => {
  const e = document.activeElement, s = getComputedStyle(e);
  const ring = (node) => getComputedStyle(node).outlineStyle !== "none" || getComputedStyle(node).boxShadow !== "none";
  const near = [e, e.parentElement, e.closest("label"), e.closest(".wrap")].filter(Boolean);
  return [e.id || e.closest("[id]")?.id || e.tagName, near.some(ring) || e.matches("input, textarea")];
}"""
"""What has the focus, and whether that can be seen."""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 800), (1920, 1080)])
def test_the_first_screen_holds_everything(tab: Tab, width: int, height: int) -> None:
    page = tab()
    page.set_viewport_size({"width": width, "height": height})
    for part in ("#topleft", "#chip", "#prompt", "#run", "#examples", "#strip", "#panes", "#below > .tab-wrapper"):
        box = page.locator(part).bounding_box()
        assert box is not None, part
        assert box["x"] >= 0, part
        assert box["y"] >= 0, part
        assert box["x"] + box["width"] <= width, part
        assert box["y"] + box["height"] <= height, part
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_run_moves_nothing(tab: Tab) -> None:
    page = tab()
    parts = ("#strip", "#pane-baseline", "#pane-speculative", "#below")
    page.locator("#prompt textarea").fill("Hello")
    before = [page.locator(part).bounding_box() for part in parts]
    page.keyboard.press("Control+Enter")
    page.locator("#run:disabled").wait_for()
    during = [page.locator(part).bounding_box() for part in parts]
    finished(page)
    after = [page.locator(part).bounding_box() for part in parts]
    for part, *boxes in zip(parts, before, during, after, strict=True):
        places = {(box["x"], box["y"], box["width"]) for box in boxes if box}
        assert len(places) == 1, (part, places)


def test_every_tab_changes_its_language(tab: Tab) -> None:
    page = tab()
    tabs = page.locator('[role="tab"][data-tab-id]')
    english = tabs.all_inner_texts()
    page.locator("#language").click()
    page.wait_for_function("document.documentElement.lang === 'zh-CN'")
    page.locator("[data-tab-id=tune]", has_text="调优").wait_for()
    assert not [text for text in tabs.all_inner_texts() if text.isascii()]
    page.locator("[data-tab-id=history]").click()
    page.locator("#language").click()
    page.locator("[data-tab-id=tune]", has_text="Tune").wait_for()
    assert tabs.all_inner_texts() == english


def test_the_language_changes_everywhere_at_once_and_is_remembered(tab: Tab) -> None:
    page = tab()
    assert page.locator("#run").inner_text() == "Run"
    page.locator("#language").click()
    page.get_by_role("button", name="运行", exact=True).wait_for()
    assert page.locator("#ctl-sampling-temperature label").inner_text().startswith("温度")
    assert "不用推测解码" in page.locator("#pane-baseline").inner_text()
    assert page.locator("#fold").get_attribute("aria-label") == "折叠或展开设置"
    page.locator("[data-tab-id=history]").click()
    assert page.locator("#history .h-search").get_attribute("placeholder").startswith("搜索")
    page.reload()
    page.get_by_role("button", name="运行", exact=True).wait_for()
    page.locator("#language").click()
    page.get_by_role("button", name="Run", exact=True).wait_for()


def test_light_and_dark_are_remembered(tab: Tab) -> None:
    page = tab()
    assert not page.evaluate("document.body.classList.contains('dark')")
    page.locator("#dark").click()
    assert page.evaluate("document.body.classList.contains('dark')")
    page.reload()
    page.locator("#run").wait_for()
    assert page.evaluate("document.body.classList.contains('dark')")


def test_without_a_choice_the_system_decides_between_light_and_dark(tab: Tab) -> None:
    assert tab(color_scheme="dark").evaluate("document.body.classList.contains('dark')")


def test_the_settings_fold_away_and_stay_folded(tab: Tab) -> None:
    page = tab()
    wide = page.locator("#stage").bounding_box()["width"]
    page.locator("#fold").click()
    assert not page.locator("#column").is_visible()
    assert page.locator("#stage").bounding_box()["width"] > wide + 200
    page.reload()
    page.locator("#run").wait_for()
    assert not page.locator("#column").is_visible()


def test_everything_can_be_reached_and_seen_by_keyboard(tab: Tab) -> None:
    page = tab()
    seen, unseen = set(), []
    page.locator("body").focus()
    for _ in range(70):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUSED)
        seen.add(found[0])
        if not found[1] and found[0] != "BODY":
            unseen.append(found[0])
    assert {"fold", "language", "dark", "run", "prompt", "ctl-preset", "ctl-target"} <= seen
    assert not unseen


def test_a_control_explains_itself(tab: Tab) -> None:
    page = tab()
    page.locator("#ctl-sampling-top-k").hover()
    page.locator("#tip:not([hidden])").wait_for()
    assert page.locator("#tip").inner_text() == "Keep the k most likely tokens; 0 keeps all."


def test_the_run_goes_on_while_another_tab_is_looked_at(tab: Tab) -> None:
    page = tab()
    ask(page)
    page.locator("[data-tab-id=history]").click()
    page.locator("#history tbody tr").first.wait_for()
    page.locator("[data-tab-id=compare]").click()
    finished(page)
    assert text_of(page, "baseline") == text_of(page, "speculative") != ""


def test_the_chip_names_engine_target_and_state(board: Board, tab: Tab) -> None:
    page = tab()
    page.locator("#chip[data-state=idle]").wait_for()
    assert page.locator("#chip").inner_text().strip().startswith("scripted · smollm2-135m · idle")
