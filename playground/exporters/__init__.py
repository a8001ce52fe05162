"""Exporters: a preset as the files of a production system. One file = one system; this file is only their protocol."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from playground.config import Preset
from playground.sentence import Sentence

PACKAGE = __name__

SCHEMA = Sentence("our schema")
"""What looks at most exports before anyone sees them."""

LossLevel = Literal["dropped", "approximated", "changes-output", "needs-input"]


@dataclass(frozen=True, slots=True)
class Loss:
    """One field of the preset that the target system cannot take as it is."""

    field: str
    level: LossLevel
    reason: str
    """A `Sentence` where the page shall say it in the reader's language."""


@dataclass(frozen=True, slots=True)
class Export:
    """Files (name -> text), the command that starts the server with them, what could not be said, valid versions."""

    files: dict[str, str]
    command: str
    losses: tuple[Loss, ...] = ()
    versions: str = ""
    checked_by: str = ""
    """What held the files against the system's rules while they were made, in words: "our schema"."""
    written: dict[str, str] = field(default_factory=dict)
    """Field of the preset -> the key that says it, or why none has to; with `losses` it covers every field."""
    notes: tuple[str, ...] = ()
    """What else to know, most important first: what the measurement comes to, and what a value means for a server.
    Sentences with their full stops."""


class Exporter(Protocol):
    """What every module of this package provides.

    A module with choices also has `Options`, a pydantic model whose fields make controls and flags; its `export` takes
    an instance of it as a second argument, None meaning the defaults.
    """

    TITLE: str

    def export(self, preset: Preset) -> Export:
        """Raises PlaygroundError when the system cannot run the preset at all, with the reason."""
