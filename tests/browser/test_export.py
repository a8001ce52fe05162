"""Presets and exports in a browser: what was measured leaves, and comes back the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.browser.conftest import Board, ask, choose, finished

pytestmark = pytest.mark.browser

Tab = Callable[..., Any]


def test_what_was_measured_is_exported_not_what_the_controls_say(board: Board, tab: Tab, tmp_path: Path) -> None:
    page = tab()
    ask(page, "export me")
    finished(page)
    page.locator("#ctl-speculation-num-speculative-tokens input[type=number]").fill("9")
    page.locator("#to-export").click()
    page.locator("#export-view .e-losses").wait_for()
    page.locator("#export-view .e-file h4", has_text=".vllm.yaml").first.wait_for()
    assert "engine" in page.locator("#export-view .e-losses").inner_text()
    with page.expect_download() as download:
        file = page.locator("#export-view .e-file").filter(has=page.locator("h4", has_text=".vllm.yaml"))
        file.get_by_role("button", name="Download").click()
    config = yaml.safe_load(Path(download.value.path()).read_text(encoding="utf-8"))
    assert config["speculative-config"]["num_speculative_tokens"] == 4
    run = board.runs(search="export").rows[0]
    assert run.run_id in Path(download.value.path()).read_text(encoding="utf-8")


def test_a_run_becomes_a_preset_that_fills_the_controls(board: Board, tab: Tab) -> None:
    page = tab()
    choose(page, "three")
    ask(page, "save me")
    finished(page)
    page.locator("#save").click()
    page.locator("#save-name input, #save-name textarea").fill("Not A Name")
    page.locator("#save-do").click()
    page.locator("#save-said .problem").wait_for()
    page.locator("#save-name input, #save-name textarea").fill("measured-three")
    page.locator("#save-do").click()
    page.locator("#save-form").wait_for(state="hidden")
    saved = yaml.safe_load((board.data / "presets" / "measured-three.yaml").read_text(encoding="utf-8"))
    assert saved["config"]["speculation"]["num_speculative_tokens"] == 3
    assert len(saved["evidence"]["run_ids"]) == 2
    other = tab()
    choose(other, "measured-three", says="three")


def test_another_systems_file_sets_the_controls(tab: Tab, tmp_path: Path) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(
        "model: smollm2-135m\nspeculative-config:\n  method: ngram\n  num_speculative_tokens: 7\n"
        "  prompt_lookup_max: 3\n  prompt_lookup_min: 2\n"
    )
    page = tab()
    page.locator("[data-tab-id=export]").click()
    page.locator("#export-form input[type=file]").set_input_files(file)
    page.locator("#export-use").click()
    number = page.locator("#ctl-speculation-num-speculative-tokens input[type=number]")
    number.wait_for()
    page.wait_for_function("(e) => e.value === '7'", arg=number.element_handle())


def test_a_file_that_is_no_config_is_refused_by_name(tab: Tab, tmp_path: Path) -> None:
    """CASES 32"""
    file = tmp_path / "odd.yaml"
    file.write_text("name: x\nconfig:\n  sampling:\n    temperature: hot\n")
    page = tab()
    page.locator("[data-tab-id=export]").click()
    page.locator("#export-form input[type=file]").set_input_files(file)
    page.locator("#export-read .problem").wait_for()
    said = page.locator("#export-read").inner_text()
    assert "odd.yaml" in said
    assert "temperature" in said
