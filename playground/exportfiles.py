"""An export's files in a folder or one zip: whole, of one writer at a time, and never over what is no file.

Knows nothing of what the files say.
"""

import fcntl
import io
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playground.errors import PlaygroundError
from playground.exporters import Export
from playground.presets import write_whole
from playground.sentence import Sentence

_UNIX = 3
"""The system whose permissions stand in a zip, whichever one it was written on."""


def is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip"


def mode_of(name: str) -> int:
    """Permissions of an exported file: scripts are there to be started."""
    return 0o755 if name.endswith(".sh") else 0o644


def write_export(export: Export, folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the files of an export into `folder` (made if needed), each whole; or all as one file `*.zip`.

    Raises:
        PlaygroundError: a file is there already (without `overwrite`), something that is no file is in the way, or
            nothing can be written there; nothing is then written.
    """
    zip_file = is_zip(folder)
    paths = [folder] if zip_file else [folder / name for name in export.files]
    try:
        if not zip_file and folder.exists() and not folder.is_dir():
            raise PlaygroundError(
                Sentence("{folder} is a file, not a folder.", folder=folder),
                Sentence("Name a folder, or a file that ends in .zip."),
                code="file_exists",
            )
        inside = paths[0].parent
        inside.mkdir(parents=True, exist_ok=True)
        with _alone(inside):
            _must_be_free(paths, overwrite)
            for path in paths:
                _remove_leavings(path)
            if zip_file:
                write_whole(folder, zipped(export))
            else:
                for path, text in zip(paths, export.files.values(), strict=True):
                    write_whole(path, text, mode=mode_of(path.name))
    except OSError as error:
        raise PlaygroundError(
            Sentence("The files cannot be written to {folder}: {why}.", folder=folder, why=error.strerror or error),
            Sentence("Choose another folder with --out."),
            code="unwritable",
        ) from None
    return paths


def zipped(export: Export) -> bytes:
    """The files of an export as one zip; the same files give the same bytes."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in export.files.items():
            entry = zipfile.ZipInfo(name)
            entry.create_system, entry.external_attr = _UNIX, (stat.S_IFREG | mode_of(name)) << 16
            archive.writestr(entry, text.encode(), zipfile.ZIP_DEFLATED)
    return memory.getvalue()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one export at a time writes into a folder; the kernel frees the lock of one that was killed."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _must_be_free(paths: list[Path], overwrite: bool) -> None:
    there = [path for path in paths if os.path.lexists(path)]
    if odd := [path for path in there if path.exists() and not path.is_file()]:
        raise PlaygroundError(
            Sentence("{path} is there and is no file.", path=odd[0]),
            Sentence("Choose another folder or name with --out."),
            code="file_exists",
        )
    if there and not overwrite:
        raise PlaygroundError(
            Sentence(
                "{folder} already holds {files}.",
                folder=paths[0].parent,
                files=", ".join(path.name for path in there),
            ),
            Sentence("Choose another folder or name, or overwrite them (--overwrite)."),
            code="file_exists",
        )


def _remove_leavings(path: Path) -> None:
    """Half-written files of an export that was killed. Only with the lock: nobody else is writing them then."""
    for old in path.parent.glob(f".{_literal(path.name)}.*"):
        if old.is_file() and len(old.name) == len(path.name) + _SCRATCH:
            old.unlink(missing_ok=True)


_SCRATCH = len(".") + len(".") + 8
"""What `write_whole` adds to a name while it writes: a dot before, a dot and eight characters behind."""


def _literal(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
