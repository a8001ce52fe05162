"""A benchmark's report written down: Markdown for people, CSV for spreadsheets, JSON for programs.

Reads the report's dictionary alone. Prompts and names in it are strangers' words: they are made harmless here.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from playground.results import percent, rate, seconds, three, times
from playground.terminal import sanitised
from storage.exchange import csv_line

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~-])")

TRUST = {
    "ok": "The A/A check holds: baseline against baseline shows no gain, narrowly.",
    "not_run": "No A/A check was run, so it is not known what this machine's noise alone would show.",
    "too_few": "The A/A check had too few prompts for an interval.",
    "biased": "Not to be trusted: baseline against baseline shows a difference on this machine.",
    "wide": "Small speed-ups cannot be told from noise here: the A/A interval is wider than 5 % either way. "
    "Quiet the machine, or run more prompts or repeats.",
}

CSV_COLUMNS = (
    "item", "turn", "id", "category", "speedup", "speedup_end_to_end", "predicted_speedup", "draft_acceptance_rate",
    "tokens_per_step", "baseline_tpot", "tpot", "baseline_ttft", "ttft", "num_prompt_tokens", "num_delivered",
    "outputs", "flags", "prompt",
)  # fmt: skip


def json_text(report: dict[str, Any]) -> str:
    return json.dumps(report, ensure_ascii=False, indent=2) + "\n"


def csv_text(report: dict[str, Any]) -> str:
    """One line a request."""
    lines = [csv_line(CSV_COLUMNS)]
    for request in report["requests"]:
        row = request | {"flags": " ".join(request["flags"])}
        lines.append(csv_line([row.get(name) for name in CSV_COLUMNS]))
    return "".join(lines)


def headline(report: dict[str, Any]) -> str:
    """The verdict in one line: "SLOWER: 0.62x (0.60-0.65), 40 prompts"."""
    return f"{report['verdict']}: {spoken(report['speedup'])}"


def spoken(interval: dict[str, Any]) -> str:
    """A speed-up with its interval."""
    if interval["median"] is None:
        return "n/a"
    inside = f" ({three(interval['low'])}–{three(interval['high'])})" if interval["low"] is not None else ""
    return f"{three(interval['median'])}×{inside}, n = {interval['n']}"


def disturbance(report: dict[str, Any]) -> str:
    """That the machine was busy, where it was; reports of older versions do not know."""
    count = report.get("num_disturbed")
    if not count:
        return ""
    return f"Other programs held the processor during {count} of {report['num_runs']} measured runs."


def markdown(report: dict[str, Any]) -> str:
    """The whole report."""
    return "\n".join([*_top(report), *_table(report), *_rules(report), *_levels(report), *_flagged(report)]) + "\n"


def _top(report: dict[str, Any]) -> Iterator[str]:
    spec, base = report["metrics"], report["baseline"]
    yield f"# Benchmark: {markdown_text(report['title'])}"
    yield ""
    yield f"**{headline(report)}**. {markdown_text(report['reason'])}"
    yield ""
    yield f"- A/A check, baseline against baseline: {spoken(report['aa'])}. {TRUST[report['trusted_code']]}"
    yield f"- Decode speed: {rate(base['tokens_per_second'])} → {rate(spec['tokens_per_second'])}; " + (
        f"end to end {spoken(report['speedup_end_to_end'])}"
    )
    yield f"- Acceptance {percent(spec['draft_acceptance_rate'])} of {spec['num_draft_tokens']} draft tokens, " + (
        f"{_three(spec['tokens_per_step'])} tokens/step"
    )
    if spec["joules_per_token"] is not None:
        yield f"- Energy: {_three(base['joules_per_token'])} → {_three(spec['joules_per_token'])} J/token"
    yield f"- Outputs: {', '.join(f'{n} {kind}' for kind, n in report['outputs'].items() if n) or 'none yet'}"
    if report["num_failed"]:
        yield f"- {report['num_failed']} runs failed and are in no figure."
    if disturbed := disturbance(report):
        yield f"- {disturbed}"
    yield f"- Without the flagged prompts: {spoken(report['speedup_unflagged'])}"
    yield f"- On {markdown_text(_machine(report))}; benchmark {report['benchmark_id']}, {report['status']}"


def _table(report: dict[str, Any]) -> Iterator[str]:
    heads = ("category", "speed-up", "acceptance", "tokens/step", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99", "n")
    yield ""
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    rows = {**report["categories"], "all": report} if len(report["categories"]) > 1 else {"all": report}
    for name, group in rows.items():
        spec, base = group["metrics"], group["baseline"]
        cells = [
            markdown_text(name or "–"),
            spoken(group["speedup"]).split(",")[0],
            percent(spec["draft_acceptance_rate"]),
            _three(spec["tokens_per_step"]),
            *(f"{seconds(base[key])} → {seconds(spec[key])}" for key in _TIMES),
            str(group["speedup"]["n"]),
        ]
        yield "| " + " | ".join(cells) + " |"
    yield ""
    yield "TTFT and TPOT without → with speculation. Intervals: bootstrap 95 % of the median over prompts."


_TIMES = ("ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99")


def _rules(report: dict[str, Any]) -> Iterator[str]:
    rules = report["rules"]
    ten, high = rules["ten_points"], rules["high_acceptance"]
    yield ""
    yield "## Rules of thumb, on these prompts"
    yield ""
    holds = {True: "holds", False: "does not hold", None: "too few prompts to say"}
    measured = (
        f"measured {percent(ten['measured'])} ({percent(ten['low'])} to {percent(ten['high'])})"
        if ten["measured"] is not None
        else "not measured"
    )
    yield f"- “+10 points of acceptance give about +15 %”: {measured}: {holds[ten['holds']]}."
    seen = (
        f"{high['within']} of {high['n']} such prompts, median {times(high['median'])}"
        if high["n"]
        else "no such prompt"
    )
    yield f"- “Acceptance of 0.7 and more gives 2 to 3 times the speed”: {seen}: {holds[high['holds']]}."


def _levels(report: dict[str, Any]) -> Iterator[str]:
    levels = report["levels"]["levels"]
    if not levels:
        return
    yield ""
    yield "## Throughput with several requests at once"
    yield ""
    yield "| at once | without | with speculation | throughput speed-up |"
    yield "|---|---|---|---|"
    for row in levels:
        speeds = f"{rate(row['baseline_tokens_per_second'])} | {rate(row['speculative_tokens_per_second'])}"
        yield f"| {row['level']} | {speeds} | {spoken(row['speedup'])} |"
    if report["levels"]["crossover"] is not None:
        yield ""
        yield f"Speculation stops paying at about {three(report['levels']['crossover'])} requests at once."


def _flagged(report: dict[str, Any]) -> Iterator[str]:
    flagged = [r for r in report["requests"] if r["flags"]]
    if not flagged:
        return
    yield ""
    yield "## Flagged as unrepresentative"
    yield ""
    for request in flagged:
        yield f"- {markdown_text(request['id'])}: {', '.join(request['flags'])} ({times(request['speedup'])})"


def _machine(report: dict[str, Any]) -> str:
    environment = report["environment"]
    parts = [str(environment.get(name)) for name in ("hardware", "device", "dtype") if environment.get(name)]
    versions = environment.get("versions")
    if isinstance(versions, dict):
        parts += [f"{name} {version}" for name, version in versions.items()]
    return ", ".join(parts) or "an unknown machine"


def _three(value: float | None) -> str:
    return "n/a" if value is None else three(value)


def markdown_text(text: str) -> str:
    """A stranger's words on one line, with nothing in them that Markdown or HTML would act on."""
    plain = " ".join(sanitised(text).split())
    return _SPECIAL.sub(r"\\\1", plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
