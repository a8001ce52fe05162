"""The counterfactual k-curve is exact: at temperature 0 in float32 it equals what each k really accepts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.config import SamplingParams, Speculation
from playground.engines import _counterfactual
from playground.events import RunFinished, RunStarted, Step
from playground.metrics import RunResult
from playground.suites._library import read_suite
from playground.tune.walk import Answer, answer_of, looked_up, looks_up, recorded_of, together, walk
from tests.conftest import ROOT
from tests.rig import Rig
from tests.tiny import EOS_ID, make_config, make_draft, make_model, make_tokenizer, save

KS = (1, 2, 3, 4, 5, 6, 8)
PROMPTS = ("the quick brown fox", "def add(a, b):", "one two three one two three one two", "你好，世界。")


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    folder = tmp_path_factory.mktemp("counterfactual")
    target = make_model(folder / "target")
    near = make_draft(folder / "near", target, noise=0.05)
    window = make_model(folder / "window", max_position_embeddings=40)
    return Rig(target, {"near": near, "window": window})


@pytest.fixture(scope="module")
def ending(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """A target that often ends its answers by EOS, and a draft that often sees it coming."""
    import torch
    from transformers import LlamaForCausalLM

    folder = tmp_path_factory.mktemp("ending")
    torch.manual_seed(3)
    model = LlamaForCausalLM(make_config(initializer_range=0.3))
    with torch.no_grad():
        model.lm_head.weight[EOS_ID] *= 2.2
    target = save(folder / "target", model, make_tokenizer())
    return Rig(target, {"near": make_draft(folder / "near", target, noise=0.02)})


def events(rig: Rig, prompt: str, speculation: Speculation | None, counterfactual=(), **sampling):
    config = rig.config.model_copy(
        update={
            "speculation": speculation,
            "sampling": SamplingParams(**{"max_tokens": 60, **sampling}),
            "engine_options": {"counterfactual": counterfactual} if counterfactual else {},
        }
    )
    return list(_counterfactual.run(rig.models, config, prompt, lambda: False))


def measured(found) -> tuple[int, int, int, int]:
    result = RunResult.of(found)
    return result.num_steps, result.num_drafting_steps, result.num_draft_tokens, result.num_accepted_tokens


def predicted(answer: Answer, recorded, k: int) -> tuple[int, int, int, int]:
    walked = walk(answer, recorded.at(k), k)
    assert walked.num_decode_tokens == len(answer.delivered) - 1
    assert sum(walked.widths.values()) == walked.num_steps
    return walked.num_steps, walked.num_drafting_steps, walked.num_draft_tokens, walked.num_accepted_tokens


def answered(found, max_tokens: int = 60) -> tuple[Answer, RunFinished]:
    started = next(e for e in found if isinstance(e, RunStarted))
    ids = [token.id for e in found if isinstance(e, Step) for token in e.tokens]
    return answer_of(started.prompt_token_ids, ids, found[-1].engine_counters, max_tokens), found[-1]


def draft(name: str, k: int = 3, method: str = "draft_model", **options) -> Speculation:
    return Speculation(method=method, model=name, num_speculative_tokens=k, options=options)


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("sampling", [{}, {"max_tokens": 7}, {"repetition_penalty": 1.3, "min_tokens": 20}])
def test_a_draft_model_equals_every_k(rig: Rig, prompt: str, sampling: dict) -> None:
    found = events(rig, prompt, draft("near"), KS, **sampling)
    answer, finish = answered(found)
    recorded = recorded_of(finish.engine_counters)
    assert recorded is not None
    for k in KS:
        assert predicted(answer, recorded, k) == measured(events(rig, prompt, draft("near", k), **sampling)), k


@pytest.mark.parametrize("options", [{"draft_p_min": 0.02}, {"draft_p_min": 0.2}])
def test_a_draft_that_stops_when_unsure_equals_every_k(rig: Rig, options: dict) -> None:
    found = events(rig, PROMPTS[0], draft("near", **options), KS)
    answer, finish = answered(found)
    recorded = recorded_of(finish.engine_counters)
    for k in KS:
        assert predicted(answer, recorded, k) == measured(events(rig, PROMPTS[0], draft("near", k, **options))), k


def test_a_short_window_drafts_nothing_past_its_end(rig: Rig) -> None:
    found = events(rig, PROMPTS[0], draft("window"), KS)
    answer, finish = answered(found)
    recorded = recorded_of(finish.engine_counters)
    assert 0 in recorded.at(8)[0]
    for k in KS:
        assert predicted(answer, recorded, k) == measured(events(rig, PROMPTS[0], draft("window", k))), k


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("ngram", {"prompt_lookup_min": 1, "prompt_lookup_max": 3}),
        ("ngram", {"prompt_lookup_min": 2, "prompt_lookup_max": 5, "match": "most_recent"}),
        ("suffix", {}),
        ("suffix", {"suffix_decoding_max_spec_factor": 3.0}),
    ],
)
def test_lookups_follow_from_a_baselines_ids(rig: Rig, prompt: str, method: str, options: dict) -> None:
    assert looks_up(method)
    answer, finish = answered(events(rig, prompt, None, KS))
    assert recorded_of(finish.engine_counters) is None
    speculation = Speculation(method=method, options=options)
    recorded = looked_up(answer, speculation, KS)
    for k in KS:
        really = events(rig, prompt, speculation.model_copy(update={"num_speculative_tokens": k}))
        assert predicted(answer, recorded, k) == measured(really), k


@pytest.mark.parametrize("seed", range(12))
def test_drafts_past_the_end_are_counted_as_the_engine_counts_them(ending: Rig, seed: int) -> None:
    prompt = f"{PROMPTS[seed % 4]} {seed}"
    found = events(ending, prompt, draft("near"), KS, max_tokens=120)
    answer, finish = answered(found, 120)
    recorded = recorded_of(finish.engine_counters)
    if finish.reason == "stop":
        assert len(answer.tail) == max(KS)
    ngram = Speculation(options={"prompt_lookup_min": 1})
    looked = looked_up(answer, ngram, KS)
    for k in KS:
        assert predicted(answer, recorded, k) == measured(events(ending, prompt, draft("near", k), max_tokens=120)), k
        really = events(ending, prompt, ngram.model_copy(update={"num_speculative_tokens": k}), max_tokens=120)
        assert predicted(answer, looked, k) == measured(really), k


def test_some_of_those_answers_do_end(ending: Rig) -> None:
    reasons = [events(ending, f"{PROMPTS[s % 4]} {s}", None, max_tokens=120)[-1].reason for s in range(12)]
    assert reasons.count("stop") >= 3


def test_a_stop_string_leaves_a_tail_too(rig: Rig) -> None:
    whole = events(rig, PROMPTS[0], None)[-1].text
    stop = (whole[30:33],)
    found = events(rig, PROMPTS[0], draft("near"), KS, stop=stop)
    answer, finish = answered(found)
    assert finish.reason == "stop"
    recorded = recorded_of(finish.engine_counters)
    for k in KS:
        assert predicted(answer, recorded, k) == measured(events(rig, PROMPTS[0], draft("near", k), stop=stop)), k


def test_the_record_touches_neither_tokens_nor_metrics(rig: Rig) -> None:
    plain, recorded = events(rig, PROMPTS[0], draft("near")), events(rig, PROMPTS[0], draft("near"), KS)
    assert [e.tokens for e in plain if isinstance(e, Step)] == [e.tokens for e in recorded if isinstance(e, Step)]
    assert RunResult.of(recorded).reconciled is True
    assert recorded_of(plain[-1].engine_counters) is None


def test_samples_are_not_recorded(rig: Rig) -> None:
    assert recorded_of(events(rig, PROMPTS[0], draft("near"), KS, temperature=0.8)[-1].engine_counters) is None


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 8), st.integers(0, 3))
def test_a_walk_delivers_every_token_once(lengths: list[int], k: int, spare: int) -> None:
    n = len(lengths) + 1
    answer = Answer((1,), tuple(range(n)), budget=n + spare)
    curve = ([k] * len(lengths), [min(length, n - t - 1) for t, length in enumerate(lengths, 1)])
    walked = walk(answer, curve, k)
    assert walked.num_decode_tokens == n - 1
    assert walked.num_steps + walked.num_accepted_tokens >= n - 1
    assert walked.num_steps + walked.num_accepted_tokens - (n - 1) <= k
    both = together([walked, walked])
    assert both.num_steps == 2 * walked.num_steps
    assert both.draft_acceptance_rate == walked.draft_acceptance_rate


@pytest.mark.real
@pytest.mark.slow
def test_on_the_default_model(default_model: Path, tmp_path: Path) -> None:
    """The default model with n-gram, and with a draft made of its first layers: exact for each k."""
    from tests.benchmarks.lossless import weaken

    rig = Rig(default_model, {"weak": weaken(default_model, tmp_path / "weak", 20)}, chat=True)
    prompts = [p.turns[0] for p in read_suite(ROOT / "presets" / "suites" / "general.jsonl").prompts]
    for prompt in (prompts[5], prompts[13]):
        found = events(rig, prompt, draft("weak"), (2, 4), max_tokens=24)
        answer, finish = answered(found, 24)
        recorded = recorded_of(finish.engine_counters)
        ngram = Speculation(options={"prompt_lookup_min": 1})
        looked = looked_up(answer, ngram, (2, 4))
        for k in (2, 4):
            assert predicted(answer, recorded, k) == measured(events(rig, prompt, draft("weak", k), max_tokens=24))
            really = events(rig, prompt, ngram.model_copy(update={"num_speculative_tokens": k}), max_tokens=24)
            assert predicted(answer, looked, k) == measured(really)
