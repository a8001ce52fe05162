"""Presets in and out: any importer's dialect read, any exporter's files written.

Knows that there are exporters and importers, none of them by name.
"""

from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from playground import exporters, importers
from playground.config import Preset, checked
from playground.errors import PlaygroundError
from playground.exporters import Export
from playground.importers import Imported
from playground.importers._text import decode, read_file
from playground.importers._yaml import parse_json, parse_yaml
from playground.presets import explicit, write_whole
from playground.registry import discover, extension

_CODE = (".py", ".sh", ".bash", ".txt", ".cmd")


def export_options(target: str) -> type[BaseModel]:
    """The choices of an exporter, as a model whose fields make controls and flags; often it has none."""
    options: type[BaseModel] = getattr(_exporter(target), "Options", _NoOptions)
    return options


def export_preset(preset: Preset, target: str = "preset", options: dict[str, Any] | None = None) -> Export:
    """`preset` as the files of `target` (a file of `playground/exporters/`).

    Raises:
        PlaygroundError: no such target, an option it does not have, or a preset it cannot run.
    """
    module = _exporter(target)
    preset = preset.model_copy(update={"config": explicit(preset.config)})
    if not hasattr(module, "Options"):
        checked(_NoOptions, options or {}, where=f"the options of export target {target}")
        export: Export = module.export(preset)
        return export
    chosen = checked(module.Options, options or {}, where=f"the options of export target {target}")
    export = module.export(preset, chosen)
    return export


def write_export(export: Export, folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the files of an export into `folder` (made if needed), each whole.

    Raises:
        PlaygroundError: a file is there already (without `overwrite`; nothing is then written), or cannot be written.
    """
    paths = [folder / name for name in export.files]
    there = [path.name for path in paths if path.exists()]
    if there and not overwrite:
        raise PlaygroundError(
            f"{folder} already holds {', '.join(there)}.", "Choose another folder, or overwrite.", code="file_exists"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, export.files.values(), strict=True):
            write_whole(path, text)
    except OSError as error:
        raise PlaygroundError(
            f"The files cannot be written to {folder}: {error.strerror or error}.",
            "Choose another folder with --out.",
            code="unwritable",
        ) from None
    return paths


def export_dict(export: Export) -> dict[str, Any]:
    """JSON of an export, files included."""
    return asdict(export)


def import_file(path: Path) -> Imported:
    """A preset from any file some importer recognises. Raises PlaygroundError naming file, line and key."""
    return import_text(str(path), read_file(path))


def import_text(name: str, content: bytes | str) -> Imported:
    """The same from memory; `name` stands in errors, and its ending helps to recognise the dialect."""
    data = _parse(name, decode(name, content))
    for module in discover(importers.PACKAGE).values():
        if module.recognises(name, data):
            imported: Imported = module.read(name, data)
            return imported
    titles = ", ".join(module.TITLE for module in discover(importers.PACKAGE).values())
    raise PlaygroundError(
        f"{name}: this is no configuration we can read.", f"Known are: {titles}.", code="unknown_format"
    )


def _parse(name: str, text: str) -> object:
    """Data where it is YAML or JSON; the text itself where an importer reads it as code (a command, a snippet)."""
    lower = name.lower()
    if lower.endswith(".json") or (text.lstrip().startswith("{") and not lower.endswith((".yaml", ".yml"))):
        return parse_json(name, text)
    if lower.endswith((".yaml", ".yml")) or not _is_code(name, text):
        return parse_yaml(name, text)
    return text


def _is_code(name: str, text: str) -> bool:
    """Whether some importer takes the bare text; endings of code decide it alone."""
    if name.lower().endswith(_CODE):
        return True
    return any(module.recognises(name, text) for module in discover(importers.PACKAGE).values())


def _exporter(target: str) -> ModuleType:
    return extension(exporters.PACKAGE, target, "export target")


class _NoOptions(BaseModel, extra="forbid"):
    pass
