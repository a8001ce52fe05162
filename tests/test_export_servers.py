"""TensorRT-LLM, SGLang, llama.cpp, Ollama, Transformers and containers: one test for each trap of their formats."""

import shlex
from typing import Any

import pytest
import yaml

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exchange import changes, export_preset, write_export, zipped
from playground.exporters import Export
from playground.exporters._llama_schema import Serve as LlamaServe
from playground.exporters._llama_schema import escaped, unescaped
from playground.exporters._sglang_schema import Serve as SglangServe
from playground.exporters._trtllm_schema import Serve12, ServeNew
from tests._exports import WAYS, body, made, name_of
from tests._presets import BASELINE, DRAFT_MODEL, GOLDEN, NGRAM
from tests.test_export_vllm import losses, of, with_


def trtllm(preset: Preset, **options: Any) -> dict[str, Any]:
    data = yaml.safe_load(of(export_preset(preset, "tensorrt_llm", options), ".trtllm.yaml"))
    assert isinstance(data, dict)
    return data


def sglang(preset: Preset) -> dict[str, Any]:
    data = yaml.safe_load(of(export_preset(preset, "sglang"), ".sglang.yaml"))
    assert isinstance(data, dict)
    return data


def ini(export: Export) -> dict[str, str]:
    lines = [line for line in of(export, ".llama.ini").splitlines() if " = " in line and line[0] != ";"]
    return dict(line.split(" = ", 1) for line in lines)


# -- TensorRT-LLM -----------------------------------------------------------------------------------------------------


def test_the_tag_of_a_draft_model() -> None:
    """NVIDIA's page says DraftTarget, its own schema takes Draft_Target alone."""
    spec = trtllm(DRAFT_MODEL)["speculative_config"]
    assert spec["decoding_type"] == "Draft_Target"
    good = trtllm(DRAFT_MODEL)
    with pytest.raises(ValueError, match="Draft_Target"):
        ServeNew.model_validate(good | {"speculative_config": spec | {"decoding_type": "DraftTarget"}})


@pytest.mark.parametrize("key", ["use_sa_spec", "max_batch_size", "num_speculative_tokens", "per_request_spec"])
def test_one_unknown_key_stops_the_server_so_it_stops_us(key: str) -> None:
    good = trtllm(DRAFT_MODEL)
    with pytest.raises(ValueError, match="Extra inputs"):
        ServeNew.model_validate(good | {"speculative_config": good["speculative_config"] | {key: 1}})
    with pytest.raises(ValueError, match="Extra inputs"):
        ServeNew.model_validate(good | {"per_request_spec_decode_stats": True})


def test_two_dialects() -> None:
    """In 1.2 another key says k of MTP, and half of the methods are not there yet."""
    mtp = with_(NGRAM, method="mtp", options={})
    assert trtllm(mtp)["speculative_config"] == {"decoding_type": "MTP", "max_draft_len": 8}
    assert trtllm(mtp, dialect="1.2")["speculative_config"] == {"decoding_type": "MTP", "num_nextn_predict_layers": 8}
    with pytest.raises(ValueError, match="Extra inputs"):
        Serve12.model_validate(trtllm(mtp))
    for method in ("suffix", "pard"):
        preset = with_(NGRAM, method=method, options={}, model="org/draft")
        assert trtllm(preset)["speculative_config"]["decoding_type"] in ("SA", "PARD")
        with pytest.raises(PlaygroundError, match="has no drafting method"):
            trtllm(preset, dialect="1.2")
    for method in ("eagle", "medusa", "mlp_speculator", "lookahead"):
        with pytest.raises(PlaygroundError, match="no drafting method"):
            trtllm(with_(NGRAM, method=method, options={}, model="org/draft"))


def test_memory_shares_are_never_copied() -> None:
    """vLLM's is of the whole device, TensorRT-LLM's of what the weights leave, SGLang's without activations."""
    assert DRAFT_MODEL.config.engine_options["gpu_memory_utilization"] == 0.9
    preset = with_(DRAFT_MODEL, engine_options={"gpu_memory_utilization": 0.77})
    assert trtllm(preset)["kv_cache_config"] == {"free_gpu_memory_fraction": 0.9}
    assert "mem-fraction-static" not in sglang(preset)
    for target in ("tensorrt_llm", "sglang"):
        assert losses(export_preset(preset, target))["engine_options.gpu_memory_utilization"] == "approximated"
    assert losses(export_preset(preset, "llama_cpp"))["engine_options.gpu_memory_utilization"] == "dropped"


def test_the_yaml_overrides_flags_so_nothing_is_said_twice() -> None:
    made = export_preset(DRAFT_MODEL, "tensorrt_llm")
    words = shlex.split(made.command)
    assert words[:2] == ["trtllm-serve", DRAFT_MODEL.config.target]
    assert words[2:] == ["--backend", "pytorch", "--config", "golden-draft.trtllm.yaml"]


def test_there_is_room_for_every_draft() -> None:
    preset = with_(NGRAM, engine_options={"max_num_seqs": 2000, "max_num_batched_tokens": 4096})
    assert trtllm(preset)["max_num_tokens"] == 2000 * 9
    assert "engine_options.max_num_batched_tokens" in losses(export_preset(preset, "tensorrt_llm"))
    with pytest.raises(ValueError, match="max_num_tokens must hold"):
        ServeNew.model_validate(trtllm(preset) | {"max_num_tokens": 100})


def test_exact_match_accepts_less_than_was_measured() -> None:
    assert losses(export_preset(NGRAM, "tensorrt_llm"))["sampling.temperature"] == "approximated"
    standard = with_(DRAFT_MODEL, options={"rejection_sample_method": "standard"})
    assert trtllm(standard)["speculative_config"]["use_rejection_sampling"] is True
    assert "use_rejection_sampling" not in trtllm(standard, dialect="1.2")["speculative_config"]


def test_penalties_need_a_switch() -> None:
    found = losses(export_preset(with_(NGRAM, presence_penalty=0.5), "tensorrt_llm"))
    assert found["sampling.presence_penalty"] == "needs-input"
    assert "sampling.presence_penalty" not in losses(export_preset(NGRAM, "tensorrt_llm"))


# -- SGLang -----------------------------------------------------------------------------------------------------------


def test_a_chain_verifies_one_more_than_it_drafts() -> None:
    file = sglang(DRAFT_MODEL)
    names = ("speculative-num-steps", "speculative-eagle-topk", "speculative-num-draft-tokens")
    assert [file[name] for name in names] == [5, 1, 6]
    for name in names:
        rest = {key: value for key, value in file.items() if key != name}
        with pytest.raises(ValueError, match="must all be written"):
            SglangServe.model_validate(rest)
    with pytest.raises(ValueError, match="num-steps \\+ 1"):
        SglangServe.model_validate(file | {names[2]: 5})
    assert sglang(NGRAM)["speculative-num-draft-tokens"] == 9


def test_keys_have_dashes() -> None:
    file = sglang(DRAFT_MODEL)
    assert not [key for key in file if "_" in key]
    with pytest.raises(ValueError, match="Extra inputs"):
        SglangServe.model_validate({key.replace("-", "_"): value for key, value in file.items()})


def test_running_requests_are_always_written() -> None:
    """With speculation its default falls to 48."""
    assert sglang(NGRAM)["max-running-requests"] == 48
    assert losses(export_preset(NGRAM, "sglang"))["engine_options.max_num_seqs"] == "approximated"
    assert sglang(with_(NGRAM, engine_options={"max_num_seqs": 7}))["max-running-requests"] == 7


def test_the_range_of_lookups_that_is_left() -> None:
    file = sglang(NGRAM)
    assert file["speculative-ngram-max-trie-depth"] == 4 + 8
    assert file["speculative-ngram-max-bfs-breadth"] == 1
    assert losses(export_preset(NGRAM, "sglang"))["speculation.options.prompt_lookup_min"] == "dropped"


def test_defaults_of_sampling_reach_only_generate() -> None:
    file = sglang(DRAFT_MODEL)
    assert file["sampling-defaults"] == "openai"
    assert file["preferred-sampling-params"]["top_k"] == 40
    assert sglang(NGRAM)["preferred-sampling-params"]["top_k"] == -1, "all tokens are -1 there"
    assert losses(export_preset(DRAFT_MODEL, "sglang"))["sampling.temperature"] == "approximated"


@pytest.mark.parametrize("method", ["suffix", "medusa", "mlp_speculator", "pard", "lookahead"])
def test_sglang_has_no_such_method(method: str) -> None:
    with pytest.raises(PlaygroundError, match=f"SGLang has no drafting method like {method}"):
        export_preset(with_(NGRAM, method=method, options={}, model="org/draft"), "sglang")


def test_rejection_sampling_only_where_it_is() -> None:
    eagle = with_(DRAFT_MODEL, method="eagle3", options={"rejection_sample_method": "standard"})
    assert sglang(eagle)["speculative-use-rejection-sampling"] is True
    assert "speculative-use-rejection-sampling" not in sglang(with_(eagle, method="draft_model"))
    with pytest.raises(ValueError, match="no rejection sampling"):
        SglangServe.model_validate(sglang(DRAFT_MODEL) | {"speculative-use-rejection-sampling": True})


# -- llama.cpp --------------------------------------------------------------------------------------------------------


def test_a_draft_without_its_type_is_loaded_and_never_used() -> None:
    file = ini(export_preset(DRAFT_MODEL, "llama_cpp"))
    assert file["spec-type"] == "draft-simple"
    good = {**LLAMA, "spec-draft-model": "d.gguf"}
    with pytest.raises(ValueError, match="spec-type is missing"):
        LlamaServe.model_validate(good)


LLAMA: dict[str, Any] = {
    "model": "m.gguf", "temp": 0.5, "top-k": 0, "top-p": 1.0, "min-p": 0.0, "repeat-penalty": 1.0, "repeat-last-n": 64,
    "presence-penalty": 0.0, "frequency-penalty": 0.0, "sampler-seq": "etmkp", "n-predict": 9,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"draft-max": 5}, "Extra inputs"),
        ({"top-p": 3.0}, "less than or equal to 1"),
        ({"spec-draft-p-min": 1.7}, "less than or equal to 1"),
        ({"spec-draft-n-max": -1}, "greater than or equal to 1"),
        ({"spec-type": "draft"}, "draft-simple"),
        ({"spec-type": "draft-simple", "spec-draft-model": "d"}, "must all be written"),
        ({"spec-type": "draft-simple"}, "needs spec-draft-model"),
        ({"model": None}, "one of model and hf-repo"),
        ({"repeat-last-n": -1}, "greater than or equal to 0"),
    ],
)
def test_what_llama_server_does_not_check_we_do(change: dict[str, Any], words: str) -> None:
    LlamaServe.model_validate(LLAMA)
    with pytest.raises(ValueError, match=words):
        LlamaServe.model_validate(LLAMA | change)


def test_every_default_that_moved_or_is_not_neutral_is_written() -> None:
    file = ini(export_preset(DRAFT_MODEL, "llama_cpp"))
    assert {key: file[key] for key in ("spec-draft-n-max", "spec-draft-n-min", "spec-draft-p-min")} == {
        "spec-draft-n-max": "5",
        "spec-draft-n-min": "0",
        "spec-draft-p-min": "0.0",
    }
    assert [file[key] for key in ("temp", "top-k", "top-p", "min-p", "sampler-seq")] == [
        "0.7",
        "40",
        "0.9",
        "0.0",
        "etmkp",
    ]


def test_the_context_is_shared_out_among_slots() -> None:
    preset = with_(NGRAM, engine_options={"max_model_len": 4096, "max_num_seqs": 4})
    file = ini(export_preset(preset, "llama_cpp"))
    assert (file["ctx-size"], file["parallel"]) == ("16384", "4")
    assert ini(export_preset(with_(NGRAM, engine_options={"max_model_len": 4096}), "llama_cpp"))["parallel"] == "1"


def test_models_must_be_gguf() -> None:
    assert losses(export_preset(DRAFT_MODEL, "llama_cpp"))["speculation.model"] == "needs-input"
    assert "target" not in losses(export_preset(with_(NGRAM, target="x.gguf"), "llama_cpp"))
    assert ini(export_preset(with_(NGRAM, target="a/b.gguf"), "llama_cpp"))["model"] == "a/b.gguf"
    assert ini(export_preset(with_(NGRAM, target="org/repo"), "llama_cpp"))["hf-repo"] == "org/repo"


@pytest.mark.parametrize("text", ["a;b", "a # b", " x ", "\n", "\\n", "-x", "é\x07", "'\"", "   ", "\x85", "a\\"])
def test_stop_strings_survive_the_preset_file(text: str) -> None:
    """There a value ends at `;` and `#`, and spaces at its ends are lost."""
    written = escaped(text)
    assert unescaped(written) == text
    assert written == written.strip()
    assert not set(written) & set(";#\n\r")


def test_a_preset_file_holds_no_line_end_of_a_name() -> None:
    with pytest.raises(PlaygroundError, match="cannot hold"):
        export_preset(with_(NGRAM, target="x\nhost = 0.0.0.0"), "llama_cpp")


# -- flags, containers, others ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["vllm", "sglang", "tensorrt_llm", "llama_cpp", "docker", "kubernetes"])
def test_a_model_that_looks_like_a_flag_is_refused(target: str) -> None:
    with pytest.raises(PlaygroundError, match="taken for a flag"):
        export_preset(with_(NGRAM, target="--trust-remote-code"), target)


def test_compose_reserves_the_devices_the_model_needs() -> None:
    compose = yaml.safe_load(export_preset(DRAFT_MODEL, "docker").files["compose.yaml"])
    service = compose["services"]["golden-draft"]
    device = service["deploy"]["resources"]["reservations"]["devices"][0]
    assert device == {"driver": "nvidia", "count": 4, "capabilities": ["gpu"]}
    assert service["ipc"] == "host"
    assert "HF_TOKEN" not in str(compose).replace(".env", "")
    with pytest.raises(PlaygroundError, match="needs 4 GPUs and would get 2"):
        export_preset(DRAFT_MODEL, "docker", {"devices": 2})


def test_dollars_are_not_variables() -> None:
    odd = with_(NGRAM, target="org/$HOME")
    compose = yaml.safe_load(export_preset(odd, "docker").files["compose.yaml"])
    assert "org/$$HOME" in compose["services"]["golden-ngram"]["command"]
    pod = next(yaml.safe_load_all(export_preset(odd, "kubernetes").files["golden-ngram.k8s.yaml"]))
    assert "org/$$HOME" in pod["spec"]["template"]["spec"]["containers"][0]["args"]


def test_suffix_brings_its_package_along() -> None:
    suffix = with_(NGRAM, method="suffix", options={})
    made = export_preset(suffix, "docker")
    assert "arctic-inference==0.1.1" in made.files["Dockerfile"]
    assert yaml.safe_load(made.files["compose.yaml"])["services"]["golden-ngram"]["build"] == "."
    assert "arctic-inference" in str(export_preset(suffix, "kubernetes").losses)


@pytest.mark.parametrize("way", WAYS, ids=name_of)
@pytest.mark.parametrize("preset", GOLDEN, ids=lambda preset: preset.name)
def test_no_setting_stands_both_in_a_file_and_beside_it(way: tuple[str, dict[str, Any]], preset: Preset) -> None:
    """Which of the two wins is opposite from server to server: beside its file a server hears only where to listen."""
    export = made(preset, *way)
    if export is None:
        return
    texts = [export.command, *(text for name, text in export.files.items() if name.endswith(".sh"))]
    lines = [shlex.split(" ".join(line.removesuffix("\\") for line in body(text).splitlines())) for text in texts]
    for name, text in export.files.items():
        if name.endswith(("compose.yaml", ".k8s.yaml")):
            for document in yaml.safe_load_all(text):
                lines += [words for key, words in flat(document) if key in ("command", "args")]
    found = [words for words in lines if {"--config", "--models-preset"} & set(words)]
    for words in found:
        assert not [word for word in words if word.startswith("--config=")], "vLLM does not read it so"
        given = {word for word in words if word.startswith("--")}
        assert given <= {"--config", "--models-preset", "--backend", "--host", "--port"}
    assert found or way[0] not in ("vllm", "sglang", "tensorrt_llm", "llama_cpp")


def flat(data: Any) -> list[tuple[str, list[str]]]:
    """(key, value) of every list of words inside."""
    if isinstance(data, list):
        return [pair for item in data for pair in flat(item)]
    if not isinstance(data, dict):
        return []
    here = [(key, value) for key, value in data.items() if isinstance(value, list) and all(map(_is_text, value))]
    return here + [pair for value in data.values() for pair in flat(value)]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def test_charts_hear_everything_once() -> None:
    """Unsaid, production-stack turns prefix caching off; a large number would reach the flag as 1e+06."""
    preset = with_(DRAFT_MODEL, engine_options={"tensor_parallel_size": 4, "max_model_len": 2_000_000})
    made = export_preset(preset, "kubernetes", {"flavour": "production-stack"})
    config = yaml.safe_load(made.files["golden-draft.values.yaml"])["servingEngineSpec"]["modelSpec"][0]["vllmConfig"]
    assert config["enablePrefixCaching"] is True
    assert config["tensorParallelSize"] == 4
    assert "--tensor-parallel-size" not in config["extraArgs"]
    assert "maxModelLen" not in config
    assert config["extraArgs"][config["extraArgs"].index("--max-model-len") + 1] == "2000000"
    values = yaml.safe_load(export_preset(preset, "kubernetes", {"flavour": "llm-d"}).files["golden-draft.values.yaml"])
    assert values["decode"]["parallelism"]["tensor"] == 4
    assert "--tensor-parallel-size" not in values["decode"]["containers"][0]["args"]
    with pytest.raises(PlaygroundError, match="runs vLLM only"):
        export_preset(preset, "kubernetes", {"flavour": "llm-d", "program": "sglang"})


def test_probes_wait_for_a_model_to_load() -> None:
    documents = list(yaml.safe_load_all(export_preset(BASELINE, "kubernetes").files["golden-baseline.k8s.yaml"]))
    assert [document["kind"] for document in documents] == ["Deployment", "Service"]
    container = documents[0]["spec"]["template"]["spec"]["containers"][0]
    startup = container["startupProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] >= 1800
    assert {"readinessProbe", "livenessProbe"} <= container.keys()
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}


def test_ollama_says_what_it_can_and_refuses_the_rest() -> None:
    file = of(export_preset(with_(NGRAM, method="mtp", options={}, stop=("a",)), "ollama"), ".Modelfile")
    assert "PARAMETER draft_num_predict 8" in file
    assert 'PARAMETER stop "a"' in file
    for preset in (NGRAM, DRAFT_MODEL):
        with pytest.raises(PlaygroundError, match="Ollama cannot draft by"):
            export_preset(preset, "ollama")


def test_one_zip_and_a_diff(tmp_path: Any) -> None:
    made = export_preset(NGRAM, "vllm")
    assert zipped(made) == zipped(made)
    [path] = write_export(made, tmp_path / "all.zip")
    assert path.read_bytes()[:2] == b"PK"
    with pytest.raises(PlaygroundError, match="is there already"):
        write_export(made, tmp_path / "all.zip")
    assert changes(made.files, made) == ""
    difference = changes(made.files, export_preset(with_(NGRAM, num_speculative_tokens=9), "vllm"))
    assert "-  num_speculative_tokens: 8" in difference
    assert "+  num_speculative_tokens: 9" in difference
