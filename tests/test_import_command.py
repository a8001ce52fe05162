"""`import` on the command line: whatever it is given, one sentence, its fix, exit code 2; nothing of it is run."""

import os
import time
from pathlib import Path

import pytest

from playground.cli import main
from playground.exchange import import_text
from playground.ui.export_tab import shown_import

BOMB = "a0: &a0 [x,x,x]\n" + "".join(f"a{i}: [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))
ODD: dict[str, bytes] = {
    "empty.yaml": b"",
    "blank.json": b" \n",
    "bomb.yaml": BOMB.encode(),
    "tag.yaml": b"model: !!python/object/apply:os.system ['touch ran']\n",
    "twice.yaml": b"model: a\nmodel: b\n",
    "nul.yaml": b"model: a\0b\n",
    "utf16.yaml": "model: 3\n".encode("utf-16"),
    "utf16-no-bom.yaml": "model: a\n".encode("utf-16-le"),
    "latin.yaml": "model: Müller".encode("latin-1"),
    "bom.yaml": b"\xef\xbb\xbfconfig:\r\n  targte: a\r\n",
    "half.yaml": b"model: a/b\nspeculative-config: {method: ngram,\n",
    "half.json": b'{"model": "a/b",\n"x": \n',
    "half.py": b"from vllm import LLM\nLLM(model='a/b',\n",
    "list.yaml": b"- 1\n- 2\n",
    "type.yaml": b"model: [a]\n",
    "number.yaml": b"config: 3\n",
    "unknown.yaml": b"hello: there\n",
    "archive.zip": b"PK\x03\x04abc",
    "picture.png": b"\x89PNG\r\n\x1a\n",
    "brackets.json": b"[" * 100_000,
    "brackets.yaml": b"[" * 100_000,
    "brackets.py": b"LLM(" + b"(" * 5_000,
    "shell.sh": b'vllm serve "$(touch ran)"\n',
    "file.sh": b"trtllm-serve a/b --config pipe\n",
    "large.sh": b"trtllm-serve a/b --config large.yaml\n",
    "code.py": b"open('ran', 'w')\nfrom vllm import LLM\nLLM(model=open('ran').read())\n",
    "a\nerror: gone.yaml": b"x: 1\n",
    "rtl\u202egnp.yaml": b"x: 1\n",
    "esc\x1b[31m.yaml": b"x: 1\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRAFTBOARD_DATA", str(tmp_path / "data"))
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    with Path("large.yaml").open("wb") as file:
        file.truncate(50_000_000)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    start = time.monotonic()
    code = main(["import", *words])
    out, err = capsys.readouterr()
    assert code == 2, (words, out, err)
    assert time.monotonic() - start < 30, words
    lines = err.splitlines()
    assert len(lines) == 2, err
    assert lines[0].startswith("error: ")
    assert all(line.isprintable() for line in lines)
    assert "\u202e" not in err
    assert not out
    return err


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_odd_files_end_in_one_sentence_and_its_fix(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CASES 32."""
    (folder / name).write_bytes(ODD[name])
    refused(capsys, name)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("name", ["", ".", "pipe", "loop", "none.yaml", "/dev/zero", "large.yaml", "x" * 300])
def test_what_is_no_file_ends_in_one_sentence_and_its_fix(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(capsys, name)


@pytest.mark.parametrize("name", ["Bad Name!", "", "../x", "x" * 80])
def test_a_bad_name_is_told_what_is_allowed(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ok.yaml").write_text("model: a/b\n")
    told = refused(capsys, "ok.yaml", "--save", name)
    assert "up to 64 of a-z, 0-9, dot, dash and underscore" in told
    assert "^[" not in told


def test_the_page_shows_hidden_characters_too() -> None:
    """A direction mark in a file's name or a model's would turn around the sentence it stands in."""
    told, preset, _ = shown_import(lambda: import_text("a\u202eb.yaml", "x: 1"))
    assert "a‹U+202E›b.yaml" in told
    assert preset is None
    told, preset, _ = shown_import(lambda: import_text("x.yaml", 'model: "a\\u202eb"\n"c\\u202e": 3\n'))
    assert preset is not None
    assert preset["config"]["target"] == "a\u202eb"
    assert "\u202e" not in told


def test_notes_keep_to_their_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.yaml").write_text('model: a/b\n"x\\nnote: all is well\\u202e": 3\n')
    assert main(["import", "x.yaml"]) == 0
    told = capsys.readouterr().err
    assert "not known here: x␊note: all is well‹U+202E›." in told
    assert "\nnote: all is well" not in told
