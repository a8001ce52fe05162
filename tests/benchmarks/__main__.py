"""All benchmarks, each in a process of its own, and one table: what was promised, what was measured.

python -m tests.benchmarks                       everything (`make bench`)
python -m tests.benchmarks decoding page         only these
python -m tests.benchmarks --suite FILE          those that take prompts, over FILE (`make bench SUITE=FILE`)
python -m tests.benchmarks --markdown            the README's table
"""

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.report import ROOT, Report, Row, print_reports, progress

WITH_PROMPTS = ("decoding", "pair", "lossless")
NAMES = (*WITH_PROMPTS, "page", "history", "vllm")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"which: {', '.join(NAMES)}")
    parser.add_argument("--suite", type=Path, help="JSON Lines with `prompt` or `turns`")
    parser.add_argument("--limit", type=int, help="only the first prompts")
    parser.add_argument("--json", action="store_true", help="print one JSON object last")
    parser.add_argument("--markdown", action="store_true", help="print the README's table")
    args = parser.parse_args()
    if unknown := set(args.names) - set(NAMES):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are: {', '.join(NAMES)}")
    if args.suite and not args.suite.is_file():
        parser.error(f"there is no file {args.suite}")
    names = args.names or (WITH_PROMPTS if args.suite else NAMES)
    if not args.names and importlib.util.find_spec("vllm") is None:
        names = tuple(name for name in names if name != "vllm")
        progress("vLLM is not installed: make test ENGINE=vllm")
    reports = [report for name in names for report in _run(name, args)]
    print_reports(reports, markdown=args.markdown, as_json=args.json)
    return int(len(reports) < len(names) or any(report.failed for report in reports))


def _run(name: str, args: argparse.Namespace) -> list[Report]:
    """The reports of one benchmark; none, and its words on the terminal, where it broke."""
    progress(f"— {name} —")
    command = [sys.executable, "-m", f"tests.benchmarks.{name}", "--json"]
    if name in WITH_PROMPTS:
        command += ["--suite", str(args.suite.resolve())] if args.suite else []
        command += ["--limit", str(args.limit)] if args.limit else []
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        progress(f"{name} gave no result (exit code {done.returncode}).")
        return []
    found = json.loads(lines[-1])
    return [_history(found)] if name == "history" else [_report(r) for r in found["reports"]]


def _report(saved: Mapping[str, Any]) -> Report:
    return Report(saved["title"], [Row(**row) for row in saved["rows"]], saved["details"])


def _history(found: Mapping[str, Any]) -> Report:
    """The history benchmark's own JSON as rows."""
    made = Report(f"History, {found['runs']:,} runs of {found['steps']} steps", details=dict(found))
    made.at_most("slowest query", max(found["queries_ms"].values()), 100, "ms")
    made.at_most("slowest query while a run records", max(found["queries_ms_while_recording"].values()), 100, "ms")
    return made


if __name__ == "__main__":
    sys.exit(main())
