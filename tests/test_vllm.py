"""The vLLM engine on the real vLLM, in its own process: trace, losslessness, sampling law, cancelling, dying, leaving.

Tiny float32 models, so that loading vLLM itself is most of the time. Engines are shared by the tests that can.
"""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from playground.config import RunConfig, SamplingParams, Speculation
from playground.engines import EngineContext
from playground.errors import PlaygroundError
from playground.events import Heartbeat, Loading, RunFinished, RunStarted, Step
from playground.metrics import RunResult
from playground.process import EngineProcess, _shared_memory
from tests import tiny
from tests.children import children

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
]

PROMPT = "one two three four five six one two three four five six one two three"
SHAPE = {"hidden_size": 128, "intermediate_size": 128, "max_position_embeddings": 256}


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("models")
    target = tiny.make_model(folder / "target", **SHAPE)
    return {
        "target": str(target),
        "close": str(tiny.make_draft(folder / "close", target, noise=0.004)),
        "other": str(tiny.make_model(folder / "other", seed=5, vocab_size=400, **SHAPE)),
    }


@pytest.fixture(scope="module")
def context(models) -> EngineContext:
    return EngineContext(device="cpu", model_paths=models, threads=1)


def config(speculation: Speculation | None, *, engine: dict[str, Any] | None = None, **sampling: Any) -> RunConfig:
    sampling = {"max_tokens": 40, "ignore_eos": True} | sampling
    return RunConfig(
        engine="vllm",
        target="target",
        dtype="float32",
        speculation=speculation,
        sampling=SamplingParams(**sampling),
        engine_options={"max_num_seqs": 32} | (engine or {}),
        chat=False,
    )


def ngram(k: int = 4) -> Speculation:
    return Speculation(
        method="ngram", num_speculative_tokens=k, options={"prompt_lookup_min": 1, "prompt_lookup_max": 3}
    )


def draft_model(model: str, k: int = 3, **options: Any) -> Speculation:
    return Speculation(method="draft_model", model=model, num_speculative_tokens=k, options=options)


@contextmanager
def loaded(of: RunConfig, context: EngineContext) -> Iterator[EngineProcess]:
    """An engine process; when it is closed nothing of it may be left."""
    before = children()
    engine = EngineProcess("playground.engines.vllm", of, context)
    shared: set[Path] = set()
    try:
        list(engine.load())
        shared = _shared_memory(engine.pid)
        yield engine
    finally:
        engine.close()
        assert children() <= before
        assert not [segment for segment in shared if segment.exists()]


def run(engine: EngineProcess, of: RunConfig, prompt: str = PROMPT, run_id: str = "a") -> list[Any]:
    return [event for event in engine.generate(run_id, of, prompt) if not isinstance(event, Heartbeat)]


def ids(events: list[Any]) -> list[int]:
    return [token.id for event in events if isinstance(event, Step) for token in event.tokens]


def text(events: list[Any]) -> str:
    return "".join(token.text for event in events if isinstance(event, Step) for token in event.tokens)


def checked(events: list[Any]) -> RunResult:
    """The fold of a whole run; its trace must equal vLLM's own counters."""
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished), events[-1]
    assert events[-1].reason in ("stop", "length"), events[-1].error
    result = RunResult.of(events)
    assert result.problems == ()
    assert result.reconciled is True
    assert events[-1].usage_completion_tokens == result.num_delivered
    for step in (e for e in events if isinstance(e, Step)):
        assert 0 <= step.num_accepted_tokens <= step.num_draft_tokens
        assert len(step.rejected) == step.num_draft_tokens - step.num_accepted_tokens
        assert all(token.id >= 0 for token in (*step.tokens, *step.rejected))
    return result


@pytest.fixture(scope="module")
def baseline(context) -> Iterator[EngineProcess]:
    with loaded(config(None, engine={"candidates": 3}), context) as engine:
        yield engine


NGRAM = config(ngram(), engine={"max_num_speculative_tokens": 6})


@pytest.fixture(scope="module")
def with_ngram(context) -> Iterator[EngineProcess]:
    with loaded(NGRAM, context) as engine:
        yield engine


@pytest.fixture(scope="module")
def plain(baseline) -> list[Any]:
    """A greedy run without speculation."""
    return run(baseline, config(None, engine={"candidates": 3}))


def test_the_baseline(plain):
    result = checked(plain)
    assert plain[-1].engine_counters is None
    assert result.num_delivered == 40
    assert result.num_draft_tokens == 0
    environment = plain[0].environment
    assert environment["dtype"] == "float32"
    assert environment["versions"]["torch"]
    assert "V1" in environment["engine_path"]
    steps = [e for e in plain if isinstance(e, Step)]
    assert [s.index for s in steps] == list(range(40))
    assert all(len(s.logit_gaps) == 1 and s.logit_gaps[0] >= 0 for s in steps)
    assert all(s.tokens[0].id == s.target_candidates[0][0].id for s in steps)
    assert all(0 < s.tokens[0].target_prob <= 1 for s in steps)


def test_the_reference_agrees(plain, models):
    """Greedy float32 against transformers itself."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(models["target"], dtype=torch.float32)
    context = list(plain[0].prompt_token_ids)
    found = ids(plain)
    logits = model(torch.tensor([context + found])).logits[0, len(context) - 1 : -1]
    assert logits.argmax(-1).tolist() == found


@pytest.mark.parametrize("k", [1, 4, 6])
def test_ngram_is_traced_lossless_and_takes_a_smaller_k_at_once(with_ngram, plain, k):
    """CASES 6, 11: the engine was loaded for 6."""
    events = run(with_ngram, config(ngram(k), engine={"max_num_speculative_tokens": 6}))
    result = checked(events)
    assert ids(events) == ids(plain)
    assert text(events) == text(plain)
    assert result.num_draft_tokens > 0
    assert max(e.num_draft_tokens for e in events if isinstance(e, Step)) <= k
    assert events[-1].engine_counters["num_draft_tokens"] == result.num_draft_tokens
    assert events[0].environment["loaded_num_speculative_tokens"] == 6


def test_more_than_was_loaded_is_refused(with_ngram):
    (finished,) = run(with_ngram, config(ngram(7)))
    assert (finished.reason, finished.code) == ("error", "needs_reload")


@pytest.mark.parametrize("max_tokens", [1, 2, 5, 9])
def test_max_tokens_is_exact(with_ngram, plain, max_tokens):
    """CASES 11, 24."""
    events = run(with_ngram, config(ngram(), max_tokens=max_tokens))
    assert checked(events).num_delivered == max_tokens
    assert ids(events) == ids(plain)[:max_tokens]
    assert events[-1].reason == "length"


def test_a_stop_string_ends_the_text_there(with_ngram, plain):
    """CASES 12, 13."""
    shown = text(plain)
    stop = shown[7:10]
    events = run(with_ngram, config(ngram(), stop=(stop,)))
    result = checked(events)
    assert events[-1].reason == "stop"
    assert events[-1].text == shown[: shown.index(stop)]
    assert result.num_delivered < 40
    assert ids(events) == ids(plain)[: result.num_delivered]
    again = run(with_ngram, config(ngram()))
    assert ids(again) == ids(plain)


def test_the_context_is_filled_to_its_end(with_ngram):
    """CASES 15."""
    prompt = "one two three " * 40
    events = run(with_ngram, config(ngram(), max_tokens=500), prompt)
    result = checked(events)
    assert result.num_prompt_tokens + result.num_delivered == SHAPE["max_position_embeddings"]
    assert any("leaves" in warning for warning in events[0].environment["warnings"])
    (finished,) = run(with_ngram, config(ngram()), "one two three " * 400)
    assert finished.code == "prompt_too_long"


def test_min_p_is_refused_by_name(with_ngram):
    """CASES 22."""
    (finished,) = run(with_ngram, config(ngram(), min_p=0.2, temperature=0.7))
    assert finished.reason == "error"
    assert "min_p" in finished.error
    assert "min_p" in finished.hint


def test_penalties_are_those_of_the_baseline(with_ngram, baseline):
    """CASES 22."""
    penalties = {"repetition_penalty": 1.3, "presence_penalty": 0.4, "frequency_penalty": 0.2, "min_tokens": 5}
    plain = run(baseline, config(None, engine={"candidates": 3}, **penalties))
    events = run(with_ngram, config(ngram(), **penalties))
    checked(events)
    assert ids(events) == ids(plain)


def test_seeds(with_ngram):
    """CASES 20."""
    sampled = config(ngram(), temperature=1.0, seed=11)
    assert ids(run(with_ngram, sampled)) == ids(run(with_ngram, sampled))
    free = config(ngram(), temperature=1.0)
    first, second = run(with_ngram, free), run(with_ngram, free)
    assert ids(first) != ids(second)
    assert first[0].environment["seed"] != second[0].environment["seed"]


def test_several_runs_at_once_each_with_its_own_trace(with_ngram, plain):
    """CASES 18, 30."""
    prompts = [PROMPT, "def add(a, b): return a + b", "the quick brown fox the quick brown fox", PROMPT]
    alone = [ids(run(with_ngram, config(ngram()), prompt)) for prompt in prompts]
    with ThreadPoolExecutor(len(prompts)) as pool:
        together = list(pool.map(lambda i: run(with_ngram, config(ngram()), prompts[i], f"r{i}"), range(len(prompts))))
    for events, expected in zip(together, alone, strict=True):
        checked(events)
        assert ids(events) == expected
    assert max(events[0].environment["runs_at_once"] for events in together) > 1


def test_greedy_and_sampled_runs_in_one_batch(with_ngram, plain):
    """vLLM treats the two kinds by different code within one step."""
    mixed = [
        config(ngram()),
        config(ngram(), temperature=1.0, top_k=5),
        config(ngram(), temperature=0.5, top_p=0.8),
    ] * 3
    with ThreadPoolExecutor(len(mixed)) as pool:
        together = list(pool.map(lambda i: run(with_ngram, mixed[i], run_id=f"m{i}"), range(len(mixed))))
    for of, events in zip(mixed, together, strict=True):
        checked(events)
        if of.sampling.greedy:
            assert ids(events) == ids(plain)


def test_cancelling_one_run_leaves_the_others(with_ngram, plain):
    """CASES 26."""
    long = config(ngram(), max_tokens=200)
    doomed = with_ngram.generate("doomed", long, PROMPT)
    while not isinstance(next(doomed), Step):
        pass
    other: list[Any] = []
    beside = threading.Thread(target=lambda: other.extend(run(with_ngram, config(ngram()), run_id="beside")))
    beside.start()
    with_ngram.abort("doomed")
    rest = [e for e in doomed if not isinstance(e, Heartbeat)]
    beside.join()
    assert rest[-1].reason == "cancelled"
    assert ids(other) == ids(plain)
    checked(other)
    with closing(with_ngram.generate("dropped", long, PROMPT)) as dropped:
        while not isinstance(next(dropped), Step):
            pass
    assert ids(run(with_ngram, config(ngram()))) == ids(plain)


def test_draft_equal_to_the_target_accepts_everything(context, plain):
    """CASES 7, 8: exactly k + 1 tokens per step, to the end."""
    of = config(draft_model("target", 3), max_tokens=41)
    with loaded(of, context) as engine:
        events = run(engine, of)
        result = checked(events)
        assert result.draft_acceptance_rate == 1.0
        assert result.tokens_per_step == 4.0
        assert ids(events)[:40] == ids(plain)
        sampled = checked(run(engine, config(draft_model("target", 3), temperature=0.8)))
        assert sampled.num_draft_tokens > 0


def test_another_draft_model_and_a_restart_with_another_k(context, plain):
    for k in (2, 5):
        of = config(draft_model("close", k))
        with loaded(of, context) as engine:
            events = run(engine, of)
            result = checked(events)
            assert ids(events) == ids(plain)
            assert 0 < result.draft_acceptance_rate < 1
            assert max(e.num_draft_tokens for e in events if isinstance(e, Step)) == k


def test_a_load_that_is_cancelled_leaves_nothing(context):
    before = children()
    loading = EngineProcess("playground.engines.vllm", NGRAM, context).load()
    stages = set()
    for event in loading:
        stages.add(event.stage if isinstance(event, Loading) else "")
        if stages & {"weights", "start", "config"} - {""} and len(stages) > 2:
            break
    loading.close()
    assert children() <= before


def test_kill_9_of_a_worker_is_one_typed_error(context):
    """CASES 29: with vLLM's own engine and worker processes; nothing of them is left either."""
    of = config(ngram(), max_tokens=200, engine={"distributed_executor_backend": "mp"})
    with loaded(of, context) as engine:
        running = engine.generate("a", of, PROMPT)
        while not isinstance(next(running), Step):
            pass
        family = {p.pid: " ".join([p.name(), *p.cmdline()]) for p in psutil.Process(engine.pid).children(True)}
        worker = next(pid for pid, name in family.items() if "Worker" in name)
        os.kill(worker, signal.SIGKILL)
        finished = [e for e in running if not isinstance(e, Heartbeat)][-1]
        assert (finished.reason, finished.code) == ("error", "engine_died")
        assert finished.hint
        with pytest.raises(PlaygroundError, match="vLLM"):
            list(engine.generate("b", of, PROMPT))
        assert not engine.alive


def test_a_pair_that_cannot_be_is_refused_with_vllms_reason(context):
    """CASES 2."""
    of = config(draft_model("other"))
    with pytest.raises(PlaygroundError) as caught, loaded(of, context):
        pass
    assert "vocab" in caught.value.message.lower()


def test_out_of_memory_at_load(context, monkeypatch):
    """CASES 29."""
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "4000")
    with pytest.raises(PlaygroundError) as caught, loaded(config(None), context):
        pass
    assert caught.value.code == "out_of_memory"
    assert "VLLM_CPU_KVCACHE_SPACE" in caught.value.hint
