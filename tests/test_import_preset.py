"""Our own preset file: what is written is what is read, and every mistake in it is named by file, line and key."""

from typing import Any

import pytest
from hypothesis import given, settings

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exchange import import_text
from playground.exporters.preset import preset_yaml
from playground.importers import preset as importer
from playground.importers._yaml import parse_yaml
from tests._presets import DRAFT_MODEL, GOLDEN, presets


def read(text: str) -> Preset:
    return importer.load("x.yaml", parse_yaml("x.yaml", text))


@settings(max_examples=150, deadline=None)
@given(presets())
def test_a_preset_comes_back_as_it_was(preset: Preset) -> None:
    """Any text, number or nesting a preset can hold survives its file, and the file is canonical."""
    text = preset_yaml(preset)
    assert read(text) == preset
    assert preset_yaml(read(text)) == text


@pytest.mark.parametrize("preset", GOLDEN, ids=lambda preset: preset.name)
def test_import_gives_the_same_run_back(preset: Preset) -> None:
    assert import_text(f"{preset.name}.yaml", preset_yaml(preset)).preset == preset


@pytest.mark.parametrize("change", ["windows", "bom"])
def test_editors_may_touch_the_file(change: str) -> None:
    """CASES 32."""
    text = preset_yaml(DRAFT_MODEL)
    content = text.replace("\n", "\r\n").encode() if change == "windows" else b"\xef\xbb\xbf" + text.encode()
    assert import_text("x.yaml", content).preset == DRAFT_MODEL


GOOD = """\
name: mine
config:
  target: org/model
  speculation:
    method: ngram
    num_speculative_tokens: 5
  sampling:
    temperature: 0.7
    stop: [a, b]
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    num_spec", "    nmu_spec", "line 6, config.speculation.nmu_speculative_tokens: is not a known key"),
        ("tokens: 5", "tokens: five", "line 6, config.speculation.num_speculative_tokens: input should be a valid"),
        ("tokens: 5", "tokens: 500", "line 6, config.speculation.num_speculative_tokens: input should be less than"),
        ("0.7", "hot", "line 8, config.sampling.temperature: input should be a valid number"),
        ("[a, b]", "[a, 3]", "line 9, config.sampling.stop.1: input should be a valid string"),
        ("[a, b]", "[a, no]", "line 9, config.sampling.stop.1: input should be a valid string"),
        ("  target: org/model", "  target:", "line 3, config.target: input should be a valid string"),
        ("  speculation:\n    method", "  speculation: []\n  x:\n    method", "line 4, config.speculation: must be"),
        ("name: mine", "name: My Preset", "line 1, name: 'My Preset' is no name for a preset: up to 64 of a-z"),
        ("name: mine\n", "name: mine\nextra: 1\n", "line 2, extra: is not a known key"),
        ("temperature: 0.7", "min_tokens: 900", "line 7, config.sampling: min_tokens (900) must not exceed max_tokens"),
        ("  target", " target", "line "),
    ],
)
def test_mistakes_are_named_by_file_line_and_key(old: str, new: str, message: str) -> None:
    """CASES 32."""
    assert old in GOOD
    with pytest.raises(PlaygroundError) as caught:
        import_text("x.yaml", GOOD.replace(old, new, 1))
    assert message in caught.value.message
    assert caught.value.message.startswith("x.yaml, line ")


def test_several_mistakes_are_named_at_once() -> None:
    with pytest.raises(PlaygroundError) as caught:
        import_text("x.yaml", GOOD.replace("0.7", "hot").replace("tokens: 5", "tokens: 500"))
    assert "line 6, " in caught.value.message
    assert "line 8, " in caught.value.message


@pytest.mark.parametrize("text", ["[1, 2]", "just words", "3", "config:", "config: []", "config: {target: 5}"])
def test_wrong_shapes_are_one_error(text: str) -> None:
    with pytest.raises(PlaygroundError):
        import_text("x.yaml", text)


def test_a_preset_without_a_name_is_called_after_its_file() -> None:
    assert import_text("My Preset.yaml", GOOD.replace("name: mine\n", "")).preset.name == "my-preset"


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ("{rejection_sample_method: Synthetic, synthetic_acceptance_length: 2}", "rejection_sample_method"),
        ("{synthetic_acceptance_rates: [1]}", "synthetic_acceptance_rates"),
        ("{use_relaxed_acceptance_for_thinking: true, relaxed_topk: 3}", "use_relaxed_acceptance_for_thinking"),
        ("{speculative_accept_threshold_single: 0.5}", "speculative_accept_threshold_single"),
        ("{speculative-accept-threshold-acc: low}", "speculative-accept-threshold-acc"),
        ("{acceptance_method: typical_acceptance_sampler}", "acceptance_method"),
    ],
)
def test_what_changes_the_output_is_refused_unless_kept_knowingly(options: str, key: str) -> None:
    """An import is a stranger's; what a user has saved is loaded as it is."""
    text = GOOD.replace("method: ngram\n", f"method: mtp\n    options: {options}\n")
    with pytest.raises(PlaygroundError, match=f"x.yaml, line 6, config.speculation.options.{key}: ") as caught:
        import_text("x.yaml", text)
    assert caught.value.code == "changes_output"
    kept = import_text("x.yaml", text, keep_lossy=True)
    assert any(f"{key} is kept knowingly" in sentence for sentence in kept.rewrites)
    assert kept.preset == read(text)
    assert import_text("x.yaml", preset_yaml(kept.preset), keep_lossy=True).preset == kept.preset


@pytest.mark.parametrize(
    "options",
    ["{speculative_accept_threshold_single: 1.0}", "{use_relaxed_acceptance_for_thinking: false, relaxed_topk: 3}",
     "{rejection_sample_method: block, synthetic_acceptance_length: null}"],
)  # fmt: skip
def test_the_same_settings_that_change_nothing_pass(options: str) -> None:
    text = GOOD.replace("method: ngram\n", f"method: mtp\n    options: {options}\n")
    assert not import_text("x.yaml", text).rewrites


def test_defaults_may_be_left_out_by_hand() -> None:
    assert read("name: x\nconfig: {}\n").config.target == "smollm2-135m"


def test_recognition_leaves_other_files_alone() -> None:
    others: list[Any] = [{"model": "x"}, {"services": {}, "config": {}}, {"apiVersion": "1", "config": 1}, [], "config"]
    assert not any(importer.recognises("x", data) for data in others)
    assert importer.recognises("x", {"config": {}})
