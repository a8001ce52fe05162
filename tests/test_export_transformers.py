"""The Transformers script is run for real, on tiny models: it loads, drafts and prints."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playground.config import Preset, RunConfig, SamplingParams, Speculation
from playground.exchange import export_preset
from tests import tiny

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("models")
    target = tiny.make_model(folder / "target")
    return str(target), str(tiny.make_draft(folder / "draft", target))


@pytest.mark.parametrize(
    ("method", "sampling"),
    [
        ("ngram", {"temperature": 0.0, "stop": ("zzz",), "min_tokens": 2}),
        ("draft_model", {"temperature": 0.7, "top_p": 0.9, "min_p": 0.05, "seed": 3, "ignore_eos": True}),
        (None, {"temperature": 0.0}),
    ],
)
def test_the_script_runs(models: tuple[str, str], tmp_path: Path, method: str | None, sampling: dict[str, Any]) -> None:
    target, draft = models
    spec = None
    if method is not None:
        spec = Speculation(method=method, num_speculative_tokens=3, model=draft if method == "draft_model" else None)
    config = RunConfig(
        target=target,
        dtype="float32",
        speculation=spec,
        sampling=SamplingParams(max_tokens=12, **sampling),
        system_prompt="Be brief.",
    )
    made = export_preset(Preset(name="tiny", config=config), "transformers")
    path = tmp_path / "tiny.py"
    path.write_text(made.files["tiny.transformers.py"], encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
