"""Training a head from nothing for a tiny random target: acceptance rises, a kill loses at most one checkpoint."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from playground.config import Speculation
from playground.errors import PlaygroundError
from playground.headfiles import head_config
from playground.settings import Settings, load_settings
from playground.training import TrainOptions, last_training, start_training
from tests import tiny
from tests.conftest import ROOT
from tests.rig import Rig

RECIPE: dict[str, Any] = {
    "temperatures": (0.0, 0.7),
    "tokens": 6000,
    "max_length": 128,
    "max_answer": 32,
    "generate_batch": 64,
    "draft_vocab_size": 256,
    "unroll_steps": 3,
    "passes": 20,
    "batch_tokens": 1024,
    "learning_rate": 1e-2,
    "evaluations": 1,
    "dtype": "float32",
}
"""A minute at most."""


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights, with layers that add little to the embedding: its words follow each other by a law that a few
    thousand of them show.
    """
    folder = tiny.make_model(tmp_path_factory.mktemp("training") / "target", max_position_embeddings=256)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.mul_(0.05)
            layer.mlp.down_proj.weight.mul_(0.05)
        model.lm_head.weight.mul_(2)
    return tiny.save(folder, model, tiny.make_tokenizer())


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = load_settings(data=tmp_path / "data", threads=1, device="cpu")
    made.check_writable()
    return made


def options(target: Path, **changes: Any) -> TrainOptions:
    return TrainOptions.model_validate({**RECIPE, "target": str(target), **changes})


def first_line(file: Path) -> Any:
    with file.open() as lines:
        return json.loads(next(lines))


@pytest.mark.slow
def test_acceptance_rises_and_the_head_drafts(target: Path, settings: Settings, tmp_path: Path) -> None:
    out = tmp_path / "head"
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("the quick brown fox\none two three\n")
    training = start_training(settings, options(target, prompts=prompts), out)
    seen = list(training.follow())
    assert seen[-1]["state"] == "done", seen[-1]
    assert {s["stage"] for s in seen} >= {"write", "train"}
    report, history = seen[-1]["report"], seen[-1]["history"]
    assert report["acceptance"][0] > history[0]["acceptance"][0] + 0.1
    assert max(h["tokens_per_step"] for h in history) > history[0]["tokens_per_step"] + 0.15
    assert report["answer_tokens"] >= RECIPE["tokens"]
    assert len(report["predictions"]) == 8
    assert {"config.json", "model.safetensors", "report.json", "README.md"} <= {path.name for path in out.iterdir()}
    assert head_config(out) is not None
    assert not list(out.rglob("*.pt")) + list(out.rglob("*.bin"))[1:]  # states.bin holds bare numbers
    # Its drafts come true in the engine too.
    rig = Rig(target, {"head": out})
    prompt = "the quick brown fox"
    baseline = rig.run(prompt, max_tokens=60, ignore_eos=True)
    spec = Speculation(method="eagle3", model="head", num_speculative_tokens=3)
    drafted = rig.run(prompt, spec, max_tokens=60, ignore_eos=True)
    assert drafted.ids == baseline.ids
    assert drafted.result.num_accepted_tokens > 0
    again = last_training(settings)
    assert again is not None
    assert again.status()["state"] == "done"


@pytest.mark.slow
def test_a_head_made_before_is_trained_on(target: Path, settings: Settings, tmp_path: Path) -> None:
    """It begins where that one ended, with its vocabulary; what is handed on names files, not where they lay."""
    first = tmp_path / "first"
    assert list(start_training(settings, options(target), first).follow())[-1]["state"] == "done"
    written = first / "work" / "exchanges.jsonl"
    more = options(target, start_from=first, data=(written,), passes=1, draft_vocab_size=64)
    last = list(start_training(settings, more, tmp_path / "second").follow())[-1]
    assert last["state"] == "done", last
    before, after = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("first", "second"))
    history = last["history"]
    assert history[0]["acceptance"][0] == pytest.approx(before["acceptance"][0], abs=0.05)
    assert after["draft_vocab_size"] == before["draft_vocab_size"] == 256
    card = (tmp_path / "second" / "README.md").read_text()
    assert "start_from: first" in card
    assert str(tmp_path) not in card
    wrong = options(target, start_from=target)
    failed = list(start_training(settings, wrong, tmp_path / "third").follow())[-1]
    assert failed["state"] == "failed"
    assert "no EAGLE-3 head" in failed["error"]["error"]


@pytest.mark.slow
def test_a_kill_loses_at_most_one_checkpoint(target: Path, settings: Settings, tmp_path: Path) -> None:
    """kill -9 in the middle of training, twice; the exchanges and the steps up to the checkpoint are not done again."""
    out = tmp_path / "head"
    recipe = options(target, tokens=2000, passes=400, patience=1000, checkpoint_seconds=0.2)
    training = start_training(settings, recipe, out)
    written, reached = "", 0
    for _ in range(2):
        for status in training.follow():
            checkpoints = sorted((out / "work" / "checkpoints").glob("step-*"))
            fresh = [path for path in checkpoints if int(path.name[5:]) > reached + 3]
            if status["stage"] == "train" and fresh:
                os.kill(status["pid"], signal.SIGKILL)
                break
        assert list(training.follow())[-1]["state"] == "failed"
        exchanges = (out / "work" / "exchanges.jsonl").read_text()
        assert written in ("", exchanges)
        written = exchanges
        newest = max(int(path.name[5:]) for path in (out / "work" / "checkpoints").glob("step-*"))
        assert newest > reached
        reached = newest
        training = start_training(settings, recipe, out)
    first = next(s for s in training.follow() if s["stage"] == "train" and s["done"] > 0)
    assert first["done"] >= reached
    training.stop(wait=True)
    assert training.status()["state"] == "cancelled"
    newest = max(int(path.name[5:]) for path in (out / "work" / "checkpoints").glob("step-*"))
    assert newest >= reached
    with pytest.raises(PlaygroundError, match="other options: tokens"):
        start_training(settings, options(target, tokens=2500), out)


def test_what_cannot_be_trained_is_refused_at_once(target: Path, settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(PlaygroundError, match="no model"):
        start_training(settings, options(tmp_path / "nowhere"), tmp_path / "out")
    with pytest.raises(PlaygroundError, match="There is no file"):
        start_training(settings, options(target, prompts=tmp_path / "none.txt"), tmp_path / "out")
    with pytest.raises(PlaygroundError, match="not empty"):
        start_training(settings, options(target), target)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_command_line(target: Path, tmp_path: Path) -> None:
    """Flags are the options' fields; a failed stage is one sentence and its fix, in JSON too."""
    broken = tmp_path / "rows.jsonl"
    broken.write_text("[]\n")
    command = [sys.executable, "-m", "playground", "train", "--target", str(target), "--out", str(tmp_path / "head")]
    command += ["--data", str(broken), "--tokens", "200", "--json"]
    environment = os.environ | {"DRAFTBOARD_DATA": str(tmp_path / "data"), "DRAFTBOARD_DEVICE": "cpu"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    assert done.returncode == 2, done.stderr
    assert answer["state"] == "failed"
    assert "Line 1 of rows.jsonl" in answer["error"]["error"]


@pytest.mark.slow
def test_a_worker_ends_with_its_parent(target: Path, settings: Settings, tmp_path: Path) -> None:
    """Nobody reads its progress any more: it saves and ends."""
    training = start_training(settings, options(target, tokens=10**6), tmp_path / "head")
    process = training._process
    assert process is not None
    next(s for s in training.follow() if s["stage"] == "write")
    assert process.stdin is not None
    process.stdin.close()
    process.wait(120)
    assert training.status()["state"] == "cancelled"
    assert time.time() - first_line_age(tmp_path / "head") < 3600


def first_line_age(out: Path) -> float:
    return float(json.loads((out / "progress.json").read_text())["written"])
