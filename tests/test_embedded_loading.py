"""Model folders are untrusted: what is not whole or not safe is refused with its reason, before anything is opened."""

import json
import os
import pickle
import shutil
from pathlib import Path

import pytest

from playground.engines import EngineContext, _device, _loading
from playground.errors import PlaygroundError
from tests import tiny
from tests.rig import Rig


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.make_model(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


def refused(folder: Path, **context: object) -> PlaygroundError:
    with pytest.raises(PlaygroundError) as caught:
        _loading.load(str(folder), "float32", "auto", EngineContext(device="cpu", offline=True, **context))  # type: ignore[arg-type]
    assert caught.value.hint
    return caught.value


def test_a_whole_folder_loads(whole: Path) -> None:
    loaded = _loading.load(str(whole), "auto", "auto", EngineContext(device="cpu", offline=True))
    assert loaded.vocab_size == tiny.VOCAB
    assert loaded.eos_ids == {tiny.EOS_ID}
    assert loaded.model.max_positions == 512
    assert loaded.attention == "grouped_sdpa"


def test_without_a_tokenizer(folder: Path) -> None:
    """CASES 33."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    assert "tokenizer" in refused(folder).message


def test_a_half_downloaded_file(folder: Path) -> None:
    """CASES 33."""
    weights = folder / "model.safetensors"
    os.truncate(weights, weights.stat().st_size // 2)
    assert "part" in refused(folder).message


def test_a_pickle_is_never_opened(folder: Path, tmp_path: Path) -> None:
    """CASES 33: alone it is refused, beside safetensors it is ignored."""
    canary = tmp_path / "opened"

    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (os.mkdir, (str(canary),))

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    _loading.load(str(folder), "float32", "auto", EngineContext(device="cpu", offline=True))
    (folder / "model.safetensors").unlink()
    assert "pickle" in refused(folder).message
    assert not canary.exists()


def test_missing_weights_are_not_made_up(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert "lacks 1 of its weights" in refused(folder).message


@pytest.mark.parametrize("content", ["not json", "{}", '{"model_type": "no_such_architecture"}'])
def test_a_config_that_says_nothing(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content)
    refused(folder)


def test_a_broken_tokenizer_file(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    assert "tokenizer" in refused(folder).message


def test_python_in_a_folder_is_not_run(folder: Path, tmp_path: Path) -> None:
    canary = tmp_path / "run"
    (folder / "evil.py").write_text(f"import os\nos.mkdir({str(canary)!r})\nclass Model: pass\nclass Config: pass\n")
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "evil",
        "auto_map": {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    assert refused(folder).code in ("remote_code", "bad_model")
    assert not canary.exists()


def test_a_hub_id_while_offline() -> None:
    assert refused(Path("some/model")).code == "no_such_model"


def test_state_space_models_are_refused(tmp_path: Path) -> None:
    from transformers import MambaConfig, MambaForCausalLM

    model = MambaForCausalLM(MambaConfig(vocab_size=tiny.VOCAB, hidden_size=16, state_size=4, num_hidden_layers=1))
    assert "keeps its state" in refused(tiny.save(tmp_path / "mamba", model, tiny.make_tokenizer())).message


def test_a_gguf_file_is_the_same_model(whole: Path, tmp_path: Path) -> None:
    file = tiny.make_gguf(tmp_path / "tiny.gguf", whole)
    theirs, ours = (Rig(place).run("the quick", max_tokens=12, ignore_eos=True) for place in (whole, file))
    assert ours.ids == theirs.ids
    assert ours.started.prompt_token_ids == theirs.started.prompt_token_ids
    os.truncate(file, file.stat().st_size // 2)
    assert refused(file).code == "bad_model"


def test_eos_of_generation_config_and_tokenizer(folder: Path) -> None:
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [7, 9]}))
    loaded = _loading.load(str(folder), "float32", "auto", EngineContext(device="cpu", offline=True))
    assert loaded.eos_ids == {7, 9, tiny.EOS_ID}


def test_a_device_that_is_not_here() -> None:
    for wanted in ("cuda:17", "xpu", "nonsense"):
        with pytest.raises(PlaygroundError, match="is not here"):
            _device.pick_device(wanted)


@pytest.mark.parametrize(
    ("wanted", "visible", "name"),
    [("cpu", "", "cpu"), ("cuda", None, "cuda:0"), ("cuda:1", None, "cuda:1"), ("cuda", "3,1", "cuda:3")],
)
def test_the_device_lock_names_the_physical_gpu(
    wanted: str, visible: str | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 28, the lock's part: without touching CUDA."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert _device.device_lock(wanted) == name
