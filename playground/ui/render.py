"""Small pure functions from values to text and safe HTML: numbers, escapes, tables, tips. Knows no Gradio.

A fragment made here ends up in `gr.HTML`, whose templates evaluate `${...}` and `{{...}}`; so besides `<`, `&` and
quotes, dollar, braces and backtick become entities too.
"""

import math
from pathlib import Path

from markupsafe import Markup, escape

_TEMPLATE = {ord("$"): "&#36;", ord("{"): "&#123;", ord("}"): "&#125;", ord("`"): "&#96;"}

NOT_AVAILABLE = "n/a"


def esc(value: object) -> Markup:
    """`value` as safe HTML; `Markup` (already safe) passes unchanged."""
    return value if isinstance(value, Markup) else Markup(str(escape(value)).translate(_TEMPLATE))


def fill(template: str, *values: object) -> Markup:
    """`template`, our own markup, with a value in each `{}`: safe in a gr.HTML too, unlike by `Markup.format` alone."""
    return Markup(template).format(*map(esc, values))


def three(value: float | None) -> str:
    """Three significant digits, never in exponent form: 0.00123, 1.87, 90.2, 1234."""
    if value is None or not math.isfinite(value):
        return NOT_AVAILABLE
    if value == 0 or abs(value) >= 1000:
        return f"{value:.0f}"
    rounded = float(f"{value:.3g}")  # first, so that 0.9999 becomes 1.00 and not 1.000
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def percent(value: float | None) -> str:
    """A share 0..1 as a percentage of two or three digits."""
    return NOT_AVAILABLE if value is None else f"{three(100 * value) if value else '0'} %"


def milliseconds(seconds: float | None) -> str:
    """Seconds as ms below 10 s, as s above; nothing below a microsecond is claimed."""
    if seconds is None:
        return NOT_AVAILABLE
    if abs(seconds) < 1e-6:
        return "0 ms"
    return f"{three(seconds)} s" if abs(seconds) >= 10 else f"{three(1000 * seconds)} ms"


def gibibytes(size: float | None) -> str:
    return NOT_AVAILABLE if size is None else f"{three(size / 2**30)} GiB"


def lines_of_code(path: Path) -> str:
    """A .js or .css file of ours as text."""
    return path.read_text(encoding="utf-8")
