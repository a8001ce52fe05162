"""What leaves for vLLM: nothing dropped silently, every trap of its formats, no stranger's word outside a comment."""

import ast
import json
import shlex
import subprocess
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from playground.config import Evidence, Preset, RunConfig, SamplingParams, Speculation
from playground.errors import PlaygroundError
from playground.exchange import export_preset
from playground.exporters import Export, vllm
from playground.exporters._ledger import fields
from playground.exporters._vllm_schema import METHODS, ServeConfig
from playground.exporters._vllm_translate import translate
from tests._presets import DRAFT_MODEL, NGRAM, presets


def of(export: Export, ending: str) -> str:
    return next(text for name, text in export.files.items() if name.endswith(ending))


def serve(export: Export) -> dict[str, Any]:
    data = yaml.safe_load(of(export, ".vllm.yaml"))
    assert isinstance(data, dict)
    return data


def losses(export: Export) -> dict[str, str]:
    return {loss.field: loss.level for loss in export.losses}


def with_(preset: Preset, **changes: Any) -> Preset:
    """`preset` with changes of its speculation, its sampling or its config, whichever has the field."""
    config, spec = preset.config, preset.config.speculation
    for name, value in changes.items():
        if name in SamplingParams.model_fields:
            sampling = config.sampling.model_copy(update={name: value})
            config = config.model_copy(update={"sampling": sampling})
        elif spec is not None and name in Speculation.model_fields:
            spec = spec.model_copy(update={name: value})
        else:
            config = config.model_copy(update={name: value})
    return preset.model_copy(update={"config": config.model_copy(update={"speculation": spec})})


@settings(max_examples=60, deadline=None)
@given(presets())
def test_every_field_is_written_or_lost(preset: Preset) -> None:
    """A preset's every single value is in the file (with its very value) or in `losses`; never neither."""
    translation = translate(preset)
    lost = {loss.field for loss in translation.losses}
    assert set(fields(preset.config)) - {"speculation"} <= translation.written.keys() | lost
    file = serve(vllm.export(preset))
    flat = file | {f"speculative-config.{k}": v for k, v in file.get("speculative-config", {}).items()}
    flat |= {f"override-generation-config.{k}": v for k, v in file["override-generation-config"].items()}
    for name, key in translation.written.items():
        if key in flat and not (name == "speculation.method" and flat[key] == "draft_model"):
            assert flat[key] == value_of(preset.config, name), name


def value_of(config: RunConfig, name: str) -> Any:
    value: Any = config
    for part in name.split(".", 3 if name.startswith("speculation.options") else 1):
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    return value


@settings(max_examples=60, deadline=None)
@given(presets())
def test_files_hold_one_meaning_each(preset: Preset) -> None:
    """Hostile names, descriptions and evidence stay inside comments and strings, in all four files."""
    export = vllm.export(preset)
    file = serve(export)
    assert ServeConfig.model_validate(file)
    assert "null" not in of(export, ".vllm.yaml").split("model:", 1)[1].split()
    body = [line for line in of(export, ".vllm.sh").splitlines() if not line.startswith("#")]
    words = shlex.split(" ".join(line.removesuffix("\\") for line in body))
    assert words[:3] == ["vllm", "serve", preset.config.target]
    tree = ast.parse(of(export, ".vllm.py"))
    assert [type(node).__name__ for node in tree.body] == ["ImportFrom", "FunctionDef", "If"]
    request = json.loads(of(export, ".request.json"))
    assert request["max_tokens"] == preset.config.sampling.max_tokens
    assert request.get("stop", []) == list(preset.config.sampling.stop)


def test_the_command_line_says_the_same_as_the_file() -> None:
    """Run by a real shell, with a stand-in for vllm that prints its arguments."""
    script = 'vllm() { printf "%s\\0" "$@"; }\n' + of(vllm.export(DRAFT_MODEL), ".vllm.sh")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    command, model, *flags = done.stdout.split("\0")[:-1]
    values = dict(zip(flags[::2], flags[1::2], strict=True))
    file = serve(vllm.export(DRAFT_MODEL))
    assert (command, model) == ("serve", file.pop("model"))
    assert {key: value if isinstance(value, str) else json.dumps(value) for key, value in file.items()} == {
        key.removeprefix("--"): value for key, value in values.items()
    }


def test_the_script_passes_what_it_should() -> None:
    """Run for real against a stand-in for the vllm package: the request's own values are all there."""
    source = of(vllm.export(DRAFT_MODEL), ".vllm.py").replace("from vllm import LLM, SamplingParams", "")
    seen: dict[str, Any] = {}

    class LLM:
        def __init__(self, **kwargs: Any) -> None:
            seen["llm"] = kwargs

        def chat(self, messages: Any, sampling: Any) -> Any:
            seen["messages"], seen["sampling"] = messages, sampling
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exec(source, {"__name__": "__main__", "LLM": LLM, "SamplingParams": lambda **kwargs: kwargs})  # noqa: S102
    assert seen["llm"]["speculative_config"]["model"] == "meta-llama/Llama-3.1-8B-Instruct"
    assert seen["messages"][0] == {"role": "system", "content": "Answer in one line."}
    assert seen["sampling"]["stop"] == ["</s>", "\n\n"]
    assert (seen["sampling"]["seed"], seen["sampling"]["max_tokens"]) == (7, 512)


def test_a_draft_model_is_as_parallel_as_its_target() -> None:
    """vLLM's parser takes 1 beside 4, its runner then refuses to start."""
    export = vllm.export(DRAFT_MODEL)
    assert "draft_tensor_parallel_size" not in serve(export)["speculative-config"]
    assert losses(export)["speculation.options.draft_tensor_parallel_size"] == "approximated"
    eagle = vllm.export(with_(DRAFT_MODEL, method="eagle3"))
    assert serve(eagle)["speculative-config"]["draft_tensor_parallel_size"] == 1
    with pytest.raises(PlaygroundError, match="draft_tensor_parallel_size must be 1"):
        vllm.export(with_(DRAFT_MODEL, method="eagle3", options={"draft_tensor_parallel_size": 2}))


def test_both_ends_of_the_lookup_range_are_written() -> None:
    """vLLM's minimum defaults to its maximum, not to 1."""
    for options, expected in (({"prompt_lookup_max": 4}, (4, 4)), ({}, (5, 5)), ({"prompt_lookup_min": 2}, (2, 5))):
        export = vllm.export(with_(NGRAM, options=options))
        spec = serve(export)["speculative-config"]
        assert (spec["prompt_lookup_min"], spec["prompt_lookup_max"]) == expected
        assert {loss.field for loss in export.losses} & {
            "speculation.options.prompt_lookup_min",
            "speculation.options.prompt_lookup_max",
        }
    exchanged = export_preset(with_(NGRAM, options={}, engine="scripted"), "vllm")
    spec = serve(exchanged)["speculative-config"]
    assert (spec["prompt_lookup_min"], spec["prompt_lookup_max"]) == (2, 4), "the method's own defaults, made explicit"


def test_max_tokens_is_a_cap_only_if_chosen() -> None:
    assert "max_new_tokens" not in serve(vllm.export(NGRAM))["override-generation-config"]
    assert losses(vllm.export(NGRAM))["sampling.max_tokens"] == "dropped"
    capped = export_preset(NGRAM, "vllm", {"cap_max_tokens": True})
    assert serve(capped)["override-generation-config"]["max_new_tokens"] == 256
    assert losses(capped)["sampling.max_tokens"] == "changes-output"
    with pytest.raises(PlaygroundError, match="cap_tokens: is not a known key"):
        export_preset(NGRAM, "vllm", {"cap_tokens": True})


def test_text_that_is_wrong_on_purpose_never_leaves() -> None:
    """Synthetic acceptance only times a server."""
    options = {"rejection_sample_method": "synthetic", "synthetic_acceptance_length": 3}
    with pytest.raises(PlaygroundError, match="rejection_sample_method"):
        vllm.export(with_(DRAFT_MODEL, options=options))


def test_switches_that_are_off_stay_switches() -> None:
    """In the file `false` is dropped where no --no-... flag exists; the keys we write as such have one."""
    preset = with_(NGRAM, engine_options={"enforce_eager": False, "enable_prefix_caching": False})
    assert (serve(vllm.export(preset))["enforce-eager"], serve(vllm.export(preset))["enable-prefix-caching"]) == (
        False,
        False,
    )
    assert "--no-enforce-eager" in of(vllm.export(preset), ".vllm.sh")


def test_the_dtype_it_was_measured_in_is_written() -> None:
    evidence = Evidence(hardware={"dtype": "bfloat16"})
    measured = with_(NGRAM, dtype="auto").model_copy(update={"evidence": evidence})
    assert serve(vllm.export(measured))["dtype"] == "bfloat16"
    assert serve(vllm.export(with_(measured, dtype="float32")))["dtype"] == "float32"
    assert serve(vllm.export(with_(NGRAM, dtype="auto")))["dtype"] == "auto"
    odd = measured.model_copy(update={"evidence": Evidence(hardware={"dtype": "int4\nmodel: evil"})})
    assert serve(vllm.export(odd))["dtype"] == "auto"


def test_the_models_own_generation_config_stays_out() -> None:
    file = serve(vllm.export(NGRAM))
    assert file["generation-config"] == "vllm"
    assert file["override-generation-config"] == {
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.05,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
    }
    assert file["gpu-memory-utilization"] == 0.92


@pytest.mark.parametrize("method", ["suffix", "medusa", "mlp_speculator", "pard"])
def test_min_p_is_not_honoured_by_the_older_runner(method: str) -> None:
    preset = with_(NGRAM, method=method, options={}, model="org/draft")
    assert losses(vllm.export(preset))["sampling.min_p"] == "changes-output"
    assert "sampling.min_p" not in losses(vllm.export(NGRAM))
    assert "sampling.min_p" not in losses(vllm.export(with_(preset, min_p=0.0)))


def test_tiny_temperatures_are_raised_by_the_server() -> None:
    assert losses(vllm.export(with_(NGRAM, temperature=0.001)))["sampling.temperature"] == "approximated"
    for temperature in (0.0, 0.01, 1.0):
        assert "sampling.temperature" not in losses(vllm.export(with_(NGRAM, temperature=temperature)))


def test_suffix_names_the_package_it_needs() -> None:
    export = vllm.export(with_(NGRAM, method="suffix", options={}))
    assert "arctic-inference==0.1.1" in of(export, ".vllm.yaml")
    assert losses(export)["speculation.method"] == "needs-input"


def test_suffix_remembers_nothing_of_other_requests() -> None:
    """As it was measured: from the run's own prompt and answer. vLLM's default is ten thousand other answers."""
    preset = with_(NGRAM, method="suffix", options={})
    assert serve(vllm.export(preset))["speculative-config"]["suffix_decoding_max_cached_requests"] == 0
    kept = with_(preset, options={"suffix_decoding_max_cached_requests": 500})
    assert serve(vllm.export(kept))["speculative-config"]["suffix_decoding_max_cached_requests"] == 500
    bare = {"method": "suffix", "num_speculative_tokens": 3}
    with pytest.raises(ValueError, match="max_cached_requests must be written"):
        ServeConfig.model_validate(serve(vllm.export(preset)) | {"speculative-config": bare})


@pytest.mark.parametrize(
    ("target", "asked"), [("smollm2-135m", True), ("/models/x", True), ("org/x.gguf", True), ("org/model", False)]
)
def test_names_only_this_machine_understands_are_asked_for(target: str, asked: bool) -> None:
    assert (losses(vllm.export(with_(NGRAM, target=target))).get("target") == "needs-input") is asked


def test_what_vllm_cannot_run_is_refused_with_a_reason() -> None:
    with pytest.raises(PlaygroundError, match="vLLM has no drafting method like hybrid") as caught:
        vllm.export(with_(NGRAM, method="hybrid", options={}))
    assert "ngram" in caught.value.hint
    with pytest.raises(PlaygroundError, match="needs a draft model"):
        vllm.export(with_(NGRAM, method="eagle3", options={}))
    with pytest.raises(PlaygroundError, match="no temperature above 2"):
        vllm.export(with_(NGRAM, temperature=3.5))
    with pytest.raises(PlaygroundError, match="max-num-seqs: input should be a valid integer"):
        vllm.export(with_(NGRAM, engine_options={"max_num_seqs": "lots"}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"speculative-config": {"method": "lookahead", "num_speculative_tokens": 3}}, "Input should be"),
        ({"speculative-config": {"method": "eagle3", "num_speculative_tokens": 3}}, "needs a draft model"),
        ({"speculative-config": {"method": "mtp"}}, "num_speculative_tokens is missing"),
        ({"speculative-config": {"method": "mtp", "num_speculative_tokens": 0}}, "greater than or equal to 1"),
        ({"speculative-config": {"method": "ngram", "num_speculative_tokens": 3}}, "must both be written"),
        (
            {
                "speculative-config": {
                    "method": "ngram",
                    "num_speculative_tokens": 3,
                    "prompt_lookup_min": 4,
                    "prompt_lookup_max": 2,
                }
            },
            "must not exceed",
        ),
        (
            {"speculative-config": {"method": "mtp", "num_speculative_tokens": 3, "tensor_parallel_size": 2}},
            "Extra inputs",
        ),
        ({"num_speculative_tokens": 5}, "Extra inputs"),
        ({"max-num-seqs": "8"}, "valid integer"),
        ({"gpu-memory-utilization": 1.5}, "less than or equal to 1"),
        ({"override-generation-config": {"max_tokens": 5}}, "Extra inputs"),
    ],
)
def test_our_schema_refuses(change: dict[str, Any], message: str) -> None:
    """The tier-A check is one: what vLLM's own parser or engine refuses, it refuses."""
    good = serve(vllm.export(DRAFT_MODEL))
    ServeConfig.model_validate(good)
    with pytest.raises(ValueError, match=message):
        ServeConfig.model_validate(good | change)


def test_the_tier_reached_and_the_release_are_named() -> None:
    export = vllm.export(NGRAM)
    assert (export.checked_by, export.versions) == ("our schema", "vLLM 0.32")
    assert export.command == "vllm serve --config golden-ngram.vllm.yaml"
    assert set(METHODS) > {"ngram", "eagle3"}


def test_losses_and_evidence_stand_in_the_file() -> None:
    text = of(vllm.export(DRAFT_MODEL), ".vllm.yaml")
    assert "# Measured 2026-11-29, runs: 01J0BASE, 01J0SPEC." in text
    assert "#   metrics: speedup = 1.871" in text
    assert "#   sampling.seed, sampling.stop, system_prompt (dropped): " in text
    assert "\n# model: this line must stay a comment\n" in text
