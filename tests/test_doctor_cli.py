"""`doctor` on the command line and from Python: one pair, the catalogue, and the agreement test's refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from playground import cli
from playground.api import Playground
from playground.errors import PlaygroundError
from tests.pair_folders import head, model, swapped


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DRAFTBOARD_DATA", str(tmp_path))
    monkeypatch.setenv("DRAFTBOARD_DEVICE", "cpu")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "no-hub"))
    models = tmp_path / "models"
    model(models, "target", numbers=90_000)
    model(models, "small")
    model(models, "swapped", words=swapped(7, 9))
    head(models, "head")
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = cli.main(["doctor", *words, "--json"])
    last = capsys.readouterr().out.strip().splitlines()[-1]
    return code, json.loads(last)


def test_a_pair_as_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = said(capsys, "--target", "target", "--draft", "small", "--context", "32")
    assert code == 0
    assert answer["verdict"] == "works"
    assert answer["memory"]["context"] == 32
    assert answer["engines"]["embedded"]["outcome"] == "works"


def test_a_refused_pair_is_an_answer_not_an_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CASES 2."""
    code, answer = said(capsys, "--target", "target", "--draft", "swapped")
    assert code == 0
    assert answer["verdict"] == "does not work"
    v = answer["vocabulary"]
    assert (v["verdict"], v["num_different"], v["first_id"]) == ("tokens differ", 2, 7)
    assert (v["target_text"], v["draft_text"]) == ("w7", "w9")


def test_for_people(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--target", "target", "--draft", "swapped"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("DOES NOT WORK: 2 token ids mean different strings, the first is 7")
    assert "llama.cpp" in out


def test_without_a_draft_it_lists_them(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, answer = said(capsys, "--target", "target")
    assert code == 0
    drafts = {d["name"]: d for d in answer["drafts"]["draft_model"]}
    assert drafts["small"]["usable"]
    assert drafts["swapped"]["why"]["first" if "first" in drafts["swapped"]["why"] else "id"] == 7
    assert [d["name"] for d in answer["drafts"]["eagle3"] if d["usable"]] == ["head"]
    assert any({"target", "small"} <= set(g["models"]) for g in answer["groups"])
    assert len(answer["known_pairs"]) > 20


@pytest.mark.parametrize(
    "words",
    [
        ("--draft", "nothing"),
        ("--draft", "small", "--context", "0"),
        ("--draft", "small", "--limit", "x"),
        ("--draft", "swapped", "--agreement"),
        ("--draft", "small", "--agreement", "--num-speculative-tokens", "99"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    home: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, answer = said(capsys, "--target", "target", *words)
    assert code == 2
    assert answer["error"]
    assert answer["hint"]


def test_from_python(home: Path) -> None:
    with Playground() as playground:
        found = playground.doctor("target", "small")
        assert found.report.verdict == "works"
        assert found.agreement is None
        assert found.as_dict()["verdict"] == "works"
        assert repr(found).startswith("<works: ")
        with pytest.raises(PlaygroundError, match="first is 7"):
            playground.doctor("target", "swapped", agreement=True)
