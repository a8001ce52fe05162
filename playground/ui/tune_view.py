"""A tuning's report as a page fragment: the recommendation and its reason, the curve, what it cost. Pure, bilingual."""

import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from playground.ui.bench_charts import curve
from playground.ui.bench_view import empty_html, interval
from playground.ui.i18n import tr
from playground.ui.render import fill, milliseconds, percent, three

Report = Mapping[str, Any]


def tuning_html(report: Report) -> str:
    """Everything there is to see of one tuning."""
    if not report.get("curve"):
        return empty_html("tune.empty")
    parts = (_recommendation(report), _cost(report), curve(report), _conditions(report), _steps(report), _about(report))
    return f'<div class="db-bench">{"".join(parts)}</div>'


def _recommendation(report: Report) -> Markup:
    found, code = report["recommended"], report["reason_code"]
    kind = {"faster": "pass", "not_faster": "slower"}.get(code, "inconclusive")
    lead = fill(
        "{}<br><small>{}</small>",
        f"k = {found['num_speculative_tokens']}" if found else tr(f"tune.lead.{code}"),
        found["method"] if found else "",
    )
    flat = Markup("")
    if len(report["flat_region"]) > 1:
        flat = fill("<p>{}</p>", tr("tune.flat", ks=", ".join(map(str, report["flat_region"]))))
    schedule = Markup("")
    if report["schedule"]:
        schedule = fill("<p>{} <code>{}</code></p>", tr("tune.schedule"), json.dumps(report["schedule"]))
    return fill(
        '<section class="b-verdict b-{}" aria-live="polite"><div class="b-lead"><b>{}</b></div>'
        '<div class="b-why"><p><strong>{}</strong> {}</p>{}{}<p class="b-soft">{}</p></div></section>',
        kind,
        lead,
        tr(f"tune.title.{code}"),
        tr(f"tune.reason.{code}", speedup=interval(report["speedup"])),
        flat,
        schedule,
        tr("tune.ranked", what=tr(f"tune.objective.{report['objective']}")),
    )


def _cost(report: Report) -> Markup:
    cost, quality = report["cost"], report["prediction"]
    whole = cost["full_grid_seconds"]
    tiles = [
        ("tune.tile.cost", f"{_time(cost['seconds'])}, {cost['runs']}"),
        ("tune.tile.grid", "n/a" if not whole else f"{_time(whole)}, {cost['full_grid_runs']}"),
        ("tune.tile.share", percent(cost["share"])),
        ("tune.tile.error", percent(quality["median_error"])),
        (
            "tune.tile.equal",
            f"{quality['runs_equal']} / {quality['runs_checked']}" if quality["runs_checked"] else "n/a",
        ),
    ]
    cells = Markup("").join(
        fill('<div class="b-tile"><span>{}</span><b>{}</b></div>', tr(key), value) for key, value in tiles
    )
    return fill('<section class="b-tiles">{}</section>', cells)


def _time(seconds: float) -> str:
    return f"{three(seconds)} s" if seconds < 100 else f"{three(seconds / 60)} min"


def _conditions(report: Report) -> Markup:
    """What is recommended under each temperature and number of requests at once, where there are several."""
    if len(report["conditions"]) < 2:
        return Markup("")
    heads = Markup("").join(
        fill("<th>{}</th>", tr(f"tune.col.{n}")) for n in ("temperature", "level", "recommended", "speedup")
    )
    rows = Markup("").join(_condition(condition) for condition in report["conditions"])
    return fill(
        '<section><h4>{}</h4><table class="b-table"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></section>',
        tr("tune.conditions"),
        heads,
        rows,
    )


def _condition(condition: Mapping[str, Any]) -> Markup:
    found = condition["recommended"]
    said = (
        f"{found['method']}, k = {found['num_speculative_tokens']}"
        if found
        else tr(f"tune.lead.{condition['reason_code']}")
    )
    return fill(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        f"{condition['temperature']:g}",
        condition["concurrency"],
        said,
        interval(condition["speedup"]),
    )


def _steps(report: Report) -> Markup:
    """The measured time of a step by its width, which the predictions rest on."""
    if not report["step_seconds"]:
        return Markup("")
    rows = Markup("").join(
        fill(
            "<li><strong>{}</strong> {}</li>",
            entry["method"],
            ", ".join(f"{width}: {milliseconds(seconds)}" for width, seconds in entry["by_width"].items()),
        )
        for entry in report["step_seconds"]
    )
    return fill(
        '<section><h4>{}</h4><p class="b-soft">{}</p><ul class="b-flags">{}</ul></section>',
        tr("tune.steps"),
        tr("tune.steps.help"),
        rows,
    )


def _about(report: Report) -> Markup:
    environment = report["environment"]
    facts = [str(environment[k]) for k in ("hardware", "device", "dtype") if environment.get(k)]
    return fill(
        '<p class="b-soft b-about">{} · {} · {}</p>', report["title"], ", ".join(facts) or "n/a", report["tune_id"]
    )
