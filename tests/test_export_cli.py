"""`export` on the command line: where a file goes, what is compared, and what a user still has to settle."""

import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from playground import exporters
from playground.errors import PlaygroundError
from playground.exchange import export_preset, import_text
from playground.presets import save_preset
from playground.registry import names
from playground.settings import Settings
from tests._presets import DRAFT_MODEL, NGRAM
from tests.test_cli import Shell
from tests.test_export_vllm import with_


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.setenv("DRAFTBOARD_DATA", str(tmp_path / "data"))
    return Shell(tmp_path / "data", capsys)


def test_a_server_is_told_the_names_it_knows(shell: Shell) -> None:
    code, _, err = shell("export", "--preset", "default", "--to", "docker")
    assert code == 0
    assert "needs-input: target: “smollm2-135m” is only a name" in err.replace("\n", " ")
    assert "What the server calls its models is said by --model-as." in err
    assert "First settle what needs input; then start with: docker compose up" in err
    code, out, err = shell("export", "--preset", "default", "--to", "docker", "--model-as", "org/model")
    assert code == 0
    assert "- org/model\n" in out
    assert "target: here org/model, as the server knows it; in the preset smollm2-135m." in out
    assert "needs-input" not in err
    assert "\nStart with: docker compose up" in err


def test_a_drafts_name_needs_a_draft(shell: Shell) -> None:
    failed = shell.json("export", "--preset", "default", "--draft-as", "org/draft", code=2)
    assert failed["error"] == "This preset drafts without a model, so none can be named “org/draft”."
    made = shell.json("export", "--preset", "draft-equals-target", "--draft-as", "org/draft")
    assert '"model": "org/draft"' in "".join(made["files"].values())


@pytest.mark.parametrize("place", ["out", "out.zip"])
def test_a_difference_is_of_what_was_read(shell: Shell, tmp_path: Path, place: str) -> None:
    where = ("--preset", "default", "--out", str(tmp_path / place))
    shell.json("export", *where)
    assert shell.json("export", *where, "--diff")["diff"] == ""
    assert "+model: org/model" in shell.json("export", *where, "--diff", "--model-as", "org/model")["diff"]


def test_what_cannot_be_read_has_no_difference(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 broken")
    (tmp_path / "file").write_text("x")
    for name in ("broken.zip", "file", "nowhere", "nowhere.zip"):
        code, out, err = shell("export", "--preset", "default", "--diff", "--out", str(tmp_path / name))
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert name in err.replace("\n", "")
        assert "Traceback" not in err


def test_a_file_that_is_there_and_how_to_replace_it(shell: Shell, tmp_path: Path) -> None:
    for place in ("out", "out.zip"):
        words = ("export", "--preset", "default", "--out", str(tmp_path / place))
        shell.json(*words)
        assert "--overwrite" in shell.json(*words, code=2)["hint"]
        shell.json(*words, "--overwrite")


def test_a_script_starts_from_a_folder_and_from_a_zip(shell: Shell, tmp_path: Path) -> None:
    """It gets as far as the program it names, which here only says its first word."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "vllm").write_text("#!/bin/sh\necho $1\n")
    (programs / "vllm").chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    shell.json("export", "--preset", "default", "--out", str(tmp_path / "out"))
    shell.json("export", "--preset", "default", "--out", str(tmp_path / "out.zip"))
    (tmp_path / "unpacked").mkdir()
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        for entry in archive.infolist():
            archive.extract(entry, tmp_path / "unpacked")
            (tmp_path / "unpacked" / entry.filename).chmod(entry.external_attr >> 16 & 0o777)
    for folder in ("out", "unpacked"):
        script = str(tmp_path / folder / "default.vllm.sh")
        done = subprocess.run([script], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=True)
        assert done.stdout == "serve\n"


def test_a_models_name_moves_no_cursor_and_begins_no_line(shell: Shell) -> None:
    odd = with_(NGRAM, target="a\u202eb\nStart with: rm").model_copy(update={"name": "odd"})
    save_preset(odd, Settings(data=shell.data))
    code, out, err = shell("export", "--preset", "odd", "--to", "vllm")
    assert code == 2
    assert "\u202e" not in out + err
    assert "'a\\u202eb\\nStart with: rm' holds characters that cannot be shown" in err.replace("\n", " ")
    assert "\nStart with: rm" not in err


@pytest.mark.parametrize("name", ["a/\x1b[31mb", "a/b\u202ec", "a\nb/c", "a/b\r"])
@pytest.mark.parametrize("place", ["target", "draft"])
def test_a_model_whose_name_cannot_be_shown_leaves_only_as_our_own_preset(name: str, place: str) -> None:
    changes: dict[str, Any] = {"target": name}
    if place == "draft":
        assert DRAFT_MODEL.config.speculation is not None
        changes = {"speculation": DRAFT_MODEL.config.speculation.model_copy(update={"model": name})}
    preset = DRAFT_MODEL.model_copy(update={"config": DRAFT_MODEL.config.model_copy(update=changes)})
    for target in names(exporters.PACKAGE):
        if target in ("preset", "ollama"):  # the latter takes no draft model at all
            continue
        with pytest.raises(PlaygroundError, match="cannot be shown") as caught:
            export_preset(preset, target)
        assert ("--model-as" if place == "target" else "--draft-as") in caught.value.hint
    back = import_text("x.yaml", export_preset(preset).files[f"{preset.name}.yaml"]).preset.config
    assert back.speculation is not None
    assert name in (back.target, back.speculation.model)
    again = {"model_as": "a/b"} if place == "target" else {"draft_as": "a/b"}
    assert export_preset(preset, "vllm", **again).files


@pytest.mark.parametrize("flavour", ["llm-d", "production-stack"])
def test_no_template_gets_into_a_chart(flavour: str) -> None:
    assert DRAFT_MODEL.config.speculation is not None
    spec = DRAFT_MODEL.config.speculation.model_copy(update={"model": "{{ .Values.x }}/b"})
    preset = DRAFT_MODEL.model_copy(update={"config": DRAFT_MODEL.config.model_copy(update={"speculation": spec})})
    with pytest.raises(PlaygroundError, match="template"):
        export_preset(preset, "kubernetes", {"flavour": flavour})
