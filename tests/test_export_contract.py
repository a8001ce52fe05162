"""What holds for every export target: nothing is dropped silently, hostile words stay in comments, files come back."""

import ast
import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from playground.config import Preset
from playground.exchange import import_text
from playground.exporters._ledger import fields
from tests._exports import WAYS, body, made, name_of
from tests._presets import presets

FREELY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
READ_BACK = [way for way in WAYS if way[0] not in ("preset", "vllm")]
"""The other two have round trips of their own."""


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_every_field_is_written_or_lost(way: tuple[str, dict[str, Any]]) -> None:
    """A preset's every single value has a key in a file, a reason why it needs none, or a loss with its reason."""
    if way[0] == "preset":
        pytest.skip("writes everything; its own round trip proves it")
    seen = 0

    @FREELY
    @given(presets())
    def check(preset: Preset) -> None:
        nonlocal seen
        export = made(preset, *way)
        if export is None:
            return
        seen += 1
        told = export.written.keys() | {loss.field for loss in export.losses}
        assert set(fields(preset.config)) - {"history"} <= told
        assert all(loss.reason for loss in export.losses)

    check()
    assert seen


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_hostile_words_stay_where_they_belong(way: tuple[str, dict[str, Any]]) -> None:
    """Whatever a description or a run's evidence says, the files hold the same meaning as without them."""

    @FREELY
    @given(presets())
    def check(preset: Preset) -> None:
        export = made(preset, *way)
        bare = made(preset.model_copy(update={"evidence": None, "description": ""}), *way)
        if export is None or bare is None or way[0] == "preset":
            return
        for name, text in export.files.items():
            if name.endswith(".json"):
                assert json.loads(text) == json.loads(bare.files[name])
            elif name.endswith((".yaml", ".yml")):
                assert list(yaml.safe_load_all(text)) == list(yaml.safe_load_all(bare.files[name]))
            elif name.endswith(".py"):
                assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(bare.files[name]))
            else:
                assert body(text) == body(bare.files[name])

    check()


@pytest.mark.parametrize("way", READ_BACK, ids=name_of)
def test_export_import_export_is_the_identity(way: tuple[str, dict[str, Any]]) -> None:
    """On everything the target can express: each file read back gives the same files again."""
    seen = 0

    @FREELY
    @given(presets())
    def check(preset: Preset) -> None:
        nonlocal seen
        first = made(preset, *way)
        if first is None:
            return
        seen += 1
        for name, text in first.files.items():
            if name.endswith(".request.json") or name == "Dockerfile":
                continue
            again = import_text(name, text, beside=first.files).preset
            second = made(again.model_copy(update={"name": preset.name}), *way)
            assert second is not None
            # Penalties are in requests; the file only has whether requests may have them.
            expected = re.sub(r"^ *enable_penalty: true\n", "", body(text), flags=re.MULTILINE)
            assert body(second.files[name]) == expected, name

    check()
    assert seen


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_what_stands_behind_it_is_said(way: tuple[str, dict[str, Any]]) -> None:
    from tests._presets import BASELINE, DRAFT_MODEL

    measured = BASELINE.model_copy(update={"evidence": DRAFT_MODEL.evidence})
    export = made(measured, *way)
    assert export is not None
    assert export.command
    assert way[0] == "preset" or export.versions
    for name, text in export.files.items():
        if not name.endswith(".json") and way[0] != "preset":
            assert "speedup = 1.871" in text, name
            assert "4x NVIDIA H200" in text, name
            for loss in export.losses:
                assert name.endswith(".py") or loss.field in text, (name, loss)
