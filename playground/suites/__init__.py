"""Suites: lists of prompts to measure with. One file = one dialect of rows; this file is only their protocol.

A reader sees one row of a file (a mapping, or a bare text) and turns it into a `Prompt`. Files, names, limits and
sampling are `_library.py`'s and `_files.py`'s. Everything read here is untrusted text; nothing of it is run.
"""

from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from playground.config import MAX_TEXT
from playground.sentence import Sentence

PACKAGE = __name__

MAX_TURNS = 32

Row = dict[str, Any]
"""One row of a file: its columns, or {"text": the line} of a text file."""


class Prompt(BaseModel):
    """One entry of a suite: a question, or the user's turns of a conversation, asked one after the other."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1, max_length=200)
    category: str = Field("", max_length=100)
    turns: tuple[str, ...] = Field(min_length=1, max_length=MAX_TURNS)

    @property
    def size(self) -> int:
        """Characters of all turns."""
        return sum(map(len, self.turns))


class Suite(BaseModel):
    """A named list of prompts, in the file's order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    prompts: tuple[Prompt, ...]

    @property
    def categories(self) -> tuple[str, ...]:
        """In order of first appearance."""
        return tuple(dict.fromkeys(prompt.category for prompt in self.prompts))


class Reader(Protocol):
    """What every file of this package defines, as functions of the module."""

    TITLE: str
    """The dialect's name, for people."""

    PRIORITY: int
    """Readers are asked in this order, the smallest first; the first that `matches` a row reads it."""

    def matches(self, row: Row) -> bool:
        """Whether a row is of this dialect, by its keys."""

    def read(self, row: Row, number: int) -> Prompt:
        """The prompt of row `number` (from 1).

        Raises:
            ValueError: a key is missing or of a wrong type; the text names it ("turns: must be a list of texts").
        """


def text_of(row: Row, key: str) -> str:
    """A row's text under `key`.

    Raises:
        ValueError: it is missing, no text, empty, or longer than a prompt may be.
    """
    value = row.get(key)
    if not isinstance(value, str):
        raise ValueError(Sentence("{key}: must be text, is {kind}", key=key, kind=kind_of(value)))
    if not value.strip():
        raise ValueError(Sentence("{key}: is empty", key=key))
    if len(value) > MAX_TEXT:
        raise ValueError(
            Sentence("{key}: has {n:,} characters, more than {most:,}", key=key, n=len(value), most=MAX_TEXT)
        )
    return value


def label_of(row: Row, *keys: str, default: str = "") -> str:
    """A short text or a number under the first of `keys` that is there."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()[:100]
        if value is not None:
            raise ValueError(Sentence("{key}: must be text or a number, is {kind}", key=key, kind=kind_of(value)))
    return default


_KINDS: dict[type, Sentence] = {
    type(None): Sentence("missing"),
    bool: Sentence("true or false"),
    int: Sentence("a number"),
    float: Sentence("a number"),
    list: Sentence("a list"),
    dict: Sentence("an object"),
    str: Sentence("text"),
}


def kind_of(value: object) -> str:
    """A JSON value's type in words."""
    return _KINDS.get(type(value), type(value).__name__)
