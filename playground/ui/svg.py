"""What the charts are drawn with: scales, axes, text in both languages, the frame, and the table behind each chart.

Coordinates are those of a viewBox `WIDTH` wide, which is about its width on the page, so that text keeps its size.
Knows no metric.
"""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from markupsafe import Markup

from playground.ui.i18n import t, tr, tr_svg
from playground.ui.render import NOT_AVAILABLE, esc

WIDTH = 880
TABLE_ROWS = 200  # shown; the CSV holds all

Cell = str | int | float | None


def ticks(top: float, count: int = 4) -> list[float]:
    """About `count` round numbers from 0 up to at least `top`."""
    if top <= 0 or not math.isfinite(top):
        return [0.0, 1.0]
    rough = top / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    return [i * step for i in range(math.ceil(top / step - 1e-9) + 1)]


def number(value: float) -> str:
    """A tick's label: no exponent, no trailing zeros."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"


def node(name: str, inner: object = "", **attributes: object) -> Markup:
    """One SVG element; floats become one decimal, `_` in a name becomes `-`, `class_` is class."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{esc(f"{value:.1f}" if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{written}>{esc(inner)}</{name}>")


def text(x: float, y: float, content: object, class_: str = "ax", anchor: str = "start") -> Markup:
    return node("text", content, x=float(x), y=float(y), class_=class_, text_anchor=anchor)


def word(x: float, y: float, key: str, class_: str = "ax", anchor: str = "start", **params: object) -> Markup:
    """A text in both languages."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return tr_svg(key, place, class_, **params)


def line(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    return node("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_=class_)


def rule(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return node("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def boxes(rects: Iterable[tuple[float, float, float, float]], class_: str) -> Markup:
    """Many rectangles (x, y, width, height) as one path: 4,000 cost what 40 elements cost."""
    drawn = "".join(f"M{x:.1f} {y:.1f}h{w:.1f}v{h:.1f}h-{w:.1f}z" for x, y, w, h in rects if w > 0 and h > 0)
    return Markup(f'<path class="{class_}" d="{drawn}"></path>')


def rect(x: float, y: float, width: float, height: float, class_: str, inner: object = "") -> Markup:
    return node(
        "rect",
        inner,
        x=float(x),
        y=float(y),
        width=max(0.0, float(width)),
        height=max(0.0, float(height)),
        class_=class_,
    )


def y_axis(left: float, right: float, top: float, bottom: float, values: Sequence[float], suffix: str = "") -> Markup:
    """Faint lines with their numbers, evenly from `bottom` (first value) to `top` (last value)."""
    span = (values[-1] - values[0]) or 1
    parts = []
    for value in values:
        y = bottom - (value - values[0]) / span * (bottom - top)
        parts.append(rule(left, y, right, y, "grid") + text(left - 6, y + 4, number(value) + suffix, "ax", "end"))
    return Markup("").join(parts)


def svg(height: float, *parts: Markup, name: str) -> Markup:
    """The picture. `name` is a key, read out in place of the drawing."""
    inner = Markup("").join((node("title", t(name)), *parts))
    return Markup(f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" class="db-svg">{inner}</svg>')


def figure(title: str, sub: Markup, picture: Markup, *after: Markup) -> str:
    """A chart with its head and what belongs under it."""
    return str(
        Markup(
            '<figure class="db-chart"><figcaption><strong>{}</strong><span>{}</span></figcaption>{}{}</figure>'
        ).format(tr(title), sub, picture, Markup("").join(after))
    )


def placeholder(title: str, key: str) -> str:
    """The same frame, saying why there is nothing to draw."""
    return figure(title, Markup(""), Markup('<div class="db-chart-none">{}</div>').format(tr(key)))


def table(name: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], live: bool = False) -> Markup:
    """The numbers behind a chart: a folded table and a CSV of all rows.

    Args:
        name: of the file, without ".csv".
        columns: keys under `col.`, which are also the CSV's heads.
        rows: None becomes n/a in the table and an empty cell in the CSV.
        live: the chart is still growing: only the table's fold is there, to keep its place.
    """
    if live:
        return Markup('<details class="db-table"><summary>{}</summary>…</details>').format(tr("chart.table"))
    heads = Markup("").join(Markup("<th>{}</th>").format(tr(f"col.{column}")) for column in columns)
    body = Markup(
        "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows[:TABLE_ROWS])
    )
    more = Markup("")
    if len(rows) > TABLE_ROWS:
        more = Markup("<p>{}</p>").format(tr("chart.rows", shown=TABLE_ROWS, total=len(rows)))
    href = "data:text/csv;charset=utf-8," + quote(_csv(columns, rows), safe=",")
    return Markup(
        '<details class="db-table"><summary>{}</summary><a download="{}.csv" href="{}">{}</a>{}'
        '<div class="db-table-scroll"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div></details>'
    ).format(tr("chart.table"), name, Markup(href), tr("chart.csv"), more, heads, body)


def _cell(cell: Cell) -> str:
    if cell is None:
        return NOT_AVAILABLE
    return f"{cell:.4g}" if isinstance(cell, float) else esc(cell) if isinstance(cell, str) else str(cell)


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_spread_safe(cell) for cell in row] for row in rows)
    return out.getvalue()


def _spread_safe(cell: Cell) -> Cell:
    # A device or model name that begins like a formula must stay text in a spreadsheet.
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
