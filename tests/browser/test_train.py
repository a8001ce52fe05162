"""The Train tab in a browser: a training started, followed, left and found again, stopped, continued, used."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import tiny
from tests.browser.conftest import SECONDS, Board, pick

pytestmark = pytest.mark.browser

Tab = Callable[..., Any]


@pytest.fixture(scope="module")
def target(board: Board) -> str:
    """A tiny model among the application's own."""
    tiny.make_model(board.data / "models" / "tiny-target", max_position_embeddings=256)
    return "tiny-target"


def opened(page: Any) -> None:
    page.get_by_role("tab", name="Train").click()
    page.locator("#train-start").wait_for()


def fill(page: Any, target: str, name: str, **numbers: int) -> None:
    pick(page, "train-target", target)
    page.locator("#train-name textarea, #train-name input").fill(name)
    for field, value in numbers.items():
        page.locator(f"#train-{field} input").fill(str(value))
        page.keyboard.press("Tab")


def says(page: Any, text: str) -> None:
    page.locator("#train-view").get_by_text(text).first.wait_for(timeout=5 * SECONDS)


def test_it_says_what_it_is_and_what_is_wrong(tab: Tab) -> None:
    page = tab()
    opened(page)
    says(page, "from text that the target writes itself")
    page.locator("#train-name textarea, #train-name input").fill("../elsewhere")
    page.locator("#train-start").click()
    says(page, "is no name for a head")
    page.locator("#train-name textarea, #train-name input").fill("mine")
    page.locator("#train-temperatures textarea, #train-temperatures input").fill("0, hot")
    page.locator("#train-start").click()
    says(page, "temperatures")
    page.locator("#train-use").click()
    page.get_by_text("no head called").first.wait_for()


@pytest.mark.slow
def test_a_training_is_followed_stopped_continued_and_used(tab: Tab, board: Board, target: str, tmp_path: Path) -> None:
    page = tab()
    opened(page)
    prompts = tmp_path / "mine.txt"
    prompts.write_text("the quick brown fox\none two three\n")
    with page.expect_file_chooser() as chooser:
        page.locator("#train-upload").click()
    chooser.value.set_files(prompts)
    page.locator("#train-prompts").get_by_text("mine.txt: 2 prompts").wait_for()
    # More than it could ever write: it is at work until somebody stops it.
    fill(page, target, "long-head", tokens=10**9, max_length=128, vocab=128)
    page.locator("#train-start").click()
    says(page, "Writing prompts and answers")
    # Another page finds it at work; leaving the first one does not end it.
    other = tab()
    opened(other)
    says(other, "Writing prompts and answers")
    page.close()
    other.locator("#train-stop").click()
    says(other, "Stopped.")
    with other.expect_file_chooser() as chooser:
        other.locator("#train-upload").click()
    chooser.value.set_files(prompts)
    other.locator("#train-prompts").get_by_text("mine.txt: 2 prompts").wait_for()
    fill(other, target, "long-head", tokens=10**9, max_length=128, vocab=128)
    other.locator("#train-start").click()
    says(other, "Writing prompts and answers")
    other.locator("#train-stop").click()
    says(other, "Stopped.")
    fill(other, target, "tiny-head", tokens=3000, max_length=128, vocab=128, passes=3)
    other.locator("#train-start").click()
    says(other, "What it promises here")
    assert (board.data / "models" / "tiny-head" / "model.safetensors").exists()
    other.locator("#train-use").click()
    other.wait_for_function("document.querySelector('#ctl-speculation-method input')?.value === 'eagle3'")
