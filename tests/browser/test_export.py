"""Presets and exports in a browser: what was measured leaves, and comes back the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.browser.conftest import Board, ask, choose, finished, pick

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
    assert not page.locator("#export-read [lang=zh-CN]:visible").count(), "in one language"


def test_what_was_read_is_kept_and_exported_at_once(board: Board, tab: Tab) -> None:
    page = tab()
    page.locator("[data-tab-id=export]").click()
    for name in ("pasted", "pasted-2"):  # the second finds the name taken
        page.locator("#export-paste textarea").fill("vllm serve org/of-mine --dtype float16")
        page.locator("#export-read-pasted").click()
        page.locator("#export-keep-preset").click()
        page.locator("#export-view .e-file h4", has_text=f"{name}.vllm.yaml").wait_for()
        assert page.locator("#export-preset input").input_value() == name
    shown = page.locator("#export-view .e-file pre", has_text="org/of-mine").first
    assert "dtype: float16" in shown.inner_text()
    kept = page.locator("#ctl-preset input")
    page.locator("[data-tab-id=compare]").click()
    kept.click()
    page.get_by_role("option", name="pasted-2").wait_for()


def test_a_file_opens_at_its_first_setting(tab: Tab) -> None:
    """Many losses stand above it in the file; they stand in the panel's table as well."""
    page = tab()
    ask(page, "export me")
    finished(page)
    page.locator("#to-export").click()
    file = page.locator("#export-view .e-file").filter(has=page.locator("h4", has_text=".vllm.yaml")).last
    file.wait_for()
    shown = file.locator("pre")
    top, height = shown.evaluate(
        "(e) => [e.scrollTop, e.clientHeight].map((px) => px / parseFloat(getComputedStyle(e).lineHeight))"
    )
    lines = shown.inner_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    assert first > 8
    assert top < first < top + height / 2


def system(page: Any, title: str, file: str) -> None:
    pick(page, "export-system", title)
    page.locator("#export-view .e-file h4", has_text=file).first.wait_for()


def test_losses_stand_first_then_the_checks_then_files_for_every_system(tab: Tab) -> None:
    page = tab()
    page.locator("[data-tab-id=export]").click()
    page.locator("#export-form .segments label").nth(1).click()
    pick(page, "export-preset", "default")
    for title, file in (
        ("vLLM", ".vllm.yaml"),
        ("SGLang", ".sglang.yaml"),
        ("TensorRT-LLM", ".trtllm.yaml"),
        ("llama.cpp", ".llama.ini"),
        ("Docker", "compose.yaml"),
        ("Kubernetes", ".k8s.yaml"),
        ("Transformers", ".transformers.py"),
    ):
        system(page, title, file)
        order = page.locator("#export-view section").evaluate_all("(all) => all.map((one) => one.className)")
        assert order[:2] == ["e-losses", "e-checks"]
        checks = page.locator("#export-view .e-checks tr").all_inner_texts()
        assert [text[0] for text in checks] == ["A", "B", "C"]
        assert "passed" in checks[0]
    with page.expect_download() as download:
        page.get_by_role("button", name="Download all (zip)").click()
    assert Path(download.value.path()).read_bytes()[:2] == b"PK"


def test_what_changed_since_the_previous_export_is_shown(tab: Tab) -> None:
    page = tab()
    page.locator("[data-tab-id=export]").click()
    page.locator("#export-form .segments label").nth(1).click()
    for name in ("default", "three"):
        pick(page, "export-preset", name)
        page.locator("#export-view .e-file h4", has_text=f"{name}.vllm.yaml").first.wait_for()
    page.get_by_role("button", name="Changes").click()
    old = "".join(page.locator("#export-view .e-old").all_inner_texts())
    new = "".join(page.locator("#export-view .e-new").all_inner_texts())
    assert "num_speculative_tokens: 4" in old
    assert "num_speculative_tokens: 3" in new


def test_an_old_command_pasted_is_brought_up_to_date(tab: Tab) -> None:
    page = tab()
    page.locator("[data-tab-id=export]").click()
    paste = page.locator("#export-paste textarea")
    paste.fill("llama-server -m t.gguf -md d.gguf --draft-max 6")
    page.locator("#export-read-pasted").click()
    page.locator("#export-use").wait_for()
    assert "spec-draft-n-max" in page.locator("#export-read").inner_text()
    paste.fill("model-path: a/b\nspeculative-algorithm: NEXTN\nspeculative-accept-threshold-acc: 0.2\n")
    page.locator("#export-read-pasted").click()
    page.locator("#export-read .problem").wait_for()
    assert "changes the output" in page.locator("#export-read").inner_text()
    page.locator("#export-keep input").check()
    page.locator("#export-read-pasted").click()
    page.locator("#export-read li", has_text="kept knowingly").wait_for()


def test_reasons_are_said_in_the_readers_language(tab: Tab) -> None:
    page = tab()
    page.locator("[data-tab-id=export]").click()
    page.locator("#export-form .segments label").nth(1).click()
    pick(page, "export-preset", "default")
    losses, checks = page.locator("#export-view .e-losses"), page.locator("#export-view .e-checks")
    losses.get_by_text("own kernels and scheduler").wait_for()
    page.locator("#export-paste textarea").fill("llama-server -m t.gguf --draft-max 6 --host x")
    page.locator("#export-read-pasted").click()
    rewrites = page.locator("#export-read li")
    rewrites.get_by_text("removed in April 2026").first.wait_for()
    page.locator("#language").click()
    losses.get_by_text("自己的内核与调度").wait_for()
    assert "own kernels" not in losses.inner_text()
    checks.get_by_text("本项目的规则").wait_for()
    assert "our schema" not in checks.inner_text()
    rewrites.get_by_text("旧名于 2026 年 4 月移除").first.wait_for()
    assert "removed in" not in "".join(rewrites.all_inner_texts())
    assert "own kernels" in page.locator("#export-view .e-file pre").nth(1).inner_text(), "files leave in English"


def test_a_server_gets_the_name_it_knows(tab: Tab) -> None:
    """And what was measured is still told, above it."""
    page = tab()
    page.locator("[data-tab-id=export]").click()
    page.locator("#export-form .segments label").nth(1).click()
    pick(page, "export-preset", "default")
    losses, file = page.locator("#export-view .e-losses"), page.locator("#export-view .e-file pre")
    losses.get_by_text("is only a name here").wait_for()
    page.locator("#export-model-as input, #export-model-as textarea").fill("org/there")
    file.filter(has_text="model: org/there").first.wait_for()
    assert "is only a name" not in losses.inner_text()
    assert "in the preset smollm2-135m" in file.nth(1).inner_text()
    page.locator("#export-draft-as input, #export-draft-as textarea").fill("org/draft")
    page.locator("#export-view .e-problem", has_text="drafts without a model").wait_for()


def test_the_last_choice_stays(tab: Tab) -> None:
    """Answers to earlier choices may be slower; they must not come after it."""
    page = tab()
    page.locator("[data-tab-id=export]").click()
    page.locator("#export-form .segments label").nth(1).click()
    for name in ("three", "default", "three"):
        pick(page, "export-preset", name)
    page.locator("#export-view .e-file h4", has_text="three.vllm.yaml").first.wait_for()
    page.wait_for_timeout(2000)
    assert "three.vllm.yaml" in page.locator("#export-view .e-file h4").nth(1).inner_text()
