"""What is said of a model folder from its files alone, and where a name leads."""

import json
import shutil
import threading
import time
from pathlib import Path

import pytest

from playground import models
from playground.errors import PlaygroundError
from playground.settings import Settings


def weights(path: Path, *, cut: int = 0) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    whole = len(header).to_bytes(8, "little") + header + b"\0" * 16
    path.write_bytes(whole[: len(whole) - cut])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "models" / "tiny"
    made.mkdir(parents=True)
    config = {"architectures": ["LlamaForCausalLM"], "vocab_size": 7, "max_position_embeddings": 32}
    (made / "config.json").write_text(json.dumps(config))
    (made / "tokenizer.json").write_text("{}")
    weights(made / "model.safetensors")
    return made


def test_a_whole_folder_has_no_problem(folder: Path) -> None:
    model = models.inspect("tiny", folder)
    assert model.problem == ""
    assert (model.architecture, model.vocab_size, model.context) == ("LlamaForCausalLM", 7, 32)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda f: (f / "tokenizer.json").unlink(), "no tokenizer"),
        (lambda f: weights(f / "model.safetensors", cut=3), "only part of the file"),
        (lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 40), "not a safetensors file"),
        (lambda f: (f / "model.safetensors").write_bytes(b""), "not a safetensors file"),
        (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), "pickled"),
        (lambda f: (f / "model.safetensors").unlink(), "no *.safetensors"),
        (lambda f: (f / "config.json").write_text("[]"), "config.json"),
        (
            lambda f: (f / "model.safetensors.index.json").write_text('{"weight_map": {"w": "gone.safetensors"}}'),
            "missing",
        ),
    ],
)
def test_what_cannot_be_loaded_is_said(folder: Path, spoil: object, says: str) -> None:
    """CASES 33."""
    spoil(folder)  # type: ignore[operator]
    assert says in models.inspect("tiny", folder).problem


def test_catalogue_begins_with_the_default(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "no-cache"))
    settings = Settings(data=tmp_path, model_folders=(tmp_path / "not-mounted",))
    found = models.catalogue(settings)
    assert [m.name for m in found] == [models.DEFAULT, "tiny"]
    assert found[0].kind == "missing"
    assert "prepare" in found[0].problem
    assert models.model_paths(settings) == {"tiny": str(folder)}


def test_hub_cache_is_listed_under_hub_ids(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "hub" / "models--org--name" / "snapshots" / "abc"
    snapshot.parent.mkdir(parents=True)
    folder.rename(snapshot)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    assert models.model_paths(Settings(data=tmp_path / "data")) == {"org/name": str(snapshot)}


def test_names_resolve_to_places(folder: Path) -> None:
    assert models.resolve("tiny", {"tiny": "/x"}, offline=True) == "/x"
    assert models.resolve(str(folder), {}, offline=True) == str(folder)
    assert models.resolve("org/name", {}, offline=False) == "org/name"


@pytest.mark.parametrize("reference", ["nothing", "./nothing", "org/name", "a/b/c", "x.gguf", models.DEFAULT])
def test_an_unknown_name_says_what_to_do(reference: str) -> None:
    with pytest.raises(PlaygroundError) as error:
        models.resolve(reference, {}, offline=True)
    assert error.value.hint


def test_a_prepared_default_is_not_prepared_again(folder: Path, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    folder.rename(settings.models_folder / models.DEFAULT)
    assert models.prepare_default(settings) == settings.models_folder / models.DEFAULT


def test_two_first_starts_prepare_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data=tmp_path)
    left_behind = settings.models_folder / ".preparing-killed"
    left_behind.mkdir()
    (left_behind / "half.gguf").write_bytes(b"x")
    made, said = [], []

    def convert(gguf: Path, out: Path) -> None:
        made.append(out)
        time.sleep(0.2)
        shutil.copytree(folder, out)

    monkeypatch.setattr(models, "_download", lambda scratch: scratch / "model.gguf")
    monkeypatch.setattr(models, "_convert", convert)

    def start() -> None:
        models.prepare_default(settings, lambda what, _: said.append(what))

    starts = [threading.Thread(target=start) for _ in range(3)]
    for one in starts:
        one.start()
    for one in starts:
        one.join()
    assert len(made) == 1
    assert any("Waiting for another start" in what for what in said)
    assert not left_behind.exists()
    assert not models.inspect(models.DEFAULT, settings.models_folder / models.DEFAULT).problem


def test_a_head_beside_the_presets_is_found_by_its_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Settings, "shipped_heads", property(lambda self: tmp_path / "heads"))
    shutil.copytree(folder, tmp_path / "heads" / "a-head")
    shutil.copytree(folder, tmp_path / "heads" / "tiny")
    paths = models.model_paths(Settings(data=tmp_path))
    assert paths["a-head"] == str(tmp_path / "heads" / "a-head")
    assert paths["tiny"] == str(folder), "a user's own of the same name comes first"
