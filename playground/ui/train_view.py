"""A training's status as HTML: what it is at, the curve so far, the report. Pure; knows the progress file's words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from playground.errors import PlaygroundError
from playground.ui.i18n import STRINGS, tr
from playground.ui.render import esc, percent, three
from playground.ui.sentences import said_html
from playground.ui.svg import WIDTH, line, number, rule, svg, text, ticks

SHOWN = 8
"""Evaluations in the table; the picture has all."""

_HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 150.0, 40.0, WIDTH - 76.0, 12.0, 122.0


def status_html(status: Mapping[str, Any], out: str) -> str:
    """Whatever a training says of itself."""
    state = str(status.get("state", "running"))
    parts = [_head(status, state, out)]
    if state == "running":
        parts.append(_stage(status))
    elif state == "failed":
        parts.append(_problem(status.get("error") or {}))
    if report := status.get("report"):
        parts.append(_report(report))
    if history := status.get("history"):
        parts.append(_history(history))
    parts.append(Markup('<p class="t-soft">{}: <code>{}</code></p>').format(tr("train.folder"), esc(out)))
    return _page(*parts)


def nothing_html(command: str) -> str:
    """What this is, honestly, and the same as a command."""
    return _page(
        Markup('<div class="t-empty"><p>{}</p><p>{}</p><p>{}</p><pre><code>{}</code></pre></div>').format(
            tr("train.empty"), tr("train.busy"), tr("train.honest"), esc(command)
        )
    )


def problem_html(error: PlaygroundError) -> str:
    return _page(_problem(error.as_dict()))


def duration(seconds: float) -> str:
    """In the two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole < 600 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _page(*parts: Markup) -> str:
    return str(Markup('<div class="db-train">{}</div>').format(Markup("").join(parts)))


def _problem(error: Mapping[str, str]) -> Markup:
    return Markup('<div class="t-problem" role="alert"><p>{}</p><p class="t-soft">{}</p></div>').format(
        said_html(error.get("error", "")), said_html(error.get("hint", ""))
    )


def _head(status: Mapping[str, Any], state: str, out: str) -> Markup:
    known = state if f"train.state.{state}" in STRINGS else "running"
    seconds = status.get("seconds")
    words = [esc(Path(out).name), *([esc(duration(seconds))] if seconds else [])]
    return Markup('<p class="t-state t-{}"><b>{}</b> <span class="t-soft">{}</span></p>').format(
        known, tr(f"train.state.{known}"), Markup(" · ").join(words)
    )


def _stage(status: Mapping[str, Any]) -> Markup:
    stage, done, total = str(status.get("stage")), status.get("done") or 0, status.get("total") or 0
    name = tr(f"train.stage.{stage}") if f"train.stage.{stage}" in STRINGS else esc(stage)
    words = []
    if total:
        words.append(tr("train.count", done=f"{done:,}", total=f"{total:,}"))
    if (left := status.get("seconds_left")) is not None:
        words.append(tr("train.left", time=duration(left)))
    if status.get("note"):
        words.append(esc(status["note"]))
    bar = (
        Markup('<progress max="{}" value="{}"></progress>').format(total, done)
        if total
        else Markup("<progress></progress>")
    )
    said = Markup(" · ").join(words)
    return Markup('<div class="t-stage"><b>{}</b>{}<span class="t-soft">{}</span></div>').format(name, bar, said)


def _history(history: Sequence[Mapping[str, Any]]) -> Markup:
    positions = range(1, len(history[0]["acceptance"]) + 1)
    columns = [tr("train.col.step"), *(tr("train.col.position", n=n) for n in positions), tr("train.col.tokens")]
    rows = [
        [f"{row['step']:,}", *(percent(share) for share in row["acceptance"]), three(row["tokens_per_step"])]
        for row in history[-SHOWN:]
    ]
    picture = _curve(history) if len(history) > 1 else Markup("")
    return Markup('<section><h4>{}</h4><p class="t-soft">{}</p>{}{}</section>').format(
        tr("train.history"), tr("train.history.help"), picture, _table(columns, rows)
    )


def _curve(history: Sequence[Mapping[str, Any]]) -> Markup:
    """Acceptance of each position over the steps; the lines are labelled at their ends."""
    last = max(history[-1]["step"], 1)
    top = ticks(max(max(row["acceptance"]) for row in history) or 1.0)[-1]

    def place(step: float, share: float) -> tuple[float, float]:
        return _LEFT + (_RIGHT - _LEFT) * step / last, _BOTTOM - (_BOTTOM - _TOP) * share / top

    parts = [rule(_LEFT, place(0, v)[1], _RIGHT, place(0, v)[1], "grid") for v in ticks(top)]
    parts += [text(_LEFT - 6, place(0, v)[1] + 4, number(100 * v) + " %", "ax", "end") for v in ticks(top)]
    ends: list[float] = []
    for position in range(len(history[0]["acceptance"])):
        points = [place(row["step"], row["acceptance"][position]) for row in history]
        parts.append(line(points, f"t-line t-line-{min(position, 3)}"))
        y = points[-1][1] + 4
        y = next((end + 13 for end in ends if abs(end - y) < 13), y)
        ends.append(y)
        parts.append(text(_RIGHT + 6, y, f"{position + 1}", "strong"))
    parts.append(text(_RIGHT, _HEIGHT - 8, f"{last:,}", "ax", "end"))
    parts.append(text(_LEFT, _HEIGHT - 8, "0", "ax"))
    return svg(_HEIGHT, *parts, name="train.history")


def _report(report: Mapping[str, Any]) -> Markup:
    columns = [esc("k"), tr("train.col.tokens"), tr("train.col.speedup")]
    rows = [
        [f"{row['k']:.0f}", three(row["tokens_per_step"]), f"{three(row['speedup'])}x"] for row in report["predictions"]
    ]
    best = [row["k"] for row in report["predictions"]].index(report["best_k"])
    data = tr(
        "train.report.data",
        tokens=f"{report['answer_tokens']:,}",
        exchanges=f"{report['exchanges']:,}",
        coverage=percent(report["coverage"]),
        params=three(report["parameters"] / 1e6),
        steps=f"{report['steps']:,}",
        time=duration(report["training_seconds"]),
    )
    return Markup('<section><h4>{}</h4><p class="t-soft">{}</p>{}<p class="t-soft">{}</p></section>').format(
        tr("train.report"), tr("train.report.help", hardware=report["hardware"]), _table(columns, rows, best), data
    )


def _table(columns: Sequence[Markup], rows: Sequence[Sequence[str]], marked: int | None = None) -> Markup:
    head = Markup("").join(Markup("<th>{}</th>").format(column) for column in columns)
    body = Markup("").join(
        Markup("<tr{}>{}</tr>").format(
            Markup(' class="t-best"') if index == marked else Markup(""),
            Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row),
        )
        for index, row in enumerate(rows)
    )
    return Markup('<div class="t-scroll"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>').format(
        head, body
    )
