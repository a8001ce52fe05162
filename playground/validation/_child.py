"""One conversation with a checking script in another Python: cases in, results out, nothing left running."""

import json
import subprocess
from pathlib import Path
from typing import Any

from playground.sentence import Sentence
from playground.settings import ROOT
from playground.validation import Check, own_parser

SECONDS = 600
"""Importing vLLM takes ten seconds on a quiet machine and minutes on a busy one."""


def asked(python: str, script: str, cases: list[list[str]], name: str, *, environment: dict[str, str]) -> list[Check]:
    """A tier B check for each case; `name` is the program's, its version comes with the answer."""
    path = Path(__file__).parent / script
    by = own_parser(name)
    try:
        done = subprocess.run(
            [python, str(path)],
            input=json.dumps(cases),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=environment,
            cwd=ROOT.parent if ROOT.parent.exists() else None,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return [Check("B", by, "not-run", Sentence("it took longer than {n} s", n=SECONDS))] * len(cases)
    except (OSError, ValueError):
        lines = [line for line in done.stderr.splitlines() if line.strip()] if "done" in locals() else []
        why = lines[-1][:300] if lines else Sentence("it did not start")
        failed = Sentence("{program} cannot be run here: {why}", program=name, why=why)
        return [Check("B", by, "not-run", failed)] * len(cases)
    by = own_parser(f"{name} {answer['version']}")
    return [
        Check("B", by, "refused" if result["error"] else "passed", result["error"] or _note(result) or "")
        for result in answer["results"]
    ]


def _note(result: dict[str, Any]) -> Sentence | None:
    """What a script could not look at, by its word for it."""
    about = result.get("about", "")
    match result.get("note"):
        case "real_models":
            return Sentence("the inside of method {method} depends on the real models", method=about)
        case "needs_gpu":
            return Sentence("the rules of {what} need a GPU", what=about)
        case "parsed_only":
            return Sentence("parsed only: its rules need {package}, which is not installed", package=about)
    return None
