"""Importers: production configs back into presets. One file = one dialect; this file is only their protocol."""

from dataclasses import dataclass
from typing import Protocol

from playground.config import Preset
from playground.sentence import Sentence

PACKAGE = __name__


@dataclass(frozen=True, slots=True)
class Imported:
    """A preset and every rewrite made to bring the file up to date, one sentence each."""

    preset: Preset
    rewrites: tuple[Sentence, ...] = ()


class Importer(Protocol):
    """What every module of this package provides."""

    TITLE: str

    def recognises(self, name: str, data: object) -> bool:
        """Whether parsed `data` (of file `name`) has this dialect's shape."""

    def read(self, name: str, data: object, *, keep_lossy: bool = False) -> Imported:
        """`data` as a preset; `keep_lossy` lets settings pass that change the output.

        Raises PlaygroundError naming file and key. A module that also has `refers(name, data)`, the name of a file that
        a command reads, takes that file's data as `beside`.
        """
