"""A tuning's report written down: Markdown for people, CSV of its curve, JSON. Reads the report's dictionary alone."""

import json
from collections.abc import Iterator
from typing import Any

from playground.bench.text import markdown_text, spoken
from playground.results import percent, seconds, three
from storage.exchange import csv_line

COLUMNS = (
    "method", "model", "options", "num_speculative_tokens", "temperature", "concurrency", "predicted", "predicted_low",
    "predicted_high", "predicted_acceptance_rate", "predicted_tokens_per_step", "measured_median", "measured_low",
    "measured_high", "measured_n", "draft_acceptance_rate", "tokens_per_step", "tokens_per_second",
)  # fmt: skip


def json_text(report: dict[str, Any]) -> str:
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"


def csv_text(report: dict[str, Any]) -> str:
    """One line a point of the curve."""
    lines = [csv_line(COLUMNS)]
    for point in report["curve"]:
        measured = {f"measured_{k}": v for k, v in (point["measured"] or {}).items()}
        row = point | measured | {"options": json.dumps(point["options"])}
        lines.append(csv_line([row.get(name) for name in COLUMNS]))
    return "".join(lines)


def headline(report: dict[str, Any]) -> str:
    """The recommendation in one line."""
    found = report["recommended"]
    if found is None:
        return "do not speculate" if report["reason_code"] == "not_faster" else "no recommendation yet"
    return f"{found['method']}, num_speculative_tokens = {found['num_speculative_tokens']}: {spoken(report['speedup'])}"


def cost_line(report: dict[str, Any]) -> str:
    cost = report["cost"]
    whole = cost["full_grid_seconds"]
    if not whole:
        return f"Took {seconds(cost['seconds'])}, {cost['runs']} runs"
    how = "took" if cost["full_grid_measured"] else "would have taken"
    return (
        f"Took {seconds(cost['seconds'])} and {cost['runs']} runs; the full grid {how} {seconds(whole)} and "
        f"{cost['full_grid_runs']} runs: {percent(cost['share'])} of it"
    )


def markdown(report: dict[str, Any]) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: dict[str, Any]) -> Iterator[str]:
    yield f"# Tuning: {markdown_text(report['title'])}"
    yield ""
    yield f"**Recommended: {markdown_text(headline(report))}**. {markdown_text(report['reason'])}"
    yield ""
    if report["flat_region"]:
        yield f"- As good, within 3 %: k = {', '.join(map(str, report['flat_region']))}"
    if report["schedule"]:
        yield f"- By requests at once: {json.dumps(report['schedule'])} (first, last, k)"
    quality = report["prediction"]
    if quality["median_error"] is not None:
        off = f"{percent(quality['median_error'])} off in the median of {quality['n']}"
        yield f"- Predicted against measured speed: {off}"
    if quality["runs_checked"]:
        yield f"- Predicted steps and acceptance equal the measured ones in {quality['runs_equal']} of " + (
            f"{quality['runs_checked']} runs"
        )
    yield f"- {cost_line(report)}"
    yield ""
    yield "| method | k | temperature | at once | predicted | measured | acceptance | tokens/step |"
    yield "|---|---|---|---|---|---|---|---|"
    for point in report["curve"]:
        predicted = "n/a" if point["predicted"] is None else f"{three(point['predicted'])}×"
        acceptance = point["draft_acceptance_rate"] or point["predicted_acceptance_rate"]
        per_step = point["tokens_per_step"] or point["predicted_tokens_per_step"]
        cells = (
            markdown_text(point["method"]),
            str(point["num_speculative_tokens"]),
            f"{point['temperature']:g}",
            str(point["concurrency"]),
            predicted,
            spoken(point["measured"]) if point["measured"] else "–",
            percent(acceptance),
            "n/a" if per_step is None else three(per_step),
        )
        yield "| " + " | ".join(cells) + " |"
