"""Presets in folders: list, load, save, and make one from what was measured.

Shipped presets (`presets/*.yaml`) are read-only; a user's own lie in `settings.presets_folder` and win over a shipped
one of the same name. A preset's name is its file's name. Knows no page and no command line.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from playground import engines
from playground.config import Preset, RunConfig, config_error
from playground.errors import PlaygroundError
from playground.evidence import evidence_of
from playground.exporters.preset import preset_yaml
from playground.importers import preset as preset_file
from playground.importers._text import read_file, user_path
from playground.importers._yaml import parse_yaml
from playground.registry import discover
from playground.sentence import Sentence
from playground.settings import Settings

if TYPE_CHECKING:
    from storage.store import Store

DEFAULT = "default"
"""What the page opens with and the command line starts from."""

_LONGEST_NAME = 64
_NAME = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{_LONGEST_NAME - 1}}}")
_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class PresetFile:
    """One preset of a folder; `preset` is None where the file is wrong, and `error` says why."""

    name: str
    path: Path
    own: bool
    preset: Preset | None
    error: PlaygroundError | None = None

    @property
    def description(self) -> str:
        return self.preset.description if self.preset else str(self.error)


def list_presets(settings: Settings) -> list[PresetFile]:
    """Every preset, the default first, then by name. A broken file is listed with its error, never hidden."""
    found = {path.stem: (path, own) for path, own in _files(settings)}
    entries = [_entry(name, *found[name]) for name in sorted(found)]
    return sorted(entries, key=lambda entry: entry.name != DEFAULT)


def load_preset(name_or_path: str | Path, settings: Settings) -> Preset:
    """A preset by name, or by path where there is a slash or a .yaml ending.

    For names typed by strangers use `named_preset`, which reads no path.

    Raises:
        PlaygroundError: there is none, or the file is wrong: with file, line and key.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or os.sep in text or text.endswith(_SUFFIXES):
        return _read(user_path(text))
    return named_preset(text, settings)


def named_preset(name: str, settings: Settings) -> Preset:
    """A preset by name only."""
    found = {path.stem: path for path, _ in _files(settings)}
    if name not in found:
        known = ", ".join(sorted(found)) or Sentence("none yet")
        raise PlaygroundError(
            Sentence("There is no preset called “{name}”.", name=name[:64]),
            Sentence("Choose one of: {known}; or give the path of a .yaml file.", known=known),
            code="unknown_preset",
        )
    return _read(found[name], name)


def save_preset(preset: Preset, settings: Settings, overwrite: bool = False) -> Path:
    """Write to the user's own folder, whole or not at all.

    Raises:
        PlaygroundError: the name is taken (without `overwrite`), or the folder cannot be written.
    """
    folder = settings.presets_folder
    path = folder / f"{preset.name}.yaml"
    if not overwrite and any(preset.name == taken.stem for taken, _ in _files(settings)):
        raise _taken(preset.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, preset_yaml(preset), overwrite=overwrite)
    except OSError as error:
        if isinstance(error, FileExistsError) and folder.is_dir():
            raise _taken(preset.name) from None
        raise PlaygroundError(
            Sentence("The preset cannot be written to {folder}: {why}.", folder=folder, why=error.strerror or error),
            Sentence("Give the folder to this user, or choose another with DRAFTBOARD_DATA=/some/folder."),
            code="unwritable",
        ) from None
    return path


def next_name(name: str) -> str:
    """The name after a name that is taken: mine -> mine-2 -> mine-3; never longer than names may be."""
    stem, dash, number = name.rpartition("-")
    if not dash or not number.isdecimal() or int(number) < 2:
        stem, number = name, "1"
    ending = f"-{int(number) + 1}"
    return stem[: _LONGEST_NAME - len(ending)] + ending


def delete_preset(name: str, settings: Settings) -> None:
    """Remove one of the user's own presets; a shipped one stays.

    Raises:
        PlaygroundError: it is no preset of the user's own.
    """
    path = next((path for path, own in _files(settings) if own and path.stem == name), None)
    if path is None:
        raise PlaygroundError(
            Sentence("There is no preset of your own called “{name}”.", name=name[:64]),
            Sentence("Shipped presets stay."),
            code="unknown_preset",
        )
    path.unlink(missing_ok=True)


def explicit(config: RunConfig) -> RunConfig:
    """`config` with its method's options all written out, so that a later change of a default changes nothing.

    Without the conversation that a run went on with: that belongs to its prompt. Where engine, method or an option is
    not known here, `config` as it is.
    """
    config = config.model_copy(update={"history": ()})
    engine, spec = discover(engines.PACKAGE).get(config.engine), config.speculation
    options = engine.Engine.methods().get(spec.method) if engine and spec else None
    if spec is None or options is None:
        return config
    try:
        written = options.model_validate(spec.options).model_dump(mode="json")
    except ValidationError:
        return config  # of another version, perhaps of vLLM: whoever runs or exports it says what is wrong
    return config.model_copy(update={"speculation": spec.model_copy(update={"options": written})})


def preset_from_run(store: "Store", run_id: str, name: str, description: str = "") -> Preset:
    """The configuration of a run (or, by a comparison's id, of its speculative run) as a preset with its evidence.

    Raises:
        PlaygroundError: no such run, it has not ended, it failed, or `name` is no preset name.
    """
    arms = store.comparison(run_id)
    row = store.run(arms.get("speculative") or arms.get("baseline") or run_id)
    if row.status in ("running", "error"):
        why = Sentence("Run {run} is still running.", run=row.run_id)
        if row.status == "error":
            reason = row.error or Sentence("no reason given")
            why = Sentence("Run {run} failed ({why}).", run=row.run_id, why=reason)
        raise PlaygroundError(why, Sentence("Choose a run that has ended."), code="nothing_measured")
    try:
        return Preset(name=name, description=description, config=explicit(row.config), evidence=evidence_of(store, row))
    except ValidationError as error:
        raise config_error(error, Sentence("the preset")) from None


def write_whole(path: Path, content: Iterable[str] | bytes, *, overwrite: bool = True, mode: int = 0o644) -> None:
    """Write text, whole or in pieces, or bytes beside and move it into place: nobody ever reads half a file.

    Raises:
        OSError: it cannot be written, or is there already (without `overwrite`).
    """
    if not overwrite:
        path.open("x").close()  # claims the name against another writer at this very moment
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                file.writelines(text.encode() for text in ([content] if isinstance(content, str) else content))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(scratch, mode)  # a scratch file is born readable by its owner alone
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        if not overwrite:
            path.unlink(missing_ok=True)
        raise


def _files(settings: Settings) -> Iterator[tuple[Path, bool]]:
    """(file, whether it is the user's own), shipped ones first, so that in a dict by name the user's own win."""
    for folder, own in ((settings.shipped_presets, False), (settings.presets_folder, True)):
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue  # a first start has no folder of its own yet
        yield from ((e, own) for e in entries if e.suffix in _SUFFIXES and not e.name.startswith("."))


def _entry(name: str, path: Path, own: bool) -> PresetFile:
    try:
        return PresetFile(name, path, own, _read(path, name))
    except PlaygroundError as error:
        return PresetFile(name, path, own, None, error)


def _read(path: Path, name: str | None = None) -> Preset:
    """The preset of a file; called `name` where it was found by name."""
    preset = preset_file.load(str(path), parse_yaml(str(path), read_file(path)))
    if name is None or name == preset.name:
        return preset
    if not _NAME.fullmatch(name):
        raise PlaygroundError(
            Sentence("{path}: a preset's file name may hold only a-z, 0-9, dot, dash and underscore.", path=path),
            Sentence("Rename the file."),
            code="bad_config",
        )
    return preset.model_copy(update={"name": name})


def _taken(name: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("There is already a preset called “{name}”.", name=name),
        Sentence("Choose another name, or overwrite it."),
        code="name_taken",
    )
