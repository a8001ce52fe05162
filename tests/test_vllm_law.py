"""What vLLM samples under speculation follows the target's law (CASES 19), on the build that is installed.

The CPU build 0.32.0 fails this without the engine's repair: its temperature and filters were whatever lay in memory.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from playground.config import RunConfig, SamplingParams, Speculation
from playground.engines import EngineContext
from playground.events import RunStarted, Step
from playground.metrics import RunResult
from playground.process import EngineProcess
from tests import tiny

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
]

LETTERS = "cjqkm"
PROMPT = "kjmmcqckqjcmqkc"
TEMPERATURE = 0.8
TOP_K = 3
SAMPLES = 1500
LENGTH = 3
AT_ONCE = 32
SMALLEST_P = 1e-4


@pytest.fixture(scope="module")
def context(tmp_path_factory) -> EngineContext:
    folder = tmp_path_factory.mktemp("models")
    # Small differences between logits: a wrong temperature or filter then changes the law visibly.
    shape = {"hidden_size": 128, "intermediate_size": 128, "max_position_embeddings": 256, "initializer_range": 0.12}
    target = only_letters(tiny.make_model(folder / "target", **shape))
    draft = tiny.make_draft(folder / "draft", target, noise=0.02)
    return EngineContext(device="cpu", model_paths={"target": str(target), "draft": str(draft)}, threads=1)


def only_letters(folder: Path) -> Path:
    """Makes a model say LETTERS only, so that what it says has occurred before: dimension 0 becomes a constant."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = 1.0
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight[0] = 0.0
            layer.mlp.down_proj.weight[0] = 0.0
        model.lm_head.weight[:, 0] = -10.0
        model.lm_head.weight[tokenizer.convert_tokens_to_ids(list(LETTERS)), 0] = 10.0
    assert len(tokenizer(PROMPT)["input_ids"]) == len(PROMPT)
    return tiny.save(folder, model, tokenizer)


def target_law(folder: str, prompt: list[int]) -> dict[tuple[int, ...], float]:
    """The probability of every continuation of LENGTH tokens, by transformers and the definition of top-k."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(LENGTH):
        grown: dict[tuple[int, ...], float] = {}
        for path, probability in law.items():
            with torch.no_grad():
                logits = model(torch.tensor([prompt + list(path)])).logits[0, -1] / TEMPERATURE
            best = logits.topk(TOP_K)
            for token, share in zip(best.indices.tolist(), best.values.softmax(-1).tolist(), strict=True):
                grown[(*path, token)] = probability * share
        law = grown
    return law


@pytest.mark.parametrize(
    "speculation",
    [
        Speculation(method="draft_model", model="draft", num_speculative_tokens=2),
        Speculation(
            method="draft_model",
            model="draft",
            num_speculative_tokens=2,
            options={"draft_sample_method": "probabilistic"},
        ),
        Speculation(method="ngram", num_speculative_tokens=2, options={"prompt_lookup_min": 1, "prompt_lookup_max": 1}),
    ],
    ids=["greedy draft", "sampled draft", "ngram"],
)
def test_the_sampling_law(context, speculation):
    """CASES 19: chi-square of the first LENGTH tokens of many runs at once, against the target's law."""
    config = RunConfig(
        engine="vllm",
        target="target",
        dtype="float32",
        chat=False,
        speculation=speculation,
        sampling=SamplingParams(temperature=TEMPERATURE, top_k=TOP_K, max_tokens=LENGTH, ignore_eos=True),
        engine_options={"max_num_seqs": AT_ONCE},
    )
    engine = EngineProcess("playground.engines.vllm", config, context)
    try:
        list(engine.load())
        with ThreadPoolExecutor(AT_ONCE) as pool:
            runs = list(pool.map(lambda i: list(engine.generate(str(i), config, PROMPT)), range(SAMPLES)))
    finally:
        engine.close()
    results = [RunResult.of(events) for events in runs]
    assert all(result.reconciled for result in results)
    drafted, accepted = (sum(getattr(r, n) for r in results) for n in ("num_draft_tokens", "num_accepted_tokens"))
    assert drafted > SAMPLES
    assert SAMPLES / 10 < accepted < drafted
    assert context.model_paths is not None
    law = target_law(context.model_paths["target"], list(next(iter_started(runs)).prompt_token_ids))
    counts = dict.fromkeys(law, 0)
    for events in runs:
        path = tuple(token.id for event in events if isinstance(event, Step) for token in event.tokens)
        assert path in counts, f"{path} lies outside top-{TOP_K}"
        counts[path] += 1
    observed, expected = pooled(list(counts.values()), [law[path] * SAMPLES for path in counts])
    # The reference's numbers are float32: its probabilities add up to 1 only nearly.
    scale = sum(observed) / sum(expected)
    assert stats.chisquare(observed, [e * scale for e in expected]).pvalue > SMALLEST_P


def iter_started(runs: list[list[Any]]) -> Any:
    return (event for events in runs for event in events if isinstance(event, RunStarted))


def pooled(observed: list[int], expected: list[float], least: float = 5.0) -> tuple[list[float], list[float]]:
    """Cells with too small an expectation for chi-square, joined into one."""
    pairs = sorted(zip(expected, observed, strict=True), reverse=True)
    large = [pair for pair in pairs if pair[0] >= least]
    small = [pair for pair in pairs if pair[0] < least]
    if small:
        large.append((sum(e for e, _ in small), sum(o for _, o in small)))
    return [float(o) for _, o in large], [e for e, _ in large]
