"""TensorRT-LLM, SGLang, llama.cpp, Ollama, Transformers and containers: one test for each trap of their formats."""

import io
import json
import shlex
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, call

import pytest
import yaml

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exchange import changes, export_preset, files_there, import_text
from playground.exporters import Export
from playground.exporters._ledger import fields
from playground.exporters._llama_schema import Serve as LlamaServe
from playground.exporters._llama_schema import escaped, unescaped
from playground.exporters._sglang_schema import Serve as SglangServe
from playground.exporters._trtllm_schema import Serve12, ServeNew
from playground.exportfiles import write_export, zipped
from playground.presets import explicit
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
    return data | {"preferred-sampling-params": json.loads(data["preferred-sampling-params"])}


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


@pytest.mark.parametrize("method", ["ngram", "draft_model", "mtp", "eagle3", "suffix"])
def test_penalties_need_a_switch(method: str) -> None:
    """Else the server refuses the very request that lies beside its file. 1.2 has none, so there none is sent."""
    preset = with_(NGRAM, method=method, model="org/draft", options={}, presence_penalty=0.5)
    assert trtllm(preset)["speculative_config"]["enable_penalty"] is True
    assert json.loads(of(export_preset(preset, "tensorrt_llm"), ".json"))["presence_penalty"] == 0.5
    assert "enable_penalty" not in trtllm(with_(preset, presence_penalty=0.0))["speculative_config"]
    assert "speculative_config" not in trtllm(with_(BASELINE, presence_penalty=0.5))
    if method != "suffix":
        old = export_preset(preset, "tensorrt_llm", {"dialect": "1.2"})
        assert "enable_penalty" not in of(old, ".yaml").split("speculative_config:")[1]
        assert losses(old)["sampling.presence_penalty"] == "changes-output"
        assert json.loads(of(old, ".json"))["presence_penalty"] == 0.0


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
    assert "max-running-requests" not in sglang(BASELINE), "48 is SGLang's own with speculation alone"
    assert "engine_options.max_num_seqs" not in losses(export_preset(BASELINE, "sglang"))


def test_the_range_of_lookups_that_is_left() -> None:
    file = sglang(NGRAM)
    assert file["speculative-ngram-max-trie-depth"] == 4 + 8
    assert file["speculative-ngram-max-bfs-breadth"] == 1
    assert file["speculative-ngram-min-bfs-breadth"] == 1
    made = export_preset(NGRAM, "sglang")
    for name in ("golden-ngram.sglang.yaml", "golden-ngram.sglang.sh"):
        rewrites = " ".join(import_text(name, made.files[name], beside=made.files).rewrites)
        assert "breadth" not in rewrites, "breadth 1 is a chain, which is what a preset drafts: nothing is left out"
        assert "trees" not in rewrites
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
    with pytest.raises(PlaygroundError, match="cannot be shown"):
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
    pod = pod_of(export_preset(odd, "kubernetes"))
    assert "org/$$HOME" in pod["containers"][0]["args"]
    folder = export_preset(with_(NGRAM, target="/models/$HOME"), "docker").files["compose.yaml"]
    assert yaml.safe_load(folder)["services"]["golden-ngram"]["volumes"][1]["source"] == "/models/$$HOME"


PACKAGE = "arctic-inference==0.1.1"


def pod_of(export: Export) -> dict[str, Any]:
    documents = {item["kind"]: item for item in yaml.safe_load_all(of(export, ".k8s.yaml"))}
    pod = documents["Deployment"]["spec"]["template"]["spec"]
    assert isinstance(pod, dict)
    return pod


def test_suffix_brings_its_package_along() -> None:
    suffix = with_(NGRAM, method="suffix", options={})
    made = export_preset(suffix, "docker")
    assert PACKAGE in made.files["Dockerfile"]
    assert yaml.safe_load(made.files["compose.yaml"])["services"]["golden-ngram"]["build"] == "."
    assert "speculation.method" not in losses(made), "the image that it builds has the package"
    assert losses(export_preset(suffix, "vllm"))["speculation.method"] == "needs-input"


def test_a_pod_installs_what_its_image_lacks_before_the_server_starts() -> None:
    """The stock image has no arctic-inference, without which vLLM does not start with method suffix."""
    pod = pod_of(export_preset(with_(NGRAM, method="suffix", options={}), "kubernetes"))
    [install], server = pod["initContainers"], pod["containers"][0]
    assert install["command"][:4] == ["python3", "-m", "pip", "install"]
    assert install["command"][-1] == PACKAGE
    assert install["image"] == server["image"], "built by the Python that will import it"
    folder = install["command"][-2]
    assert {"name": "PYTHONPATH", "value": folder} in server["env"]
    for container in (install, server):
        assert {"name": "packages", "mountPath": folder} in container["volumeMounts"]
    assert {"name": "packages", "emptyDir": {}} in pod["volumes"]
    assert "initContainers" not in pod_of(export_preset(NGRAM, "kubernetes"))


@pytest.mark.parametrize("flavour", ["production-stack", "llm-d"])
def test_a_chart_names_an_image_that_is_still_to_be_built(flavour: str) -> None:
    """No image can be called so, in capitals: it cannot start before it was built with the package."""
    made = export_preset(with_(NGRAM, method="suffix", options={}), "kubernetes", {"flavour": flavour})
    assert PACKAGE in made.files["Dockerfile"]
    assert "vllm/vllm-openai" not in body(of(made, ".values.yaml"))
    assert "REGISTRY/golden-ngram" in body(of(made, ".values.yaml"))
    assert made.command.startswith("docker build -t REGISTRY/golden-ngram:v0.32.0 . && docker push REGISTRY/")
    assert losses(made)["speculation.method"] == "needs-input"
    plain = export_preset(NGRAM, "kubernetes", {"flavour": flavour})
    assert "Dockerfile" not in plain.files
    assert "vllm/vllm-openai" in body(of(plain, ".values.yaml"))


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
    assert [document["kind"] for document in documents] == ["PersistentVolumeClaim", "Deployment", "Service"]
    container = documents[1]["spec"]["template"]["spec"]["containers"][0]
    startup = container["startupProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] >= 1800
    assert {"readinessProbe", "livenessProbe"} <= container.keys()
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}


@pytest.mark.parametrize("program", ["vllm", "sglang", "tensorrt_llm", "llama_cpp"])
def test_a_model_is_fetched_once(program: str) -> None:
    """A new pod or container finds it where the one before put it."""
    made = export_preset(BASELINE, "kubernetes", {"program": program})
    claim = next(yaml.safe_load_all(of(made, ".k8s.yaml")))
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    pod = pod_of(made)
    [volume] = [item for item in pod["volumes"] if "persistentVolumeClaim" in item]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    [path] = [item["mountPath"] for item in pod["containers"][0]["volumeMounts"] if item["name"] == volume["name"]]
    compose = yaml.safe_load(export_preset(BASELINE, "docker", {"program": program}).files["compose.yaml"])
    assert compose["services"]["golden-baseline"]["volumes"] == [f"huggingface:{path}"]
    cached = "/root/.cache/llama.cpp" if program == "llama_cpp" else "/root/.cache/huggingface"
    assert f"{cached}/".startswith(f"{path}/")
    assert "emptyDir" in of(made, ".k8s.yaml").split("apiVersion")[0], "the other choice stands in its comment"
    local = export_preset(with_(NGRAM, target="/models/m"), "kubernetes", {"program": program})
    assert "PersistentVolumeClaim" not in of(local, ".k8s.yaml")


@pytest.mark.parametrize(
    ("target", "choice", "words"),
    [
        ("docker", {}, "into a file .env"),
        ("kubernetes", {}, "create secret generic huggingface --from-literal=token="),
        ("kubernetes", {"flavour": "production-stack"}, "hf_token: {secretName: huggingface, secretKey: token}"),
        ("kubernetes", {"flavour": "llm-d"}, "create secret generic huggingface --from-literal=HF_TOKEN="),
    ],
)
def test_where_a_gated_models_token_goes(target: str, choice: dict[str, Any], words: str) -> None:
    first = next(iter(export_preset(NGRAM, target, choice).files.values()))
    head = " ".join(line.removeprefix("#").strip() for line in first.splitlines() if line.startswith("#"))
    assert words in head


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
    with pytest.raises(PlaygroundError, match=r"already holds all\.zip"):
        write_export(made, tmp_path / "all.zip")
    assert changes(made.files, made) == ""
    difference = changes(made.files, export_preset(with_(NGRAM, num_speculative_tokens=9), "vllm"))
    assert "-  num_speculative_tokens: 8" in difference
    assert "+  num_speculative_tokens: 9" in difference


@pytest.mark.parametrize("place", ["folder", "all.zip"])
def test_an_earlier_export_is_found_again(place: str, tmp_path: Path) -> None:
    made = export_preset(NGRAM, "vllm")
    write_export(made, tmp_path / place)
    assert files_there(made, tmp_path / place) == made.files
    assert files_there(export_preset(NGRAM, "sglang"), tmp_path / place).keys() == {"golden-ngram.request.json"}


def corrupt(path: Path) -> None:
    """Its entries are there, and what is in them is not."""
    write_export(export_preset(NGRAM, "vllm"), path)
    content = bytearray(path.read_bytes())
    content[60:400] = bytes(340)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("place", "make"),
    [
        ("cut.zip", lambda path: path.write_bytes(b"PK\x03\x04 and no more")),
        ("corrupt.zip", corrupt),
        ("empty.zip", lambda path: path.write_bytes(b"")),
        ("folder.zip", lambda path: path.mkdir()),
        ("missing.zip", lambda path: None),
        ("missing", lambda path: None),
        ("file.txt", lambda path: path.write_text("no folder")),
        ("loop", lambda path: path.symlink_to(path)),
        ("binary", lambda path: (path.mkdir(), (path / "golden-ngram.vllm.yaml").write_bytes(b"\xff\xfe\xff"))),
        ("inside", lambda path: (path.mkdir(), (path / "golden-ngram.vllm.yaml").mkdir())),
    ],
)
def test_what_cannot_be_read_is_not_taken_for_empty(place: str, make: Callable[[Path], Any], tmp_path: Path) -> None:
    make(tmp_path / place)
    with pytest.raises(PlaygroundError) as error:
        files_there(export_preset(NGRAM, "vllm"), tmp_path / place)
    assert place in error.value.message
    assert error.value.hint


def test_scripts_can_be_started_at_once(tmp_path: Path) -> None:
    made = export_preset(NGRAM, "vllm")
    for path in write_export(made, tmp_path / "out"):
        assert path.stat().st_mode & 0o777 == (0o755 if path.suffix == ".sh" else 0o644), path.name
    with zipfile.ZipFile(io.BytesIO(zipped(made))) as archive:
        modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in archive.infolist()}
    assert modes == {name: 0o755 if name.endswith(".sh") else 0o644 for name in made.files}


def test_what_is_there_is_kept_and_the_way_to_replace_it_said(tmp_path: Path) -> None:
    made = export_preset(NGRAM, "vllm")
    for place in (tmp_path / "out", tmp_path / "out.zip"):
        write_export(made, place)
        with pytest.raises(PlaygroundError) as error:
            write_export(made, place)
        assert "--overwrite" in error.value.hint
        write_export(made, place, overwrite=True)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(PlaygroundError, match="is a file, not a folder"):
        write_export(made, tmp_path / "notes.txt", overwrite=True)


# -- the server's own names of the models -----------------------------------------------------------------------------

HERE, THERE = "smollm2-135m", "HuggingFaceTB/SmolLM2-135M-Instruct"
MEASURED = with_(DRAFT_MODEL, target=HERE, model="/home/me/draft").model_copy(update={"evidence": DRAFT_MODEL.evidence})


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_a_server_gets_the_names_it_knows(way: tuple[str, dict[str, Any]]) -> None:
    """Nothing is left to settle by hand, every file holds the server's name, and what was measured is still told."""
    target, choice = way
    preset = BASELINE if target == "ollama" else MEASURED
    gguf = "llama_cpp" in name_of(way) or preset is BASELINE
    names = {"model_as": "org/there-GGUF" if gguf else THERE}
    names |= {} if preset is BASELINE else {"draft_as": "org/draft-GGUF" if gguf else "org/draft"}
    if target == "preset":
        with pytest.raises(PlaygroundError, match="as they were measured"):
            export_preset(preset, target, choice, **names)
        return
    made = export_preset(preset, target, choice, **names)
    assert not [loss for loss in made.losses if loss.level == "needs-input" and loss.field in NAMES_OF_MODELS]
    server = "\n".join(body(text) for text in made.files.values())
    assert preset.config.target not in server
    assert all(name in server for name in names.values())
    for name, text in made.files.items():
        if not name.endswith(".json"):
            opening = text.removesuffix(body(text))
            assert f"target: here {names['model_as']}, as the server knows it; in the preset" in opening
            assert preset.config.target in opening
    if target != "ollama":
        assert losses(export_preset(preset, target, choice))["target"] == "needs-input"


NAMES_OF_MODELS = ("target", "speculation.model")


@pytest.mark.parametrize(
    ("target", "name"),
    [("vllm", "served"), ("vllm", "/srv/m"), ("llama_cpp", "/srv/m.gguf"), ("llama_cpp", "org/m-GGUF:Q4_K_M"),
     ("transformers", "local"), ("ollama", "smollm2"), ("docker", "/srv/m")],
)  # fmt: skip
def test_a_name_that_was_given_is_not_asked_for_again(target: str, name: str) -> None:
    assert "target" not in losses(export_preset(BASELINE, target, model_as=name))


def test_what_no_name_can_mend_is_still_said() -> None:
    """A pod has no such folder, a chart fetches from the hub, and llama-server reads no safetensors."""
    assert losses(export_preset(BASELINE, "kubernetes", model_as="/srv/m"))["target"] == "needs-input"
    assert losses(export_preset(BASELINE, "kubernetes", {"flavour": "llm-d"}, model_as="/srv/m"))["target"]
    assert losses(export_preset(BASELINE, "llama_cpp", model_as="/srv/m"))["target"] == "needs-input"
    assert losses(export_preset(BASELINE, "vllm", model_as="/srv/m.gguf"))["target"] == "needs-input"


def test_a_folder_of_the_host_is_bound_into_its_container() -> None:
    made = export_preset(MEASURED, "docker", model_as="/srv/target", draft_as="/srv/draft")
    volumes = yaml.safe_load(made.files["compose.yaml"])["services"]["golden-draft"]["volumes"]
    assert [(item["source"], item["target"], item["read_only"]) for item in volumes[1:]] == [
        ("/srv/target", "/srv/target", True),
        ("/srv/draft", "/srv/draft", True),
    ]
    assert not volumes[1]["bind"]["create_host_path"], "a folder that is not there is an error"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"draft_as": "org/draft"}, "drafts without a model"),
        ({"model_as": "a\nb"}, "is no name of a model"),
        ({"model_as": "a\u202eb"}, "is no name of a model"),
        ({"model_as": " a"}, "is no name of a model"),
        ({"model_as": "--trust-remote-code"}, "taken for a flag"),
    ],
)
def test_what_is_no_name_is_refused(names: dict[str, str], words: str) -> None:
    with pytest.raises(PlaygroundError, match=words) as error:
        export_preset(NGRAM, "vllm", **names)
    assert error.value.hint


def test_requests_to_llama_server_choose_by_the_name_of_its_preset_file() -> None:
    made = export_preset(NGRAM, "llama_cpp")
    assert json.loads(made.files["golden-ngram.request.json"])["model"] == "golden-ngram"
    assert "[golden-ngram]" in of(made, ".llama.ini")


# -- what cannot be seen ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", ["\u202e", "\n", "\x1b", "\u2028", "\ufeff"])
def test_what_cannot_be_seen_is_shown_by_its_number(hidden: str) -> None:
    """In comments, and in YAML wherever it is not the line end of a text."""
    preset = with_(NGRAM, system_prompt=f"一{hidden}b", chat=True)
    for target in ("vllm", "sglang", "tensorrt_llm", "preset"):
        for name, text in export_preset(preset.model_copy(update={"description": f"a{hidden}b"}), target).files.items():
            comments = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
            assert hidden == "\n" or hidden not in comments, name
            assert hidden == "\n" or not name.endswith((".yaml", ".py", ".json")) or hidden not in text, name
    named = export_preset(with_(NGRAM, target=f"a{hidden}b"), "vllm", model_as="org/model")
    assert f"in the preset a‹U+{ord(hidden):04X}›b" in named.files["golden-ngram.vllm.yaml"]


def test_joiners_and_other_scripts_stay_as_they_are() -> None:
    text = "可以 \U0001f469\u200d\U0001f4bb"
    preset = with_(NGRAM, system_prompt=text, chat=True)
    assert text in of(export_preset(preset, "preset"), ".yaml")


# -- Transformers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cuda", "mps", "device"), [(True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")]
)
def test_models_and_prompt_go_to_the_fastest_device_there_is(
    cuda: bool, mps: bool, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script runs for real in another test; here its libraries stand in for machines this one is not."""
    torch, transformers = MagicMock(), MagicMock()
    torch.cuda.is_available.return_value = cuda
    torch.backends.mps.is_available.return_value = mps
    loaded = [MagicMock(name="target"), MagicMock(name="draft")]
    load = transformers.AutoModelForCausalLM.from_pretrained
    load.side_effect = list(loaded)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    exec(of(export_preset(DRAFT_MODEL, "transformers"), ".py"), {})  # noqa: S102 - our own script
    assert load.call_count == 2
    assert "device_map" not in str(load.mock_calls), "that would need accelerate"
    for model in loaded:
        model.to.assert_called_once_with(device)
    prompt = transformers.AutoTokenizer.from_pretrained.return_value.apply_chat_template.return_value
    prompt.to.assert_called_once_with(device)
    assert loaded[0].mock_calls[0] == call.to(device), "before it generates"
    assert loaded[0].generate.called


# -- the model half of a hybrid ---------------------------------------------------------------------------------------

HYBRID = with_(DRAFT_MODEL, method="hybrid", model="org/draft", options={"draft_max_tokens": 3, "lookup": "ngram"})


@pytest.fixture
def head(tmp_path: Path) -> str:
    """A folder that says it is an EAGLE-3 head."""
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLMEagle3"]}))
    return str(tmp_path)


@pytest.mark.parametrize("target", ["vllm", "sglang", "tensorrt_llm", "llama_cpp", "transformers", "docker"])
def test_of_a_hybrid_a_server_gets_the_model(target: str) -> None:
    made = export_preset(HYBRID, target)
    assert losses(made)["speculation.method"] == "approximated"
    assert "ngram" in next(str(loss.reason) for loss in made.losses if loss.field == "speculation.method")
    assert losses(made)["speculation.options.lookup"] == "dropped"
    told = made.written.keys() | losses(made).keys()
    assert set(fields(HYBRID.config.model_copy(update={"speculation": explicit(HYBRID.config).speculation}))) <= told
    text = "".join(made.files.values())
    assert "org/draft" in text
    assert "changes the speed, not" in " ".join(text.replace("#", " ").replace(";", " ").split())


def test_the_model_half_of_a_hybrid_is_a_draft_model_or_a_head(head: str) -> None:
    """And drafts as many as it did where the lookup found nothing."""
    spec = yaml.safe_load(of(export_preset(HYBRID, "vllm"), ".vllm.yaml"))["speculative-config"]
    assert (spec["method"], spec["model"], spec["num_speculative_tokens"]) == ("draft_model", "org/draft", 3)
    eagle = export_preset(with_(HYBRID, model=head), "vllm", draft_as="org/head")
    spec = yaml.safe_load(of(eagle, ".vllm.yaml"))["speculative-config"]
    assert (spec["method"], spec["model"]) == ("eagle3", "org/head"), "known by the files it was measured with"
    absent = export_preset(with_(HYBRID, model="org/EAGLE3-of-a-target"), "vllm")
    assert yaml.safe_load(of(absent, ".vllm.yaml"))["speculative-config"]["method"] == "eagle3"
    with pytest.raises(PlaygroundError, match="no drafting method like hybrid"):
        export_preset(with_(HYBRID, model=head), "transformers")


def test_a_hybrid_stays_one_in_a_preset_of_ours() -> None:
    data = yaml.safe_load(of(export_preset(HYBRID, "preset"), ".yaml"))
    assert data["config"]["speculation"]["method"] == "hybrid"
