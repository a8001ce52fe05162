"""One conversation with a checking script in another Python: cases in, results out, nothing left running."""

import json
import subprocess
from pathlib import Path
from typing import Any

from playground.settings import ROOT
from playground.validation import Check

SECONDS = 600
"""Importing vLLM takes ten seconds on a quiet machine and minutes on a busy one."""


def asked(python: str, script: str, cases: list[list[str]], name: str, *, environment: dict[str, str]) -> list[Check]:
    """A tier B check for each case; `name` is the program's, its version comes with the answer."""
    path = Path(__file__).parent / script
    by = f"{name}'s own parser"
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
        return [Check("B", by, "not-run", f"it took longer than {SECONDS} s")] * len(cases)
    except (OSError, ValueError):
        lines = [line for line in done.stderr.splitlines() if line.strip()] if "done" in locals() else []
        why = lines[-1][:300] if lines else "it did not start"
        return [Check("B", by, "not-run", f"{name} cannot be run here: {why}")] * len(cases)
    by = f"{name} {answer['version']}'s own parser"
    return [
        Check("B", by, "refused" if result["error"] else "passed", result["error"] or result.get("note", ""))
        for result in answer["results"]
    ]
