"""Extensions by discovery: one file of a package = one extension, its name = the file's name.

Knows only modules and their attributes; what an extension must look like is its package's protocol.
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from playground.errors import PlaygroundError
from playground.sentence import Sentence


@cache
def names(package: str) -> tuple[str, ...]:
    """Names of the extensions in `package` (dotted), sorted; files that begin with "_" are helpers, not extensions."""
    root = importlib.import_module(package)
    return tuple(sorted(m.name for m in pkgutil.iter_modules(root.__path__) if not m.name.startswith("_")))


@cache
def discover(package: str) -> dict[str, ModuleType]:
    """Name -> module, for every extension in `package`.

    An extension file must be light to import (its heavy library is imported where it is used), since the page lists
    extensions in a process that never touches the device.
    """
    return {name: importlib.import_module(f"{package}.{name}") for name in names(package)}


def extension(package: str, name: str, kind: str) -> ModuleType:
    """One extension by name.

    Raises:
        PlaygroundError: there is none; the hint lists those there are.
    """
    found = discover(package)
    if name not in found:
        raise PlaygroundError(
            Sentence("There is no {kind} called “{name}”.", kind=kind, name=name),
            Sentence("Choose one of: {known}.", known=", ".join(found)),
            code="unknown_extension",
        )
    return found[name]
