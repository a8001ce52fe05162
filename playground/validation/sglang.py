"""Tier B for SGLang: its argument parser and its rules, on stub model folders, in the Python that has SGLang."""

import os
import tempfile
from pathlib import Path

from playground.exporters import Export
from playground.validation import Check, not_installed, own_parser
from playground.validation._child import asked
from playground.validation._programs import python_with

ABSENT = Check("B", own_parser("SGLang"), "not-run", not_installed("SGLang"))


def python() -> str | None:
    return python_with("sglang", "sglang")


def parse(export: Export) -> Check:
    """Of the config file of an export."""
    return parse_files([next(text for name, text in export.files.items() if name.endswith(".sglang.yaml"))])[0]


def parse_files(texts: list[str]) -> list[Check]:
    """Of several config files at once: SGLang is imported once."""
    found = python()
    if found is None:
        return [ABSENT] * len(texts)
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for number, text in enumerate(texts):
            path = Path(folder) / f"{number}.yaml"
            path.write_text(text, encoding="utf-8")
            cases.append(["--config", str(path)])
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        return asked(found, "_sglang_child.py", cases, "SGLang", environment=environment)
