"""The parts of README.md that are made from the code: `python -m tests.readme` writes them, a test compares them.

`python -m tests.benchmarks --markdown | python -m tests.readme bench` puts in the measured table.
"""

import re
import sys
from pathlib import Path

from pydantic import SecretStr

from playground.metrics import METRICS
from playground.settings import ROOT, Settings

README = ROOT / "README.md"
BENCH = "<!-- bench -->"


def settings_table() -> str:
    """One row per field of Settings."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        lines.append(f"| `DRAFTBOARD_{name.upper()}` | {_default(field.default)} | {field.description} |")
    return "\n".join(lines)


def _default(value: object) -> str:
    if isinstance(value, Path):
        value = value.relative_to(ROOT)
    if isinstance(value, bool):
        value = str(value).lower()
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    return f"`{value}`" if value not in (None, "", ()) else ""


def metrics_table() -> str:
    """One row per metric, its name as in JSON and in the database."""
    lines = ["| name | formula | unit | remark |", "|---|---|---|---|"]
    for name, metric in METRICS.items():
        lines.append(f"| `{name}` | {metric.formula} | {metric.unit} | {metric.remark} |")
    return "\n".join(lines)


BLOCKS = {"settings": settings_table, "metrics": metrics_table}


def block(text: str, name: str) -> str:
    """What stands between the two marks of a generated part."""
    found = re.search(rf"<!-- {name}:begin -->\n(.*?)<!-- {name}:end -->", text, re.S)
    assert found, f"README.md has no marks for {name}"
    return found[1].strip()


def written(text: str, name: str, content: str) -> str:
    marks = rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)"
    return re.sub(marks, lambda m: f"{m[1]}{content}\n{m[2]}", text, flags=re.S)


def main(arguments: list[str]) -> int:
    text = README.read_text(encoding="utf-8")
    if arguments == ["bench"]:
        text = text.replace(BENCH, "<!-- bench:begin -->\n<!-- bench:end -->")
        text = written(text, "bench", sys.stdin.read().strip())
    for name, make in BLOCKS.items():
        text = written(text, name, make())
    README.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
