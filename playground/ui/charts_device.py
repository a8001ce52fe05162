"""The device over a run: utilisation, memory, power, temperature, clocks. One small chart per reading, one line per
device; a reading that no device gives is a line that says so, never a zero."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from playground.events import GpuSample
from playground.ui.i18n import tr
from playground.ui.render import esc, three
from playground.ui.svg import WIDTH, Cell, figure, line, number, placeholder, rule, svg, table, text, ticks, word

_LEFT, _RIGHT, _ROW, _GONE = 130, WIDTH - 130, 50, 24
MAX_POINTS = 300


class _Reading(NamedTuple):
    key: str
    unit: str
    get: Callable[[GpuSample], float | None]
    top: float | None = None
    """A fixed top of the axis, where the reading has a natural one."""


_READINGS = (
    _Reading("utilisation", "%", lambda s: s.utilisation, 100.0),
    _Reading("memory", "GiB", lambda s: None if s.memory_used is None else s.memory_used / 2**30),
    _Reading("power", "W", lambda s: s.power),
    _Reading("temperature", "°C", lambda s: s.temperature, 100.0),
    _Reading("sm_clock", "MHz", lambda s: s.sm_clock),
    _Reading("memory_clock", "MHz", lambda s: s.memory_clock),
)


def device_chart(samples: Sequence[GpuSample], joules_per_token: float | None = None, live: bool = False) -> str:
    """Every device of a run over its seconds (negative while loading), with the joules each token took.

    `live` leaves out the table.
    """
    if not samples:
        return placeholder("chart.device", "chart.device.none")
    devices: dict[str, list[GpuSample]] = {}
    for sample in samples:
        devices.setdefault(sample.device, []).append(sample)
    start = min(sample.at for sample in samples)
    end = max(max(sample.at for sample in samples), start + 1e-3)
    scale = (_RIGHT - _LEFT) / (end - start)
    parts: list[Markup] = []
    y = 6.0
    for reading in _READINGS:
        drawn, height = _row(reading, devices, y, lambda at: _LEFT + (at - start) * scale)
        parts.append(drawn)
        y += height
    if start < 0 < end:
        parts.append(rule(_LEFT - start * scale, 4, _LEFT - start * scale, y - 8, "one"))
    seconds = ticks(end - max(start, 0.0), 6)
    for value in seconds:
        if start <= value <= end:
            parts.append(text(_LEFT + (value - start) * scale, y + 8, number(value), "ax", "middle"))
    parts.append(word(_RIGHT + 10, y + 8, "chart.seconds"))
    return figure(
        "chart.device",
        tr("chart.device.sub"),
        svg(y + 16, *parts, name="chart.device"),
        _legend(devices, joules_per_token),
        table(
            "device",
            ("at", "device", "utilisation", "memory", "power", "temperature", "sm_clock", "memory_clock"),
            [_cells(sample) for sample in samples],
            live,
        ),
    )


def _row(
    reading: _Reading, devices: dict[str, list[GpuSample]], y: float, x_of: Callable[[float], float]
) -> tuple[Markup, float]:
    """One reading's small chart and its height."""
    series = {
        name: [(s.at, value) for s in _thinned(samples) if (value := reading.get(s)) is not None]
        for name, samples in devices.items()
    }
    label = word(_LEFT - 40, y + 14, f"chart.{reading.key}", "direct", "end")
    if not any(series.values()):
        return label + word(_LEFT + 10, y + 14, "chart.nodata"), _GONE
    top = reading.top or _top(reading, devices, series)
    low, high = y + _ROW - 14, y + 4
    parts = [
        label,
        text(_LEFT - 40, y + 28, reading.unit, "ax db-tiny", "end"),
        rule(_LEFT, low, _RIGHT, low, "grid"),
        rule(_LEFT, high, _RIGHT, high, "grid"),
        text(_LEFT - 6, low + 4, "0", "ax db-tiny", "end"),
        text(_LEFT - 6, high + 6, number(round(top, 1)), "ax db-tiny", "end"),
    ]
    for i, points in enumerate(series.values()):
        if points:
            place = [(x_of(at), low - min(value, top) / top * (low - high)) for at, value in points]
            parts.append(line(place if len(place) > 1 else place * 2, f"curve device-{i % 8}"))
    lasts = [points[-1][1] for points in series.values() if points]
    shown = " · ".join(three(value) for value in lasts[:3]) + (" …" if len(lasts) > 3 else "")
    parts.append(text(_RIGHT + 10, y + 22, f"{shown} {reading.unit}", "direct"))
    return Markup("").join(parts), _ROW


def _top(reading: _Reading, devices: dict[str, list[GpuSample]], series: dict[str, list[tuple[float, float]]]) -> float:
    most = max(value for points in series.values() for _, value in points)
    totals = [s.memory_total for samples in devices.values() for s in samples[-1:] if s.memory_total]
    return max(totals) / 2**30 if reading.key == "memory" and totals else ticks(most or 1.0, 2)[-1]


def _thinned(samples: list[GpuSample]) -> list[GpuSample]:
    return samples[:: -(-len(samples) // MAX_POINTS)]


def _legend(devices: dict[str, list[GpuSample]], joules_per_token: float | None) -> Markup:
    items = Markup("").join(
        Markup('<li><i class="device-{}"></i>{} {}</li>').format(i % 8, esc(name), esc(samples[-1].name))
        for i, (name, samples) in enumerate(devices.items())
    )
    if set(devices) == {"cpu"}:
        items += Markup("<li>{}</li>").format(tr("chart.device.cpu"))
    energy = (
        tr("chart.device.joules", value=three(joules_per_token))
        if joules_per_token is not None
        else tr("chart.device.nojoules")
    )
    return Markup('<ul class="db-terms">{}<li>{}</li></ul>').format(items, energy)


def _cells(sample: GpuSample) -> tuple[Cell, ...]:
    return (round(sample.at, 3), sample.device, *(reading.get(sample) for reading in _READINGS))
