"""What became of a preset on its way out to a server and back: nothing of it is another without a word."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from playground import engines
from playground.config import Preset, RunConfig
from playground.engines.embedded import Engine as Embedded
from playground.exchange import import_text
from playground.exporters._ledger import NEUTRAL, fields, method_of, value_of
from playground.importers import Imported
from playground.importers._reading import EMBEDDED
from playground.presets import explicit
from playground.registry import discover
from tests._exports import WAYS, made, name_of
from tests._presets import NGRAM, presets

OWN_SERVER = {"vllm", "docker-vllm", "kubernetes-plain", "kubernetes-production-stack", "kubernetes-llm-d"}
"""Ways whose files are vLLM's: that they run on the engine vllm, which has one way to match, needs no word."""

MADE_UP = ("engine", "prompt_lookup_min", "match", "max_tokens")
"""What the files of most servers do not hold, so that only the import can have chosen it."""


def default_of(config: RunConfig, field: str) -> Any:
    """What a field comes to that is left open: the default of the engine, or of its method."""
    engine, spec = discover(engines.PACKAGE)[config.engine].Engine, config.speculation
    name = field.rsplit(".", 1)[-1]
    if field.startswith("engine_options."):
        model = engine.Options
    elif field.startswith("speculation.options.") and spec and spec.method in engine.methods():
        model = engine.methods()[spec.method]
    else:
        return None
    if name == "match":
        return "earliest"  # of vLLM too, which has no such option
    return model.model_fields[name].default if name in model.model_fields else None


def values(config: RunConfig, others: set[str]) -> dict[str, Any]:
    """Every field of a config and those of another: its value, or what it comes to where it is left open."""
    mine = set(fields(config))
    found = {field: value_of(config, field) if field in mine else default_of(config, field) for field in mine | others}
    if config.speculation:
        found["speculation.method"] = method_of(config.speculation).replace("pard", "draft_model")
        found["speculation.options.parallel_drafting"] = method_of(config.speculation) == "pard"
    return found


def changed(before: Preset, after: Imported) -> set[str]:
    """Fields that were set before and are another now. Switched off is as good as not there."""
    old, new = explicit(before.config), explicit(after.preset.config)
    first, second = values(old, set(fields(new))), values(new, set(fields(old)))
    same = {
        field
        for field in first
        if first[field] == second[field] or (_off(field, first[field]) and _off(field, second[field]))
    }
    size = "speculation.options.draft_tensor_parallel_size"
    if first.get(size) in (None, old.engine_options.get("tensor_parallel_size", 1)) and not second.get(size):
        same.add(size)  # open, or as large as the target's: the same either way
    return set(fields(old)) - same


def _off(field: str, value: Any) -> bool:
    return value is None or value is False or (field in NEUTRAL and value == NEUTRAL[field])


def named(field: str, imported: Imported) -> bool:
    spelled = field.rsplit(".", 1)[-1].replace("_", "[_-]")
    return any(re.search(rf"(?<![\w-]){spelled}(?![\w-])", sentence) for sentence in imported.rewrites)


def files_of(export: Any) -> list[tuple[str, str]]:
    return [(n, t) for n, t in export.files.items() if not n.endswith(".request.json") and n != "Dockerfile"]


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_nothing_of_a_preset_changes_without_a_word(way: tuple[str, dict[str, Any]]) -> None:
    """Each field is the same again, or named among the export's losses, or in what the import says."""
    seen = 0

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(presets())
    def check(preset: Preset) -> None:
        nonlocal seen
        preset = preset.model_copy(update={"config": explicit(preset.config)})
        if (export := made(preset, *way)) is None:
            return
        lost = {loss.field for loss in export.losses}
        for name, text in files_of(export):
            again = import_text(name, text, beside=export.files)
            seen += 1
            silent = {field for field in changed(preset, again) if not named(field, again)}
            assert not silent - lost, (name, silent - lost, again.rewrites)
            told = {field.rsplit(".", 1)[-1] for field in silent} & {*MADE_UP}
            assert not told - ({"engine", "match"} if name_of(way) in OWN_SERVER else set()), (
                name,
                told,
                again.rewrites,
            )

    check()
    assert seen


@pytest.mark.parametrize("target", ["llama_cpp", "sglang", "tensorrt_llm", "transformers"])
def test_the_lookup_and_the_engine_are_said(target: str) -> None:
    """The shipped way of drafting, out to each of these and back."""
    export = made(NGRAM, target, {})
    assert export is not None
    for name, text in files_of(export):
        again = import_text(name, text, beside=export.files)
        engine = again.preset.config.engine
        assert any(f"It will run here on the engine {engine}, not on " in said for said in again.rewrites), name
        assert named("prompt_lookup_min", again), name
        options = again.preset.config.speculation.options if again.preset.config.speculation else {}
        assert options.get("match") == "most_recent" or named("match", again), name


def test_why_it_is_not_our_own_engine_is_said() -> None:
    imported = import_text("x.sh", "llama-server -m t.gguf -np 4 -c 4096 --spec-type draft-mtp")
    assert "the embedded engine has no max_num_seqs, mtp." in " ".join(imported.rewrites)
    own = import_text("x.yaml", "model-path: a/b\nspeculative-algorithm: EAGLE3\nspeculative-draft-model: c/d\n")
    assert own.preset.config.engine == "embedded"
    assert "that engine has all that the file asks for." in " ".join(own.rewrites)


def test_what_our_own_engine_has_is_what_imports_take_it_to_have() -> None:
    methods = Embedded.methods()
    for method, options in EMBEDDED.items():
        assert options == set(methods[method].model_fields), method
    assert set(methods) - set(EMBEDDED) == {"hybrid"}, "no server has the hybrid"
