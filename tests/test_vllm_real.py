"""The default model on the real vLLM: n-gram, draft equal to the target, a smaller draft, and an EAGLE-3 head."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playground.config import RunConfig, SamplingParams, Speculation
from playground.engines import EngineContext
from playground.events import RunFinished, Step
from playground.metrics import RunResult
from playground.process import EngineProcess
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.real,
    pytest.mark.slow,
]

HEAD = Path(os.environ.get("DRAFTBOARD_TEST_EAGLE3") or ROOT / "presets" / "heads" / "smollm2-135m-eagle3")
"""An EAGLE-3 head for the default model."""

PROMPT = "Write this list again, exactly: red apple, green pear, red apple, yellow banana, green pear."
TOKENS = 40


def config(speculation: Speculation | None) -> RunConfig:
    return RunConfig(
        engine="vllm",
        target="smollm2-135m",
        dtype="float32",
        speculation=speculation,
        sampling=SamplingParams(max_tokens=TOKENS),
        engine_options={"max_model_len": 512},
    )


def run(of: RunConfig, context: EngineContext) -> tuple[list[int], RunResult]:
    engine = EngineProcess("playground.engines.vllm", of, context)
    try:
        list(engine.load())
        events: list[Any] = list(engine.generate("a", of, PROMPT))
    finally:
        engine.close()
    assert isinstance(events[-1], RunFinished)
    assert events[-1].reason in ("stop", "length"), events[-1].error
    result = RunResult.of(events)
    assert result.reconciled is True, result.problems
    return [token.id for event in events if isinstance(event, Step) for token in event.tokens], result


def all_of(of: RunConfig, context: EngineContext, prompts: list[str]) -> tuple[list[list[int]], float]:
    """(the ids of each answer, accepted per drafted token over all)."""
    engine = EngineProcess(f"playground.engines.{of.engine}", of, context)
    answers, drafted, accepted = [], 0, 0
    try:
        list(engine.load())
        for number, prompt in enumerate(prompts):
            events: list[Any] = list(engine.generate(str(number), of, prompt))
            result = RunResult.of(events)
            assert result.reconciled is True, result.problems
            answers.append([token.id for event in events if isinstance(event, Step) for token in event.tokens])
            drafted += result.num_draft_tokens
            accepted += result.num_accepted_tokens
    finally:
        engine.close()
    return answers, accepted / drafted


@pytest.fixture(scope="module")
def context(default_model, tmp_path_factory) -> EngineContext:
    """The default model and a draft made of its first layers."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tmp_path_factory.mktemp("draft")
    model = AutoModelForCausalLM.from_pretrained(default_model, dtype=torch.bfloat16)
    model.model.layers = model.model.layers[:10]
    model.config.num_hidden_layers = 10
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[:10]
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(default_model).save_pretrained(folder)
    return EngineContext(device="cpu", model_paths={"smollm2-135m": str(default_model), "fewer-layers": str(folder)})


@pytest.fixture(scope="module")
def plain(context) -> list[int]:
    ids, result = run(config(None), context)
    assert result.num_draft_tokens == 0
    return ids


def test_ngram(context, plain):
    ids, result = run(config(Speculation(method="ngram", num_speculative_tokens=4)), context)
    assert ids == plain
    assert result.num_draft_tokens > 0


def test_draft_equal_to_the_target(context, plain):
    """CASES 7."""
    ids, result = run(
        config(Speculation(method="draft_model", model="smollm2-135m", num_speculative_tokens=3)), context
    )
    assert ids == plain
    assert result.draft_acceptance_rate == 1.0


def test_a_smaller_draft(context, plain):
    ids, result = run(
        config(Speculation(method="draft_model", model="fewer-layers", num_speculative_tokens=3)), context
    )
    assert ids == plain
    assert result.num_draft_tokens >= TOKENS


@pytest.mark.skipif(not HEAD.is_dir(), reason="no EAGLE-3 head: name one in DRAFTBOARD_TEST_EAGLE3")
def test_a_head_is_accepted_as_in_the_embedded_engine(context):
    """The same prompts, tokens and head: acceptance within 3 points, and the same text."""
    lines = (ROOT / "presets" / "suites" / "draftboard.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [json.loads(line)["prompt"] for line in lines[:6]]
    ids, rates = {}, {}
    for engine in ("embedded", "vllm"):
        options = {"max_model_len": 512} if engine == "vllm" else {}
        of = config(Speculation(method="eagle3", model=str(HEAD), num_speculative_tokens=3))
        of = of.model_copy(update={"engine": engine, "engine_options": options})
        ids[engine], rates[engine] = all_of(of, context, prompts)
    assert ids["vllm"] == ids["embedded"]
    assert rates["vllm"] > 0.05
    assert abs(rates["vllm"] - rates["embedded"]) <= 0.03, rates


def test_the_command_line_gives_the_embedded_engines_keys(default_model, tmp_path):
    """`compare --json` has one shape, whatever ran."""
    found = {}
    for engine in ("embedded", "vllm"):
        command = ["compare", "--engine", engine, "--target", str(default_model), "--method", "ngram", "--json"]
        more = ["--dtype", "float32", "--max-tokens", "12", "--prompt", PROMPT]
        done = subprocess.run(
            [sys.executable, "-m", "playground", *command, *more],
            env=os.environ | {"DRAFTBOARD_DATA": str(tmp_path), "DRAFTBOARD_DEVICE": "cpu"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        found[engine] = json.loads(done.stdout.strip().splitlines()[-1])
    ours, theirs = found["vllm"], found["embedded"]
    assert ours.keys() == theirs.keys()
    for arm in ("baseline", "speculative"):
        assert ours[arm].keys() == theirs[arm].keys()
        assert ours[arm]["reconciled"] is True
        assert ours[arm]["num_delivered"] == theirs[arm]["num_delivered"]
    assert ours["outputs_identical"] is True
    assert ours["speculative"]["num_draft_tokens"] > 0  # vLLM drafts in full also where few tokens are left
