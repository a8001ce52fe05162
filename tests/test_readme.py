"""The README tells the truth: its commands run, its snippets work, its tables and links agree with the code."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playground import exporters, models
from playground.config import Preset, RunConfig
from playground.exporters import Loss
from playground.settings import ROOT
from tests import readme

TEXT = readme.README.read_text(encoding="utf-8")


def fenced(language: str) -> list[str]:
    """The code blocks of a language ("" for plain ones)."""
    return [code for found, code in re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.S | re.M) if found == language]


def commands() -> list[str]:
    """The command line examples, in the order a reader types them."""
    return [line for code in fenced("sh") for line in code.splitlines() if line.startswith("python -m playground")]


def snippet(word: str) -> str:
    """The one Python example that contains `word`."""
    found = [code for code in fenced("python") if word in code]
    assert len(found) == 1, f"{len(found)} snippets contain {word!r}"
    return found[0]


@pytest.mark.parametrize("name", sorted(readme.BLOCKS))
def test_generated_tables_are_up_to_date(name: str) -> None:
    assert readme.block(TEXT, name) == readme.BLOCKS[name](), "run: python -m tests.readme"


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", TEXT) + re.findall(r'src="([^"]+)"', TEXT)
    assert targets
    for target in targets:
        if not target.startswith(("http://", "https://")):
            assert (ROOT / target).exists(), target


def test_make_goals_exist() -> None:
    goals = set(re.findall(r"^([a-z-]+(?: [a-z-]+)*):", (ROOT / "Makefile").read_text(), re.M))
    known = {goal for line in goals for goal in line.split()}
    named = set(re.findall(r"^make (?:-C \S+ )?([a-z]+)", "\n".join(fenced("sh")), re.M))
    assert named
    assert named <= known


def test_every_file_of_the_picture_exists() -> None:
    """The structure picture names files and folders that are there."""
    picture = next(code for code in fenced("") if "app.py" in code)
    for word in re.findall(r"(?<![\w/.])([a-z_]+(?:\.py|/))(?=[\s,])", picture):
        assert any((folder / word).exists() for folder in (ROOT, ROOT / "playground")), word


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, default_model: Path) -> Callable[..., str]:
    """Runs what a reader types, in a folder and with data of the test's own; gives what it printed."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "models").mkdir()
    (folder / "models" / models.DEFAULT).symlink_to(default_model)
    environment = os.environ | {"DRAFTBOARD_DATA": str(folder), "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}

    def typed(*words: str) -> str:
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert done.stdout.strip(), words
        return done.stdout.strip()

    return typed


@pytest.mark.real
@pytest.mark.slow
def test_command_line_examples_run(session: Callable[..., str]) -> None:
    """ID is what the JSON of the comparison before says."""
    run_id = "ID"
    for line in commands():
        words = [run_id if word == "ID" else word for word in shlex.split(line)[1:]]
        last = session(*words).splitlines()[-1]
        if "--json" in words:
            found = json.loads(last)
            assert {"run_ids", "speedup", "outputs_identical", "baseline", "speculative"} <= set(found)
            run_id = found["run_ids"]["speculative"]
    assert run_id != "ID"


@pytest.mark.real
@pytest.mark.slow
def test_python_example_runs(session: Callable[..., str]) -> None:
    printed = session("-c", snippet("playground.api"))
    assert re.match(r"[0-9.]+ [0-9.]+ (True|False)\n", printed), printed
    assert "speculative-config" in printed


def test_a_wrong_flag_ends_with_two(tmp_path: Path) -> None:
    """One sentence and its fix, and no traceback."""
    words = [sys.executable, "-m", "playground", "compare", "--method", "nonsense", "--prompt", "x"]
    environment = os.environ | {"DRAFTBOARD_DATA": str(tmp_path)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "nonsense" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_the_drafter_example_drafts() -> None:
    import torch

    class Run:
        device = torch.device("cpu")
        vocab_size = 100

    space: dict[str, Any] = {"__name__": "repeat"}
    exec(snippet("class Drafter"), space)  # noqa: S102 - our own README
    drafter = space["Drafter"](space["Drafter"].Options(at_most=3), Run())
    assert drafter.propose([5, 7], 8).token_ids.tolist() == [7, 7, 7]
    assert drafter.propose([5, 7], 2).token_ids.tolist() == [7, 7]
    assert drafter.NEEDS_MODEL is False


def test_the_exporter_example_exports() -> None:
    space: dict[str, Any] = {"__name__": "plain"}
    exec(snippet("TITLE ="), space)  # noqa: S102 - our own README
    made = space["export"](Preset(name="mine", config=RunConfig()))
    assert isinstance(made, exporters.Export)
    assert json.loads(made.files["mine.json"]) == {"model": models.DEFAULT, "temperature": 0.0}
    assert made.losses == (Loss("speculation", "dropped", "Plain JSON knows no drafts."),)
