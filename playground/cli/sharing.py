"""`export`, `import` and `presets`: configurations out, in, and in the preset folders."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from playground import exporters
from playground.cli.flags import pair_of, values_of
from playground.cli.output import FAILED, OK, Output
from playground.cli.stored import store
from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exchange import (
    changes,
    export_dict,
    export_options,
    export_preset,
    files_there,
    import_file,
    import_text,
)
from playground.exporters import Export
from playground.exporters._comments import grouped
from playground.exporters.preset import preset_yaml
from playground.exportfiles import write_export
from playground.importers._text import MAX_BYTES, name_from, user_path
from playground.presets import delete_preset, list_presets, load_preset, preset_from_run, save_preset
from playground.registry import names
from playground.settings import load_settings
from playground.terminal import in_one_line, sanitised
from playground.validation import TIERS, Check, check


def add_export_flags(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--run", metavar="ID", help="what was measured in this run or comparison, with its evidence")
    source.add_argument("--preset", metavar="NAME", help="a preset by name or path")
    targets = names(exporters.PACKAGE)
    parser.add_argument("--to", default="vllm", metavar="TARGET", help=f"one of {', '.join(targets)} (default: vllm)")
    parser.add_argument("--out", metavar="DIR", help="folder, or file .zip, to write to; else the files are printed")
    parser.add_argument("--name", metavar="NAME", help="what the preset is called in the files")
    parser.add_argument(
        "--model-as",
        metavar="MODEL",
        help="the target's name or path where the server runs (a hub id, ...)",
    )
    parser.add_argument("--draft-as", metavar="MODEL", help="the same for the draft model")
    parser.add_argument("--overwrite", action="store_true", help="replace files that are there")
    parser.add_argument("--diff", action="store_true", help="show what differs from the files in --out; write nothing")
    parser.add_argument(
        "--check",
        choices=TIERS,
        default="A",
        help="A: our schemas (always); B: also the real program's own parser, where it is installed; C: also a smoke "
        "start of vLLM's server with the default model (minutes)",
    )
    choices = dict[str, list[str]]()  # an option with what it takes -> the targets that have it
    for target in targets:
        for option, field in export_options(target).model_fields.items():
            choices.setdefault(f"{option}={values_of(field)}", []).append(target)
    said = "; ".join(f"{', '.join(having)}: {what}" for what, having in choices.items())
    parser.add_argument(
        "--option",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help=f"a choice of the target ({said})",
    )


def export(args: argparse.Namespace, out: Output) -> int:
    preset = _measured(args.run, args.name) if args.run else load_preset(args.preset, load_settings())
    if args.name and not args.run:
        preset = _named(preset, args.name)
    model_as, draft_as, folder = (_said(args, name) for name in ("model_as", "draft_as", "out"))
    done = export_preset(preset, args.to, _options(args.option), model_as=model_as, draft_as=draft_as)
    checks = [one for tier in TIERS if tier <= args.check for one in check(done, args.to, tier)]
    difference = changes(_before(done, folder), done) if args.diff else None
    written = write_export(done, user_path(folder), overwrite=args.overwrite) if folder and not args.diff else []
    if not out.as_json:
        named = {field for field, name in (("target", model_as), ("speculation.model", draft_as)) if name}
        _show_export(done, checks, written, difference, named, out)
    more = {} if difference is None else {"diff": difference}
    told = {"checks": [asdict(one) for one in checks], "written": [str(path) for path in written]}
    out.result({"target": args.to, **export_dict(done), **told, **more})
    return FAILED if any(one.outcome == "refused" for one in checks) else OK


def _said(args: argparse.Namespace, name: str) -> str:
    """What a flag says; "" where it is not there. Raises PlaygroundError for an empty one, as of an unset variable."""
    value = getattr(args, name)
    if value is not None and not value.strip():
        flag = "--" + name.replace("_", "-")
        raise PlaygroundError(f"{flag} is empty.", "Write its value, or leave it out.")
    return value or ""


def _options(pairs: list[str]) -> dict[str, str]:
    """Raises PlaygroundError where one is given twice."""
    found: dict[str, str] = {}
    for key, value in map(pair_of, pairs):
        if key in found and found[key] != value:
            raise PlaygroundError(f"--option {key} is given twice, as {found[key]} and as {value}.", "Keep one.")
        found[key] = value
    return found


def _before(done: Export, path: str | None) -> dict[str, str]:
    """The texts that an earlier export left there."""
    if not path:
        raise PlaygroundError("--diff compares with files of an earlier export.", "Name their folder or zip by --out.")
    return files_there(done, user_path(path))


def add_import_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help='YAML, JSON, INI, a Modelfile, a command line or a Python snippet; "-" for stdin'
    )
    parser.add_argument(
        "--keep-lossy",
        action="store_true",
        help="read it even if it changes the output (relaxed or typical acceptance)",
    )
    parser.add_argument("--save", metavar="NAME", help="keep it as a preset of your own")
    parser.add_argument("--overwrite", action="store_true", help="replace a preset of that name")


def import_(args: argparse.Namespace, out: Output) -> int:
    if not args.file:
        raise PlaygroundError("No file is named.", "Name one, or - for standard input.", code="bad_file")
    if args.file == "-":
        imported = import_text("stdin", sys.stdin.buffer.read(MAX_BYTES + 1), keep_lossy=args.keep_lossy)
    else:
        imported = import_file(user_path(args.file), keep_lossy=args.keep_lossy)
    keep = args.save is not None
    preset = _named(imported.preset, args.save) if keep else imported.preset
    saved = save_preset(preset, load_settings(), overwrite=args.overwrite) if keep else None
    for sentence in imported.rewrites:
        out.side.print(in_one_line(f"note: {sentence}"))
    if saved is None:
        out.line(preset_yaml(preset).rstrip("\n"))
    else:
        out.line(f"Saved as preset {preset.name}: {saved}")
    out.result(
        {
            "preset": preset.model_dump(mode="json"),
            "rewrites": list(imported.rewrites),
            "saved": None if saved is None else str(saved),
        }
    )
    return OK


def presets_list(args: argparse.Namespace, out: Output) -> int:
    entries = list_presets(load_settings())
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title in ("preset", "whose", "description"):
        table.add_column(title, no_wrap=title != "description")
    for entry in entries:
        text = entry.description if entry.preset else f"cannot be read: {entry.error}"
        row = (entry.name, "own" if entry.own else "shipped", text)
        table.add_row(*(Text(sanitised(cell).replace("\n", " ")) for cell in row))
    out.console.print(table)
    out.result({"presets": [_entry_dict(entry) for entry in entries]})
    return OK


def presets_show(args: argparse.Namespace, out: Output) -> int:
    preset = load_preset(args.name, load_settings())
    out.line(preset_yaml(preset).rstrip("\n"))
    out.result({"preset": preset.model_dump(mode="json")})
    return OK


def presets_save(args: argparse.Namespace, out: Output) -> int:
    preset = _measured(args.run, args.name, args.description)
    path = save_preset(preset, load_settings(), overwrite=args.overwrite)
    out.line(f"Saved as preset {preset.name}: {path}")
    out.result({"preset": preset.model_dump(mode="json"), "saved": str(path)})
    return OK


def presets_delete(args: argparse.Namespace, out: Output) -> int:
    delete_preset(args.name, load_settings())
    out.line(f"Deleted preset {args.name}.")
    out.result({"deleted": args.name})
    return OK


def _measured(run_id: str, name: str | None, description: str = "") -> Preset:
    with store() as db:
        return preset_from_run(db, run_id, name or name_from(f"run-{run_id}.yaml"), description)


def _named(preset: Preset, name: str) -> Preset:
    from playground.config import checked

    return checked(Preset, preset.model_dump() | {"name": name}, where="the preset")


def _show_export(
    done: Export, checks: list[Check], written: list[Path], difference: str | None, named: set[str], out: Output
) -> None:
    """`named`: fields of the models whose names on the server were given."""
    if difference is not None:
        out.line(difference.rstrip("\n") or "Nothing differs.")
    elif written:
        for path in written:
            out.line(f"Wrote {path}")
    else:
        for name, text in done.files.items():
            out.line(f"--- {name}\n{text}")
    remarks = [f"Note: {note}" for note in done.notes]
    remarks += [f"{level}: {', '.join(names)}: {reason}." for (level, reason), names in grouped(done.losses).items()]
    if done.versions:
        remarks.append(f"For {done.versions}.")
    for one in checks:
        detail = f" ({one.detail})" if one.detail else ""
        remarks.append(f"Check {one.tier}, {one.by}: {one.outcome.replace('-', ' ')}{detail}.")
    missing = {loss.field for loss in done.losses if loss.level == "needs-input"}
    if flags := [flag for field, flag in _NAMED_BY.items() if field in missing - named]:
        remarks.append(f"What the server calls its models is said by {' and '.join(flags)}.")
    remarks.append(f"{'First settle what needs input; then start' if missing else 'Start'} with: {done.command}")
    for remark in remarks:
        out.side.print(in_one_line(remark))


_NAMED_BY = {"target": "--model-as", "speculation.model": "--draft-as"}
"""Field of a loss -> the flag that settles it."""


def _entry_dict(entry: Any) -> dict[str, Any]:
    found = {"name": entry.name, "path": str(entry.path), "own": entry.own}
    if entry.preset is not None:
        return found | {"description": entry.preset.description, "config": entry.preset.config.model_dump(mode="json")}
    error = entry.error or PlaygroundError("It cannot be read.")
    return found | {"failure": error.as_dict()}
