"""What single values of a server's file mean: switches, texts, variables, a command's words.

Whatever they are, no import fails with a traceback or turns a setting into its contrary.
"""

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from playground.errors import PlaygroundError
from playground.exchange import export_preset, import_text, import_together
from playground.importers._values import switch_of
from playground.ui.export_tab import shown_import
from tests._presets import NGRAM

ON = ("true", "True", "on", "yes", "1", 1, True)
OFF = ("false", "FALSE", "off", "no", "0", 0, False)


def trtllm(spec: dict[str, Any], **more: Any) -> str:
    return yaml.safe_dump({"max_batch_size": 4, "speculative_config": spec} | more)


RELAXED = {"decoding_type": "MTP", "max_draft_len": 3, "relaxed_topk": 10, "relaxed_delta": 0.6}


@pytest.mark.parametrize("value", ON)
def test_relaxed_acceptance_is_refused_however_it_is_spelled(value: object) -> None:
    text = trtllm(RELAXED | {"use_relaxed_acceptance_for_thinking": value})
    with pytest.raises(PlaygroundError) as error:
        import_text("x.yaml", text)
    assert error.value.code == "changes_output"
    spec = import_text("x.yaml", text, keep_lossy=True).preset.config.speculation
    assert spec is not None
    kept = {"use_relaxed_acceptance_for_thinking": True, "relaxed_topk": 10, "relaxed_delta": 0.6}
    assert kept.items() <= spec.options.items()


@pytest.mark.parametrize("value", OFF)
def test_where_it_is_off_its_sizes_are_said_to_be_left_out(value: object) -> None:
    found = import_text("x.yaml", trtllm(RELAXED | {"use_relaxed_acceptance_for_thinking": value}))
    assert found.preset.config.speculation is not None
    assert not found.preset.config.speculation.options
    assert "relaxed_topk is left out: relaxed acceptance is not on." in found.rewrites


@pytest.mark.parametrize("value", ["maybe", "2", 2, [True], {"a": 1}, 0.5])
def test_what_is_no_switch_is_refused(value: object) -> None:
    with pytest.raises(PlaygroundError, match="neither true nor false"):
        import_text("x.yaml", trtllm(RELAXED | {"use_relaxed_acceptance_for_thinking": value}))
    with pytest.raises(PlaygroundError, match="neither true nor false"):
        switch_of(value, "x")


@pytest.mark.parametrize("sizes", [{"relaxed_delta": "x"}, {"relaxed_topk": -1}, {"relaxed_delta": -0.1}])
def test_how_much_is_relaxed_is_checked_where_it_is_read(sizes: dict[str, object]) -> None:
    with pytest.raises(PlaygroundError, match="relaxed_"):
        import_text("x.yaml", trtllm(RELAXED | {"use_relaxed_acceptance_for_thinking": True} | sizes), keep_lossy=True)


@pytest.mark.parametrize("value", ["TYPICAL", "Typical_Acceptance_Sampler", " typical", ["typical_acceptance_sampler"]])
@pytest.mark.parametrize("key", ["acceptance_method", "spec_decoding_acceptance_method"])
def test_typical_acceptance_is_refused_in_any_letters(key: str, value: object) -> None:
    spec: dict[str, object] = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 2}
    inside = key == "acceptance_method"
    data: dict[str, object] = {"model": "a/b", "speculative_config": spec | ({key: value} if inside else {})}
    with pytest.raises(PlaygroundError) as error:
        import_text("x.yaml", yaml.safe_dump(data if inside else data | {key: value}))
    assert error.value.code == "changes_output"


SWITCHES: list[tuple[str, Callable[[object], dict[str, Any]], Callable[[Any], Any], Any, Any]] = [
    ("trt reuse", lambda v: {"kv_cache_config": {"enable_block_reuse": v}},
     lambda c: c.engine_options["enable_prefix_caching"], True, False),
    ("trt rejection", lambda v: {"speculative_config": RELAXED | {"use_rejection_sampling": v}},
     lambda c: c.speculation.options.get("rejection_sample_method"), "standard", None),
    ("trt oldest", lambda v: {"speculative_config": {"decoding_type": "NGram", "max_draft_len": 3, "is_use_oldest": v}},
     lambda c: c.speculation.options.get("match"), None, "most_recent"),
    ("sglang cache", lambda v: {"model-path": "a/b", "disable-radix-cache": v},
     lambda c: c.engine_options.get("enable_prefix_caching"), False, None),
    ("sglang graph", lambda v: {"model-path": "a/b", "disable-cuda-graph": v},
     lambda c: c.engine_options.get("enforce_eager"), True, None),
    ("sglang rejection", lambda v: {"model-path": "a/b", "speculative-algorithm": "NGRAM",
                                    "speculative-use-rejection-sampling": v},
     lambda c: c.speculation.options.get("rejection_sample_method"), "standard", None),
    ("vllm eager", lambda v: {"model": "a/b", "enforce-eager": v}, lambda c: c.engine_options["enforce_eager"],
     True, False),
    ("vllm chat", lambda v: {"model": "a/b", "chat": v}, lambda c: c.chat, True, False),
    ("chart", lambda v: {"servingEngineSpec": {"modelSpec": [
        {"modelURL": "a/b", "vllmConfig": {"enablePrefixCaching": v}}]}},
     lambda c: c.engine_options.get("enable_prefix_caching"), None, False),
]  # fmt: skip


@pytest.mark.parametrize("case", SWITCHES, ids=lambda case: case[0])
def test_switches_mean_the_same_with_and_without_quotes(case: Any) -> None:
    _, made, read, on, off = case
    for value in ON:
        assert read(import_text("x.yaml", yaml.safe_dump(made(value))).preset.config) == on, value
    for value in OFF:
        assert read(import_text("x.yaml", yaml.safe_dump(made(value))).preset.config) == off, value
    with pytest.raises(PlaygroundError):
        import_text("x.yaml", yaml.safe_dump(made("perhaps")))


ODD: tuple[object, ...] = (None, True, False, 5, 3.7, -1, "", "x", [], ["x"], [["x"]], {}, {"a": {"b": [1]}}, "9" * 30)
SEEDS: dict[str, dict[str, Any]] = {
    "vllm.yaml": {
        "model": "a/b", "dtype": "auto", "max-model-len": 99, "chat": True, "system_prompt": "s", "quantization": "fp8",
        "sampling_params": {"temperature": 1}, "override-generation-config": {"top_k": 3}, "generation-config": "vllm",
        "speculative-config": {"method": "ngram", "model": "a/c", "num_speculative_tokens": 3, "prompt_lookup_max": 2},
        "seed": 3, "kv-cache-dtype": "auto", "host": "x", "config": "y",
    },
    "sglang.yaml": {
        "model-path": "a/b", "dtype": "auto", "context-length": 9, "tp-size": 1, "speculative-algorithm": "EAGLE3",
        "speculative-draft-model-path": "a/c", "speculative-num-steps": 3, "speculative-eagle-topk": 1,
        "speculative-num-draft-tokens": 4, "speculative-accept-threshold-single": 1.0, "kv-cache-dtype": "auto",
        "preferred-sampling-params": {"top_k": 3}, "sampling-defaults": "openai", "disable-radix-cache": True,
    },
    "trt.yaml": {
        "max_batch_size": 4, "dtype": "auto", "kv_cache_config": {"dtype": "fp8", "enable_block_reuse": True},
        "speculative_config": RELAXED | {"speculative_model": "a/c", "posterior_threshold": None,
                                         "is_use_oldest": True, "max_matching_ngram_size": 2},
        "max_num_tokens": 9, "free_gpu_memory_fraction": 0.9,
    },
    "compose.yaml": {
        "services": {"s": {"image": "vllm/vllm-openai", "command": ["--model", "a/b"], "entrypoint": None,
                           "environment": {"A": "b"}, "env_file": "x", "extends": {"service": "y"},
                           "configs": [{"source": "c", "target": "/x.yaml"}]}},
        "configs": {"c": {"content": "model: a/b"}},
    },
    "k8s.yaml": {
        "apiVersion": "v1", "kind": "Pod",
        "spec": {"containers": [{"name": "c", "image": "vllm/vllm-openai", "command": None, "args": ["--model", "a/b"],
                                 "env": [{"name": "A", "value": "b"}]}]},
    },
    "stack.yaml": {"servingEngineSpec": {"modelSpec": [{"modelURL": "a/b", "vllmConfig": {
        "dtype": "auto", "maxModelLen": 9, "enablePrefixCaching": False, "extraArgs": ["--seed", "3"]}}]}},
    "llmd.yaml": {"modelArtifacts": {"name": "a/b"}, "decode": {"parallelism": {"tensor": 1, "data": 1},
                                                                "containers": [{"args": ["--seed", "3"]}]}},
    "preset.yaml": {"name": "x", "config": {"target": "a/b", "speculation": {"method": "ngram"}}},
}  # fmt: skip


def replaced(data: Any, odd: object) -> list[Any]:
    """`data` with each of its values, at any depth, replaced once."""
    found = []
    items = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    for key, value in items:
        for new in [odd, *replaced(value, odd)]:
            copy = dict(data) if isinstance(data, dict) else list(data)
            copy[key] = new
            found.append(copy)
    return found


@pytest.mark.parametrize("name", SEEDS)
def test_a_value_of_any_kind_in_any_place_is_read_or_refused(name: str) -> None:
    for odd in ODD:
        for data in replaced(SEEDS[name], odd):
            for lossy in (False, True):
                try:
                    import_text(name, yaml.safe_dump(data), keep_lossy=lossy)
                except PlaygroundError:
                    continue


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve a/b --{flag} {value}",
        "python -m sglang.launch_server --model-path a/b --{flag} {value}",
        "trtllm-serve a/b --{flag} {value}",
        "llama-server -m a.gguf --{flag} {value}",
    ],
)
def test_flags_with_any_number_of_values_are_read_or_refused(text: str) -> None:
    flags = ("dtype", "spec-type", "seed", "reverse-prompt", "ctx-size", "speculative-config", "config", "ignore-eos",
             "speculative-algorithm", "kv-cache-dtype", "spec-draft-p-min", "temp", "models-preset")  # fmt: skip
    for flag, value in itertools.product(flags, ("", "x", "x y", "( x", "'' ''", "1 2")):
        try:
            import_text("x.sh", text.format(flag=flag, value=value))
        except PlaygroundError:
            continue


@pytest.mark.parametrize("dtype", ["[float16]", "{}", "16"])
def test_a_dtype_that_is_no_text_is_refused(dtype: str) -> None:
    with pytest.raises(PlaygroundError, match="dtype: must be text"):
        import_text("x.yaml", f"model: a/b\ndtype: {dtype}\n")
    with pytest.raises(PlaygroundError, match="dtype: must be text"):
        import_text("x.yaml", f"model-path: a/b\ndtype: {dtype}\n")
    with pytest.raises(PlaygroundError, match="dtype: must be text"):
        import_text("x.yaml", f"kv_cache_config: {{dtype: {dtype}}}\n")


def test_whatever_fails_on_the_page_takes_the_place_of_what_was_read_before() -> None:
    def fails() -> Any:
        raise TypeError("unhashable type: 'list'")

    text, preset, use = shown_import(fails)
    assert "Draftboard itself failed: TypeError" in text
    assert "Draftboard 自身出错" in text or "Draftboard 本身" in text or "zh-CN" in text
    assert preset is None
    assert use["visible"] is False


def test_the_page_reads_our_own_script_with_two_stops() -> None:
    sampling = NGRAM.config.sampling.model_copy(update={"stop": ("x", "y")})
    preset = NGRAM.model_copy(update={"config": NGRAM.config.model_copy(update={"sampling": sampling})})
    files = export_preset(preset, "llama_cpp").files
    script = {name: text for name, text in files.items() if name.endswith(".sh")}
    for chosen in (script, script | files, {"pasted": next(iter(script.values()))}):
        assert import_together(chosen).preset.config.sampling.stop == ("x", "y")


TARGETS = {
    "vllm serve --dtype float16 a/b": "a/b",
    "vllm serve --enforce-eager a/b": "a/b",
    "vllm serve a/b -O3": "a/b",
    "vllm serve -O 3 --seed 1 a/b": "a/b",
    "vllm serve -tp 2 a/b --served-model-name x y": "a/b",
    "vllm serve --no-enable-prefix-caching a/b": "a/b",
    "vllm serve --trust-remote-code a/b --enable-chunked-prefill": "a/b",
    "cd /x && VAR=0 vllm serve a/b": "a/b",
    "set -e; exec /opt/venv/bin/vllm serve a/b": "a/b",
    "vllm serve a/b \\\n  --seed 1 \\\n": "a/b",
    "trtllm-serve --tp_size 2 a/b": "a/b",
    "trtllm-serve serve --trust_remote_code a/b --port 8000": "a/b",
    "python -m sglang.launch_server --trust-remote-code --model-path a/b": "a/b",
    "sglang serve --dtype float16 a/b": "a/b",
    'M=a/b\nvllm serve "$M"': "a/b",
    "export M=a/b; vllm serve ${M}": "a/b",
    'N=b\nvllm serve "a/$N"': "a/b",
    'M="${M:-a/b}"\nvllm serve $M': "a/b",
    'ARGS=(a/b --dtype float16\n  --served-model-name "x y")\nvllm serve "${ARGS[@]}"': "a/b",
    'EXTRA="--dtype float16"\nvllm serve a/b $EXTRA': "a/b",
    "M=a.gguf\nllama-server -m $M": "a.gguf",
    "M=a/b\ntrtllm-serve $M": "a/b",
    "M=a/b\nsglang serve --model-path $M": "a/b",
}


@pytest.mark.parametrize("text", TARGETS)
def test_the_model_is_found_wherever_it_stands(text: str) -> None:
    assert import_text("x.sh", text).preset.config.target == TARGETS[text]


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve $M",
        'vllm serve "a/$NAME"',
        "vllm serve a/$name",
        "vllm serve a/b --quantization $Q",
        "vllm serve a/b --spec-model $DRAFT --spec-tokens 3",
        'vllm serve a/b --speculative-config \'{"model":"$DRAFT","num_speculative_tokens":3}\'',
        'vllm serve a/b "${ARGS[@]}"',
        "vllm serve `cat model`",
        "vllm serve $(cat model)",
        "vllm serve a/b --max-model-len $LEN",
        "if x; then M=a/b; else M=a/c; fi\nvllm serve $M",
        "M=a/b vllm serve $M",
        "llama-server -m $MODEL",
        "llama-server -m a.gguf -md $DRAFT",
        "trtllm-serve $M",
        "sglang serve --model-path a/b --speculative-algorithm EAGLE3 --speculative-draft-model-path $D",
    ],
)
def test_a_variable_nobody_fills_in_is_named(text: str) -> None:
    with pytest.raises(PlaygroundError, match="variable") as error:
        import_text("x.sh", text)
    assert error.value.hint == "Put its value there."


def test_a_dollar_is_a_dollar_where_nothing_is_filled_in() -> None:
    assert (
        import_text("x.sh", "vllm serve 'a/$b' --served-model-name $NAME --port $PORT").preset.config.target == "a/$b"
    )
    found = import_text("x.sh", "llama-server -m a.gguf -r '$END'")
    assert found.preset.config.sampling.stop == ("$END",)


def test_what_the_caller_of_a_script_adds_is_said() -> None:
    found = import_text("x.sh", 'vllm serve a/b "$@"')
    assert "Left out, not known here: $@." in found.rewrites


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm serve a/b c/d", "names two models, a/b and c/d"),
        ("vllm serve a/b \\ \n  --seed 1", "a space behind the backslash"),
        ("A=(x\nvllm serve a/b", "opens a list in brackets"),
    ],
)
def test_what_is_wrong_with_a_command_is_said_as_it_is(text: str, words: str) -> None:
    with pytest.raises(PlaygroundError, match=words):
        import_text("x.sh", text)


def test_words_and_lines_are_looked_at_once() -> None:
    start = time.monotonic()
    for text in ("a=;" * 30_000, "vllm serve " * 8_000, "x " * 40_000, "$A" * 40_000, "\\ " * 40_000):
        try:
            import_text("x.sh", text)
        except PlaygroundError:
            continue
    assert time.monotonic() - start < 20
