"""Why the speed-up is what it is: from the ideal to the measured, part by part, and what to try."""

from markupsafe import Markup

from playground.comparison import Comparison, Factor
from playground.ui.i18n import tr
from playground.ui.render import milliseconds, three
from playground.ui.svg import WIDTH, figure, number, placeholder, rect, rule, svg, table, text, ticks, word

_LEFT, _RIGHT, _ROW = 200, WIDTH - 130, 34


def why(comparison: Comparison | None) -> str:
    """A waterfall: ideal × acceptance × verifying × drafting × overhead = measured, with a sentence about the worst."""
    c = comparison or Comparison()
    ideal, measured = c.ideal_speedup, c.speedup
    if not c.factors or ideal is None or measured is None:
        return placeholder("why.title", f"why.none.{_why_not(c)}")
    levels = [ideal, *(factor.reached for factor in c.factors)]
    values = ticks(max(*levels, 1.0), 6)
    unit, top = (_RIGHT - _LEFT) / values[-1], 10
    bottom = top + _ROW * (len(c.factors) + 2)
    parts: list[Markup] = []
    for value in values:
        x = _LEFT + value * unit
        parts.append(rule(x, top, x, bottom, "grid") + text(x, bottom + 17, f"{number(value)}×", "ax", "middle"))
    one = _LEFT + unit
    parts.append(rule(one, top - 4, one, bottom, "one") + word(one + 4, bottom + 32, "why.line", "ax", "middle"))
    parts.append(_row("ideal", top, ideal * unit, f"{three(ideal)}×"))
    before = ideal
    worst = c.largest_loss
    for i, factor in enumerate(c.factors, start=1):
        parts.append(_part(factor, before, top + _ROW * i, unit, factor == worst))
        before = factor.reached
    parts.append(_row("measured", top + _ROW * (len(c.factors) + 1), measured * unit, f"{three(measured)}×"))
    rows: list[tuple[str, float | None, float]] = [("ideal", None, ideal)]
    rows += [(factor.name, factor.multiplier, factor.reached) for factor in c.factors]
    return figure(
        "why.title",
        tr("why.sub" if c.finished else "why.sub.live"),
        svg(bottom + 38, *parts, name="why.title"),
        _sentences(c, levels),
        table("why", ("part", "multiplier", "reached"), [*rows, ("measured", None, measured)]),
    )


def _row(name: str, y: float, width: float, value: str) -> Markup:
    return (
        _labels(name, y) + rect(_LEFT, y + 6, width, _ROW - 12, name) + text(_LEFT + width + 8, y + 22, value, "direct")
    )


def _part(factor: Factor, before: float, y: float, unit: float, worst: bool) -> Markup:
    """What one part took away, hatched to the left of what was there before; a gain reaches to the right."""
    low, high = sorted((before, factor.reached))
    kind = "gain" if factor.multiplier > 1 else "worst" if worst else "loss"
    value = f"×{three(factor.multiplier)} → {three(factor.reached)}×"
    link = rule(_LEFT + before * unit, y - 6, _LEFT + before * unit, y + 6, "link")
    bar = rect(_LEFT + low * unit, y + 6, max((high - low) * unit, 1.5), _ROW - 12, kind)
    return _labels(factor.name, y) + link + bar + text(_LEFT + high * unit + 8, y + 22, value, "direct")


def _labels(name: str, y: float) -> Markup:
    key = f"why.{name}"
    parts = word(_LEFT - 12, y + 16, key, "direct", "end")
    return parts if name == "measured" else parts + word(_LEFT - 12, y + 29, f"{key}.help", "ax db-tiny", "end")


def _sentences(c: Comparison, levels: list[float]) -> Markup:
    worst = c.largest_loss
    if worst is None:
        said = [tr("why.most.nothing")]
    else:
        before = levels[[factor.name for factor in c.factors].index(worst.name)]
        said = [
            tr(f"why.most.{worst.name}", before=three(before), after=three(worst.reached)),
            tr(f"why.try.{worst.name}"),
        ]
    if c.predicted_speedup is not None and c.per_step_overhead is not None:
        said.append(
            tr(
                "why.predicted",
                predicted=three(c.predicted_speedup),
                measured=three(c.speedup),
                overhead=milliseconds(c.per_step_overhead),
            )
        )
    first, *rest = said
    return Markup('<p class="db-said"><strong>{}</strong> {}</p>').format(first, Markup(" ").join(rest))


def _why_not(c: Comparison) -> str:
    if not c.finished or not (c.speculative.num_steps or c.speculative.untold):
        return "waiting"
    if c.speculative.num_draft_tokens:
        return "no_split"
    return "untold" if c.speculative.untold else "no_drafts"
