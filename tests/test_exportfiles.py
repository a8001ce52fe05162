"""Writing an export: whole, alone, and never over what is no file, whoever writes at the same time or was killed."""

import multiprocessing
import os
import signal
import zipfile
from pathlib import Path

import pytest

from playground import exportfiles
from playground.errors import PlaygroundError
from playground.exchange import export_preset
from playground.exporters import Export
from playground.exportfiles import write_export
from tests._presets import NGRAM


def export(mark: str, size: int = 1) -> Export:
    """Four files that all say `mark`."""
    made = export_preset(NGRAM, "vllm")
    files = dict.fromkeys(("a.yaml", "b.sh", "c.py", "d.json"), f"{mark}\n" * size)
    return Export(**{**{name: getattr(made, name) for name in made.__dataclass_fields__}, "files": files})


def texts(folder: Path) -> set[str]:
    return {path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("place", ["one.zip", "c.py"])
def test_a_fifo_in_the_way_is_refused_at_once(tmp_path: Path, place: str) -> None:
    os.mkfifo(tmp_path / place)
    target = tmp_path / place if place.endswith(".zip") else tmp_path
    with pytest.raises(PlaygroundError, match="is no file") as caught:
        write_export(export("x"), target, overwrite=True)
    assert caught.value.code == "file_exists"
    assert {path.name for path in tmp_path.iterdir()} == {place}


def test_a_folder_in_the_way_leaves_everything_as_it_was(tmp_path: Path) -> None:
    write_export(export("old"), tmp_path)
    (tmp_path / "d.json").unlink()
    (tmp_path / "d.json").mkdir()
    with pytest.raises(PlaygroundError, match=r"d\.json is there and is no file"):
        write_export(export("new"), tmp_path, overwrite=True)
    assert (tmp_path / "a.yaml").read_text() == "old\n"


def test_a_link_that_leads_nowhere_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "b.sh").symlink_to(tmp_path / "gone" / "b.sh")
    with pytest.raises(PlaygroundError, match="already holds"):
        write_export(export("x"), tmp_path)


def test_only_what_a_killed_export_of_these_files_left_is_removed(tmp_path: Path) -> None:
    kept = [".a.yaml.backup", ".a.yaml", ".other.yaml.abcd1234", ".a.yaml.abcd12345", "a.yaml.abcd1234"]
    for name in [*kept, ".a.yaml.abcd1234"]:
        (tmp_path / name).write_text("left")
    write_export(export("x"), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*kept, *export("x").files}


def _writes(folder: Path, mark: str, start: "multiprocessing.synchronize.Barrier", overwrite: bool) -> None:
    start.wait()
    try:
        write_export(export(mark, 2000), folder, overwrite=overwrite)
    except PlaygroundError as error:
        os._exit(2 if error.code == "file_exists" else 3)
    os._exit(0)


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_at_once_never_mix(tmp_path: Path, overwrite: bool) -> None:
    context = multiprocessing.get_context("fork")
    for turn in range(6):
        folder, start = tmp_path / str(turn), context.Barrier(2)
        writers = [context.Process(target=_writes, args=(folder, mark, start, overwrite)) for mark in ("one", "two")]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(60)
        assert sorted(writer.exitcode or 0 for writer in writers) == ([0, 0] if overwrite else [0, 2])
        assert len(texts(folder)) == 1


def test_a_kill_in_the_middle_leaves_whole_files_and_the_next_export_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(path: str, mode: int) -> None:
        if "c.py" in str(path):
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(os, "chmod", dies)
    child = multiprocessing.get_context("fork").Process(target=write_export, args=(export("x"), tmp_path))
    child.start()
    child.join(60)
    monkeypatch.undo()
    assert child.exitcode == -signal.SIGKILL
    left = [path.name for path in tmp_path.iterdir()]
    assert len([name for name in left if name.startswith(".c.py.")]) == 1
    assert "c.py" not in left
    write_export(export("y"), tmp_path, overwrite=True)
    assert texts(tmp_path) == {"y\n"}
    assert len(list(tmp_path.iterdir())) == 4


def test_a_zip_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "all.zip"
    write_export(export("old"), path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exportfiles, "write_whole", full)
    with pytest.raises(PlaygroundError, match="No space left"):
        write_export(export("new"), path, overwrite=True)
    assert zipfile.ZipFile(path).read("a.yaml") == b"old\n"
