"""Every sentence that the page can be given can be said in Chinese, and leaves in English."""

import ast
import copy
import json
import re
from string import Formatter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from playground.config import Preset
from playground.doctor.findings import SENTENCES
from playground.doctor.fits import REASONS
from playground.exchange import export_preset, import_text
from playground.sentence import Sentence, joined
from playground.ui.export_tab import shown_import, view
from playground.ui.sentences import CHINESE, said_html, texts
from tests._exports import WAYS, made, name_of
from tests._presets import NGRAM, presets
from tests.test_layering import modules

TABLES = "playground.doctor.findings"
"""Where templates come from tables, `SENTENCES` and `REASONS`."""

HAN = re.compile("[\u4e00-\u9fff]")


def templates() -> dict[str, str]:
    """Template -> module, of every Sentence that the code can make. Each is a literal where it is said."""
    found = dict.fromkeys(SENTENCES.values(), TABLES) | {text: TABLES for pair in REASONS.values() for text in pair}
    found.pop("", None)
    for module, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Sentence":
                first = node.args[0]
                if module == TABLES and not isinstance(first, ast.Constant):
                    continue
                assert isinstance(first, ast.Constant), f"{module}, line {node.lineno}: the template is no literal"
                found[str(first.value)] = module
    return found


def places(template: str) -> set[tuple[str, str]]:
    return {(name, form or "") for _, name, form, _ in Formatter().parse(template) if name is not None}


def test_every_sentence_has_its_chinese_and_no_chinese_is_left_over() -> None:
    said = templates()
    assert len(said) > 150
    assert not {template: said[template] for template in said.keys() - CHINESE.keys()}
    assert not CHINESE.keys() - said.keys()
    for english, chinese in CHINESE.items():
        assert places(english) == places(chinese), english
        bare = re.sub(r"\{.*?\}", "", english)
        assert HAN.search(chinese) or english == chinese or not re.search("[a-z]{3}", bare), english


def missing(said: str) -> list[str]:
    """What of a sentence has no Chinese, the sentences inside it included."""
    if not isinstance(said, Sentence):
        return [said]
    inner = [part for value in said.params.values() if isinstance(value, Sentence) for part in missing(value)]
    return inner + [said.template] * (said.template not in CHINESE)


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_every_loss_any_preset_can_have_has_its_chinese(way: tuple[str, dict[str, Any]]) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(presets())
    def check(preset: Preset) -> None:
        export = made(preset, *way)
        if export is None:
            return
        for said in (export.versions, export.checked_by, *(loss.reason for loss in export.losses)):
            assert not said or not missing(said)

    check()


def test_what_an_import_rewrote_is_said_in_both_languages() -> None:
    text = "llama-server -m t.gguf -md d.gguf --draft-max 6 --host x"
    rewrites = import_text("x.sh", text).rewrites
    assert rewrites
    assert not [part for said in rewrites for part in missing(said)]
    html, preset, _ = shown_import(lambda: import_text("x.sh", text))
    assert preset is not None
    assert "draft-max is now spec-draft-n-max (removed in April 2026)." in html.replace("_", "-")
    assert "旧名于 2026 年 4 月移除" in html


def test_the_page_gets_both_languages_and_files_english_alone() -> None:
    export = export_preset(NGRAM, "sglang")
    sent = json.loads(view(export, {"system": "sglang"}))
    for said in [loss["reason"] for loss in sent["losses"]] + [check["by"] for check in sent["checks"]]:
        assert said["en"] != said["zh-CN"]
        assert HAN.search(said["zh-CN"])
    assert not HAN.search("".join(export.files.values()))
    assert not HAN.search(export.command)


def test_what_stands_in_a_sentence_is_never_taken_for_a_place() -> None:
    said = Sentence("{key} is left out: {why}.", key="{why} <b>$", why=Sentence("presets draft chains"))
    assert said == "{why} <b>$ is left out: presets draft chains."
    assert texts(said)["zh-CN"] == "略去 {why} <b>$：预设的草稿是链。"
    assert "<b>" not in said_html(said)
    assert texts("a program's own words") == {"en": "a program's own words", "zh-CN": "a program's own words"}


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_remember_as_well(copied: Any) -> None:
    said = copied(joined((Sentence("{program}'s own parser", program="vLLM"), Sentence("presets draft chains"))))
    assert said == "vLLM's own parser, presets draft chains"
    assert not missing(said)
