"""`models` and `serve`: what this machine has, and the page."""

import argparse

from rich.table import Table
from rich.text import Text

from playground.cli.output import OK, Output
from playground.models import catalogue, prepare_default
from playground.results import three
from playground.settings import load_settings
from playground.terminal import Progress, sanitised


def models_list(args: argparse.Namespace, out: Output) -> int:
    found = catalogue(load_settings())
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title in ("model", "architecture", "context", "dtype", "size", "where"):
        table.add_column(title, overflow="fold")
    for model in found:
        size = f"{three(model.size / 1e6)} MB" if model.size else "-"
        about = model.problem or model.path
        row = (model.name, model.architecture or "-", str(model.context or "-"), model.dtype or "-", size, about)
        table.add_row(*(Text(sanitised(cell)) for cell in row))
    out.console.print(table)
    out.result({"models": [model.as_dict() for model in found]})
    return OK


def models_prepare(args: argparse.Namespace, out: Output) -> int:
    """The default model, once; a second time it is there already."""
    progress = Progress(out.errors)
    try:
        path = prepare_default(load_settings(), progress.say)
    finally:
        progress.clear()
    out.line(f"The default model is in {path}")
    out.result({"path": str(path)})
    return OK


def serve(args: argparse.Namespace, out: Output) -> int:
    given = {name: getattr(args, name) for name in ("host", "port", "device") if getattr(args, name) is not None}
    settings = load_settings(**given)
    settings.check_writable()
    settings.check_port()
    import app

    code = app.serve(settings)
    out.result({"served": app.address(settings)})
    return code
