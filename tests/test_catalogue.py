"""Which models of a machine can draft for which, and the public pairs that are known."""

import shutil
from pathlib import Path

import pytest
import yaml

from playground import catalogue
from playground.errors import PlaygroundError
from playground.presets import list_presets
from playground.settings import Settings
from tests.pair_folders import gguf, head, model, swapped


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A folder of models of every kind, with a hub cache beside it."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    models = tmp_path / "models"
    model(models, "target", numbers=90_000)
    model(models, "small", numbers=100)
    model(models, "padded", rows=128, numbers=200)
    model(models, "swapped", words=swapped(7, 9))
    model(models, "stranger", words={f"x{i}": i for i in range(100)})
    model(models, "stateful", config={"layer_types": ["mamba"]})
    head(models, "head")
    head(models, "wrong-head", hidden=64)
    broken = Path(model(models, "broken"))
    (broken / "model.safetensors").rename(broken / "pytorch_model.bin")
    (models / "publisher" / "repository").mkdir(parents=True)
    gguf(models / "publisher" / "repository" / "quant.gguf")
    shutil.copy(models / "publisher" / "repository" / "quant.gguf", models / "parts-00002-of-00003.gguf")
    cached = tmp_path / "hub" / "models--org--Cached-Model" / "snapshots" / "abc"
    shutil.copytree(models / "small", cached)
    return Settings(data=tmp_path, device="cpu")


def refusals(settings: Settings, method: str) -> dict[str, str]:
    return {
        c.model.name: c.why.code for c in catalogue.drafts_for("target", method, settings) if not c.usable and c.why
    }


def test_only_what_can_work_is_offered_and_the_rest_has_its_reason(home: Settings) -> None:
    found = catalogue.drafts_for("target", "draft_model", home)
    usable = [c.model.name for c in found if c.usable]
    assert set(usable) == {"small", "padded", "org/Cached-Model", "quant", "target"}
    assert usable[-1] == "target"  # itself, at the end, with a remark
    assert next(c.why.code for c in found if c.model.name == "target" and c.why) == "same_model"
    assert refusals(home, "draft_model") == {
        "swapped": "vocabulary_tokens_differ",
        "stranger": "vocabulary_incompatible",
        "stateful": "stateful",
        "head": "is_head",
        "wrong-head": "is_head",
        "broken": "unusable",
    }
    why = next(c.why.text for c in found if c.model.name == "swapped" and c.why)
    assert "first is 7: target “w7”, draft “w9”" in why


def test_a_head_is_offered_to_its_own_method(home: Settings) -> None:
    found = {c.model.name: c for c in catalogue.drafts_for("target", "eagle3", home)}
    assert [name for name, c in found.items() if c.usable] == ["head"]
    assert refusals(home, "eagle3")["wrong-head"] == "head_mismatch"
    assert refusals(home, "eagle3")["small"] == "is_no_head"


def test_a_target_that_is_not_here_lets_all_pass(home: Settings) -> None:
    for name in ("org/elsewhere", "/no/such/folder", "~nobody/x", "\0", "x" * 5000):
        usable = {c.model.name for c in catalogue.drafts_for(name, "draft_model", home) if c.usable}
        assert {"small", "swapped", "stranger"} <= usable


def test_models_are_grouped_by_what_their_ids_mean(home: Settings) -> None:
    found = {g.fingerprint: {m.name for m in g.members} for g in catalogue.groups(catalogue.all_models(home))}
    sizes = sorted(map(len, found.values()))
    largest = max(found.values(), key=len)
    assert {"target", "small", "padded", "quant", "org/Cached-Model"} <= largest
    assert {"swapped"} in found.values()
    assert {"stranger"} in found.values()
    assert found[None] == {"head", "wrong-head"}
    assert sum(sizes) == 11


def test_later_parts_of_a_gguf_are_no_models_of_their_own(home: Settings) -> None:
    assert not any("parts" in m.name for m in catalogue.all_models(home))


def test_known_pairs_are_data_and_no_presets(settings: Settings) -> None:
    pairs = catalogue.known_pairs(settings)
    families = {pair.family for pair in pairs}
    assert {"Llama 3", "Qwen 2.5", "Qwen 3", "Gemma", "Mistral", "DeepSeek R1 distills"} <= families
    assert {"draft_model", "eagle3", "mtp"} <= {pair.method for pair in pairs}
    assert all(pair.draft for pair in pairs if pair.method != "mtp")
    assert len({(p.target, p.draft, p.method) for p in pairs}) == len(pairs)
    assert all(entry.preset for entry in list_presets(settings))


def test_own_pairs_join_the_shipped_ones(settings: Settings) -> None:
    folder = settings.presets_folder / "pairs"
    folder.mkdir(parents=True)
    mine = {"family": "mine", "target": "a/T", "draft": "b/D"}
    (folder / "mine.yaml").write_text(yaml.safe_dump({"pairs": [mine]}))
    assert catalogue.known_pairs(settings)[-1].target == "a/T"
    (folder / "mine.yaml").write_text("pairs:\n- family: x\n  targt: y\n")
    with pytest.raises(PlaygroundError, match=r"mine\.yaml, .*targt"):
        catalogue.known_pairs(settings)  # CASES 32
    pairs, error = catalogue.checked_pairs(settings)
    assert pairs == []
    assert error is not None


def test_a_public_name_is_found_under_the_name_it_has_here(home: Settings) -> None:
    found = catalogue.all_models(home)
    assert catalogue.on_machine("someone/Small", found) == "small"
    assert catalogue.on_machine("org/Cached-Model", found) == "org/Cached-Model"
    assert catalogue.on_machine("org/Elsewhere", found) is None
