"""What an export says of itself: losses that are ones, values that are the preset's own, and what its numbers mean."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from playground import metrics
from playground.cli import flags, main
from playground.config import Evidence, Preset, RunConfig, Speculation
from playground.engines._vllm.options import VllmOptions
from playground.engines._vllm.schema import methods
from playground.errors import PlaygroundError
from playground.evidence import shortened
from playground.exchange import export_preset
from playground.exporters import Loss, _verdict
from playground.exporters._llama_schema import unescaped
from playground.exporters.preset import preset_yaml
from playground.ui.export_tab import view
from tests._presets import BASELINE, DRAFT_MODEL, NGRAM, SUFFIX
from tests.test_export_vllm import losses, of, with_

UNSURE = with_(DRAFT_MODEL, engine="embedded", options={"draft_p_min": 0.6}, temperature=0.0)
P_MIN = "speculation.options.draft_p_min"


def reason(found: tuple[Loss, ...], field: str) -> str:
    return next(str(loss.reason) for loss in found if loss.field == field)


@pytest.mark.parametrize("method", ["draft_model", "eagle3"])
def test_llama_server_stops_where_the_draft_is_unsure(method: str) -> None:
    """The option is llama.cpp's own p_min: carried over, and no loss."""
    export = export_preset(with_(UNSURE, method=method), "llama_cpp")
    assert "spec-draft-p-min = 0.6\n" in of(export, ".ini")
    assert "--spec-draft-p-min 0.6" in of(export, ".sh")
    assert P_MIN not in losses(export)


def test_an_assistant_stops_where_it_is_unsure() -> None:
    """By its own threshold, which is applied a token later: that is said."""
    export = export_preset(UNSURE, "transformers")
    assert "assistant_confidence_threshold = 0.6\n" in of(export, ".py")
    assert losses(export)[P_MIN] == "approximated"


@pytest.mark.parametrize("target", ["vllm", "sglang", "tensorrt_llm", "llama_cpp", "transformers"])
def test_a_threshold_of_zero_is_no_threshold(target: str) -> None:
    assert P_MIN not in losses(export_preset(with_(UNSURE, options={"draft_p_min": 0.0}), target))


@pytest.mark.parametrize(
    ("target", "option", "value", "nearest"),
    [
        ("llama_cpp", "kv_cache_dtype", "fp8", "cache-type-k"),
        ("sglang", "max_num_batched_tokens", 4096, "chunked-prefill-size"),
        ("tensorrt_llm", "enforce_eager", True, "cuda_graph_config"),
        ("ollama", "max_num_seqs", 4, "OLLAMA_NUM_PARALLEL"),
        ("transformers", "quantization", "fp8", "quantization_config"),
    ],
)
def test_a_setting_that_is_only_called_otherwise_is_named(target: str, option: str, value: Any, nearest: str) -> None:
    """ "No such setting" would be false of them."""
    spec = None if target == "ollama" else Speculation(method="draft_model", model="org/draft")
    config = RunConfig(engine="vllm", engine_options={option: value}, target="org/model", speculation=spec)
    export = export_preset(Preset(name="x", config=config), target)
    assert nearest in reason(export.losses, f"engine_options.{option}")


@pytest.mark.parametrize("method", sorted(methods()))
def test_defaults_that_nobody_set_are_no_losses_in_vllm(method: str) -> None:
    """The installed vLLM's options of each method as it has them by default, as the page and a stored run write them
    all: the ones this export does not know are off."""
    options = methods()[method]().model_dump(mode="json")
    export = export_preset(with_(DRAFT_MODEL, method=method, options=options), "vllm")
    assert not {name: why for name, why in losses(export).items() if name.startswith("speculation.options.")}


def test_adaptive_verification_where_vllm_has_it() -> None:
    adaptive = with_(DRAFT_MODEL, options={"enable_adaptive_verification": True})
    field = "speculation.options.enable_adaptive_verification"
    assert field not in losses(export := export_preset(with_(adaptive, method="dspark"), "vllm"))
    assert "enable_adaptive_verification: true" in of(export, ".yaml")
    assert losses(export := export_preset(with_(adaptive, method="dflash"), "vllm"))[field] == "dropped"
    assert "enable_adaptive_verification: true" not in of(export, ".yaml")


@pytest.mark.parametrize("target", ["sglang", "tensorrt_llm", "llama_cpp"])
def test_what_a_server_does_by_itself_is_no_loss(target: str) -> None:
    """Greedy drafts; and at temperature 0 there is one way to judge a draft."""
    options = {"draft_sample_method": "greedy", "rejection_sample_method": "block"}
    export = export_preset(with_(DRAFT_MODEL, method="dflash", options=options, temperature=0.0), target)
    assert not {name for name in losses(export) if name.startswith("speculation.options.")}


@pytest.mark.parametrize(
    ("name", "gguf"),
    [("org/model-GGUF", True), ("org/Model-7B-Q8_0-GGUF", True), ("org/model:Q4_K_M", True), ("org/model_gguf", True),
     ("/srv/m.gguf", True), ("m.gguf", True), ("/srv/gguf/model", False), ("org/model", False), ("served", False),
     ("org/ggufless", False)],
)  # fmt: skip
@pytest.mark.parametrize("given", ["in the preset", "for the server"])
def test_a_gguf_is_known_by_its_name_whoever_gave_it(name: str, gguf: bool, given: str) -> None:
    """llama-server asks for one where it is none; the others ask where it is one."""
    preset = with_(UNSURE, target=name, model="org/draft-GGUF") if given == "in the preset" else UNSURE
    names = {} if given == "in the preset" else {"model_as": name, "draft_as": "org/draft-GGUF"}
    found = export_preset(preset, "llama_cpp", **names).losses
    assert ("reads GGUF only" in " ".join(loss.reason for loss in found if loss.field == "target")) is not gguf
    assert "speculation.model" not in {loss.field for loss in found}
    for target in ("vllm", "sglang", "tensorrt_llm", "transformers"):
        found = export_preset(preset, target, **names).losses
        assert ("gguf" in " ".join(loss.reason for loss in found if loss.field == "target").lower()) is gguf, target


def measured(preset: Preset = UNSURE, **values: Any) -> Preset:
    return preset.model_copy(update={"evidence": Evidence(run_ids=("a", "b"), date="2026-11-29", metrics=values)})


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"speedup": 0.949}, ["0.95×: slower with speculation than without"]),
        ({"speedup": 1.871}, ["1.87×: faster with"]),
        ({"speedup": 0.998}, ["1.00×: as fast"]),
        ({"tokens_per_second": 12.34}, ["12.3 tokens per second, with nothing to compare with"]),
        ({"speedup": 0.949, "num_draft_tokens": 0}, ["slower", "Nothing was drafted"]),
        (
            {"speedup": 2.0, "processor_wait": 0.82},
            ["faster", "for 82% of the decode time: this is not this"],
        ),
        ({"speedup": 2.0, "baseline_processor_wait": 0.5}, ["faster", "for 50% of the decode time"]),
        ({"speedup": 2.0, "outputs_identical": False, "reconciled": False}, ["faster", "not valid", "not the same"]),
        ({"speedup": 2.0, "status": "cancelled"}, ["faster", "stopped before its end"]),
        ({"speedup": "fast", "processor_wait": float("nan"), "num_draft_tokens": False}, []),
        ({"speedup": 2.0, "processor_wait": 0.02, "num_draft_tokens": 9}, ["faster"]),
    ],
)
def test_what_was_measured_is_said_in_words_first(values: dict[str, Any], words: list[str]) -> None:
    """In every file with a comment above all numbers, and as a note where the export is shown."""
    export = export_preset(measured(**values), "vllm")
    assert len(export.notes) == len(words)
    for note, said in zip(export.notes, words, strict=True):
        assert said in note
    for name in (".yaml", ".sh", ".py"):
        opening = " ".join(line.lstrip("#").strip() for line in of(export, name).splitlines())
        assert " ".join(export.notes) in opening
        if words:
            assert opening.index(export.notes[0]) < opening.index("Measured 2026-11-29, runs: a, b.")


def test_the_processor_is_as_busy_as_a_run_says_it_is() -> None:
    assert _verdict.BUSY == metrics.BUSY


def test_a_baseline_is_not_measured_by_the_other_arm() -> None:
    plain = measured(with_(BASELINE), speedup=0.949, tokens_per_second=20.0, num_draft_tokens=0)
    assert export_preset(plain, "vllm").notes == ("Measured without speculation: 20 tokens per second.",)


def test_a_prompt_is_shortened_in_evidence() -> None:
    assert shortened(" Why is\n the sky  blue? ") == "Why is the sky blue?"
    assert len(shortened("word " * 10_000)) == 120
    assert shortened("word " * 10_000).endswith("…")


def test_the_terminal_says_the_verdict_first_and_every_reason_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(preset_yaml(measured(speedup=0.949)), encoding="utf-8")
    assert main(["export", "--preset", str(path), "--to", "vllm", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "Note: Measured 0.95×: slower with speculation than without."
    reasons = [line.split(": ", 2)[2] for line in said if line.startswith("dropped: ")]
    assert len(reasons) == len(set(reasons))
    assert "dropped: sampling.seed, sampling.stop, system_prompt: " in "\n".join(said)


def test_the_page_shows_notes_in_both_languages() -> None:
    shown = json.loads(view(export_preset(measured(speedup=0.949), "vllm"), {"system": "vllm"}))
    [note] = shown["notes"]
    assert note["en"].startswith("Measured 0.95×: slower")
    assert note["zh-CN"] == "测得 0.95×：用推测解码比不用更慢。"


@pytest.mark.parametrize("target", ["docker", "kubernetes"])
@pytest.mark.parametrize(
    ("value", "words"), [(0, "greater than or equal to 1"), ("cpu", "devices: input should be a valid integer.")]
)
def test_no_other_number_of_devices_is_written_than_was_asked_for(target: str, value: Any, words: str) -> None:
    with pytest.raises(PlaygroundError, match=words):
        export_preset(UNSURE, target, {"devices": value})


def test_the_help_says_what_an_option_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    for words in ("docker, kubernetes: program=vllm, tensorrt_llm,", "devices=≥ 1, ≤ 64", "dialect=1.3+, 1.2"):
        assert words in said


def test_help_ends_as_its_field_does() -> None:
    """An ellipsis is not a full stop too many."""
    help_of = flags._help
    assert help_of(VllmOptions.model_fields["kv_cache_dtype"], "") == "auto: as the model; or fp8, ..."
    assert help_of(VllmOptions.model_fields["mode"], "").count("..") == 0


@pytest.mark.parametrize("name", ["3.my_server", "0", "a.b", "9" * 64, "a" * 64, "3-", "1_"])
@pytest.mark.parametrize("flavour", ["plain", "production-stack"])
def test_kubernetes_takes_the_names_it_is_given(name: str, flavour: str) -> None:
    """RFC 1035: a Service's name begins with a letter, ends with a letter or digit, and has at most 63 characters."""
    made = export_preset(UNSURE.model_copy(update={"name": name}), "kubernetes", {"flavour": flavour})
    documents = list(yaml.safe_load_all(next(text for file, text in made.files.items() if file.endswith(".yaml"))))
    found = [document["metadata"]["name"] for document in documents if "metadata" in document]
    found += [spec["name"] for d in documents for spec in d.get("servingEngineSpec", {}).get("modelSpec", [])]
    assert found
    for label in found:
        assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", label)
    if flavour != "plain":
        assert re.fullmatch(r"helm install [a-z]([-a-z0-9]{0,51}[a-z0-9])? .*", made.command)


@pytest.mark.parametrize("model", ["/srv/m", "name", "/srv/m.gguf", "org/model"])
@pytest.mark.parametrize("target", ["vllm", "sglang", "tensorrt_llm", "llama_cpp", "transformers", "kubernetes"])
def test_what_was_never_measured_is_not_called_so(target: str, model: str) -> None:
    """An imported preset has no measurement, and its paths may be the server's own."""
    preset = with_(UNSURE, target=model, model=model).model_copy(update={"evidence": None})
    export = export_preset(preset, target)
    assert not [loss.reason for loss in export.losses if "measured" in loss.reason]
    assert export.notes == ()


@pytest.mark.parametrize("target", ["vllm", "docker", "kubernetes"])
def test_a_server_gains_by_earlier_answers(target: str) -> None:
    """0 was for a fair comparison; it is kept, and what it means for a server is said."""
    made = export_preset(SUFFIX, target)
    assert "drafting from earlier answers too: vLLM's own default keeps 10000" in made.notes[-1]
    opening = next(iter(made.files.values()))
    assert "every answer is drafted from itself alone" in " ".join(opening.replace("#", "").split())
    cached = with_(SUFFIX, options={"suffix_decoding_max_cached_requests": 500})
    assert not export_preset(cached, target).notes


def test_words_of_a_script_are_quoted_as_people_do() -> None:
    made = export_preset(with_(UNSURE, stop=("it's #1", "a;b", "it's $5")), "llama_cpp")
    script = of(made, ".llama.sh")
    assert '--reverse-prompt "it\'s #1"' in script
    lines = [line.removesuffix(" \\") for line in script.splitlines() if not line.startswith("#")]
    words = shlex.split(" ".join(lines))
    stops = [words[i + 1] for i, word in enumerate(words) if word == "--reverse-prompt"]
    assert [unescaped(stop) for stop in stops] == ["it's #1", "a;b", "it's $5"]
    assert "reverse-prompt = it's \\x231\n" in of(made, ".ini")


@pytest.mark.parametrize("target", ["ollama"])
def test_a_refusal_names_the_method_that_the_preset_has(target: str) -> None:
    hybrid = with_(UNSURE, method="hybrid", model="org/draft", options={})
    with pytest.raises(PlaygroundError, match="cannot draft by hybrid"):
        export_preset(hybrid, target)


def test_more_than_the_tokens_of_a_step_is_no_gain() -> None:
    said = " ".join(export_preset(measured(speedup=1.32, tokens_per_step=1.093, num_draft_tokens=15), "vllm").notes)
    assert "A step gave 1.09 tokens, and speculation can gain no more than that" in said
    assert "A step" not in " ".join(export_preset(measured(speedup=1.32, tokens_per_step=1.4), "vllm").notes)


@pytest.mark.parametrize("target", ["docker", "kubernetes"])
def test_devices_that_nothing_uses_are_said(target: str) -> None:
    assert "the others stay idle" in " ".join(export_preset(NGRAM, target, {"devices": 2}).notes)
    assert not export_preset(NGRAM, target, {"devices": 1}).notes


def test_evidence_has_units_and_no_more_digits_than_were_measured() -> None:
    preset = measured(speedup=1.5, tpot=0.0285912, baseline_ttft=0.5, acceptance_by_position=[0.1234567890123, None])
    words = " ".join(of(export_preset(preset, "vllm"), ".vllm.yaml").replace("#", "").split())
    for said in ("speedup = 1.5×", "tpot = 0.02859 s", "baseline_ttft = 0.5 s", "= [0.1235, n/a]"):
        assert said in words


def test_a_long_description_is_wrapped() -> None:
    preset = NGRAM.model_copy(update={"description": "A long word and another. " * 12})
    assert max(map(len, of(export_preset(preset, "vllm"), ".vllm.yaml").splitlines())) <= 120


def test_a_service_cannot_set_the_servers_own_variables() -> None:
    """A Service named vllm would set VLLM_PORT in each pod of its namespace."""
    documents = yaml.safe_load_all(of(export_preset(NGRAM.model_copy(update={"name": "vllm"}), "kubernetes"), ".yaml"))
    [deployment] = [document for document in documents if document["kind"] == "Deployment"]
    assert deployment["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_ollama_without_speculation_names_no_setting_of_it() -> None:
    assert "PARAMETER draft_num_predict" not in of(export_preset(BASELINE, "ollama"), "Modelfile")


@pytest.mark.parametrize("target", ["llama_cpp", "tensorrt_llm", "sglang", "transformers"])
def test_a_way_to_judge_drafts_that_no_server_has_is_lost_and_said(target: str) -> None:
    preset = with_(DRAFT_MODEL, options={"rejection_sample_method": "synthetic"}, temperature=0.0)
    assert "speculation.options.rejection_sample_method" in losses(export_preset(preset, target))


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--out", ""], "--out is empty"),
        (["--model-as", " "], "--model-as is empty"),
        (["--option", "dialect=1.2", "--option", "dialect=1.3+"], "--option dialect is given twice"),
        (["--out", "~nobody-here/x"], "nobody of that name has a home here"),
    ],
)
def test_what_a_flag_does_not_say_is_refused(flags: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--preset", "default", "--to", "tensorrt_llm", *flags]) == 2
    assert words in capsys.readouterr().err
