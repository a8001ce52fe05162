"""Shell commands as words and flags. Nothing is run, no variable is filled in.

Knows quoting, line ends and comments; which flags there are is each importer's.
"""

import io
import re
import shlex
from collections.abc import Callable, Iterator

from playground.errors import PlaygroundError

MAX_CODE = 100_000
"""Characters of a command or snippet."""

_ENDS = ("&&", "||", "|", ";", "&", ">", ">>", "\n")

Flag = tuple[str, str | list[str] | bool]


def wrong(name: str, problem: str, hint: str) -> PlaygroundError:
    return PlaygroundError(f"{name} {problem}.", hint, code="bad_file")


def uncommented(text: str) -> str:
    """Without the lines that are comments: what a file says about itself is not what it is."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("#", ";")))


def words(name: str, text: str) -> list[str]:
    """The words of a shell text; a line's end is the word "\\n".

    Raises:
        PlaygroundError: too long, or quotes that do not match.
    """
    if len(text) > MAX_CODE:
        raise wrong(name, f"is longer than {MAX_CODE:,} characters", "Paste the command alone.")
    lexer = shlex.shlex(_Lines(re.sub(r"\\\r?\n", " ", text)), posix=True, punctuation_chars=";&|<>\n")
    lexer.whitespace, lexer.whitespace_split = " \t\r", True
    try:
        return ["\n" if set(word) == {"\n"} else word for word in lexer]
    except ValueError as error:
        raise wrong(name, f"is no shell command: {str(error).lower()}", "Check its quotes.") from None


class _Lines(io.StringIO):
    """shlex skips a comment by reading its line; the line's end must stay, since it ends the command."""

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        line = super().readline(-1 if size is None else size)
        if line.endswith("\n"):
            self.seek(self.tell() - 1)
        return line


def one_command(found: list[str], start: int) -> list[str]:
    """The words from `start` to where the shell begins another command."""
    end = next((i for i in range(start, len(found)) if found[i] in _ENDS), len(found))
    return found[start:end]


def flags(found: list[str], is_flag: Callable[[str], bool]) -> Iterator[Flag]:
    """(flag or "", value) in order: True for a flag alone, a list for several values; "" for a word without a flag."""
    position = 0
    while position < len(found):
        word = found[position]
        position += 1
        if not is_flag(word):
            yield "", word
            continue
        key, equals, value = word.partition("=")
        values = [value] if equals else []
        while not equals and position < len(found) and not is_flag(found[position]):
            values.append(found[position])
            position += 1
        yield key, values[0] if len(values) == 1 else values or True
