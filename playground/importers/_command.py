"""Shell commands as words and flags. Nothing is run, no variable is filled in.

Knows quoting, line ends and comments; which flags there are is each importer's.
"""

import re
from collections.abc import Callable, Iterator

from playground.errors import PlaygroundError
from playground.sentence import Sentence

MAX_CODE = 100_000
"""Characters of a command or snippet."""

Flag = tuple[str, str | list[str] | bool]


def wrong(name: str, problem: str, hint: str) -> PlaygroundError:
    return PlaygroundError(Sentence("{name} {problem}.", name=name, problem=problem), hint, code="bad_file")


def uncommented(text: str) -> str:
    """Without the lines that are comments: what a file says about itself is not what it is."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("#", ";")))


class Operator(str):
    """A word that the shell keeps for itself: a line's end, `;`, `&&`, `|`, `>`."""

    __slots__ = ()


def words(name: str, text: str) -> list[str]:
    """The words of a shell text, quotes and comments taken away; what ends a command is an `Operator`.

    Raises:
        PlaygroundError: too long, or quotes that do not match.
    """
    if len(text) > MAX_CODE:
        raise wrong(
            name, Sentence("is longer than {most:,} characters", most=MAX_CODE), Sentence("Paste the command alone.")
        )
    return [Operator(token) if kind == "operator" else _word(name, token) for kind, token in _tokens(text)]


def _tokens(text: str) -> Iterator[tuple[str | None, str]]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup in ("operator", "word"):
            yield match.lastgroup, match[0]


_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r]|\\\r?\n)+)
    | (?P<comment>\#[^\n]*)
    | (?P<operator>\n|\d?[;&|<>]+)
    | (?P<word>(?:[^\s'"\\;&|<>]|\\\r?\n|\\.|'[^']*'|"(?:[^"\\]|\\.)*"|'[^']*\Z|"(?:[^"\\]|\\.)*\Z|\\\Z)+)
    | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
"""A comment begins a word; inside one `#` is like any letter."""

_PIECE = re.compile(
    r"""(?P<single>'[^']*') | (?P<double>"(?:[^"\\]|\\.)*") | (?P<joined>\\\r?\n) | (?P<escaped>\\.)
    | (?P<plain>[^'"\\]+) | (?P<open>.)""",
    re.VERBOSE | re.DOTALL,
)


def _word(name: str, token: str) -> str:
    """One word without its quotes."""
    parts = []
    for match in _PIECE.finditer(token):
        piece = match[0]
        match match.lastgroup:
            case "single":
                parts.append(piece[1:-1])
            case "double":
                parts.append(re.sub(r"\\(?:\r?\n|([\\\"$`]))", lambda found: found[1] or "", piece[1:-1]))
            case "escaped":
                parts.append(piece[1])
            case "plain":
                parts.append(piece)
            case "open":
                raise wrong(name, Sentence("is no shell command: no closing quotation"), Sentence("Check its quotes."))
    return "".join(parts)


def one_command(found: list[str], start: int) -> list[str]:
    """The words from `start` to where the shell begins another command."""
    end = next((i for i in range(start, len(found)) if isinstance(found[i], Operator)), len(found))
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
