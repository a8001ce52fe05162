"""Presets in folders: shipped ones, one's own, and those made from what was measured."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground import exporters, presets
from playground.config import Preset, RunConfig, SamplingParams, Speculation
from playground.errors import PlaygroundError
from playground.exchange import export_preset, import_text
from playground.exporters.preset import preset_yaml
from playground.exportfiles import write_export
from playground.registry import names
from playground.runner import Runner, check
from playground.settings import Settings
from storage import Store
from tests._presets import DRAFT_MODEL, NGRAM

SHIPPED = sorted(path.stem for path in Settings().shipped_presets.glob("*.yaml"))


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    store = Store(settings.database_path)
    yield store
    store.close()


@pytest.fixture
def runner(settings: Settings, store: Store) -> Iterator[Runner]:
    runner = Runner(settings, store)
    yield runner
    runner.close()


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_presets_are_canonical_and_can_run_and_leave(name: str, settings: Settings) -> None:
    preset = presets.load_preset(name, settings)
    path = settings.shipped_presets / f"{name}.yaml"
    assert path.read_text(encoding="utf-8") == preset_yaml(preset), "write it as the exporter does"
    assert preset.description
    check(preset.config)
    assert presets.explicit(preset.config) == preset.config
    assert export_preset(preset, "preset").files
    assert export_preset(preset, "vllm").files


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("target", names(exporters.PACKAGE))
def test_every_system_takes_a_shipped_preset_or_says_why_not(target: str, name: str, settings: Settings) -> None:
    try:
        found = export_preset(presets.load_preset(name, settings), target)
    except PlaygroundError as error:
        refused = error.code
    else:
        refused = "" if found.files else "no files"
    assert refused in ("", "not_expressible")


def test_the_default_is_shipped_and_first(settings: Settings) -> None:
    found = presets.list_presets(settings)
    assert found[0].name == presets.DEFAULT
    assert {entry.name for entry in found} == set(SHIPPED)
    assert not any(entry.own or entry.error for entry in found)


def test_a_saved_preset_is_found_and_wins(settings: Settings) -> None:
    path = presets.save_preset(NGRAM, settings)
    assert path == settings.presets_folder / "golden-ngram.yaml"
    assert presets.load_preset("golden-ngram", settings) == NGRAM
    assert presets.load_preset(path, settings) == NGRAM
    assert presets.load_preset(str(path), settings) == NGRAM
    mine = NGRAM.model_copy(update={"name": presets.DEFAULT})
    with pytest.raises(PlaygroundError, match="already a preset called “default”"):
        presets.save_preset(mine, settings)
    presets.save_preset(mine, settings, overwrite=True)
    assert presets.load_preset(presets.DEFAULT, settings) == mine
    presets.delete_preset(presets.DEFAULT, settings)
    assert presets.load_preset(presets.DEFAULT, settings) != mine
    with pytest.raises(PlaygroundError, match="no preset of your own"):
        presets.delete_preset(presets.DEFAULT, settings)


def test_saving_twice_needs_overwrite_and_one_writer_wins(settings: Settings) -> None:
    outcomes: list[str] = []

    def save() -> None:
        try:
            presets.save_preset(DRAFT_MODEL, settings)
            outcomes.append("saved")
        except PlaygroundError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=save) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["name_taken"] * 7 + ["saved"]
    assert presets.load_preset("golden-draft", settings) == DRAFT_MODEL
    assert [path.name for path in settings.presets_folder.iterdir()] == ["golden-draft.yaml"], "no scratch files"


def test_a_broken_file_is_listed_with_its_error_and_hides_nothing(settings: Settings) -> None:
    """CASES 32."""
    settings.presets_folder.mkdir(parents=True)
    broken = settings.presets_folder / "broken.yaml"
    broken.write_text("config:\n  targett: x\n")
    (settings.presets_folder / "My Preset.yaml").write_text("config: {}\n")
    (settings.presets_folder / "note.txt").write_text("not a preset")
    (settings.presets_folder / "folder.yaml").mkdir()
    found = {entry.name: entry for entry in presets.list_presets(settings)}
    assert found.keys() == {*SHIPPED, "broken", "My Preset", "folder"}
    assert f"{broken}, line 2, config.targett: is not a known key" in found["broken"].description
    assert "Rename the file" in found["My Preset"].description
    with pytest.raises(PlaygroundError, match="line 2"):
        presets.load_preset("broken", settings)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "x/../default", "default.yaml", "", "a" * 5000])
def test_a_stranger_can_only_name_presets(name: str, settings: Settings) -> None:
    with pytest.raises(PlaygroundError, match="no preset called") as caught:
        presets.named_preset(name, settings)
    assert len(caught.value.message) < 200


def test_the_files_name_counts(settings: Settings) -> None:
    settings.presets_folder.mkdir(parents=True)
    (settings.presets_folder / "copy.yaml").write_text(preset_yaml(NGRAM))
    assert presets.load_preset("copy", settings).name == "copy"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_said(settings: Settings) -> None:
    """CASES 34."""
    settings.presets_folder.mkdir(parents=True)
    settings.presets_folder.chmod(0o500)
    with pytest.raises(PlaygroundError, match="cannot be written") as caught:
        presets.save_preset(NGRAM, settings)
    assert "DRAFTBOARD_DATA" in caught.value.hint


def test_a_folder_that_is_a_file_is_said(settings: Settings) -> None:
    """CASES 34, also for root."""
    settings.presets_folder.parent.mkdir(parents=True, exist_ok=True)
    settings.presets_folder.write_text("")
    with pytest.raises(PlaygroundError) as caught:
        presets.save_preset(NGRAM, settings)
    assert caught.value.code == "unwritable"
    assert "DRAFTBOARD_DATA" in caught.value.hint
    with pytest.raises(PlaygroundError) as caught:
        write_export(export_preset(NGRAM, "vllm"), settings.presets_folder)
    assert caught.value.code == "file_exists"


def test_exports_do_not_overwrite_unasked(tmp_path: Path) -> None:
    export = export_preset(NGRAM, "vllm")
    written = write_export(export, tmp_path / "new" / "folder")
    assert {path.name: path.read_text() for path in written} == export.files
    with pytest.raises(PlaygroundError, match="already holds golden-ngram"):
        write_export(export, tmp_path / "new" / "folder")
    write_export(export, tmp_path / "new" / "folder", overwrite=True)


def scripted(**changes: Any) -> RunConfig:
    options = {"pace": False, "load_seconds": 0.0, "length": 30, **changes.pop("options", {})}
    return RunConfig(
        engine="scripted",
        engine_options=options,
        speculation=Speculation(method="ngram", num_speculative_tokens=4),
        sampling=SamplingParams(max_tokens=40),
        **changes,
    )


def test_what_was_measured_is_what_is_saved(runner: Runner, store: Store) -> None:
    job = runner.start_compare(scripted(), "Hello")
    for _ in job:
        pass
    preset = presets.preset_from_run(store, job.run_ids["speculative"], "measured", "Why not.")
    assert preset.config == presets.explicit(scripted())
    spec = preset.config.speculation
    assert spec is not None
    assert spec.options["prompt_lookup_max"], "the method's defaults are written out"
    evidence = preset.evidence
    assert evidence is not None
    assert evidence.run_ids == (job.run_ids["baseline"], job.run_ids["speculative"])
    assert evidence.date == store.run(job.run_ids["baseline"]).started_at[:10]
    assert evidence.metrics["outputs_identical"] is True
    assert evidence.metrics["speedup"] == pytest.approx(
        evidence.metrics["baseline_tpot"] / evidence.metrics["tpot"], rel=1e-9
    )
    assert evidence.metrics["seed"] is not None
    assert evidence.hardware["device"] == "scripted"
    assert "target_path" not in evidence.hardware
    again = import_text("measured.yaml", preset_yaml(preset)).preset
    assert again == preset
    assert presets.preset_from_run(store, job.comparison_id, "measured", "Why not.") == preset
    baseline = presets.preset_from_run(store, job.run_ids["baseline"], "measured")
    assert baseline.config.speculation is None
    assert baseline.evidence is not None
    own = baseline.evidence.metrics
    assert own["tokens_per_second"] == evidence.metrics["baseline_tokens_per_second"]
    assert baseline.evidence.run_ids == (job.run_ids["baseline"],)
    assert not [name for name in own if "speedup" in name or name.startswith("baseline_")]
    assert own["prompt"] == evidence.metrics["prompt"] == "Hello"


def test_a_run_on_its_own_has_evidence_too(runner: Runner, store: Store) -> None:
    job = runner.start_run(scripted(), "Hello")
    list(job)
    evidence = presets.preset_from_run(store, job.run_id, "alone").evidence
    assert evidence is not None
    assert evidence.run_ids == (job.run_id,)
    assert "speedup" not in evidence.metrics
    assert evidence.metrics["tokens_per_step"] > 1


def test_what_measured_nothing_is_no_preset(runner: Runner, store: Store) -> None:
    job = runner.start_run(scripted(options={"fail": "load"}), "Hello")
    list(job)
    with pytest.raises(PlaygroundError, match="failed") as caught:
        presets.preset_from_run(store, job.run_id, "x")
    assert caught.value.code == "nothing_measured"
    with pytest.raises(PlaygroundError, match="There is no run"):
        presets.preset_from_run(store, "none", "x")
    ended = runner.start_run(scripted(), "Hello")
    list(ended)
    with pytest.raises(PlaygroundError, match="is no name for a preset: up to 64 of a-z, 0-9"):
        presets.preset_from_run(store, ended.run_id, "Not A Name")


def test_evidence_from_a_stranger_stays_small(store: Store, runner: Runner) -> None:
    """Imported runs may hold any environment: a preset made from one must still be a file we read."""
    job = runner.start_run(scripted(), "Hello")
    list(job)
    lines = "".join(store.export_jsonl([job.run_id]))
    hostile = '"hardware": {"x": "' + "y" * 2_000_000 + '"}, "z": [[[["deep"]]]], "nan": "\\u0000", "dtype"'
    store.delete([job.run_id])
    store.import_jsonl([lines.replace('"dtype"', hostile).replace(hostile, '"dtype"', 1)])
    preset = presets.preset_from_run(store, job.run_id, "small")
    text = preset_yaml(preset)
    assert len(text) < 50_000
    assert import_text("small.yaml", text).preset == preset


def test_presets_are_values() -> None:
    assert Preset.model_validate(NGRAM.model_dump()) == NGRAM


@pytest.mark.parametrize(
    ("name", "after"),
    [("a", "a-2"), ("a-2", "a-3"), ("a-9", "a-10"), ("qwen-1", "qwen-1-2"), ("x" * 64, "x" * 62 + "-2")],
)
def test_the_name_after_a_name_that_is_taken(name: str, after: str) -> None:
    assert presets.next_name(name) == after
