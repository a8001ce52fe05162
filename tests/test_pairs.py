"""Verdicts on pairs from files alone."""

import json
from pathlib import Path

import pytest

from playground.errors import PlaygroundError
from playground.pairs import check_pair, check_vocabulary, compare_vocabularies

WORDS = {"a": 0, "b": 1, "c": 2}


def model(root: Path, name: str, words: dict[str, int], *, rows: int = 3, context: int = 64, size: int = 64) -> str:
    folder = root / name
    folder.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "vocab_size": rows, "max_position_embeddings": context}
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = {"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": words, "unk_token": "a"}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * size)
    return str(folder)


def test_padding_only_is_allowed_and_named(tmp_path: Path) -> None:
    """CASES 1: more logits than tokens, the same tokens."""
    target, draft = model(tmp_path, "t", WORDS, rows=8, size=9000), model(tmp_path, "d", WORDS, rows=4)
    report = check_pair(target, draft, {}, offline=True)
    assert report.verdict == "padding only"
    assert report.findings[0].level == "ok"


def test_one_swapped_token_is_refused_with_id_and_strings(tmp_path: Path) -> None:
    """CASES 2: the same size, two ids that mean each other's string."""
    target, draft = model(tmp_path, "t", WORDS), model(tmp_path, "d", {"a": 0, "c": 1, "b": 2})
    report = check_pair(target, draft, {}, offline=True)
    assert report.verdict == "incompatible"
    assert "2 token ids" in report.sentence
    assert "the first is 1: target 'b', draft 'c'" in report.sentence


def test_loaded_tokenizers_that_differ_raise() -> None:
    class Tokenizer:
        def __init__(self, words: dict[str, int]) -> None:
            self.words = words

        def get_vocab(self) -> dict[str, int]:
            return self.words

    assert check_vocabulary(Tokenizer(WORDS), Tokenizer(dict(WORDS)), 3, 3).verdict == "compatible"
    with pytest.raises(PlaygroundError) as error:
        check_vocabulary(Tokenizer(WORDS), Tokenizer({**WORDS, "d": 3}), 3, 4)
    assert "'d'" in error.value.message
    assert error.value.code == "incompatible_pair"


def test_identical_but_for_order_is_compatible() -> None:
    assert compare_vocabularies(WORDS, dict(reversed(list(WORDS.items()))), 3, 3).verdict == "compatible"


def test_shorter_window_and_large_draft_are_warned_of(tmp_path: Path) -> None:
    """CASES 16 and 23, before loading."""
    target, draft = model(tmp_path, "t", WORDS, context=64), model(tmp_path, "d", WORDS, context=32)
    report = check_pair(target, draft, {}, offline=True)
    assert report.verdict == "compatible"
    assert {f.code for f in report.findings if f.level == "warning"} == {"shorter_window", "draft_too_large"}


def test_an_unusable_folder_is_named(tmp_path: Path) -> None:
    """CASES 33."""
    target, draft = model(tmp_path, "t", WORDS), model(tmp_path, "d", WORDS)
    (Path(draft) / "model.safetensors").rename(Path(draft) / "pytorch_model.bin")
    report = check_pair(target, draft, {}, offline=True)
    assert report.verdict == "incompatible"
    assert "pickled" in report.sentence


@pytest.mark.parametrize("text", ["", "{", "{}", '{"model": 3}'])
def test_a_broken_tokenizer_file_is_unknown_not_a_crash(tmp_path: Path, text: str) -> None:
    target, draft = model(tmp_path, "t", WORDS), model(tmp_path, "d", WORDS)
    (Path(draft) / "tokenizer.json").write_text(text)
    assert check_pair(target, draft, {}, offline=True).verdict == "unknown"


def test_a_hub_id_is_checked_when_loaded(tmp_path: Path) -> None:
    target = model(tmp_path, "t", WORDS)
    assert check_pair(target, "org/name", {}, offline=False).verdict == "unknown"
