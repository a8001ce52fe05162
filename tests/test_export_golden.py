"""Exports against the files of tests/golden, so that a change of what users take home is seen by a reviewer.

After a wanted change: `python -m tests.test_export_golden` writes them anew.
"""

from pathlib import Path
from typing import Any

import pytest

from playground.config import Preset
from tests._exports import WAYS, made, name_of
from tests._presets import GOLDEN

FOLDER = Path(__file__).parent / "golden"


def files(way: tuple[str, dict[str, Any]], preset: Preset) -> dict[Path, str]:
    """Every file of one export; the ones that are called the same for every preset get its name in front."""
    export = made(preset, *way)
    found = {} if export is None else export.files
    stem = preset.name
    return {
        FOLDER / name_of(way) / (name if name.startswith(stem) else f"{stem}.{name}"): text
        for name, text in found.items()
    }


@pytest.mark.parametrize("preset", GOLDEN, ids=lambda preset: preset.name)
@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_exports_equal_their_golden_files(way: tuple[str, dict[str, Any]], preset: Preset) -> None:
    for path, text in files(way, preset).items():
        assert path.read_text(encoding="utf-8") == text, path.relative_to(FOLDER.parent)


def test_no_golden_file_is_left_over() -> None:
    known = {path for way in WAYS for preset in GOLDEN for path in files(way, preset)}
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == known


if __name__ == "__main__":
    for old in [path for path in FOLDER.rglob("*") if path.is_file()]:
        old.unlink()
    for way in WAYS:
        for preset in GOLDEN:
            for path, text in files(way, preset).items():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
