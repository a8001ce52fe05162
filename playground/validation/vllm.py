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


def parse_container(export: Export) -> Check:
    """Of the command inside a compose file or a pod; see `arguments_in`."""
    arguments = arguments_in(export)
    assert arguments is not None
    return parse_arguments([arguments])[0]


def arguments_in(export: Export) -> list[str] | None:
    """What vLLM is told in a compose file or a pod of ours; None where another server runs in it, or a chart's
    templates put the command together."""
    if text := export.files.get("compose.yaml"):
        service = next(iter(yaml.safe_load(text)["services"].values()))
        words = [*service["entrypoint"], *service["command"]]
    else:
        text = next((text for name, text in export.files.items() if name.endswith(".k8s.yaml")), "")
        pods = [document for document in yaml.safe_load_all(text) if document and document["kind"] == "Deployment"]
        if not pods:
            return None
        container = pods[0]["spec"]["template"]["spec"]["containers"][0]
        words = [*container["command"], *container["args"]]
    words = [word.replace("$$", "$") for word in words]
    return words[2:] if words[:2] == ["vllm", "serve"] else None
