"""Presets in and out: any importer's dialect read, any exporter's files made.

Knows that there are exporters and importers, none of them by name.
"""

import difflib
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from playground import drafters, exporters, importers
from playground.config import Preset, checked
from playground.errors import PlaygroundError
from playground.exporters import Export
from playground.exporters._served import model_half, must_be_shown, names_measured, served
from playground.exporters._verdict import verdict
from playground.exportfiles import is_zip
from playground.headfiles import head_config
from playground.importers import Imported
from playground.importers._launch import bare
from playground.importers._text import MAX_BYTES, decode, read_file
from playground.importers._yaml import parse_documents, parse_json
from playground.models import model_paths
from playground.presets import explicit
from playground.registry import discover, extension
from playground.sentence import Sentence
from playground.settings import load_settings

OURS = "preset"
"""The target that holds every name as it is, escaped."""

HYBRID = "hybrid"
"""A way of drafting of the embedded engine alone: no server looks up and drafts by a model in one."""

_LARGEST_ZIP = 8 * MAX_BYTES

_CODE = (".py", ".sh", ".bash", ".txt", ".cmd", ".ini", "modelfile")


def export_options(target: str) -> type[BaseModel]:
    """The choices of an exporter, as a model whose fields make controls and flags; often it has none."""
    options: type[BaseModel] = getattr(_exporter(target), "Options", _NoOptions)
    return options


def export_preset(
    preset: Preset,
    target: str = "preset",
    options: dict[str, Any] | None = None,
    *,
    model_as: str = "",
    draft_as: str = "",
) -> Export:
    """`preset` as the files of `target` (a file of `playground/exporters/`).

    Args:
        model_as: what the server calls the target model (hub id, folder, file); "" is as in the preset.
        draft_as: the same for the draft model. What was measured is still told under the preset's own names.

    Raises:
        PlaygroundError: no such target, an option it does not have, a name of no model, or a preset it cannot run.
    """
    module = _exporter(target)
    preset = served(preset.model_copy(update={"config": explicit(preset.config)}), model_as, draft_as)
    if target != OURS:
        must_be_shown(preset)
    where = Sentence("the options of export target {target}", target=target)
    has = hasattr(module, "Options")
    chosen = (checked(module.Options, options or {}, where=where),) if has else ()
    if not has:
        checked(_NoOptions, options or {}, where=where)
    try:
        export: Export = module.export(preset, *chosen)
    except PlaygroundError as error:
        half = _model_half(preset) if error.code == "not_expressible" else None
        if half is None:
            raise
        try:
            export = module.export(half, *chosen)
        except PlaygroundError as other:
            raise _of_hybrid(other) from None
    return replace(export, notes=(*verdict(preset), *export.notes))


def _of_hybrid(error: PlaygroundError) -> PlaygroundError:
    """A refusal of the model's half, under the method that the preset has."""
    said = error.message
    if not isinstance(said, Sentence) or "method" not in said.params:
        return error
    return PlaygroundError(said.filled(**{**said.params, "method": HYBRID}), error.hint, code=error.code)


def _model_half(preset: Preset) -> Preset | None:
    """What a server that has no hybrid method can run of one: its model, or head, alone."""
    spec = preset.config.speculation
    if spec is None or spec.method != HYBRID or spec.model is None:
        return None
    measured = next((name for field, name, _ in names_measured(preset) if field == "speculation.model"), spec.model)
    folder = Path(model_paths(load_settings()).get(measured, measured))
    # What is not on this machine, as with a preset from elsewhere, is known by its name alone.
    is_head = head_config(folder) is not None or (not folder.exists() and "eagle3" in measured.lower())
    method = "eagle3" if is_head else "draft_model"
    options = discover(drafters.PACKAGE)[method].Drafter.Options
    return model_half(preset, method, frozenset(options.model_fields))


def files_there(export: Export, path: Path) -> dict[str, str]:
    """The texts that an earlier export left in a folder or zip, of the files that `export` has too.

    Raises:
        PlaygroundError: nothing is there, or it cannot be read: then nothing is known of what differs.
    """
    if is_zip(path):
        return _files_in_zip(export, path)
    try:
        there = {entry.name for entry in path.iterdir()}
    except OSError as error:
        raise PlaygroundError(
            Sentence("{path} cannot be compared with: {why}.", path=path, why=error.strerror or error),
            Sentence("Name the folder or .zip of an earlier export by --out."),
            code="bad_file",
        ) from None
    return {name: decode(str(path / name), read_file(path / name)) for name in export.files if name in there}


def _files_in_zip(export: Export, path: Path) -> dict[str, str]:
    content, found = io.BytesIO(read_file(path, limit=_LARGEST_ZIP)), dict[str, str]()
    try:
        with zipfile.ZipFile(content) as archive:
            for name in [name for name in archive.namelist() if name in export.files]:
                with archive.open(name) as file:
                    found[name] = decode(f"{path}, {name}", file.read(MAX_BYTES + 1))
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        # The last two: it wants a password, or is packed in a way that this Python does not know.
        raise PlaygroundError(
            Sentence("{path} cannot be read as a zip: {why}.", path=path, why=error),
            Sentence("Name the folder or .zip of an earlier export by --out."),
            code="bad_file",
        ) from None
    return found


def changes(before: Mapping[str, str], export: Export) -> str:
    """What differs from files there were, as a unified diff; "" where nothing does."""
    parts = []
    for name, text in export.files.items():
        old = before.get(name, "")
        lines = difflib.unified_diff(old.splitlines(), text.splitlines(), f"before/{name}", f"now/{name}", lineterm="")
        parts += [line + "\n" for line in lines]
    return "".join(parts)


def export_dict(export: Export) -> dict[str, Any]:
    """JSON of an export, files included."""
    return asdict(export)


def import_file(path: Path, *, keep_lossy: bool = False) -> Imported:
    """A preset from any file some importer recognises; a file that a command names is read from the same folder.

    Raises:
        PlaygroundError: naming file, line and key; with code "changes_output" for a setting that changes what comes
            out, unless `keep_lossy`.
    """
    return import_text(str(path), read_file(path), keep_lossy=keep_lossy, beside=_Folder(path.parent))


def import_text(
    name: str,
    content: bytes | str,
    *,
    keep_lossy: bool = False,
    beside: Mapping[str, bytes | str] | None = None,
) -> Imported:
    """The same from memory; `name` stands in errors, and its ending helps to recognise the dialect.

    `beside` holds other files that came along, by name: a command may speak of one.
    """
    data, written = _data(name, content)
    if _is_request(data):
        raise PlaygroundError(
            Sentence("{name}: this is a request to a server, not the configuration of one.", name=name),
            Sentence("Import the server's file that was written beside it."),
            code="unknown_format",
        )
    for module in discover(importers.PACKAGE).values():
        if module.recognises(name, data):
            more = {}
            if hasattr(module, "refers") and (wanted := module.refers(name, data)):
                more = {"beside": _other(wanted, written, {} if beside is None else beside)}
            imported: Imported = module.read(name, data, keep_lossy=keep_lossy, **more)
            return imported
    titles = ", ".join(module.TITLE for module in discover(importers.PACKAGE).values())
    raise PlaygroundError(
        Sentence("{name}: this is no configuration we can read.", name=name),
        Sentence("Known are: {titles}.", titles=titles),
        code="unknown_format",
    )


def import_together(files: Mapping[str, bytes | str], *, keep_lossy: bool = False) -> Imported:
    """The preset of several files that belong together: of the one that speaks of another, else of the first."""
    for name, content in files.items():
        data, _ = _data(name, content)
        for module in discover(importers.PACKAGE).values():
            wanted = module.refers(name, data) if hasattr(module, "refers") and module.recognises(name, data) else None
            if wanted and _bare(wanted) in files:
                return import_text(name, content, keep_lossy=keep_lossy, beside=files)
    servers = [name for name, content in files.items() if not _is_request(_data(name, content)[0])]
    name = next(iter(servers or files))
    return import_text(name, files[name], keep_lossy=keep_lossy, beside=files)


def _is_request(data: object) -> bool:
    """Whether it is the body of one completion, as exports write it beside a server's file."""
    return isinstance(data, dict) and "model" in data and bool({"messages", "prompt"} & data.keys())


class _Folder(Mapping[str, bytes]):
    """The files of one folder, read when asked for; nothing outside it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getitem__(self, name: str) -> bytes:
        path = self._path / name
        if not path.is_file():
            raise KeyError(name)
        return read_file(path)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _bare(path: str) -> str:
    """A file's name without its folder, whatever system wrote it."""
    return PurePosixPath(path.replace("\\", "/")).name


def _other(wanted: str, *places: Mapping[str, bytes | str]) -> object:
    """The data of a file that a command names, by its bare name, from the first that has it; None where none has."""
    name = _bare(wanted)
    for files in places:
        if name in files:
            return _parse(name, decode(name, files[name]))
    return None


def _data(name: str, content: bytes | str) -> tuple[object, dict[str, str]]:
    """A file's data, and the files that it writes itself, as a script does with `cat > file <<EOF`."""
    text, written = bare(name, decode(name, content))
    return _parse(name, text), written


def _parse(name: str, text: str) -> object:
    """Data where it is YAML or JSON; the text itself where an importer reads it as code (a command, a snippet)."""
    if not text.strip():
        raise PlaygroundError(
            Sentence("{name} is empty.", name=name), Sentence("Check that this is the right file."), code="bad_file"
        )
    lower = name.lower()
    if lower.endswith(".json") or (text.lstrip().startswith("{") and not lower.endswith((".yaml", ".yml"))):
        return parse_json(name, text)
    if lower.endswith((".yaml", ".yml")) or not _is_code(name, text):
        documents = parse_documents(name, text)
        return documents[0] if len(documents) == 1 else documents
    return text


def _is_code(name: str, text: str) -> bool:
    """Whether some importer takes the bare text; endings of code decide it alone."""
    if name.lower().endswith(_CODE):
        return True
    return any(module.recognises(name, text) for module in discover(importers.PACKAGE).values())


def _exporter(target: str) -> ModuleType:
    return extension(exporters.PACKAGE, target, Sentence("export target"))


class _NoOptions(BaseModel, extra="forbid"):
    pass
