"""Random presets, and the fixed ones of the golden files. Shared by the tests of presets, exports and imports."""

import string
from typing import Any

from hypothesis import strategies as st

from playground.config import Evidence, Preset, RunConfig, SamplingParams, Speculation
from playground.exporters._vllm_schema import MODEL_METHODS

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
"""Any text a person could type or paste: line ends, control characters and directions included, NUL too."""
file_texts = texts.map(lambda text: text.replace("\0", ""))
words = st.text(string.ascii_lowercase + string.digits + "-_", min_size=1, max_size=12)
names = words.filter(lambda word: not word.startswith("-"))
"""Names of models; one that looks like a flag is refused by every exporter of a server."""
models = st.one_of(
    names, st.tuples(names, words).map("/".join), words.map("/models/{}".format), names.map("{}.gguf".format)
)


def floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False)


@st.composite
def samplings(draw: st.DrawFn) -> SamplingParams:
    max_tokens = draw(st.integers(1, 4096))
    return SamplingParams(
        temperature=draw(floats(0, 2)),
        top_p=draw(floats(0.001, 1)),
        top_k=draw(st.integers(0, 10**9)),
        min_p=draw(floats(0, 1)),
        repetition_penalty=draw(floats(0.01, 3)),
        presence_penalty=draw(floats(-2, 2)),
        frequency_penalty=draw(floats(-2, 2)),
        min_tokens=draw(st.integers(0, max_tokens)),
        max_tokens=max_tokens,
        seed=draw(st.none() | st.integers(0, 2**63 - 1)),
        stop=tuple(draw(st.lists(file_texts.filter(bool), max_size=4))),
        ignore_eos=draw(st.booleans()),
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | floats(-1e9, 1e9) | file_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(file_texts, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def vllm_speculations(draw: st.DrawFn) -> Speculation:
    """Speculations that vLLM has, with options it has and options it has not."""
    method = draw(st.sampled_from(("ngram", "draft_model", "eagle3", "eagle", "mtp", "medusa", "suffix", "pard")))
    options: dict[str, Any] = {}
    if method == "ngram" and draw(st.booleans()):
        low = draw(st.integers(1, 8))
        options = {"prompt_lookup_min": low, "prompt_lookup_max": draw(st.integers(low, 12))}
    if method == "ngram" and draw(st.booleans()):
        options["match"] = draw(st.sampled_from(("earliest", "most_recent")))
    if method in ("draft_model", "eagle3"):
        options |= draw(st.sampled_from(({}, {"draft_sample_method": "probabilistic"}, {"quantization": "fp8"})))
        options |= draw(st.sampled_from(({}, {"draft_tensor_parallel_size": 1})))
    if method == "suffix":
        options |= draw(st.sampled_from(({}, {"suffix_decoding_max_spec_factor": 1.5})))
        options |= draw(st.sampled_from(({}, *({"suffix_decoding_max_cached_requests": n} for n in (0, 500)))))
    options |= draw(st.dictionaries(words.map("own_{}".format), json_values, max_size=2))
    needs = method in (*MODEL_METHODS, "pard")
    model = draw(models) if needs or draw(st.booleans()) else None
    return Speculation(method=method, num_speculative_tokens=draw(st.integers(1, 64)), model=model, options=options)


@st.composite
def presets(draw: st.DrawFn) -> Preset:
    engine_options = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "tensor_parallel_size": st.sampled_from((1, 2, 8)),
                "max_model_len": st.integers(1, 10**6),
                "gpu_memory_utilization": floats(0.01, 1),
                "quantization": st.sampled_from(("awq", "fp8")),
                "enforce_eager": st.booleans(),
                "own_option": json_values,
            },
        )
    )
    config = RunConfig(
        engine=draw(st.sampled_from(("embedded", "vllm"))),
        engine_options=engine_options,
        target=draw(models),
        dtype=draw(st.sampled_from(("auto", "bfloat16", "float16", "float32"))),
        speculation=draw(st.none() | vllm_speculations()),
        sampling=draw(samplings()),
        chat=draw(st.booleans()),
        system_prompt=draw(file_texts),
    )
    evidence = st.builds(
        Evidence,
        run_ids=st.lists(words, max_size=2).map(tuple),
        date=file_texts,
        metrics=st.dictionaries(file_texts, json_values, max_size=3),
        hardware=st.dictionaries(file_texts, json_values, max_size=3),
        versions=st.dictionaries(file_texts, file_texts, max_size=2),
    )
    return Preset(
        name=draw(words.filter(lambda name: name[0] not in "-_")),
        description=draw(file_texts),
        config=config,
        evidence=draw(st.none() | evidence),
    )


DRAFT_MODEL = Preset(
    name="golden-draft",
    description="A 70B with its 8B.\nmodel: this line must stay a comment",
    config=RunConfig(
        engine="vllm",
        engine_options={"tensor_parallel_size": 4, "max_model_len": 8192, "gpu_memory_utilization": 0.9},
        target="meta-llama/Llama-3.3-70B-Instruct",
        dtype="bfloat16",
        speculation=Speculation(
            method="draft_model",
            num_speculative_tokens=5,
            model="meta-llama/Llama-3.1-8B-Instruct",
            options={"draft_tensor_parallel_size": 1, "draft_sample_method": "probabilistic"},
        ),
        sampling=SamplingParams(temperature=0.7, top_p=0.9, top_k=40, max_tokens=512, seed=7, stop=("</s>", "\n\n")),
        system_prompt="Answer in one line.",
    ),
    evidence=Evidence(
        run_ids=("01J0BASE", "01J0SPEC"),
        date="2026-11-29",
        metrics={"speedup": 1.8712, "draft_acceptance_rate": 0.713, "acceptance_by_position": [0.9, 0.6, None]},
        hardware={"device": "4x NVIDIA H200"},
        versions={"vllm": "0.32.0"},
    ),
)
NGRAM = Preset(
    name="golden-ngram",
    config=RunConfig(
        target="smollm2-135m",
        dtype="float32",
        speculation=Speculation(
            method="ngram",
            num_speculative_tokens=8,
            options={"prompt_lookup_max": 4, "prompt_lookup_min": 2, "match": "most_recent"},
        ),
        sampling=SamplingParams(min_p=0.05, temperature=1.0),
        chat=False,
    ),
)
SUFFIX = Preset(
    name="golden-suffix",
    config=RunConfig(
        target="org/model",
        dtype="bfloat16",
        speculation=Speculation(
            method="suffix", num_speculative_tokens=12, options={"suffix_decoding_max_spec_factor": 2.0}
        ),
        sampling=SamplingParams(temperature=0.0),
    ),
)
BASELINE = Preset(name="golden-baseline", config=RunConfig(speculation=None, target="org/model"))
GOLDEN = (DRAFT_MODEL, NGRAM, SUFFIX, BASELINE)
