"""The pair doctor before loading: pairs made for the purpose get the right verdict for the right reason."""

from pathlib import Path
from typing import Any

import pytest

from playground.doctor.examine import examine
from playground.doctor.findings import SENTENCES, PairReport
from playground.doctor.fits import REASONS
from playground.errors import PlaygroundError
from tests import pair_folders
from tests.pair_folders import WORDS, head, model, swapped


def report(root: Path, target: dict[str, Any] | None = None, draft: dict[str, Any] | None = None) -> PairReport:
    """A target of 9,000 numbers with a draft of 64, each with what is asked for."""
    target = {"numbers": 9000} | (target or {})
    return examined(model(root, "target", **target), model(root, "draft", **(draft or {})))


def examined(target: str, draft: str, **how: Any) -> PairReport:
    return examine(target, draft, {}, device="cpu", **how)


def codes(found: PairReport, *levels: str) -> set[str]:
    return {f.code for f in found.findings if f.level in levels}


def outcomes(found: PairReport) -> dict[str, str]:
    return {fit.engine: fit.outcome for fit in found.engines}


def fit(found: PairReport, engine: str) -> Any:
    return next(f for f in found.engines if f.engine == engine)


def test_a_sound_pair_works_everywhere(tmp_path: Path) -> None:
    found = report(tmp_path)
    assert found.verdict == "works"
    assert codes(found, "error", "warning", "note") == set()
    expected = {"embedded": "works", "vllm": "works", "tensorrt_llm": "setting", "sglang": "setting"}
    assert outcomes(found) == expected | {"llama_cpp": "setting"}
    assert fit(found, "llama_cpp").code == "needs_gguf"


def test_padding_only(tmp_path: Path) -> None:
    """CASES 1: allowed, by its name; vLLM needs a setting, SGLang refuses, llama.cpp allows up to 128."""
    found = report(tmp_path, {"rows": 256}, {"rows": 128})
    assert found.verdict == "works"
    assert found.vocabulary is not None
    assert found.vocabulary.verdict == "padding only"
    assert "only the padding" in next(f.text for f in found.findings if f.code == "vocabulary_padding_only")
    assert outcomes(found)["embedded"] == "works"
    assert fit(found, "vllm").setting == "speculative_config.use_heterogeneous_vocab: true"
    assert fit(found, "sglang").code == "sglang_sizes"
    assert outcomes(found)["llama_cpp"] == "setting"
    assert fit(report(tmp_path / "far", {"rows": 229}, {"rows": 100}), "llama_cpp").code == "llama_size"


def test_one_swapped_token(tmp_path: Path) -> None:
    """CASES 2: refused, with the id and both strings; the engines that look say so, vLLM would not notice."""
    found = report(tmp_path, draft={"words": swapped(7, 9)})
    assert found.verdict == "does not work"
    assert found.sentence == ("2 token ids mean different strings, the first is 7: target “w7”, draft “w9”.")
    assert {engine: fit(found, engine).code for engine in outcomes(found)} == {
        "embedded": "vocabulary",
        "vllm": "vllm_strings",
        "tensorrt_llm": "vocabulary",
        "sglang": "vocabulary",
        "llama_cpp": "llama_token",
    }


def test_llama_cpp_does_not_look_at_the_first_ids(tmp_path: Path) -> None:
    found = report(tmp_path, draft={"words": swapped(2, 3)})
    assert found.verdict == "does not work"
    assert fit(found, "llama_cpp").code == "needs_gguf"


def test_extra_tokens_are_told_from_swapped_ones(tmp_path: Path) -> None:
    found = report(tmp_path, {"rows": 128}, {"rows": 128, "words": WORDS | {"<tool>": 100}})
    assert found.findings[0].code == "vocabulary_extra_tokens"
    assert "the first is 100: target “–”, draft “<tool>”" in found.sentence


def test_a_stranger_to_the_target(tmp_path: Path) -> None:
    found = report(tmp_path, draft={"words": {f"x{i}": i for i in range(100)}})
    assert found.findings[0].code == "vocabulary_incompatible"
    assert found.verdict == "does not work"


def test_another_bos(tmp_path: Path) -> None:
    """CASES 21: works, with a warning; the prompt is made once, with the target's."""
    found = report(tmp_path, draft={"bos": "w5"})
    assert found.verdict == "works with care"
    assert found.sentence == "BOS is <s> in the target and w5 in the draft: the prompt is made with the target's."
    assert outcomes(found)["embedded"] == "works"
    assert fit(found, "llama_cpp").code == "needs_gguf"  # it looks at BOS only where prompts get one
    added = report(tmp_path / "added", {"adds_bos": True}, {"adds_bos": True, "bos": "w5"})
    assert fit(added, "llama_cpp").code == "llama_special"


def test_no_bos_in_the_draft(tmp_path: Path) -> None:
    found = report(tmp_path, draft={"bos": None})
    assert "bos_differs" in codes(found, "warning")


def test_a_shorter_window(tmp_path: Path) -> None:
    """CASES 16: said up front; SGLang needs a setting for it."""
    found = report(tmp_path, draft={"context": 32})
    assert found.verdict == "works with care"
    assert found.sentence == "The draft reads 32 tokens, the target 64: nothing is drafted past that."
    assert fit(found, "sglang").setting == "speculative-algorithm: STANDALONE, context-length: 32"


def test_no_chat_template_in_the_draft(tmp_path: Path) -> None:
    """CASES 21: a warning, no refusal."""
    found = report(tmp_path, draft={"template": None})
    assert found.verdict == "works with care"
    assert codes(found, "warning") == {"template_missing"}


def test_a_chat_template_of_its_own_file_counts(tmp_path: Path) -> None:
    target, draft = model(tmp_path, "t", numbers=9000), model(tmp_path, "d", template=None)
    (Path(draft) / "chat_template.jinja").write_text(pair_folders.TEMPLATE)
    assert "template_same" in codes(examined(target, draft), "ok")
    (Path(draft) / "chat_template.jinja").write_text("{{ messages }}")
    assert "template_differs" in codes(examined(target, draft), "warning")


def test_a_quantised_draft(tmp_path: Path) -> None:
    """A GGUF file runs here; packed safetensors need their package, and the reason names it."""
    target = model(tmp_path, "t", numbers=900_000)
    found = examined(target, pair_folders.gguf(tmp_path / "draft.gguf"))
    assert found.draft is not None
    assert found.draft.quantization == "Q4_K_M"
    assert "draft_quantised" in codes(found, "note")
    assert outcomes(found)["embedded"] == "works"
    assert fit(found, "vllm").code == "no_gguf"
    assert found.vocabulary is not None
    assert found.vocabulary.verdict == "identical"


def test_a_packed_draft_needs_a_package(tmp_path: Path) -> None:
    packed = {"quantization_config": {"quant_method": "aqlm", "bits": 2}}
    found = report(tmp_path, {"numbers": 900_000}, {"config": packed})
    assert found.draft is not None
    assert found.draft.quantization == "aqlm 2-bit"
    assert fit(found, "embedded").code == "needs_package"
    assert found.verdict == "works with care"  # vLLM and others read it
    assert found.sentence.startswith("Not in the embedded engine: draft is quantised with aqlm")


def test_a_draft_as_large_as_the_target(tmp_path: Path) -> None:
    """CASES 23, before loading."""
    found = report(tmp_path, draft={"numbers": 6000})
    assert codes(found, "warning") == {"draft_too_large"}
    assert "only 1.5 times" in found.sentence


def test_a_head_is_judged_by_its_target(tmp_path: Path) -> None:
    target = model(tmp_path, "t", numbers=9000)
    found = examined(target, head(tmp_path, "fits"))
    assert {"head_fits", "vocabulary_by_target"} <= codes(found, "ok")
    assert fit(found, "vllm").setting == "speculative_config.method: eagle3"
    assert fit(found, "tensorrt_llm").setting == "speculative_config.decoding_type: Eagle3"
    other = examined(target, head(tmp_path, "other", hidden=64))
    assert (other.verdict, other.findings[0].code) == ("does not work", "head_mismatch")


def test_memory_is_weights_and_cache_at_the_context(tmp_path: Path) -> None:
    target, draft = model(tmp_path, "t", numbers=9000), model(tmp_path, "d", context=32)
    memory = examined(target, draft, context=50, dtype="float32").memory
    assert memory is not None
    kv = 2 * (2 * 2 * 8) * 4  # layers, keys and values of two heads of eight numbers, bytes
    assert (memory.target_weights, memory.target_kv) == (9000 * 4, 50 * kv)
    assert (memory.draft_weights, memory.draft_kv) == (64 * 4, 32 * kv)  # no further than its own window
    assert memory.need == 9064 * 4 + 82 * kv
    assert memory.free is not None


def test_too_much_for_this_machine_is_said(tmp_path: Path) -> None:
    found = examined(model(tmp_path, "t", numbers=9000, context=2**40), model(tmp_path, "d"), context=2**40)
    assert found.verdict == "does not work"
    assert found.findings[0].code == "memory_short"


def test_layers_with_a_state_are_refused(tmp_path: Path) -> None:
    mixed = {"layer_types": ["linear_attention", "full_attention"]}
    found = report(tmp_path, {"config": mixed})
    assert found.verdict == "does not work"
    assert "cannot be rewound" in found.sentence


def test_python_of_its_own_is_named(tmp_path: Path) -> None:
    found = report(tmp_path, draft={"config": {"auto_map": {"AutoModel": "evil.Model"}, "model_type": "no_such"}})
    assert fit(found, "embedded").code == "remote_code"
    assert fit(found, "vllm").setting == "trust-remote-code: true"


def test_who_is_not_here_is_unknown(tmp_path: Path) -> None:
    target = model(tmp_path, "t")
    assert examined(target, "org/name", offline=False).verdict == "unknown"
    with pytest.raises(PlaygroundError, match="not on this machine"):
        examined(target, "org/name")


def test_every_report_is_plain_data_with_its_sentences(tmp_path: Path) -> None:
    import json

    found = report(tmp_path, draft={"words": swapped(7, 9)}).as_dict()
    again = json.loads(json.dumps(found))
    assert again == found
    assert again["vocabulary"]["first_id"] == 7
    assert all(f["text"] for f in again["findings"])
    assert set(again["engines"]) == {"embedded", "vllm", "tensorrt_llm", "sglang", "llama_cpp"}
    assert all(fit["reason"] for fit in again["engines"].values())


def test_chinese_has_every_sentence_and_every_parameter() -> None:
    import string

    from playground.ui.strings_pairs import STRINGS

    def fields(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    said = {f"pair.{code}" for code in SENTENCES} | {f"fit.{code}" for code in REASONS}
    for key in said:
        assert fields(STRINGS[key]["en"]) == fields(STRINGS[key]["zh-CN"]), key


def test_a_sentencepiece_file_is_read_as_data(tmp_path: Path) -> None:
    """Folders without tokenizer.json (Llama 2, Mistral): the pieces in order are the ids."""
    from sentencepiece import sentencepiece_model_pb2

    layout: Any = sentencepiece_model_pb2
    made = layout.ModelProto()
    for text, i in sorted(WORDS.items(), key=lambda item: item[1]):
        made.pieces.add(piece=text, score=-float(i), type=3 if i < 2 else 1)
    draft = Path(model(tmp_path, "draft", tokenizer=False))
    (draft / "tokenizer.model").write_bytes(made.SerializeToString())
    found = examined(model(tmp_path, "target", numbers=9000), str(draft))
    assert found.vocabulary is not None
    assert found.vocabulary.verdict == "identical"
    (draft / "tokenizer.model").write_bytes(b"IQ== 0\nIg== 1\n")  # Tiktoken's format under the same name
    assert examined(str(tmp_path / "target"), str(draft)).verdict == "unknown"
