"""Configs of SGLang, TensorRT-LLM, llama.cpp, containers, Ollama and Transformers read back, each rewrite said."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.config import Preset, RunConfig, SamplingParams, Speculation
from playground.errors import PlaygroundError
from playground.exchange import export_preset, import_file, import_text, import_together
from playground.importers import Imported
from playground.sentence import Sentence
from tests._exports import body
from tests._presets import DRAFT_MODEL
from tests.test_import_vllm import said, spec_of

# -- SGLang -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "python3 -m sglang.launch_server --model-path a/b --speculative-algorithm EAGLE3 --speculative-draft-model c/d "
        "--speculative-num-steps 4 --speculative-eagle-topk 1 --speculative-num-draft-tokens 5 --tp 2",
        "HF_HOME=/x sglang serve a/b --speculative-algorithm eagle3 --speculative-draft-model-path=c/d \\\n"
        "  --speculative-num-steps 4 --speculative-eagle-topk 1 --speculative-num-draft-tokens 5 --tp-size 2",
        "python -m sglang.launch_server --model-p a/b --speculative-algo EAGLE3 --speculative-draft-model-p=c/d "
        "--speculative-num-s 4 --speculative-eagle 1 --speculative-num-d 5 --tp 2",
        "model-path: a/b\nspeculative-algorithm: EAGLE3\nspeculative-draft-model-path: c/d\nspeculative-num-steps: 4\n"
        "speculative-eagle-topk: 1\nspeculative-num-draft-tokens: 5\ntp-size: 2\n",
        "docker run --gpus all lmsysorg/sglang:v0.5 python -m sglang.launch_server --model a/b --tp 2 "
        "--speculative-algorithm EAGLE3 --speculative-draft-model-path c/d --speculative-num-steps 4 "
        "--speculative-eagle-topk 1 --speculative-num-draft-tokens 5 --host 0.0.0.0",
    ],
)
def test_sglang_in_its_spellings(text: str) -> None:
    config = import_text("x", text).preset.config
    assert (config.engine, config.target, config.engine_options) == ("vllm", "a/b", {"tensor_parallel_size": 2})
    assert spec_of(import_text("x", text)) == {"method": "eagle3", "k": 4, "model": "c/d"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("speculative-algorithm: LOOKAHEAD\n", "LOOKAHEAD is now NGRAM"),
        (
            "speculative-algorithm: NGRAM\nspeculative-num-draft-tokens: 9\n"
            "speculative-ngram-max-match-window-size: 6\n",
            "max-trie-depth",
        ),
        ("speculative-algorithm: NGRAM\n", "12, is taken"),
        ("speculative-algorithm: NEXTN\n", "left to SGLang"),
        (
            "speculative-algorithm: NEXTN\nspeculative-num-steps: 3\nspeculative-eagle-topk: 4\n"
            "speculative-num-draft-tokens: 16\n",
            "a chain of its 3 steps",
        ),
        (
            "speculative-algorithm: NEXTN\nspeculative-num-steps: 3\nspeculative-eagle-topk: 1\n"
            "speculative-num-draft-tokens: 9\n",
            "is taken as 4",
        ),
        ("mem-fraction-static: 0.8\n", "mem_fraction_static is left out"),
        ("host: 0.0.0.0\n", "belong to the server"),
        ("", "generation_config.json"),
    ],
)
def test_sglang_is_brought_up_to_date(lines: str, words: str) -> None:
    assert said(import_text("x.yaml", "model-path: a/b\n" + lines), words)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("speculative-algorithm: SUFFIX\n", "line 2, speculative-algorithm: SUFFIX is no algorithm"),
        ("speculative-algorithm: NEXTN\nspeculative-num-steps: 3\n", "must all be given"),
        ("max-running-requests: lots\n", "max-running-requests"),
        ("speculativ-algorithm: NGRAM\n", "Did you mean speculative_algorithm"),
        ("speculative-accept-threshold-single: 0.3\nspeculative-algorithm: NEXTN\n", "would not choose"),
        ("preferred-sampling-params: {temperature: hot}\n", "line 2, temperature"),
        ("model_path: c/d\n", "is given twice"),
        ("speculative-accept-threshold-s: 0.3\nspeculative-algorithm: NEXTN\n", "would not choose"),
        ("speculative-algorithm: NEXTN\nspeculative-accept-threshold-singel: 0.3\n", "threshold_single"),
    ],
)
def test_sglang_mistakes_are_named(lines: str, words: str) -> None:
    with pytest.raises(PlaygroundError) as caught:
        import_text("x.yaml", "model-path: a/b\n" + lines)
    assert words in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        ("--tp 8 --dp 8 --enable-dp-attention", {"tensor_parallel_size": 8}),
        ("--tp 2 --dp 4", {"tensor_parallel_size": 2, "data_parallel_size": 4}),
    ],
)
def test_data_parallel_attention_takes_no_more_devices(flags: str, options: dict[str, int]) -> None:
    imported = import_text("x.sh", f"sglang serve a/b {flags}")
    assert imported.preset.config.engine_options == options
    assert said(imported, "dp_size is left out: with enable-dp-attention") == ("enable" in flags)


@pytest.mark.parametrize(
    ("flags", "left_out"),
    [
        ("NGRAM --speculative-num-steps 3 --speculative-eagle-topk 1", ["num-steps", "eagle_topk"]),
        ("DFLASH --speculative-draft-model d --speculative-num-steps 3", ["num-steps"]),
        ("DSPARK --speculative-draft-model d --speculative-dspark-block-size 6 --speculative-num-draft-tokens 9",
         ["num-draft-tokens"]),
        ("DFLASH --speculative-draft-model d --speculative-dflash-block-size 6 --speculative-num-draft-tokens 9",
         ["dflash_block_size"]),
    ],
)  # fmt: skip
def test_lengths_that_another_algorithm_has_are_said(flags: str, left_out: list[str]) -> None:
    imported = import_text("x.sh", f"sglang serve a/b --speculative-algorithm {flags}")
    assert all(said(imported, f"{name} is left out") for name in left_out)


@pytest.mark.parametrize("method", ["eagle3", "eagle", "mtp"])
@pytest.mark.parametrize("engine", ["embedded", "vllm"])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_sglang_verifies_alike_after_a_round_trip(method: str, engine: str, temperature: float) -> None:
    """Above 0 as the engine here does, by rejection sampling; at 0 every way comes to the same."""
    spec = Speculation(method=method, model=None if method == "mtp" else "c/d")
    config = RunConfig(engine=engine, target="a/b", speculation=spec, sampling=SamplingParams(temperature=temperature))
    first = export_preset(Preset(name="x", config=config), "sglang").files["x.sglang.yaml"]
    again = export_preset(import_text("x.sglang.yaml", first).preset.model_copy(update={"name": "x"}), "sglang")
    assert body(first) == body(again.files["x.sglang.yaml"])
    assert ("rejection-sampling: true" in first) == (temperature > 0)


def test_a_threshold_kept_knowingly_comes_back() -> None:
    """Kept, and said to change the output when it is exported again."""
    text = "model-path: a/b\nspeculative-algorithm: NEXTN\nspeculative-accept-threshold-single: 0.3\n"
    with pytest.raises(PlaygroundError) as caught:
        import_text("x.yaml", text)
    assert caught.value.code == "changes_output"
    kept = import_text("x.yaml", text, keep_lossy=True)
    again = export_preset(kept.preset, "sglang")
    assert "speculative-accept-threshold-single: 0.3" in again.files["x.sglang.yaml"]
    assert [loss.level for loss in again.losses if "threshold" in loss.field] == ["changes-output"]


# -- TensorRT-LLM -----------------------------------------------------------------------------------------------------


def trtllm(spec: str, more: str = "", **options: Any) -> Imported:
    return import_text("x.yaml", f"max_batch_size: 8\n{more}speculative_config: {{{spec}}}\n", **options)


@pytest.mark.parametrize(
    ("spec", "found", "words"),
    [
        (
            "decoding_type: DraftTarget, max_draft_len: 4, speculative_model_dir: c/d",
            {"method": "draft_model", "k": 4, "model": "c/d"},
            "DraftTarget is now Draft_Target",
        ),
        (
            "decoding_type: Eagle, max_draft_len: 4, pytorch_weights_path: c/d, eagle3_one_model: true",
            {"method": "eagle3", "k": 4, "model": "c/d"},
            "Eagle is now Eagle3",
        ),
        ("decoding_type: MTP, num_nextn_predict_layers: 3", {"method": "mtp", "k": 3, "model": None}, "max_draft_len"),
        (
            "decoding_type: NGram, prompt_lookup_num_tokens: 6, max_matching_ngram_size: 3, is_use_oldest: false",
            {"method": "ngram", "k": 6, "model": None, "match": "most_recent"}
            | {"prompt_lookup_max": 3, "prompt_lookup_min": 1},
            "prompt_lookup_num_tokens is now max_draft_len",
        ),
        (
            "decoding_type: Eagle3, max_draft_len: 2, speculative_model: c/d, use_sa_spec: true, sa_spec_threshold: 4",
            {"method": "eagle3", "k": 2, "model": "c/d"},
            "sa_config.threshold",
        ),
        (
            "decoding_type: PARD, max_draft_len: 2, speculative_model: c/d",
            {"method": "draft_model", "k": 2, "model": "c/d", "parallel_drafting": True},
            "names no target model",
        ),
    ],
)  # fmt: skip
def test_tensorrt_llm_old_and_new(spec: str, found: dict[str, Any], words: str) -> None:
    imported = trtllm(spec)
    assert spec_of(imported) == found
    assert said(imported, words)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("decoding_type: Medusa, medusa_choices: []", "existed only for engines built ahead"),
        ("decoding_type: Lookahead, max_window_size: 4", "existed only for engines built ahead"),
        ("decoding_type: User_Provided", "is Python code"),
        ("decoding_type: MTP, max_draft_len: few", "is no whole number"),
        ("decoding_type: MTP, max_draft_len: 99", "less than or equal to 64"),
        ("decoding_type: MTP, max_draf_len: 3", "Did you mean max_draft_len"),
        ("decoding_type: MTP, max_draft_len: 3, use_relaxed_acceptance_for_thinking: true", "relaxed acceptance"),
        ("decoding_type: Eagle, max_draft_len: 3, greedy_sampling: false", "typical acceptance"),
    ],
)
def test_tensorrt_llm_mistakes_and_losses_are_named(spec: str, words: str) -> None:
    with pytest.raises(PlaygroundError) as caught:
        trtllm(spec)
    assert words in str(caught.value)


@pytest.mark.parametrize("key", ["sa_config: {threshold: 4}", "max_batch_size: 4", "mtp_eagle_one_model: true"])
def test_what_a_preset_has_no_place_for_is_said_in_sentences(key: str) -> None:
    """Of any of these the page must be able to say the reason in its reader's language."""
    told = [s for s in trtllm("decoding_type: MTP, max_draft_len: 2, " + key).rewrites if "is left out" in s]
    assert told
    assert all(isinstance(sentence.params["why"], Sentence) for sentence in told)


def test_relaxed_acceptance_kept_knowingly() -> None:
    spec = "decoding_type: MTP, max_draft_len: 3, use_relaxed_acceptance_for_thinking: true, relaxed_topk: 5"
    kept = trtllm(spec, keep_lossy=True)
    again = export_preset(kept.preset, "tensorrt_llm")
    assert "relaxed_topk: 5" in again.files["x.trtllm.yaml"]
    assert {loss.level for loss in again.losses if "relaxed" in loss.field} == {"changes-output"}


def test_what_trtllm_overwrites_and_schedules_is_said() -> None:
    """Whole numbers as keys are batch sizes; k of 1.2 overwrites the newer name."""
    spec = "decoding_type: MTP, num_nextn_predict_layers: 3, max_draft_len: 5, draft_len_schedule: {1: 4, 8: 2}"
    imported = trtllm(spec, "max_num_tokens: 8192\n")
    assert spec_of(imported)["k"] == 3
    assert said(imported, "max_draft_len of speculative_config is left out: num_nextn_predict_layers overwrites it")
    assert said(imported, "draft_len_schedule of speculative_config is left out")
    assert said(imported, "belong to the server and not to a preset: max_num_tokens.")


def test_an_import_without_a_target_says_so_in_its_description() -> None:
    """And names what is left out, so that later exports do."""
    imported = trtllm("decoding_type: MTP, max_draft_len: 3", "kv_cache_config: {free_gpu_memory_fraction: 0.5}\n")
    assert imported.preset.description == (
        "Imported from x.yaml (TensorRT-LLM). It names no target model; the one here stands in. Left out: "
        "free_gpu_memory_fraction."
    )
    command = "sglang serve a/b --api-key k --trust-remote-code --mem-fraction-static 0.8"
    named = "Left out: mem_fraction_static, api_key, trust_remote_code."
    preset = import_text("x.sh", command).preset
    assert preset.description.endswith(named)
    assert named in export_preset(preset, "vllm").files["x.vllm.yaml"]
    many = import_text("x.sh", "vllm serve a/b " + " ".join(f"--xx-{i:03}{'y' * 300} 1" for i in range(99)))
    assert many.preset.description.endswith(" and 83 more.")


@pytest.mark.parametrize("before", ["", "export ", "docker run -e ", "docker run --env="])
@pytest.mark.parametrize(
    ("variable", "program"),
    [
        ("SGLANG_SIMULATE_ACC_LEN", "sglang serve a/b --speculative-algorithm NEXTN"),
        ("TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS", "trtllm-serve a/b"),
    ],
)
def test_acceptance_that_the_environment_forces_is_refused(variable: str, program: str, before: str) -> None:
    text = f"{before}{variable}=3{chr(10) if 'export' in before else ' '}{program}"
    with pytest.raises(PlaygroundError, match="wrong on purpose") as caught:
        import_text("x.sh", text)
    assert caught.value.code == "changes_output"
    assert said(import_text("x.sh", text, keep_lossy=True), f"{variable} is left out")
    assert import_text("x.sh", text.replace("=3", "=-1")).preset


def test_the_yaml_wins_over_flags_as_in_trtllm_serve(tmp_path: Path) -> None:
    command = "trtllm-serve a/b --tp_size 2 --max_batch_size 3 --extra_llm_api_options /etc/cfg.yml"
    file = "max_batch_size: 8\nspeculative_config: {decoding_type: MTP, max_draft_len: 2}\n"
    with pytest.raises(PlaygroundError, match="that is not here"):
        import_text("x.sh", command)
    config = import_together({"cfg.yml": file, "start.sh": command}).preset.config
    assert config.target == "a/b"
    assert config.engine_options == {"tensor_parallel_size": 2, "max_num_seqs": 8}
    (tmp_path / "start.sh").write_text(command)
    (tmp_path / "cfg.yml").write_text(file)
    assert import_file(tmp_path / "start.sh").preset.config == config


# -- llama.cpp --------------------------------------------------------------------------------------------------------


def test_old_flags_keep_the_defaults_of_their_time() -> None:
    """n-max 16 and p-min 0.75 were the defaults that such a config relied on."""
    old = import_text("x.sh", "./llama-server -m t.gguf -md d.gguf -c 4096 --draft-min 1 -ngl 99")
    assert spec_of(old) == {"method": "draft_model", "k": 16, "model": "d.gguf", "draft_p_min": 0.75}
    assert said(old, "spec-draft-n-max is not given: 16, the default then")
    assert said(old, "spec-draft-p-min is not given: 0.75, the default then")
    assert said(old, "removed in April 2026")
    new = import_text("x.sh", "llama-server -m t.gguf --spec-draft-model d.gguf --spec-type draft-simple")
    assert spec_of(new)["k"] == 3
    assert said(new, "spec-draft-n-max is not given: 3, the default now")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("llama-server -m t.gguf --spec-type draft -md d.gguf --draft-max 8", ("draft_model", 8)),
        ("llama-server -m t.gguf --spec-type eagle3 --spec-draft-model d.gguf --draft 4", ("eagle3", 4)),
        ("llama-server -m t.gguf --spec-type ngram-simple --spec-ngram-size-n 6 --spec-ngram-size-m 10", ("ngram", 10)),
        ("llama-server -m t.gguf --spec-type ngram-mod --spec-ngram-mod-n-max 20", ("ngram", 20)),
        ("llama-server -m t.gguf --spec-default", ("ngram", 64)),
        ("LLAMA_ARG_MODEL=t.gguf LLAMA_ARG_SPEC_TYPE=draft-mtp llama-server --spec-draft-n-max 2", ("mtp", 2)),
        ("export LLAMA_ARG_MODEL_DRAFT=d LLAMA_ARG_DRAFT_MAX=6\nllama-server -m t.gguf", ("draft_model", 6)),
        ("llama-server -m t.gguf -md d.gguf --spec-draft-n-max 7", ("draft_model", 7)),
    ],
)
def test_llama_server_before_and_after_the_renames(text: str, found: tuple[str, int]) -> None:
    imported = import_text("pasted", text)
    spec = spec_of(imported)
    assert (imported.preset.config.target, spec["method"], spec["k"]) == ("t.gguf", *found)


@pytest.mark.parametrize("variable", ["LLAMA_ARG_SPEC_DRAFT_HF_REPO", "LLAMA_ARG_HFD_REPO"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.sh", "{}=a/d LLAMA_ARG_N_PARALLEL=4 LLAMA_ARG_NO_CACHE_PROMPT=1 llama-server -hf a/b "
         "--spec-type draft-simple"),
        ("x.ini", "[m]\n{} = a/d\nLLAMA_ARG_N_PARALLEL = 4\nno-cache-prompt = true\nhf = a/b\n"
         "spec-type = draft-simple\n"),
        ("compose.yaml", "services: {{s: {{image: 'llama.cpp:server', command: [-hf, a/b, --spec-type, draft-simple], "
         "environment: {{{}: a/d, LLAMA_ARG_N_PARALLEL: 4, LLAMA_ARG_NO_CACHE_PROMPT: 1}}}}}}"),
    ],
)  # fmt: skip
def test_llama_servers_variables_have_names_of_their_own(name: str, text: str, variable: str) -> None:
    imported = import_text(name, text.format(variable))
    assert spec_of(imported)["model"] == "a/d"
    assert imported.preset.config.target == "a/b"
    assert imported.preset.config.engine_options == {"max_num_seqs": 4, "enable_prefix_caching": False}
    assert not said(imported, "not known here")


@pytest.mark.parametrize(
    ("flags", "length"),
    [
        ("-c 16384 -np 4", 4096),
        ("-c 16384 -np 4 -kvu", 16384),
        ("-c 16384 -np 4 -no-kvu", 4096),
        ("--kv-unified-per-slot 512 -np 4", 512),
    ],
)
def test_a_cache_that_slots_share_is_not_divided(flags: str, length: int) -> None:
    imported = import_text("x.sh", f"llama-server -m x.gguf {flags}")
    assert imported.preset.config.engine_options == {"max_model_len": length, "max_num_seqs": 4}
    assert said(imported, "share one cache") == ("unified" in flags or "-kvu" in flags.split())


def test_a_model_named_in_two_ways_is_said() -> None:
    both = import_text("x.sh", "llama-server -m x.gguf -hf a/b -md d.gguf -hfd c/d --spec-type draft-simple")
    assert (both.preset.config.target, spec_of(both)["model"]) == ("x.gguf", "d.gguf")
    assert said(both, "hf_repo is left out: model names the model")
    assert said(both, "spec-draft-hf is left out: spec-draft-model names the model")


def test_texts_of_a_preset_file_stay_texts() -> None:
    config = import_text("x.ini", "[m]\nmodel = true\nreverse-prompt = true\nignore-eos = true\n").preset.config
    assert (config.target, config.sampling.stop, config.sampling.ignore_eos) == ("true", ("true",), True)


def test_synthetic_acceptance_is_left_out_even_knowingly() -> None:
    text = "llama-server -m t.gguf --spec-synth-len 4 --spec-type draft-mtp"
    kept = import_text("x.sh", text, keep_lossy=True)
    assert said(kept, "spec-synth-len is left out: synthetic acceptance")
    assert not said(kept, "kept knowingly")


def test_a_preset_file_of_a_router() -> None:
    """A value ends at `;` and `#`; `[*]` lies beneath every model; without a name the section is the repository."""
    text = (
        "version = 1\n[*]\nc = 8192 ; shared\nnp = 2\n\n[ggml-org/m-GGUF:Q8_0]\ntemp = 0.2 # cool\n"
        "spec-type = draft-mtp\nspec-draft-n-max = 4\ntop-k = 0\ntop-p = 1\nmin-p = 0\n[other]\nmodel = x.gguf\n"
    )
    imported = import_text("models.ini", text)
    config = imported.preset.config
    assert config.target == "ggml-org/m-GGUF:Q8_0"
    assert config.engine_options == {"max_model_len": 4096, "max_num_seqs": 2}
    assert config.sampling.temperature == 0.2
    assert said(imported, "left out: other")
    assert said(import_text("m.ini", "[a]\nmodel = x.gguf\n"), "temp 0.8, top-k 40, top-p 0.95, min-p 0.05")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("llama-server -m t.gguf --spec-type mtp:n_max=4,p_min=0", "ik_llama.cpp"),
        ("llama-server -m t.gguf --spec-synth-len 4 --spec-type draft-mtp", "wrong on purpose"),
        ("llama-server -m t.gguf --spec-type clever", "no spec-type we know"),
        ("llama-server -m t.gguf --temp hot", "temp"),
        ("llama-server --temp 0.3", "names no model"),
        ("llama-server -m a.gguf -m b.gguf", "twice"),
        ("llama-server -m t.gguf --spec-draft-n-mx 3", "Did you mean spec_draft_n_max"),
    ],
)
def test_llama_mistakes_are_named(text: str, words: str) -> None:
    with pytest.raises(PlaygroundError) as caught:
        import_text("x.sh", text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a]\nmodel = x\nmodel = y\n", "line 3: model is given twice"),
        ("[a]\nmodel = x\n[a]\nmodel = y\n", "line 3: the section [a] is given twice"),
        ("[a]\nmodel\n", "line 2: 'model' is no"),
        ("version = 1\n", "names no model"),
        ("[a]\nmodel = x\0y\n", "NUL byte"),
        ("[a]\nmodel = x\nctx-size = 12.5\n", "no whole number"),
        ("[" * 100_000, "line 1"),
    ],
)
def test_hostile_preset_files_are_one_error(text: str, words: str) -> None:
    with pytest.raises(PlaygroundError) as caught:
        import_text("x.ini", text)
    assert words in str(caught.value)
    assert len(caught.value.message) < 300


def test_an_early_end_of_drafts_goes_with_the_engine_that_has_one() -> None:
    """The embedded engine ends a draft as llama-server does; vLLM does not, which is said."""
    text = "llama-server -m t.gguf -md d.gguf --spec-type draft-simple --spec-draft-n-max 4 --spec-draft-p-min 0.5"
    assert spec_of(import_text("x.sh", text))["draft_p_min"] == 0.5
    served = import_text("x.sh", text + " -np 4")
    assert "draft_p_min" not in spec_of(served)
    assert said(served, "spec-draft-p-min 0.5 is left out")
    for wrong in ("hot", "1.5", "nan"):
        with pytest.raises(PlaygroundError, match="spec_draft_p_min"):
            import_text("x.sh", text.replace("0.5", wrong))


def test_a_setting_of_the_type_in_use_is_never_left_out_silently() -> None:
    text = "llama-server -m t.gguf --spec-type ngram-simple --spec-ngram-simple-min-hits 3 --spec-ngram-mod-n-min 4"
    imported = import_text("x.sh", text)
    assert said(imported, "Left out of llama-server: spec_ngram_simple_min_hits.")
    assert spec_of(imported)["match"] == "most_recent"


# -- containers -------------------------------------------------------------------------------------------------------


COMPOSE = """\
services:
  web: {image: nginx}
  llm:
    image: vllm/vllm-openai:v0.8
    command: >-
      --model ${MODEL:-a/b} --speculative-model "[ngram]" --num-speculative-tokens 5 --ngram-prompt-lookup-max 4
"""


def test_compose_around_an_old_vllm() -> None:
    imported = import_text("compose.yaml", COMPOSE)
    assert imported.preset.config.target == "a/b"
    assert spec_of(imported)["method"] == "ngram"
    assert said(imported, "service llm")
    assert said(imported, "since vLLM 0.8")


@pytest.mark.parametrize(
    ("service", "message"),
    [
        ("{image: vllm/vllm-openai}", "service s has no command"),
        ("{image: nginx}", "it has s"),
        ('{image: vllm/vllm-openai, command: "--model \'a"}', "the command of service s opens a quote"),
    ],
)
def test_a_service_that_says_too_little_is_named(service: str, message: str) -> None:
    with pytest.raises(PlaygroundError, match=message) as caught:
        import_text("compose.yaml", f"services:\n  s: {service}\n")
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve a/b --speculative-config",
        "vllm serve a/b --max-num-seqs --port 3",
        "vllm serve --model",
        "vllm serve a/b --config",
        "sglang serve a/b --speculative-algorithm",
        "sglang serve a/b --context-length",
        "sglang serve a/b --config",
        "trtllm-serve a/b --config",
        "trtllm-serve a/b --tp_size",
        "llama-server -m",
        "llama-server -m x --temp",
        "llama-server -m x -md",
        "llama-server -m x --spec-type --port 3",
        "llama-server -m x --models-preset",
    ],
)
def test_a_flag_without_its_value_is_named(text: str) -> None:
    """Never taken for 1, nor left out without a word."""
    with pytest.raises(PlaygroundError, match="is given without a value"):
        import_text("x.sh", text)


@pytest.mark.parametrize(
    "text",
    ["vllm serve a/b --config c.yaml", "sglang serve a/b --config c.yaml", "llama-server -m x --models-preset c.ini"],
)
def test_a_file_that_did_not_come_along_is_named(text: str) -> None:
    assert said(import_text("x.sh", text), "which did not come along")
    file = {"c.yaml": "context-length: 4096\n" if "sglang" in text else "max-num-seqs: 4\n", "c.ini": "[a]\nc = 512\n"}
    assert not said(import_text("x.sh", text, beside=file), "which did not come along")


@pytest.mark.parametrize(
    "flags", ["--spec-type draft-mtp --spec-draft-n-max -1", "--spec-type ngram-simple --spec-ngram-simple-size-n 0"]
)
def test_lengths_below_one_are_refused_and_not_raised(flags: str) -> None:
    with pytest.raises(PlaygroundError, match="is less than 1"):
        import_text("x.sh", f"llama-server -m x {flags}")


@pytest.mark.parametrize(
    ("service", "target"),
    [
        ("{image: 'ghcr.io/ggml-org/llama.cpp:server', command: [-m, t.gguf, --draft-max, '8', -md, d]}", "t.gguf"),
        ("{image: 'ghcr.io/ggml-org/llama.cpp:server', environment: {LLAMA_ARG_MODEL: t.gguf}}", "t.gguf"),
        ("{image: x, entrypoint: [bash, -c], command: ['exec vllm serve a/b --max-num-seqs 3']}", "a/b"),
        ("{image: lmsysorg/sglang, command: python3 -m sglang.launch_server --model-path a/b}", "a/b"),
        ("{image: x, command: [vllm, serve, 'a/$$b']}", "a/$b"),
    ],
)  # fmt: skip
def test_compose_around_others(service: str, target: str) -> None:
    assert import_text("compose.yaml", f"services:\n  s: {service}\n").preset.config.target == target


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
    - name: llm
      image: vllm/vllm-openai:latest
      args: [--model, a/b, --speculative-config, '{"method": "ngram", "num_speculative_tokens": 5,
        "prompt_lookup_max": 4, "prompt_lookup_min": 2}']
"""
KSERVE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
spec: {predictor: {model: {modelFormat: {name: huggingface}, args: [--model, a/b, --max-num-seqs, '4']}}}
"""


def test_kubernetes_around_servers() -> None:
    assert spec_of(import_text("pod.yaml", POD))["k"] == 5
    assert import_text("kserve.yaml", KSERVE).preset.config.engine_options == {"max_num_seqs": 4}
    both = import_text("all.yaml", "apiVersion: v1\nkind: Service\nspec: {}\n---\n" + POD)
    assert both.preset.config.target == "a/b"
    with pytest.raises(PlaygroundError, match="no container runs a server"):
        import_text("x.yaml", "apiVersion: v1\nkind: Service\nspec: {}\n")
    with pytest.raises(PlaygroundError, match="names no modelURL"):
        import_text("x.yaml", "servingEngineSpec: {modelSpec: []}\n")


# -- others -----------------------------------------------------------------------------------------------------------


def test_a_modelfile() -> None:
    text = 'FROM x.gguf\nPARAMETER temperature 0.2\nPARAMETER stop "a b"\nparameter draft_num_predict 3\n'
    text += 'SYSTEM """Hi\nyou"""\n'
    config = import_text("Modelfile", text).preset.config
    assert (config.target, config.system_prompt, config.sampling.stop) == ("x.gguf", "Hi\nyou", ("a b",))
    assert config.speculation is not None
    assert (config.speculation.method, config.speculation.num_speculative_tokens) == ("mtp", 3)
    for bad in (
        "PARAMETER top_k 3\n",
        'FROM x\nSYSTEM """never ends',
        "FROM x\nFROM y\n",
        "FROM x\nPARAMETER top_k some\n",
    ):
        with pytest.raises(PlaygroundError):
            import_text("Modelfile", bad)


@pytest.mark.parametrize(
    ("lines", "k", "words"),
    [
        ("DRAFT ./d.gguf\nPARAMETER draft_num_predict 6\n", 6, "method draft_model"),
        ("DRAFT ./d.gguf\n", 4, "draft_num_predict is not given: 4"),
        ("DRAFT ./d.gguf\nPARAMETER draft_num_predict 0\n", None, "DRAFT is left out"),
    ],
)
def test_a_modelfile_with_a_draft_of_its_own(lines: str, k: int | None, words: str) -> None:
    imported = import_text("Modelfile", "FROM x.gguf\n" + lines)
    assert said(imported, words)
    spec = imported.preset.config.speculation
    assert (spec and (spec.method, spec.num_speculative_tokens, spec.model)) == (k and ("draft_model", k, "./d.gguf"))


def test_what_an_assistant_is_told_in_its_own_config_is_read() -> None:
    """Our own export writes it so."""
    own = RunConfig(
        target="a/b",
        speculation=Speculation(
            method="draft_model", num_speculative_tokens=4, model="c/d", options={"draft_p_min": 0.3}
        ),
    )
    first = export_preset(Preset(name="x", config=own), "transformers").files["x.transformers.py"]
    imported = import_text("x.py", first)
    assert (spec_of(imported)["k"], spec_of(imported)["draft_p_min"]) == (4, 0.3)
    assert body(export_preset(imported.preset, "transformers").files["x.transformers.py"]) == body(first)
    other = import_text(
        "x.py", first.replace('"constant"', '"heuristic"').replace("threshold = 0.3", "threshold = None")
    )
    assert said(other, "num_assistant_tokens_schedule is left out")
    assert said(other, "assistant_confidence_threshold is not given: 0.4")
    with pytest.raises(PlaygroundError, match="is no plain value"):
        import_text("x.py", first.replace("threshold = 0.3", "threshold = best()"))


def test_a_transformers_script_is_read_and_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = (
        "import torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n"
        f"open({str(mark)!r}, 'w').close()\n"
        "tok = AutoTokenizer.from_pretrained('a/b')\n"
        "model = AutoModelForCausalLM.from_pretrained('a/b', torch_dtype=torch.bfloat16)\n"
        "small = AutoModelForCausalLM.from_pretrained('c/d')\n"
        "out = model.generate(**tok('x', return_tensors='pt'), assistant_model=small, do_sample=True, temperature=.5)\n"
    )
    imported = import_text("x.py", text)
    assert imported.preset.config.dtype == "bfloat16"
    assert spec_of(imported)["model"] == "c/d"
    assert said(imported, "20, the default")
    assert not mark.exists()


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["x.ini", "Modelfile", "x.sh", "x.py", "x.yaml", "pasted"]),
    st.sampled_from(
        ["", "llama-server ", "[m]\n", "FROM x\nPARAMETER ", "trtllm-serve ", "sglang serve ", "apiVersion: v1\nkind: ",
         "services:\n  a: ", "from transformers import x\nm = A.from_pretrained("]
    ),
    st.text(max_size=60) | st.text("-=[]{}:;#'\"\\ \nabm0.", max_size=50),
)  # fmt: skip
def test_anything_is_read_or_refused(name: str, start: str, rest: str) -> None:
    """Never another exception, and never another's code run."""
    try:
        imported = import_text(name, start + rest)
    except PlaygroundError:
        return
    assert json.loads(imported.preset.model_dump_json())


def test_the_examples_of_the_how_to_become_valid_current_configs() -> None:
    first = 'LLM(model="big/7B", speculative_model="small/1B", num_speculative_tokens=5, tensor_parallel_size=2)'
    second = first.replace(")", ", speculative_draft_tensor_parallel_size=1, use_v2_block_manager=True)")
    for text in (first, second):
        imported = import_text("pasted", text)
        assert said(imported, "speculative_model is now model of speculative_config")
        assert said(imported, "num_speculative_tokens is now inside speculative_config")
        for target in ("vllm", "tensorrt_llm", "sglang", "llama_cpp", "docker", "kubernetes", "transformers"):
            made = export_preset(imported.preset, target)
            assert made.files
            assert "needs-input" not in {loss.level for loss in made.losses if loss.field == "speculation.method"}
    assert DRAFT_MODEL.config.speculation is not None
