"""Model folders are strangers' work: whatever lies there, the doctor says a sentence and stands (CASES 33)."""

import json
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground import models
from playground.doctor import gguf
from playground.doctor.examine import examine
from playground.doctor.facts import facts
from playground.doctor.tokenizers import read_tokenizer
from playground.errors import PlaygroundError
from playground.modelfiles import read_json, safetensors_header
from tests import pair_folders
from tests.pair_folders import model

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture
def target(tmp_path: Path) -> str:
    return model(tmp_path, "target", numbers=9000)


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    return Path(model(tmp_path, "draft"))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"])
@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "3", DEEP, '{"a": ' + DEEP + "}", '{"vocab_size": 1e999, "model": {"vocab": 3}}', "\ud800"],
    ids=["empty", "cut", "list", "null", "number", "deep", "deep inside", "infinite", "surrogate"],
)
def test_a_malformed_file_is_a_sentence(target: str, draft: Path, name: str, text: str) -> None:
    (draft / name).write_bytes(text.encode(errors="surrogatepass"))
    found = examine(target, str(draft), {}, device="cpu")
    assert all(f.text for f in found.findings)
    assert models.inspect("draft", draft).name == "draft"
    json.dumps(found.as_dict())


STRANGE = (None, True, -1, 0, 10**30, 1.5, "x", [], {}, [[[]]], "9" * 5000)


@pytest.mark.parametrize(
    "key",
    ["architectures", "vocab_size", "max_position_embeddings", "hidden_size", "num_attention_heads", "dtype",
     "quantization_config", "model_type", "eos_token_id", "text_config", "layer_types", "auto_map"],
)  # fmt: skip
def test_a_key_of_a_strange_type_is_not_believed(target: str, draft: Path, key: str) -> None:
    sound = json.loads((draft / "config.json").read_text())
    for value in STRANGE:
        pair_folders.write(draft / "config.json", sound | {key: value})
        os.utime(draft / "config.json", ns=(hash(str(value)) % 10**9, hash(str(value)) % 10**9))
        json.dumps(examine(target, str(draft), {}, device="cpu").as_dict())
        models.inspect("draft", draft)


def test_a_huge_config_is_refused_unread(target: str, draft: Path) -> None:
    with (draft / "config.json").open("wb") as file:
        file.truncate(2**40)  # sparse: a terabyte that takes no room
    found = examine(target, str(draft), {}, device="cpu")
    assert found.verdict == "does not work"
    assert "config.json" in found.sentence


def test_a_pipe_is_never_waited_for(target: str, draft: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (draft / name).unlink()
        os.mkfifo(draft / name)
    assert examine(target, str(draft), {}, device="cpu").verdict == "does not work"


def test_links_that_lead_nowhere_or_in_circles(target: str, draft: Path) -> None:
    (draft / "tokenizer.json").unlink()
    (draft / "tokenizer.json").symlink_to(draft / "gone")
    (draft / "vocab.json").symlink_to(draft / "vocab.json")
    found = examine(target, str(draft), {}, device="cpu")
    assert found.verdict in ("does not work", "unknown")
    assert all(f.text for f in found.findings)


def test_a_link_to_the_files_is_followed_as_the_hubs_cache_has_them(target: str, draft: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    for file in draft.iterdir():
        (snapshot / file.name).symlink_to(file)
    assert examine(target, str(snapshot), {}, device="cpu").verdict == "works"


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_a_pickle_is_refused_and_never_opened(target: str, draft: Path, name: str) -> None:
    (draft / "model.safetensors").rename(draft / name)
    found = examine(target, str(draft), {}, device="cpu")
    assert found.verdict == "does not work"
    assert "pickled" in found.sentence
    assert all(fit.outcome == "no" for fit in found.engines)


@pytest.mark.parametrize(
    "entry",
    [3, {}, {"dtype": "F32"}, {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]},
     {"dtype": "F32", "shape": [10**30], "data_offsets": [0, 4]},
     {"dtype": "F32", "shape": "x", "data_offsets": [0, 4]},
     {"dtype": "F32", "shape": [1], "data_offsets": [0, 10**12]}],
)  # fmt: skip
def test_a_strange_header_of_weights(draft: Path, entry: object) -> None:
    header = json.dumps({"w": entry}).encode()
    file = draft / "model.safetensors"
    file.write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    with pytest.raises(PlaygroundError):
        safetensors_header(file)
    assert models.inspect("draft", draft).problem


def test_a_header_longer_than_the_file_reserves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes((90_000_000).to_bytes(8, "little") + b"{")
    with pytest.raises(PlaygroundError, match="only part"):
        safetensors_header(file)


def test_a_vocabulary_of_strange_entries_keeps_the_sound_ones(draft: Path) -> None:
    vocabulary = {"a": 0, "b": "x", "c": -4, "d": 10**12, "e": None, "f": 1}
    pair_folders.write(draft / "tokenizer.json", {"model": {"vocab": vocabulary}, "added_tokens": [3, {"id": "x"}]})
    pair_folders.write(draft / "tokenizer_config.json", {})
    found = read_tokenizer(draft)
    assert found is not None
    assert found.vocabulary == {"a": 0, "f": 1}


def test_a_gguf_header_is_read_as_the_library_writes_it(tmp_path: Path) -> None:
    file = Path(pair_folders.gguf(tmp_path / "m.gguf", words=pair_folders.WORDS | {"[PAD100]": 100}))
    found = facts("m", file)
    assert (found.family, found.context, found.layers, found.hidden, found.rows) == ("llama", 64, 2, 32, 100)
    assert (found.quantization, found.parameters, found.kv_width) == ("Q4_K_M", 3200, 2 * 2 * 8)
    assert found.tokenizer is not None
    assert found.tokenizer.vocabulary == pair_folders.WORDS  # what only fills the vocabulary up is left out
    assert found.tokenizer.special["eos"].text == "</s>"
    assert found.tokenizer.chat_template == pair_folders.TEMPLATE


@pytest.mark.parametrize("cut", [0, 3, 4, 10, 24, 60, 200, 2000])
def test_a_cut_gguf_file_is_a_sentence(tmp_path: Path, cut: int) -> None:
    file = Path(pair_folders.gguf(tmp_path / "m.gguf"))
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(PlaygroundError, match=r"no GGUF file|only part of the file"):
        gguf.read_header(file)
    assert facts("m", file).problem


def test_counts_of_a_gguf_file_are_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    for tensors, pairs in ((2**60, 0), (0, 2**60)):
        file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, tensors, pairs))
        assert "too many" in facts("m", file).problem
    array = struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 4, 2**61)
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + array + b"\0" * 100)
    assert "array too long" in facts("m", file).problem


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_noise_after_the_mark_is_a_sentence(noise: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.gguf"
        file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2, 3) + noise)
        with pytest.raises(PlaygroundError):
            gguf.read_header(file)


def test_a_chat_template_is_text_that_nobody_runs(target: str, draft: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (draft / "chat_template.jinja").write_text(
        "{{ ''.__class__.__mro__[1].__subclasses__() }}" + f"{{% open('{mark}') %}}"
    )
    examine(target, str(draft), {}, device="cpu")
    assert not mark.exists()


def test_bounds_of_reading(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    assert read_json(file) is None
    file.write_text("[" * 64 + "]" * 64)
    assert read_json(file)
    file.write_text("[" * 66 + "]" * 66)
    with pytest.raises(PlaygroundError, match="too deeply"):
        read_json(file)
    file.write_text("[1,2,3]")
    with pytest.raises(PlaygroundError, match="larger"):
        read_json(file, limit=5)
