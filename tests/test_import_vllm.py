"""vLLM's configurations read back: files, commands and snippets, old spellings included, each rewrite said."""

from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exchange import import_text, import_together
from playground.exporters import vllm as exporter
from playground.importers import Imported
from playground.importers import vllm as importer
from tests._presets import DRAFT_MODEL, NGRAM, presets

SPEC = "speculative-config: {method: ngram, num_speculative_tokens: 3, prompt_lookup_min: 2, prompt_lookup_max: 4}\n"


def serve(preset: Preset, **options: Any) -> dict[str, Any]:
    export = exporter.export(preset, exporter.Options(**options))
    data = yaml.safe_load(next(text for name, text in export.files.items() if name.endswith(".vllm.yaml")))
    assert isinstance(data, dict)
    return data


def spec_of(imported: Imported) -> dict[str, Any]:
    spec = imported.preset.config.speculation
    assert spec is not None
    return {"method": spec.method, "k": spec.num_speculative_tokens, "model": spec.model, **spec.options}


def said(imported: Imported, words: str) -> bool:
    return any(words in sentence for sentence in imported.rewrites)


@settings(max_examples=60, deadline=None)
@given(presets())
def test_export_import_export_is_the_identity(preset: Preset) -> None:
    """On all that vLLM's files can express: from the YAML, the command line and the script alike."""
    first = exporter.export(preset, exporter.Options(cap_max_tokens=True))
    for ending in (".vllm.yaml", ".vllm.sh", ".vllm.py"):
        name, text = next((n, t) for n, t in first.files.items() if n.endswith(ending))
        again = import_text(name, text)
        kept = ("max_new_tokens", "suffix_decoding_max_cached_requests 500")
        assert not [s for s in again.rewrites if not any(words in s for words in kept)]
        assert serve(again.preset, cap_max_tokens=True) == serve(preset, cap_max_tokens=True), ending


@settings(max_examples=40, deadline=None)
@given(presets())
def test_the_script_carries_the_whole_sampling(preset: Preset) -> None:
    name, text = next((n, t) for n, t in exporter.export(preset).files.items() if n.endswith(".py"))
    config = import_text(name, text).preset.config
    assert config.sampling == preset.config.sampling
    assert config.chat == preset.config.chat
    assert config.system_prompt == (preset.config.system_prompt if preset.config.chat else "")


@pytest.mark.parametrize("prompt", ["llama-server", "sglang serve", "trtllm-serve x", "vllm serve"])
def test_a_script_may_speak_of_servers(prompt: str) -> None:
    config = NGRAM.config.model_copy(update={"system_prompt": prompt, "chat": True})
    preset = NGRAM.model_copy(update={"config": config})
    text = next(text for name, text in exporter.export(preset).files.items() if name.endswith(".py"))
    assert import_text("x.py", text).preset.config.system_prompt == prompt


def test_another_program_of_vllm_is_no_server() -> None:
    with pytest.raises(PlaygroundError):
        import_text("x.sh", "vllm bench serve --model other/m --seed 3")


HOW_TO = 'llm = LLM(model="big/7B", speculative_model="small/1B", num_speculative_tokens=5, tensor_parallel_size=2)'
WITH_DRAFT_TP = """\
llm = LLM(
    model="meta-llama/Llama-2-7b-hf",
    speculative_model="meta/1B",
    num_speculative_tokens=5,
    tensor_parallel_size=2,
    speculative_draft_tensor_parallel_size=1,
    use_v2_block_manager=True,
)
"""


def test_the_old_python_keywords_are_upgraded() -> None:
    imported = import_text("how-to.py", HOW_TO)
    assert spec_of(imported) == {"method": "draft_model", "k": 5, "model": "small/1B"}
    assert imported.preset.config.engine_options == {"tensor_parallel_size": 2}
    assert said(imported, "speculative_model is now model of speculative_config (since vLLM 0.8).")
    assert said(imported, "num_speculative_tokens is now inside speculative_config (since vLLM 0.8).")
    assert serve(imported.preset)["speculative-config"]["model"] == "small/1B"


def test_the_old_draft_parallelism_is_upgraded_and_its_loss_said() -> None:
    imported = import_text("pasted", WITH_DRAFT_TP)
    assert spec_of(imported)["draft_tensor_parallel_size"] == 1
    assert said(imported, "use_v2_block_manager is left out")
    export = exporter.export(imported.preset)
    assert "speculation.options.draft_tensor_parallel_size" in {loss.field for loss in export.losses}


@pytest.mark.parametrize(
    ("spec", "k", "cached", "told"),
    [
        ("{method: suffix}", 24, 10_000, ["24, the depth of the tree", "10000, vLLM's default", "last 10000 answers"]),
        (
            "{method: suffix, num_speculative_tokens: 6, suffix_decoding_max_cached_requests: 500}",
            6,
            500,
            ["last 500 answers"],
        ),
        ("{method: suffix, num_speculative_tokens: 6, suffix_decoding_max_cached_requests: 0}", 6, 0, []),
    ],
)
def test_what_suffix_remembers_of_others_is_said(spec: str, k: int, cached: int, told: list[str]) -> None:
    """Left open, vLLM drafts from ten thousand other answers too; runs here have their own text alone."""
    imported = import_text("x.yaml", f"model: a/b\nspeculative-config: {spec}\n")
    assert spec_of(imported)["k"] == k
    assert spec_of(imported)["suffix_decoding_max_cached_requests"] == cached
    others = ("sampling", "generation", "max_tokens")
    about = [sentence for sentence in imported.rewrites if not any(word in sentence for word in others)]
    assert len(about) == len(told)
    assert all(words in sentence for words, sentence in zip(told, about, strict=True))
    assert serve(imported.preset)["speculative-config"]["suffix_decoding_max_cached_requests"] == cached


@pytest.mark.parametrize(
    "text",
    [
        'LLM("a/b", speculative_model="[ngram]", num_speculative_tokens=5, ngram_prompt_lookup_max=4)',
        "model: a/b\nspeculative_model: '[ngram]'\nnum_speculative_tokens: 5\nngram_prompt_lookup_max: 4\n",
        '{"model": "a/b", "speculative_config": {"model": "[ngram]", "num_speculative_tokens": 5, '
        '"prompt_lookup_max": 4}}',
        '{"model": "a/b", "speculative_config": {"method": "[ngram]", "num_speculative_tokens": 5, '
        '"prompt_lookup_max": 4}}',
        "vllm serve a/b --speculative-model '[ngram]' --num-speculative-tokens 5 --ngram-prompt-lookup-max=4",
        "python -m vllm.entrypoints.openai.api_server --model a/b \\\r\n  --speculative-config "
        '\'{"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}\' # note\necho done',
        "HF_HOME=/x vllm serve a/b --spec-method ngram --spec-tokens 5 --speculative-config.prompt-lookup-max 4 && x",
        "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.8 --model a/b --speculative-model [ngram] "
        "--num-speculative-tokens 5 --ngram-prompt-lookup-max 4",
        "from vllm import LLM\nMODEL = 'a/b'\nllm = LLM(model=MODEL, speculative_config={'method': 'ngram',\n"
        " 'num_speculative_tokens': 5, 'prompt_lookup_max': 4, 'prompt_lookup_min': 4})\n",
    ],
)
def test_one_configuration_in_its_many_spellings(text: str) -> None:
    imported = import_text("pasted", text)
    assert imported.preset.config.target == "a/b"
    shortest = 1 if "speculative_model" in text or "--speculative-model" in text else 4
    expected = {"method": "ngram", "k": 5, "model": None, "prompt_lookup_max": 4, "prompt_lookup_min": shortest}
    assert spec_of(imported) == expected, "vLLM's minimum defaults to its maximum, and did to 1"


@pytest.mark.parametrize(
    "flags",
    [
        "-sc.method ngram -sc.num_speculative_tokens 5 -sc.prompt_lookup_max 4 -sc.prompt_lookup_min 2",
        "-sc.method=ngram -sc.num-speculative-tokens=5 -sc.prompt-lookup-max=4 -sc.prompt_lookup_min 2",
        "--speculative-config.method ngram -sc.num_speculative_tokens 5 -sc.prompt_lookup_max=4 "
        "--speculative-config.prompt_lookup_min 2",
    ],
)
def test_short_flags_take_parts_as_the_long_ones_do(flags: str) -> None:
    expected = {"method": "ngram", "k": 5, "model": None, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
    assert spec_of(import_text("x.sh", f"vllm serve a/b {flags}")) == expected
    with pytest.raises(PlaygroundError, match=r"gives --speculative.config\.method twice"):
        import_text("x.sh", f"vllm serve a/b {flags} -sc.method suffix")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("speculative-disable-by-batch-size: 8", "num_speculative_tokens_per_batch_size takes its place"),
        ("dtype: half", "dtype half is another name of float16"),
        ("host: 0.0.0.0", "belong to the server and not to a preset: host"),
        ("xyz-option: 3", "not known here: xyz_option"),
        ("trust-remote-code: true", "belong to the server and not to a preset: trust_remote_code"),
    ],
)
def test_what_is_left_out_is_said(line: str, sentence: str) -> None:
    assert said(import_text("x.yaml", f"model: a/b\n{line}\n"), sentence)


@pytest.mark.parametrize(
    ("inner", "gone"), [("disable_by_batch_size: 8", "disable_by"), ("posterior_alpha: 1", "post")]
)
def test_old_inner_keys_are_left_out_and_said(inner: str, gone: str) -> None:
    imported = import_text("x.yaml", "model: a/b\n" + SPEC.replace("{", "{" + inner + ", "))
    assert said(imported, gone)


def test_deprecated_mtp_names_are_mtp() -> None:
    inner = "{method: deepseek_mtp, num_speculative_tokens: 1}"
    imported = import_text("x.yaml", f"model: a/b\nspeculative_config: {inner}")
    assert spec_of(imported)["method"] == "mtp"
    assert said(imported, "deepseek_mtp is now mtp")


def test_a_server_without_sampling_is_neutral() -> None:
    """vLLM's default is temperature 1, ours is 0: an import must not make it greedy."""
    imported = import_text("x.yaml", "model: a/b\n")
    assert imported.preset.config.sampling.temperature == 1.0
    assert said(imported, "temperature 1")
    assert said(imported, "generation_config.json")
    request = import_text("x.py", "LLM('a/b')\nSamplingParams(temperature=0.5, n=2)")
    assert (request.preset.config.sampling.temperature, request.preset.config.sampling.max_tokens) == (0.5, 16)
    assert said(request, "Left out of SamplingParams: n.")


def test_sizes_with_a_letter() -> None:
    options = import_text("x", "vllm serve a/b --max-model-len 8k -tp 2").preset.config.engine_options
    assert options == {"max_model_len": 8000, "tensor_parallel_size": 2}
    for open_ in ("auto", "-1"):
        assert import_text("x", f"vllm serve a/b --max-model-len {open_}").preset.config.engine_options == {}
    sizes = "vllm serve a/b --max-model-len 25.6k --max-num-batched-tokens"
    for size, meant in (("8k", 8000), ("8K", 8192), ("1.5m", 1_500_000), ("1M", 2**20), ("1g", 10**9)):
        options = import_text("x", f"{sizes} {size}").preset.config.engine_options
        assert options == {"max_model_len": 25_600, "max_num_batched_tokens": meant}
    for wrong in ("--max-model-len 1.5K", "--max-num-seqs 1k"):  # vLLM refuses them too
        with pytest.raises(PlaygroundError, match="valid integer"):
            import_text("x", f"vllm serve a/b {wrong}")


@pytest.mark.parametrize(
    "flags",
    [
        "--attention-backend FLASH_ATTN", "--hf-overrides '{}'", "--model-impl transformers", "-asc 2", "-ep",
        "--kv-transfer-config '{}'", "--language-model-only", "-O 3", "-O3", "-cc.mode 3", "--enable-lora",
        "--disable-access-log-for-endpoints /health", "--no-use-tqdm-on-load", "--rope-theta 1e6",
    ],
)  # fmt: skip
def test_the_model_behind_a_flag_of_the_server(flags: str) -> None:
    imported = import_text("x.sh", f"vllm serve {flags} a/b --max-num-seqs 4")
    assert imported.preset.config.target == "a/b"
    assert said(imported, "belong to the server")


def test_an_unknown_flag_that_may_have_taken_the_model_is_named() -> None:
    with pytest.raises(PlaygroundError, match="unless a/b is one: it stands behind --xyz-flag, which is not known"):
        import_text("x.sh", "vllm serve --xyz-flag a/b --max-num-seqs 4")
    assert import_text("x.sh", "vllm serve a/b --xyz-flag c d").preset.config.target == "a/b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model: a/b\nmax-num-seqs: lots\n", "x.yaml, line 2, max-num-seqs: input should be a valid integer"),
        ("model: a/b\nspeculative-config:\n  method: ngram\n  num_speculative_tokens: lots\n", "line 4, num_spec"),
        ("model: a/b\n" + SPEC.replace("_max", "_maximum"), "line 2, prompt_lookup_maximum: is not a known key"),
        ("model: a/b\nspeculative-config: {method: lookahead, num_speculative_tokens: 3}\n", "line 2, method: input"),
        ("model: a/b\nspeculative-config: {method: eagle3, num_speculative_tokens: 3}\n", "needs a draft model"),
        ("model: a/b\n" + SPEC.replace("min: 2", "min: 9"), "must not exceed"),
        ("model: a/b\nspeculative-config: 3\n", "line 2, speculative-config: must be a mapping"),
        ("model: a/b\nspeculative-confg: {}\n", "line 2, speculative-confg: is not a known key"),
        ("model: a/b\nmax-model-len: 3\nmax_model_len: 4\n", "max_model_len: is given twice"),
        ("model: a/b\nnum_speculative_tokens: 4\n" + SPEC, "num_speculative_tokens is 4, but"),
        (
            "model: a/b\noverride-generation-config: {temperature: 9}\n",
            "line 2, temperature: input should be less than or equal to 2",
        ),
        ("model: a/b\noverride-generation-config: {max_tokens: 9}\n", "line 2, max_tokens: is not a known key"),
        ("model: ''\n", "names no model"),
        ("model: [a]\n", "line 1, model: must be text"),
        ("model: a/b\nmax-num-seqs: true\n", "line 2, max-num-seqs: is given without a value"),
        ("tensor-parallel-size: 2\n", "names no model"),
        ('model: a/b\nspeculative-config: \'{"a": 1, "a": 2}\'\n', "given twice"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    """CASES 32."""
    with pytest.raises(PlaygroundError) as caught:
        import_text("x.yaml", text)
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "speculative-config: {method: mtp, num_speculative_tokens: 2, rejection_sample_method: synthetic}",
            "on purpose",
        ),
        (
            "speculative-config: {model: c/d, num_speculative_tokens: 2, acceptance_method: typical}",
            "would not choose",
        ),
        ("spec-decoding-acceptance-method: typical_acceptance_sampler", "would not choose"),
    ],
)
def test_what_changed_the_output_is_refused_unless_kept_knowingly(line: str, words: str) -> None:
    with pytest.raises(PlaygroundError, match=words) as caught:
        import_text("x.yaml", f"model: a/b\n{line}\n")
    assert caught.value.code == "changes_output"
    kept = import_text("x.yaml", f"model: a/b\n{line}\n", keep_lossy=True)
    assert said(kept, "left out")


def test_a_command_takes_its_file_along() -> None:
    """What the command line says wins, as in vLLM."""
    file = {"serve.yaml": "model: a/b\nmax-num-seqs: 4\n" + SPEC}
    found = import_text("x.sh", "vllm serve --config /etc/serve.yaml --max-num-seqs 8", beside=file).preset.config
    assert (found.target, found.engine_options) == ("a/b", {"max_num_seqs": 8})
    assert found.speculation is not None
    with pytest.raises(PlaygroundError, match="names no model"):
        import_text("x.sh", "vllm serve --config serve.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "LLM(",
        "LLM(model=make())",
        "LLM(" + "[" * 3_000,
        "LLM(" + "-" * 90_000 + "1)",
        "LLM(model=" + "a." * 40_000 + "b)",
        "LLM(" + "x" * 200_000 + ")",
        "vllm serve 'a",
        "vllm serve $MODEL",
        "vllm serve --config other.yaml",
        "vllm serve a/b --max-num-seqs 3 --max-num-seqs 4",
        "vllm serve a/b --speculative-config '{}' --speculative-config.method ngram",
        "vllm bench a/b",
    ],
)
def test_hostile_commands_and_snippets_are_one_error(text: str) -> None:
    with pytest.raises(PlaygroundError) as caught:
        import_text("pasted", text)
    assert len(caught.value.message) < 300


def test_nothing_of_a_snippet_is_run(tmp_path: Any) -> None:
    mark = tmp_path / "ran"
    opens = f"open({str(mark)!r}, 'w')"
    code = f"{opens}.close()\nfrom vllm import LLM\nLLM(model='a/b', seed=(lambda: {opens})())"
    imported = import_text("x.py", code)
    assert said(imported, "seed is left out: it is no plain value")
    assert not mark.exists()


@pytest.mark.parametrize(
    "data",
    [
        {"speculative_config": {"decoding_type": "NGram"}, "model": "x"},
        {"model-path": "x", "speculative-algorithm": "EAGLE3"},
        {"config": {}, "name": "x"},
        {"services": {}},
        [],
        "some words",
    ],
)
def test_other_dialects_are_not_claimed(data: object) -> None:
    assert not importer.recognises("x.yaml", data)


def test_exports_import_as_what_was_measured() -> None:
    export = exporter.export(DRAFT_MODEL)
    name = "golden-draft.vllm.yaml"
    config = import_text(name, export.files[name]).preset.config
    assert config.target == DRAFT_MODEL.config.target
    assert config.speculation is not None
    assert config.speculation.num_speculative_tokens == 5
    assert config.sampling.top_k == 40
    assert config.engine_options["tensor_parallel_size"] == 4


def test_a_request_is_not_taken_for_a_server() -> None:
    files = exporter.export(DRAFT_MODEL).files
    request = next(name for name in files if name.endswith(".request.json"))
    with pytest.raises(PlaygroundError, match="a request to a server"):
        import_text(request, files[request])
    server = next(name for name in files if name.endswith(".vllm.yaml"))
    together = import_together({request: files[request], server: files[server]})
    assert together.preset.config == import_text(server, files[server]).preset.config
