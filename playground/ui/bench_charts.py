"""Charts of benchmarks and tunings, as SVG strings with the tables behind them. Pure: a report in, markup out."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from playground.ui.i18n import tr
from playground.ui.render import three
from playground.ui.svg import (
    WIDTH,
    figure,
    line,
    node,
    number,
    placeholder,
    rect,
    rule,
    svg,
    table,
    text,
    ticks,
    word,
    y_axis,
)

Report = Mapping[str, Any]

_LEFT, _RIGHT = 52, WIDTH - 150
_NAMES = 170
_ROW = 26


def speedups(report: Report) -> str:
    """The speed-up of each category and of all: a dot a request, the median and its interval."""
    rows = _rows(report)
    values = [r["speedup"] for r in report["requests"] if r["speedup"] is not None]
    if not values:
        return placeholder("bench.chart.speedups", "bench.none")
    scale = _Scale(max(*values, report["threshold"], 1.0) * 1.05, _NAMES, WIDTH - 110)
    top, bottom = 12.0, 12.0 + _ROW * len(rows)
    parts = _axis(scale, top, bottom, report["threshold"])
    for place, (name, group, mine) in enumerate(rows):
        y = top + _ROW * (place + 0.5)
        parts.append(
            text(_NAMES - 12, y + 4, name, "direct", "end")
            if name
            else word(_NAMES - 12, y + 4, "bench.all", "direct", "end")
        )
        parts += [node("circle", cx=scale(r["speedup"]), cy=y, r=2.6, class_="dot") for r in mine if r["speedup"]]
        parts += _median(scale, y, group["speedup"])
    parts.append(word(scale.right + 34, bottom + 18, "bench.axis.speedup"))
    columns = ("category", "n", "median", "low", "high")
    cells = [(n or "all", g["speedup"]["n"], *(g["speedup"][k] for k in ("median", "low", "high"))) for n, g, _ in rows]
    return figure(
        "bench.chart.speedups",
        tr("bench.chart.speedups.sub"),
        svg(bottom + 30, *parts, name="bench.chart.speedups"),
        table("speedups", columns, cells),
    )


def scatter(report: Report) -> str:
    """Speed-up over acceptance, a dot a request, with the fitted line and what the rule of thumb promises."""
    rules = report["rules"]
    points = rules["points"]
    if not points:
        return placeholder("bench.chart.scatter", "bench.none")
    values = ticks(max(*(p[1] for p in points), report["threshold"], 1.0) * 1.05)
    top, bottom = 14.0, 236.0
    unit = (bottom - top) / values[-1]

    def x(share: float) -> float:
        return _LEFT + share * (_RIGHT - _LEFT)

    parts = [y_axis(_LEFT, _RIGHT, top, bottom, values, "×")]
    parts += [text(x(share), bottom + 17, f"{100 * share:.0f} %", "ax", "middle") for share in (0, 0.25, 0.5, 0.75, 1)]
    parts.append(rule(_LEFT, bottom - unit, _RIGHT, bottom - unit, "one"))
    parts.append(word(_RIGHT + 30, bottom + 17, "bench.axis.acceptance"))
    if found := rules["line"]:
        low, high = min(p[0] for p in points), max(p[0] for p in points)
        drawn = [(a, math.exp(found["intercept"] + found["slope"] * a)) for a in _between(low, high)]
        inside = [(x(a), bottom - y * unit) for a, y in drawn if y * unit <= bottom - top]
        parts.append(line(inside, "curve survival"))
        if inside:
            parts.append(word(inside[-1][0] + 8, inside[-1][1] + 4, "bench.fitted", "direct survival-text"))
    for acceptance, speed, place in points:
        request = report["requests"][place]
        said = f"{request['id']}: {three(100 * acceptance)} %, {three(speed)}×"
        kind = "mark flagged" if request["flags"] else "mark survival"
        title = node("title", said)
        parts.append(node("circle", title, cx=x(acceptance), cy=bottom - speed * unit, r=3.6, class_=kind))
    rows = [(report["requests"][p[2]]["id"], p[0], p[1]) for p in points]
    return figure(
        "bench.chart.scatter",
        tr("bench.chart.scatter.sub"),
        svg(bottom + 26, *parts, name="bench.chart.scatter"),
        table("acceptance_and_speedup", ("prompt", "acceptance", "speedup"), rows),
    )


def levels(report: Report) -> str:
    """Throughput speed-up by requests at once, with the crossover; "" where no level was measured."""
    found = [row for row in report["levels"]["levels"] if row["speedup"]["median"] is not None]
    if not found:
        return ""
    values = ticks(max(max(r["speedup"]["high"] or r["speedup"]["median"] for r in found), 1.0) * 1.05)
    top, bottom = 14.0, 190.0
    unit, step = (bottom - top) / values[-1], (_RIGHT - _LEFT) / len(found)
    x = [_LEFT + step * (i + 0.5) for i in range(len(found))]
    y = [bottom - row["speedup"]["median"] * unit for row in found]
    parts = [y_axis(_LEFT, _RIGHT, top, bottom, values, "×"), rule(_LEFT, bottom - unit, _RIGHT, bottom - unit, "one")]
    parts.append(line(list(zip(x, y, strict=True)), "curve survival"))
    for place, row in enumerate(found):
        parts += _whisker(x[place], bottom, unit, row["speedup"], "survival")
        parts.append(node("circle", cx=x[place], cy=y[place], r=4.0, class_="mark survival"))
        parts.append(text(x[place], bottom + 17, row["level"], "ax", "middle"))
    parts.append(word(_RIGHT + 10, bottom + 17, "bench.axis.level"))
    crossover = report["levels"]["crossover"]
    sub = tr("bench.crossover", level=three(crossover)) if crossover is not None else tr("bench.chart.levels.sub")
    columns = ("level", "without_tps", "with_tps", "median", "low", "high", "n")
    rows = [
        (
            row["level"],
            row["baseline_tokens_per_second"],
            row["speculative_tokens_per_second"],
            *(row["speedup"][key] for key in ("median", "low", "high", "n")),
        )
        for row in found
    ]
    return figure(
        "bench.chart.levels", sub, svg(bottom + 26, *parts, name="bench.chart.levels"), table("levels", columns, rows)
    )


def curve(report: Report) -> str:
    """A tuning's curve over k: predicted as a line, measured with intervals, the flat region shaded."""
    points = [p for p in report["curve"] if _shown(report, p)]
    if not points:
        return placeholder("tune.chart.curve", "bench.none")
    ks = sorted({p["num_speculative_tokens"] for p in points})
    heights = [
        v
        for p in points
        for v in (p["predicted"], *((p["measured"]["high"], p["measured"]["median"]) if p["measured"] else ()))
        if v
    ]
    values = ticks(max(*heights, 1.0) * 1.05)
    top, bottom = 14.0, 236.0
    unit, step = (bottom - top) / values[-1], (_RIGHT - _LEFT) / len(ks)
    x = {k: _LEFT + step * (i + 0.5) for i, k in enumerate(ks)}
    parts = [*_flat(report, x, step, top, bottom), y_axis(_LEFT, _RIGHT, top, bottom, values, "×")]
    parts.append(rule(_LEFT, bottom - unit, _RIGHT, bottom - unit, "one"))
    parts += [text(x[k], bottom + 17, k, "ax", "middle") for k in ks]
    parts.append(text(_RIGHT + 10, bottom + 17, "k", "ax"))
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for point in points:
        groups.setdefault(point["variant"], []).append(point)
    for place, mine in enumerate(groups.values()):
        parts += _curve_of(mine, x, bottom, unit, place)
    columns = ("method", "k", "predicted", "measured", "low", "high", "n", "acceptance", "tokens_step")
    return figure(
        "tune.chart.curve",
        tr("tune.chart.curve.sub"),
        svg(bottom + 26, *parts, name="tune.chart.curve"),
        table("k_curve", columns, [_curve_row(p) for p in report["curve"]]),
    )


def _shown(report: Report, point: Mapping[str, Any]) -> bool:
    """Points of the first condition, which the recommendation is for."""
    first = report["conditions"][0]
    return bool(point["temperature"] == first["temperature"] and point["concurrency"] == first["concurrency"])


def _curve_of(
    mine: Sequence[Mapping[str, Any]], x: Mapping[int, float], bottom: float, unit: float, place: int
) -> list[Markup]:
    kind = f"device-{place % 8}"
    predicted = [(x[p["num_speculative_tokens"]], bottom - p["predicted"] * unit) for p in mine if p["predicted"]]
    parts = [line(predicted, f"curve dashed {kind}")] if predicted else []
    last = predicted[-1] if predicted else None
    for point in mine:
        if point["measured"]:
            at = x[point["num_speculative_tokens"]]
            parts += _whisker(at, bottom, unit, point["measured"], kind)
            y = bottom - point["measured"]["median"] * unit
            parts.append(node("circle", cx=at, cy=y, r=4.2, class_=f"ring {kind}"))
            last = last or (at, y)
    if last is not None:
        name = mine[0]["method"] if len(mine[0]["method"]) < 16 else f"{mine[0]['method'][:15]}…"
        parts.append(text(_RIGHT + 10, last[1] + 4 + 15 * place, name, "direct"))
    return parts


def _flat(report: Report, x: Mapping[int, float], step: float, top: float, bottom: float) -> list[Markup]:
    """A band behind the k that are as good as the best."""
    return [rect(x[k] - step / 2, top, step, bottom - top, "band") for k in report["flat_region"] if k in x]


def _curve_row(point: Mapping[str, Any]) -> tuple[Any, ...]:
    found = point["measured"] or {}
    acceptance = point["draft_acceptance_rate"]
    return (
        point["method"],
        point["num_speculative_tokens"],
        point["predicted"],
        *(found.get(key) for key in ("median", "low", "high", "n")),
        point["predicted_acceptance_rate"] if acceptance is None else acceptance,
        point["tokens_per_step"] or point["predicted_tokens_per_step"],
    )


class _Scale:
    """A horizontal axis from 0 to a round number."""

    def __init__(self, most: float, left: float, right: float) -> None:
        self.values = ticks(most, 6)
        self.left, self.right = left, right
        self._unit = (right - left) / self.values[-1]

    def __call__(self, value: float) -> float:
        return self.left + value * self._unit


def _axis(scale: _Scale, top: float, bottom: float, threshold: float) -> list[Markup]:
    parts = []
    for value in scale.values:
        parts.append(rule(scale(value), top, scale(value), bottom, "grid"))
        parts.append(text(scale(value), bottom + 18, f"{number(value)}×", "ax", "middle"))
    parts.append(rule(scale(1.0), top, scale(1.0), bottom, "one"))
    parts.append(rule(scale(threshold), top, scale(threshold), bottom, "threshold"))
    return parts


def _median(scale: _Scale, y: float, speed: Mapping[str, Any]) -> list[Markup]:
    if speed["median"] is None:
        return []
    parts = []
    if speed["low"] is not None:
        parts.append(rule(scale(speed["low"]), y, scale(speed["high"]), y, "whisker"))
    parts.append(node("circle", cx=scale(speed["median"]), cy=y, r=4.6, class_="median"))
    parts.append(text(scale.right + 12, y + 4, f"{three(speed['median'])}×", "direct"))
    return parts


def _whisker(x: float, bottom: float, unit: float, speed: Mapping[str, Any], kind: str) -> list[Markup]:
    if speed["low"] is None:
        return []
    return [rule(x, bottom - speed["high"] * unit, x, bottom - speed["low"] * unit, f"interval {kind}")]


def _rows(report: Report) -> list[tuple[str, Mapping[str, Any], list[Mapping[str, Any]]]]:
    """(name, group, its requests); all of them last, under no name."""
    requests = report["requests"]
    groups = report["categories"] if len(report["categories"]) > 1 else {}
    found = [(_short(name), group, [r for r in requests if r["category"] == name]) for name, group in groups.items()]
    return [*found, ("", report, list(requests))]


def _short(name: str) -> str:
    return (name if len(name) <= 22 else f"{name[:21]}…") or "–"


def _between(low: float, high: float, count: int = 24) -> list[float]:
    return [low + (high - low) * i / count for i in range(count + 1)]
