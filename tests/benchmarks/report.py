"""What every benchmark prints: the machine, rows with a must-reach value each, and one JSON object.

Knows no engine and no page.
"""

import argparse
import json
import platform
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent.parent
SUITE = ROOT / "presets" / "suites" / "draftboard.jsonl"

BOOTSTRAP_DRAWS = 2000


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value. `must` is the promise in words ("≥ 1.0"), `passed` None where nothing was promised."""

    name: str
    value: float | None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    must: str = ""
    passed: bool | None = None
    note: str = ""

    @property
    def shown(self) -> str:
        if self.value is None:
            return "n/a"
        text = f"{figures(self.value)}{_unit(self.unit)}"
        return text if self.low is None or self.high is None else f"{text} ({figures(self.low)}–{figures(self.high)})"

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "NO", None: ""}[self.passed]


@dataclass(slots=True)
class Report:
    """A benchmark's result: title, rows, and anything else worth keeping in the JSON."""

    title: str
    rows: list[Row] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def at_least(self, name: str, values: Sequence[float], bound: float, unit: str = "", note: str = "") -> None:
        """A row with the median of `values` and its interval, which must not be below `bound`."""
        middle, low, high = median_interval(values)
        passed = None if middle is None else middle >= bound
        self.rows.append(Row(name, middle, unit, low, high, f"≥ {bound:g}{_unit(unit)}", passed, note))

    def at_most(self, name: str, value: float | None, bound: float, unit: str = "", note: str = "") -> None:
        passed = None if value is None else value <= bound
        self.rows.append(Row(name, value, unit, must=f"≤ {bound:g}{_unit(unit)}", passed=passed, note=note))

    def shows(self, name: str, values: Sequence[float], unit: str = "", note: str = "") -> None:
        """A row with the median of `values` and its interval, and no promise."""
        self.rows.append(Row(name, *_unpack(values, unit), note=note))

    @property
    def failed(self) -> bool:
        return any(row.passed is False for row in self.rows)


def _unpack(values: Sequence[float], unit: str) -> tuple[float | None, str, float | None, float | None]:
    middle, low, high = median_interval(values)
    return middle, unit, low, high


def _unit(unit: str) -> str:
    return unit if unit in ("", "×") else f" {unit}"


def figures(value: float) -> str:
    """Three significant digits, never an exponent; whole numbers stay whole."""
    if value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def median_interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Median with its bootstrap 95 % interval over prompts; repeatable, because the draws are seeded."""
    if not values:
        return None, None, None
    draws = random.Random(0)
    medians = sorted(statistics.median(draws.choices(values, k=len(values))) for _ in range(BOOTSTRAP_DRAWS))
    low, high = medians[int(0.025 * BOOTSTRAP_DRAWS)], medians[int(0.975 * BOOTSTRAP_DRAWS) - 1]
    return statistics.median(values), low, high


def ratios(speeds: dict[str, list[float]], part: str, whole: str) -> list[float]:
    """Paired: prompt by prompt."""
    return [a / b for a, b in zip(speeds[part], speeds[whole], strict=True)]


def machine() -> dict[str, Any]:
    """The machine and the versions that the numbers hold for."""
    import torch

    gpus = (
        [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    )
    names = ("torch", "transformers", "gradio", "draftboard")
    return {
        "cpu": _cpu_name(),
        "cores": psutil.cpu_count(logical=False) or psutil.cpu_count(),
        "threads": torch.get_num_threads(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "gpus": gpus,
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: _version(name) for name in names},
    }


def machine_sentence(facts: dict[str, Any]) -> str:
    gpus = ", ".join(facts["gpus"]) or "no GPU"
    return (
        f"{facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']} GiB, {gpus}; {facts['threads']} threads; "
        f"{facts['system']}, Python {facts['python']}, torch {facts['torch']}, transformers {facts['transformers']}, "
        f"gradio {facts['gradio']}"
    )


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"


def print_reports(reports: Sequence[Report], *, markdown: bool = False, as_json: bool = False) -> None:
    facts = machine()
    if markdown:
        print(markdown_table(reports, facts))
    else:
        console = Console(width=None if sys.stdout.isatty() else 140)
        console.print(machine_sentence(facts), style="dim", highlight=False)
        for report in reports:
            console.print(_table(report))
    if as_json:
        print(json.dumps({"machine": facts, "reports": [asdict(r) for r in reports]}, ensure_ascii=False))


def _table(report: Report) -> Table:
    table = Table(title=report.title, title_justify="left", title_style="bold")
    for heading in ("measured", "value (95 % interval)", "must reach", "reached", "note"):
        table.add_column(heading)
    for row in report.rows:
        style = "bold red" if row.passed is False else ""
        table.add_row(row.name, row.shown, row.must, row.verdict, row.note, style=style)
    return table


def markdown_table(reports: Sequence[Report], facts: dict[str, Any]) -> str:
    """The README's table: every row of every report, then the machine."""
    lines = ["| measured | value (95 % interval) | must reach | reached |", "|---|---|---|---|"]
    for report in reports:
        for row in report.rows:
            name = f"{row.name} ({row.note})" if row.note else row.name
            lines.append(f"| {name} | {row.shown} | {row.must} | {row.verdict} |")
    return "\n".join([*lines, "", f"On {machine_sentence(facts)}."])


def prompts(path: Path, limit: int | None = None) -> list[tuple[str, str]]:
    """(name, prompt) of each line of a JSON Lines suite; of a row with `turns`, the first turn."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        if line.strip():
            row = json.loads(line)
            name = str(row.get("id") or row.get("question_id") or row.get("task_id") or number)
            found.append((name, str(row["turns"][0] if "turns" in row else row["prompt"])))
    return found[:limit]


def parser(description: str) -> argparse.ArgumentParser:
    """The flags that every benchmark has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--suite", type=Path, default=SUITE, help="JSON Lines with `prompt` or `turns`")
    made.add_argument("--limit", type=int, help="only the first prompts")
    made.add_argument("--json", action="store_true", help="print one JSON object last")
    made.add_argument("--markdown", action="store_true", help="print the README's table")
    return made


def main(measure: Callable[[argparse.Namespace], Report], made: argparse.ArgumentParser) -> int:
    """Runs one benchmark from the command line; exit code 1 where a promise is not kept."""
    args = made.parse_args()
    report = measure(args)
    print_reports([report], markdown=args.markdown, as_json=args.json)
    return int(report.failed)


def progress(text: str) -> None:
    """A line for whoever waits; not part of the output."""
    print(text, file=sys.stderr, flush=True)
