"""`tune`: which k, method and options are fastest here, with a fraction of the measurements; the winner as a preset."""

import argparse
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from playground.cli.flags import add_config_flags, config_from
from playground.cli.numbers import whole
from playground.cli.output import OK, Output, stopping
from playground.cli.running import opened
from playground.cli.stored import store as opened_store
from playground.cli.suite import add_suite_flags, check_endings, followed, numbers, suite_from, write_files
from playground.errors import PlaygroundError
from playground.presets import save_preset
from playground.results import percent, three
from playground.settings import Settings, load_settings
from playground.terminal import sanitised

if TYPE_CHECKING:
    from playground.runner import Runner
    from playground.tune.space import TunePlan
    from storage.store import Store

ENDINGS = (".md", ".csv", ".json", ".html")


def add_tune_flags(parser: argparse.ArgumentParser) -> None:
    add_suite_flags(parser)
    what = parser.add_argument_group("what is tried")
    what.add_argument("--ks", metavar="1-8,10,12", help="num_speculative_tokens to try (default: 1-8,10,12,16)")
    what.add_argument(
        "--methods", metavar="NAME,NAME", help="drafting methods to try (default: the configuration's; --draft is for "
        "those that take a model)"
    )  # fmt: skip
    what.add_argument(
        "--try",
        dest="tried",
        action="append",
        default=[],
        metavar="OPTION=A,B,C",
        help="values of a method's option to try, such as prompt_lookup_max=3,5,8 (repeatable)",
    )
    what.add_argument(
        "--temperatures", metavar="0,0.8", help="recommend for each of these (default: the configuration's)"
    )
    what.add_argument("--levels", default="1", metavar="1,4,16", help="recommend for so many requests at once each")
    what.add_argument(
        "--objective",
        choices=("tokens_per_second", "throughput", "joules_per_token"),
        default="tokens_per_second",
        help="what the best one is best at (default: decode speed)",
    )
    what.add_argument(
        "--finalists", type=whole(1), default=4, metavar="N", help="how many are measured, at most (default: 4)"
    )
    what.add_argument("--full-grid", action="store_true", help="also measure everything, to check the short way")
    stored = parser.add_argument_group("stored tunings")
    stored.add_argument("--list", action="store_true", help="list them")
    stored.add_argument("--resume", metavar="ID", help="run what is left of one")
    stored.add_argument("--report", metavar="ID", help="report on one again; nothing is run")
    files = parser.add_argument_group("files")
    files.add_argument("--save", metavar="NAME", help="keep what is recommended as a preset of your own")
    files.add_argument("--schedule", action="store_true", help="with k by requests at once, where that was measured")
    files.add_argument(
        "--out",
        action="append",
        default=[],
        metavar="FILE",
        help="the report as .md, .csv, .json or .html (repeatable)",
    )
    files.add_argument("--overwrite", action="store_true", help="replace files and a preset that are there")
    parser.add_argument("--device", help="auto, cpu, cuda, cuda:N or mps (default: DRAFTBOARD_DEVICE)")
    add_config_flags(parser)


def tune(args: argparse.Namespace, out: Output) -> int:
    check_endings(args.out, ENDINGS)
    if args.list:
        return _list(out)
    settings = load_settings(device=args.device) if args.device else load_settings()
    if args.report:
        from playground.tune.run import stored_report

        with opened_store() as db:
            return _end(stored_report(db, args.report), args, settings, db, out)
    return _run(args, settings, out)


def _run(args: argparse.Namespace, settings: Settings, out: Output) -> int:
    from playground.tune.run import run, start

    chosen = None if args.resume else (config_from(args, settings), suite_from(args, settings))
    with opened(settings) as (store, runner):
        tune_id = args.resume or start(store, _plan(args, chosen, runner))
        report: dict[str, Any] = {}
        with stopping(lambda: None) as stop:
            for stage in followed(run(runner, store, tune_id), out, stop):
                report = stage.report or report
        if stop.signal is not None:
            report = dict(store.benchmarks.benchmark(tune_id).report or report)
            out.line(f"Stopped; what there is was stored. Go on with: tune --resume {tune_id}")
            out.result(report | {"tune_id": tune_id})
            return stop.code
        return _end(report, args, settings, store, out)


def _plan(args: argparse.Namespace, chosen: Any, runner: "Runner") -> "TunePlan":
    from playground.config import checked
    from playground.tune.space import KS, TunePlan
    from playground.tune.ways import tried_options, ways

    config, suite = chosen
    methods = [name.strip() for name in args.methods.split(",")] if args.methods else []
    variants = ways(config, methods, tried_options(args.tried))
    config = config.model_copy(update={"speculation": variants[0]})
    data = {
        "config": config,
        "suite": suite,
        "variants": variants,
        "ks": numbers(args.ks, "--ks") if args.ks else KS,
        "temperatures": tuple(_real(t) for t in args.temperatures.split(",")) if args.temperatures else (),
        "levels": numbers(args.levels, "--levels"),
        "objective": args.objective,
        "finalists": args.finalists,
        "full_grid": args.full_grid,
        "one_load": runner.one_load(config),
    }
    return checked(TunePlan, data, where="the tuning")


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise PlaygroundError(
            f"--temperatures: “{text[:60]}” is no number.", "Write 0,0.8.", code="bad_arguments"
        ) from None


def _end(report: dict[str, Any], args: argparse.Namespace, settings: Settings, store: "Store", out: Output) -> int:
    from playground.tune.text import csv_text, json_text, markdown

    _show(report, out)
    texts = {
        ".md": lambda: markdown(report),
        ".csv": lambda: csv_text(report),
        ".json": lambda: json_text(report),
        ".html": lambda: _html(report),
    }
    for path in write_files(args.out, texts, overwrite=args.overwrite):
        out.line(f"Wrote {path}")
    if args.save:
        from playground.tune.preset import preset_from_tuning

        preset = preset_from_tuning(store, report["tune_id"], args.save, scheduled=args.schedule)
        kept = save_preset(preset, settings, overwrite=args.overwrite)
        out.line(f"Kept as the preset {preset.name}: {kept}")
        report = report | {"saved": preset.name}
    out.result(report)
    return OK


def _html(report: dict[str, Any]) -> str:
    from playground.ui.bench_html import tuning_page  # draws with the page's charts, and so is slow to import

    return tuning_page(report)


def _show(report: dict[str, Any], out: Output) -> None:
    from playground.tune.text import cost_line, headline

    out.console.print(_table(report))
    out.line(f"\nRecommended: {headline(report)}")
    out.line(report["reason"])
    if report["flat_region"]:
        out.line(f"As good, within 3 %: k = {', '.join(map(str, report['flat_region']))}")
    for condition in report["conditions"][1:]:
        where = f"temperature {condition['temperature']:g}, {condition['concurrency']} at once"
        out.line(f"{where}: {condition['reason']}")
    if report["schedule"]:
        out.line(f"By requests at once (first, last, k): {report['schedule']}")
    quality = report["prediction"]
    if quality["median_error"] is not None:
        out.line(f"Predictions were {percent(quality['median_error'])} off in the median of {quality['n']}")
    if grid := report["grid"]:
        same = "the same" if grid["same"] else "as good" if grid["same_or_as_good"] else "another"
        out.line(f"The full grid recommends {same}: {grid['best']}")
    out.line(cost_line(report))
    out.line(f"Tuning {report['tune_id']}, {report['status']}")


def _table(report: dict[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("method", overflow="fold")  # the one that may give way: its options are long, and alike
    for title in ("k", "temperature", "at once", "predicted", "measured (95 %)", "n", "acceptance", "tokens/step"):
        table.add_column(title, justify="right", no_wrap=True)
    for point in report["curve"]:
        found = point["measured"]
        inside = f" ({three(found['low'])}-{three(found['high'])})" if found and found["low"] is not None else ""
        acceptance = point["draft_acceptance_rate"]
        per_step = point["tokens_per_step"] or point["predicted_tokens_per_step"]
        options = ", ".join(f"{k}={v}" for k, v in point["options"].items())
        cells = (
            f"{point['method']} {options}".strip(),
            str(point["num_speculative_tokens"]),
            f"{point['temperature']:g}",
            str(point["concurrency"]),
            "n/a" if point["predicted"] is None else f"{three(point['predicted'])}x",
            "-" if found is None else f"{three(found['median'])}x{inside}",
            "-" if found is None else str(found["n"]),
            percent(point["predicted_acceptance_rate"] if acceptance is None else acceptance),
            "n/a" if per_step is None else three(per_step),
        )
        table.add_row(*(Text(sanitised(cell)) for cell in cells))
    return table


def _list(out: Output) -> int:
    with opened_store() as db:
        found = db.benchmarks.listed("tune")
    for row in found:
        out.line(f"{row.benchmark_id}  {row.created_at[:16].replace('T', ' ')}  {row.status:<11}  {row.title}")
    if not found:
        out.line("No tuning yet.")
    names = ("benchmark_id", "title", "status", "created_at", "ended_at", "error")
    out.result({"tunings": [{name: getattr(row, name) for name in names} for row in found]})
    return OK
