"""Exports against the files of tests/golden, so that a change of what users take home is seen by a reviewer.

After a wanted change: `python -m tests.test_export_golden` writes them anew.
"""

from pathlib import Path

import pytest

from playground import exporters
from playground.config import Preset
from playground.exporters import Export
from playground.registry import discover
from tests._presets import GOLDEN

FOLDER = Path(__file__).parent / "golden"
CASES = [(target, preset) for target in discover(exporters.PACKAGE) for preset in GOLDEN]


def export_preset(preset: Preset, target: str) -> Export:
    export: Export = discover(exporters.PACKAGE)[target].export(preset)
    return export


@pytest.mark.parametrize(("target", "preset"), CASES, ids=lambda value: getattr(value, "name", value))
def test_exports_equal_their_golden_files(target: str, preset: Preset) -> None:
    for name, text in export_preset(preset, target).files.items():
        assert (FOLDER / target / name).read_text(encoding="utf-8") == text, f"tests/golden/{target}/{name}"


def test_no_golden_file_is_left_over() -> None:
    made = {FOLDER / target / name for target, preset in CASES for name in export_preset(preset, target).files}
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == made


if __name__ == "__main__":
    for target, preset in CASES:
        for name, text in export_preset(preset, target).files.items():
            (FOLDER / target).mkdir(parents=True, exist_ok=True)
            (FOLDER / target / name).write_text(text, encoding="utf-8")
