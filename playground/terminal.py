"""A run in a terminal: tokens with their fates as they stream, what loading is at, and a card of figures at the end.

Model output is a stranger's word: nothing of it may move the cursor, set a title, make a link or turn the writing
direction. Knows events, metrics and rich; no runner and no store.
"""

import os
import unicodedata
from typing import IO

from rich.console import Console
from rich.text import Text

from playground.events import Event, Loading, Queued, Step, Token

STYLES = {
    "target": "",
    "accepted": "bold cyan",
    "recovered": "underline yellow",
    "bonus": "italic underline2 magenta",
    "rejected": "strike dim",
}
"""Okabe-Ito's hues as near as a terminal has them; weight, lines and slant say it without colour."""

LEGEND = (
    ("accepted", "accepted (bold)"),
    ("recovered", "recovered (underlined)"),
    ("bonus", "bonus (italic, underlined twice)"),
    ("rejected", "rejected (struck through)"),
)

_KEPT = {"\n", "\t", "\u200c", "\u200d"}
"""Line, tab, and the joiners that emoji and many scripts are written with."""


def sanitised(text: str) -> str:
    """`text` with every control, format and direction character made visible; the rest as it is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in _KEPT or not _is_hidden(c) else _visible(c) for c in text.replace("\r\n", "\n"))


def in_one_line(text: str) -> str:
    """The same for a sentence or a name: line ends and tabs are pictures too, so that none of it starts a line."""
    return sanitised(text).replace("\n", "␊").replace("\t", "␉")


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # the picture of that control character
    return f"‹U+{code:04X}›"


def console_for(stream: IO[str], *, plain: bool = False) -> Console:
    """A console on `stream`. Colours and styles only on a terminal, without NO_COLOR and not with TERM=dumb."""
    styled = not plain and stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = None if stream.isatty() else 120
    return Console(
        file=stream,
        force_terminal=styled,
        color_system="auto" if styled else None,
        no_color=not styled,
        highlight=False,
        markup=False,
        emoji=False,
        width=width,
    )


class TokenPrinter:
    """Prints a run's tokens as they come; without styles it prints the delivered text and nothing else."""

    def __init__(self, console: Console, *, rejected: bool = True) -> None:
        self.console, self.rejected = console, rejected
        self.styled = console.is_terminal
        self._at_line_start = True

    def legend(self) -> None:
        """What the styles mean, in their own styles."""
        if self.styled:
            parts = [Text(text, style=STYLES[name]) for name, text in LEGEND if self.rejected or name != "rejected"]
            self.console.print(Text("  ").join(parts))

    def step(self, step: Step) -> None:
        for token in step.in_order:
            if token.origin != "rejected":
                self._write(sanitised(token.text), STYLES[token.origin])
            elif self.rejected and self.styled:
                self._write(_one_line(token), STYLES["rejected"])

    def end(self) -> None:
        """Leaves the cursor at the start of a line."""
        if not self._at_line_start:
            self._write("\n", "")

    def _write(self, text: str, style: str) -> None:
        if not text:
            return
        self._at_line_start = text.endswith("\n")
        if self.styled:
            self.console.print(Text(text, style=style), end="", soft_wrap=True)
        else:
            self.console.file.write(text)
        self.console.file.flush()


class Progress:
    """What comes before the first token: one line that is rewritten on a terminal, a line a stage elsewhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._last = ""
        self._open = False

    def add(self, event: Event) -> None:
        if isinstance(event, Loading):
            self.say(sanitised(event.detail or event.stage).replace("\n", " "), event.fraction)
        elif isinstance(event, Queued):
            self.say(f"Waiting: {event.position} before this one")
        elif isinstance(event, Step):
            self.clear()

    def say(self, text: str, fraction: float | None = None) -> None:
        line = text if fraction is None else f"{text} {fraction:.0%}"
        if line == self._last or (
            not self.console.is_terminal and text == self._last.removesuffix(_percent(self._last))
        ):
            return
        self._last = line
        if self.console.is_terminal:
            width = max(10, self.console.width - 1)
            self.console.file.write("\r\x1b[2K" + line[:width])
            self.console.file.flush()
            self._open = True
        else:
            self.console.file.write(line + "\n")

    def clear(self) -> None:
        if self._open:
            self.console.file.write("\r\x1b[2K")
            self.console.file.flush()
        self._open, self._last = False, ""


def _percent(line: str) -> str:
    last = line.rsplit(" ", 1)[-1]
    return f" {last}" if last.endswith("%") else ""


def _one_line(token: Token) -> str:
    return sanitised(token.text).replace("\n", "↵").replace("\t", "⇥") or "□"
