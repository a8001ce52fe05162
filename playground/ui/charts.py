"""Charts as SVG strings, each with the table behind it. Pure: results in, markup out; labels in both languages.

This file draws what the drafts did (by position, step by step); `charts_why` and `charts_device` draw the rest.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from playground.events import Step
from playground.metrics import RunResult
from playground.ui.charts_device import device_chart
from playground.ui.charts_why import why
from playground.ui.i18n import tr
from playground.ui.svg import (
    WIDTH,
    boxes,
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

__all__ = ["StepTiming", "by_position", "compact", "device_chart", "timeline", "why"]

_LEFT, _RIGHT = 52, WIDTH - 130
MAX_BARS = 220


@dataclass(frozen=True, slots=True)
class StepTiming:
    """What the timeline needs of a step; seconds, None where the engine does not split."""

    index: int
    at: float
    drafted: int
    accepted: int
    delivered: int
    draft_seconds: float | None
    verify_seconds: float | None


def compact(step: Step) -> StepTiming:
    """A step without its tokens: 4,000 of these are cheap to keep."""
    return StepTiming(
        step.index,
        step.at,
        step.num_draft_tokens,
        step.num_accepted_tokens,
        len(step.tokens),
        step.draft_seconds,
        step.verify_seconds,
    )


# ---------------------------------------------------------------- acceptance by draft position


def by_position(result: RunResult, live: bool = False) -> str:
    """Acceptance by draft position: survival and conditional, with 95 % intervals, n and (unless `live`) the table."""
    if not result.drafted_at:
        untold = "chart.untold" if result.untold else "chart.position.none"
        return placeholder("chart.position", untold if result.finished else "chart.none")
    series = (
        ("survival", result.accepted_at, result.drafted_at, -3.0),
        ("conditional", result.accepted_at, result.judged_at, 3.0),
    )
    k, top, bottom = len(result.drafted_at), 14, 190
    step = (_RIGHT - _LEFT) / k
    x = [_LEFT + step * (i + 0.5) for i in range(k)]
    parts = [y_axis(_LEFT, _RIGHT, top, bottom, [0, 25, 50, 75, 100], " %")]
    every = math.ceil(k / 16)
    for i in range(0, k, every):
        parts.append(text(x[i], bottom + 17, i + 1, "ax", "middle"))
    parts.append(word(_RIGHT + 10, bottom + 17, "chart.position.x"))
    ends: list[tuple[str, float]] = []
    for row, (name, hits, tries, shift) in enumerate(series):
        drawn = [(i, hits[i] / tries[i]) for i in range(k) if tries[i]]
        y = {i: bottom - share * (bottom - top) for i, share in drawn}
        for i, _ in drawn:
            low, high = _wilson(hits[i], tries[i])
            up, down = bottom - high * (bottom - top), bottom - low * (bottom - top)
            parts.append(rule(x[i] + shift, up, x[i] + shift, down, f"interval {name}"))
        parts.append(line([(x[i] + shift, y[i]) for i, _ in drawn], f"curve {name}"))
        parts += [_mark(name, x[i] + shift, y[i]) for i, _ in drawn]
        ends.append((name, y[drawn[-1][0]] if drawn else bottom))
        parts.append(text(_LEFT - 8, bottom + 37 + 15 * row, "n", f"ax {name}-text", "end"))
        for i in range(0, k, every):
            parts.append(text(x[i], bottom + 37 + 15 * row, tries[i], f"ax {name}-text", "middle"))
        parts.append(word(_RIGHT + 10, bottom + 37 + 15 * row, f"chart.{name}", f"ax {name}-text"))
    for name, y_label in _apart(ends, 17):
        parts.append(word(_RIGHT + 10, y_label + 4, f"chart.{name}", f"direct {name}-text"))
    rows = [
        (i + 1, *(v for hits, tries in ((s[1][i], s[2][i]) for s in series) for v in (_share(hits, tries), tries)))
        for i in range(k)
    ]
    columns = ("position", "survival", "survival_n", "conditional", "conditional_n")
    return figure(
        "chart.position",
        tr("chart.position.sub"),
        svg(bottom + 62, *parts, name="chart.position"),
        _terms("survival", "conditional"),
        table("acceptance_by_position", columns, rows, live),
    )


def _terms(*names: str) -> Markup:
    lines = Markup("").join(
        Markup('<li><b class="{}-text">{}</b> {}</li>').format(name, tr(f"chart.{name}"), tr(f"chart.{name}.help"))
        for name in names
    )
    return Markup('<ul class="db-terms">{}</ul>').format(lines)


def _mark(name: str, x: float, y: float) -> Markup:
    """A circle for survival, a square for conditional: told apart without colour."""
    if name == "survival":
        return node("circle", cx=x, cy=y, r=4.0, class_=f"mark {name}")
    return rect(x - 3.6, y - 3.6, 7.2, 7.2, f"mark {name}")


def _wilson(hits: int, tries: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % score interval of a proportion: sensible at 0, at 1 and at small n."""
    share, square = hits / tries, z * z / tries
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / tries + square / (4 * tries)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def _share(hits: int, tries: int) -> float | None:
    return hits / tries if tries else None


def _apart(labels: list[tuple[str, float]], distance: float) -> list[tuple[str, float]]:
    """Two labels moved apart until both can be read."""
    (first, y1), (second, y2) = labels
    gap = distance - abs(y1 - y2)
    if gap <= 0:
        return labels
    sign = 1 if y1 > y2 else -1
    return [(first, y1 + sign * gap / 2), (second, y2 - sign * gap / 2)]


# ---------------------------------------------------------------- timeline of steps


class _Bar(NamedTuple):
    """The mean of one or several neighbouring steps; milliseconds."""

    first: int
    last: int
    draft: float | None
    verify: float | None
    whole: float
    drafted: float
    accepted: float


def timeline(steps: Iterable[Step | StepTiming], live: bool = False, *, untold: bool = False) -> str:
    """Draft time, verify time, overhead and accepted drafts of each decode step.

    Neighbours are averaged beyond `MAX_BARS`, so that 4,000 steps draw as fast as 200. `live` leaves out the table;
    `untold`: what came is not the target's steps.
    """
    if untold:
        return placeholder("chart.timeline", "chart.untold")
    timings = [step if isinstance(step, StepTiming) else compact(step) for step in steps]
    bars = _bars(timings)
    if not bars:
        return placeholder("chart.timeline", "chart.timeline.none")
    size = max(bar.last - bar.first + 1 for bar in bars)
    split = any(bar.verify is not None for bar in bars)
    top, bottom, low = 14.0, 150.0, 222.0
    limit = _limit([bar.whole for bar in bars])
    values = ticks(limit)
    most = max(1.0, max(max(bar.drafted, bar.accepted) for bar in bars))
    step = (_RIGHT - _LEFT) / len(bars)
    parts = [
        y_axis(_LEFT, _RIGHT, top, bottom, values),
        y_axis(_LEFT, _RIGHT, bottom + 28, low, [0, most]),
        word(_RIGHT + 10, top + 4, "chart.timeline.ms", "ax strong"),
        word(_RIGHT + 10, bottom + 32, "chart.timeline.accepted", "ax strong"),
    ]
    parts += _time_bars(bars, step, bottom, (bottom - top) / values[-1], values[-1])
    unit, width = (low - bottom - 28) / most, _width(step)
    for kind, counts in (("drafted", [b.drafted for b in bars]), ("accepted", [b.accepted for b in bars])):
        parts.append(boxes(((_LEFT + i * step, low - n * unit, width, n * unit) for i, n in enumerate(counts)), kind))
    if not live:
        parts.append(_hover(bars, step, top, low))
    for i in sorted({round(j * (len(bars) - 1) / 6) for j in range(7)}):
        parts.append(text(_LEFT + (i + 0.5) * step, low + 17, bars[i].first, "ax", "middle"))
    parts.append(word(_RIGHT + 10, low + 17, "chart.timeline.x"))
    keys = ("overhead", "verify", "draft") if split else ("step_time",)
    for row, key in enumerate(keys):
        parts.append(_key(_RIGHT + 10, top + 16 + 19 * row, key))
    for row, key in enumerate(("drafted", "accepted")):
        parts.append(_key(_RIGHT + 10, bottom + 42 + 18 * row, key))
    sub = tr("chart.timeline.binned", n=size) if size > 1 else tr("chart.timeline.sub")
    if not split:
        sub += Markup("; ") + tr("chart.timeline.nosplit")
    columns = ("step", "at", "drafted", "accepted", "delivered", "draft_ms", "verify_ms")
    rows = [
        (s.index, round(s.at, 6), s.drafted, s.accepted, s.delivered, _ms(s.draft_seconds), _ms(s.verify_seconds))
        for s in timings
    ]
    picture = svg(low + 26, *parts, name="chart.timeline")
    return figure("chart.timeline", sub, picture, table("steps", columns, rows, live))


def _bars(timings: Sequence[StepTiming]) -> list[_Bar]:
    single = []
    before: float | None = None
    for step in timings:
        if step.index > 0:
            known = (step.draft_seconds or 0.0) + (step.verify_seconds or 0.0)
            whole = step.at - before if before is not None else known
            draft, verify = _ms(step.draft_seconds), _ms(step.verify_seconds)
            single.append(_Bar(step.index, step.index, draft, verify, 1000 * whole, step.drafted, step.accepted))
        before = step.at
    size = math.ceil(len(single) / MAX_BARS) or 1
    return single if size == 1 else [_mean(single[i : i + size]) for i in range(0, len(single), size)]


def _mean(bars: Sequence[_Bar]) -> _Bar:
    n = len(bars)
    drafts = [bar.draft for bar in bars if bar.draft is not None]
    verifies = [bar.verify for bar in bars if bar.verify is not None]
    return _Bar(
        bars[0].first,
        bars[-1].last,
        sum(drafts) / n if len(drafts) == n else None,
        sum(verifies) / n if len(verifies) == n else None,
        sum(bar.whole for bar in bars) / n,
        sum(bar.drafted for bar in bars) / n,
        sum(bar.accepted for bar in bars) / n,
    )


def _limit(times: Sequence[float]) -> float:
    """The top of the time axis: the largest, unless a few outliers would flatten all others."""
    ordered = sorted(times)
    usual = ordered[int(0.95 * (len(ordered) - 1))]
    return ordered[-1] if ordered[-1] <= 3 * usual else 1.5 * usual


def _time_bars(bars: Sequence[_Bar], step: float, bottom: float, unit: float, limit: float) -> list[Markup]:
    """Stacked bars, one path for each part; what leaves the axis is cut and marked."""
    stacked: dict[str, list[tuple[float, float, float, float]]] = {}
    marks = []
    width = _width(step)
    for i, bar in enumerate(bars):
        x, y = _LEFT + i * step, 0.0
        for kind, value in _parts(bar):
            shown = min(value, limit - y)
            stacked.setdefault(kind, []).append((x, bottom - (y + shown) * unit, width, shown * unit))
            y += shown
        if bar.whole > limit * 1.001:
            marks.append(text(x + width / 2, bottom - limit * unit - 2, "▲", "ax", "middle"))
    return [boxes(rects, kind) for kind, rects in stacked.items()] + marks


def _parts(bar: _Bar) -> list[tuple[str, float]]:
    if bar.verify is None:
        return [("step_time", bar.whole)]
    draft = bar.draft or 0.0
    return [("draft", draft), ("verify", bar.verify), ("overhead", max(0.0, bar.whole - draft - bar.verify))]


def _hover(bars: Sequence[_Bar], step: float, top: float, low: float) -> Markup:
    """An unseen column over each bar that says its numbers: step, ms of each part, accepted / drafted."""
    said = []
    for i, bar in enumerate(bars):
        steps = f"{bar.first}" if bar.first == bar.last else f"{bar.first}–{bar.last}"
        times = " + ".join(number(round(value, 2)) for _, value in _parts(bar))
        counts = f"{number(round(bar.accepted, 2))}/{number(round(bar.drafted, 2))}"
        said.append(
            f'<rect class="hit" x="{_LEFT + i * step:.1f}" y="{top:.0f}" width="{step:.1f}" height="{low - top:.0f}">'
            f"<title>{steps}: {times} ms · {counts}</title></rect>"
        )
    return Markup("".join(said))


def _width(step: float) -> float:
    """Of a bar in its place: a gap where there is room for one."""
    return step * (0.8 if step > 3 else 1.0)


def _key(x: float, y: float, key: str) -> Markup:
    return rect(x, y, 10, 10, key) + word(x + 15, y + 9, f"chart.{key}")


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds
