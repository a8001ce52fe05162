"""Tier B for vLLM: its `serve` parser and `create_engine_config` on stub folders, in the Python that has vLLM."""

import os
import tempfile
from pathlib import Path

import yaml

from playground.exporters import Export
from playground.validation import Check, not_installed, own_parser
from playground.validation._child import asked
from playground.validation._programs import python_with

ABSENT = Check("B", own_parser("vLLM"), "not-run", not_installed("vLLM"))


def python() -> str | None:
    return python_with("vllm", "vllm")


def parse(export: Export) -> Check:
    """Of the serve file of an export."""
    text = next(text for name, text in export.files.items() if name.endswith(".vllm.yaml"))
    return parse_files([text])[0]


def parse_files(texts: list[str]) -> list[Check]:
    """Of several serve files at once: vLLM is imported once."""
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for number, text in enumerate(texts):
            path = Path(folder) / f"{number}.yaml"
            path.write_text(text, encoding="utf-8")
            cases.append(["--config", str(path)])
        return parse_arguments(cases)


def parse_arguments(cases: list[list[str]]) -> list[Check]:
    """Of the arguments after `vllm serve`."""
    found = python()
    if found is None:
        return [ABSENT] * len(cases)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return asked(found, "_vllm_child.py", cases, "vLLM", environment=environment)


def parse_compose(export: Export) -> Check:
    """Of the command inside a compose file; see `arguments_in`."""
    arguments = arguments_in(export)
    assert arguments is not None
    return parse_arguments([arguments])[0]


def arguments_in(export: Export) -> list[str] | None:
    """What vLLM is told in a compose file of ours; None where another server runs in it."""
    service = next(iter(yaml.safe_load(export.files["compose.yaml"])["services"].values()))
    words = [word.replace("$$", "$") for word in service["command"]]
    return words[1:] if service["entrypoint"] == ["vllm"] and words[:1] == ["serve"] else None
