"""A shell text as words, operators and redirects, each word in the pieces that quoting makes of it. Nothing is run.

Also read: texts for Windows, whose lines go on after `^` or a backtick. What variables stand for is `_variables`'.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from playground.errors import PlaygroundError
from playground.sentence import Sentence

MAX_CODE = 100_000
"""Characters of a command or snippet."""

MAX_DEPTH = 20
"""Substitutions inside each other."""


def wrong(name: str, problem: str, hint: str) -> PlaygroundError:
    return PlaygroundError(Sentence("{name} {problem}.", name=name, problem=problem), hint, code="bad_file")


class Piece(NamedTuple):
    """A part of a word: text as it is, or (`filled`) `$NAME`, `${...}`, `$(...)` that something is to be put for."""

    text: str
    quoted: bool = False
    filled: bool = False


class Word(NamedTuple):
    pieces: tuple[Piece, ...]
    items: "tuple[Word, ...] | None" = None
    """Of a list in brackets, `NAME=(...)`, what stands inside."""

    @property
    def plain(self) -> str:
        """The word where it is nothing but letters without quotes, so that it may be a keyword; else ""."""
        return self.pieces[0].text if len(self.pieces) == 1 and not any(self.pieces[0][1:]) else ""


class Sign(NamedTuple):
    """What ends a command or groups some: a line's end, `;`, `&&`, `|`, `(`."""

    text: str


@dataclass(slots=True)
class Redirect:
    """`> file`, `2>&1`, `<<EOF`: wherever it stands, it is no part of the command's words."""

    sign: str
    target: Word | None = None
    body: tuple[Piece, ...] | None = None
    """The lines of a `<<EOF`."""


_SPACE = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(?:<<<|<<-?|<>|>>|>\||[<>]&|[<>](?!\())|&>>?")
"""Only a redirect takes a digit before it: in `--tp 2;` the 2 is a word."""
_SIGN = re.compile(r"\n|;;&|;;|;&|;|&&|&|\|\||\|&|\||\(\([^\n()]{1,200}\)\)|\(\)|\(|\)")
_PLAIN = re.compile(r"[^\s'\"\\$`;&|<>()]+")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_LIST = re.compile(r"[A-Za-z_]\w*\+?=")
_JOINED = re.compile(r"\\\r?\n")
_SPACED = re.compile(r"\\[ \t]+(?=\r?\n|\Z)")
_BARE = re.compile(r"\$(?:\w+|[@*#?!$-])")
_BACKTICKS = re.compile(r"`(?:[^`\\]|\\.)*`", re.DOTALL)
_C_STYLE = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_STEP = re.compile(r"'[^']*'|\\.|<<-?[ \t]*['\"]?(\w+)['\"]?|[^'\"\\()<]+|.", re.DOTALL)

_WINDOWS = re.compile(r"\.exe\b|[ \t]\^[ \t]*\r?(?:\n|\Z)|[ \t]`[ \t]*\r?\n[ \t]*-")
_GOES_ON = re.compile(r"[ \t][\^`][ \t]*\r?(?:\n|\Z)")
_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*\r?$", re.MULTILINE)
"""Of a text about a command, copied with the lines around it."""
_PERCENT = re.compile(r"%(\w+)%")


def tokens(name: str, text: str) -> list[Word | Sign | Redirect]:
    """All of a shell text, comments taken away.

    Raises:
        PlaygroundError: too long; quotes or brackets that do not match; a line that only seems to go on.
    """
    if len(text) > MAX_CODE:
        raise wrong(
            name, Sentence("is longer than {most:,} characters", most=MAX_CODE), Sentence("Paste the command alone.")
        )
    text = _FENCE.sub("", text)
    if _WINDOWS.search(text) and not re.search(r"\\\r?\n", text):
        text = _from_windows(text)
    return _Scanner(name, text).tokens()


def quoted_pieces(name: str, text: str) -> tuple[Piece, ...]:
    """A text in which a shell fills in variables and leaves quotes alone: the lines of `<<EOF`, a default."""
    return tuple(_Scanner(name, text).inside(""))


def _from_windows(text: str) -> str:
    """As a POSIX shell writes it: backslashes are folders there, and `%NAME%` is a variable."""
    text = _PERCENT.sub(r"${\1}", _GOES_ON.sub(" ", text))
    return re.sub(r"'[^'\n]*'|\\(?!\")", lambda found: found[0] if found[0][0] == "'" else r"\\", text)


class _Scanner:
    def __init__(self, name: str, text: str, depth: int = 0) -> None:
        self.name, self.text, self.at, self.depth = name, text, 0, depth
        self._in_list = False

    def tokens(self) -> list[Word | Sign | Redirect]:
        found: list[Word | Sign | Redirect] = []
        waiting: list[Redirect] = []
        while self.at < len(self.text):
            token = self._token()
            if isinstance(token, Redirect) and token.sign.lstrip("0123456789") in ("<<", "<<-"):
                waiting.append(token)
            if token is not None:
                found.append(token)
            if token == Sign("\n"):
                for redirect in waiting:
                    self._read_lines(redirect)
                waiting = []
        return found

    def _token(self) -> Word | Sign | Redirect | None:
        if match := _SPACE.match(self.text, self.at) or _COMMENT.match(self.text, self.at):
            self.at = match.end()
            return None
        if match := _REDIRECT.match(self.text, self.at):
            self.at = match.end()
            if space := _SPACE.match(self.text, self.at):
                self.at = space.end()
            return Redirect(match[0], self._word())
        if match := _SIGN.match(self.text, self.at):
            self.at = match.end()
            return Sign(match[0])
        if (word := self._word()) is None:
            self.at += 1  # white space that no shell knows
        return word

    def _word(self) -> Word | None:
        pieces: list[Piece] = []
        while self.at < len(self.text):
            before = self.at
            pieces += self._pieces()
            if self.at == before:
                break
        opens = self.text[self.at : self.at + 1] == "(" and not self._in_list
        if opens and len(pieces) == 1 and _LIST.fullmatch(pieces[0].text):
            return Word(tuple(pieces), self._list())
        return Word(tuple(pieces)) if pieces else None

    def _pieces(self) -> list[Piece]:
        """The next pieces of a word; none at its end, where nothing is taken."""
        if match := _PLAIN.match(self.text, self.at):
            self.at = match.end()
            return [Piece(match[0])]
        match self.text[self.at]:
            case "'":
                end = self._find("'", self.at + 1)
                piece = Piece(self.text[self.at + 1 : end], quoted=True)
                self.at = end + 1
                return [piece]
            case '"':
                self.at += 1
                return self.inside('"') or [Piece("", quoted=True)]
            case "\\":
                return self._escaped()
            case "$":
                return self._dollar()
            case "`":
                return [self._backticks(quoted=False)]
            case "<" | ">" if self.text[self.at + 1 : self.at + 2] == "(":
                start, self.at = self.at + 1, self._closed(self.at + 2)
                return [Piece("$" + self.text[start : self.at], filled=True)]
        return []

    def _escaped(self) -> list[Piece]:
        if _SPACED.match(self.text, self.at):
            raise wrong(
                self.name,
                Sentence("has a space behind the backslash at a line's end, so that the command ends there"),
                Sentence("Remove the space."),
            )
        if match := _JOINED.match(self.text, self.at):
            self.at = match.end()
            return []
        if self.at + 1 == len(self.text):
            raise self._open_quote()
        self.at += 2
        return [Piece(self.text[self.at - 1], quoted=True)]

    def _dollar(self) -> list[Piece]:
        if match := _C_STYLE.match(self.text, self.at):
            self.at = match.end()
            return [Piece(_ESCAPE.sub(_letter, match[1]), quoted=True)]
        if self.text.startswith('$"', self.at):
            self.at += 1
            return self._pieces()
        return [self._filled(quoted=False)]

    def _filled(self, *, quoted: bool) -> Piece:
        """What begins with a dollar."""
        start = self.at
        if match := _BARE.match(self.text, start):
            self.at = match.end()
        elif self.text.startswith("${", start):
            self.at = self._closed_brace(start + 2)
        elif self.text.startswith("$(", start):
            self.at = self._closed(start + 2)
        else:
            self.at += 1
            return Piece("$", quoted=True)
        return Piece(self.text[start : self.at], quoted, filled=True)

    def _backticks(self, *, quoted: bool) -> Piece:
        match = _BACKTICKS.match(self.text, self.at)
        if match is None:
            raise self._open_quote()
        self.at = match.end()
        return Piece(match[0], quoted, filled=True)

    def inside(self, end: str) -> list[Piece]:
        """The pieces from here to the quote `end`, or to the end of the text where that is ""."""
        found: list[Piece] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == end:
                self.at += 1
                return found
            if match := _IN_QUOTES.match(self.text, self.at):
                self.at = match.end()
                found.append(Piece(match[0], quoted=True))
            elif char == "$":
                found.append(self._filled(quoted=True))
            elif char == "`":
                found.append(self._backticks(quoted=True))
            elif match := _JOINED.match(self.text, self.at):
                self.at = match.end()
            else:
                escaped = char == "\\" and self.text[self.at + 1 : self.at + 2] in ("\\", '"', "$", "`")
                self.at += 1 + escaped
                found.append(Piece(self.text[self.at - 1], quoted=True))
        if end:
            raise self._open_quote()
        return found

    def _list(self) -> tuple[Word, ...]:
        """The words of `NAME=(...)`, in as many lines as it takes."""
        self.at += 1
        self._in_list = True
        found: list[Word] = []
        while self.at < len(self.text):
            if self.text[self.at] == ")":
                self.at += 1
                self._in_list = False
                return tuple(found)
            if isinstance(token := self._token(), Word):
                found.append(token)
        raise wrong(
            self.name, Sentence("opens a list in brackets and does not close it"), Sentence("Check its brackets.")
        )

    def _closed_brace(self, at: int) -> int:
        """Where the `}` behind `${` at `at` ends."""
        depth = 1
        for match in re.compile(r"\\.|\$\{|\}|[^\\$}]+|.", re.DOTALL).finditer(self.text, at):
            depth += (match[0] == "${") - (match[0] == "}")
            if not depth:
                return match.end()
        raise self._open_bracket()

    def _closed(self, at: int) -> int:
        """Where the `)` behind `$(` at `at` ends, past the quotes and the `<<EOF` inside."""
        depth = 1
        while match := _STEP.match(self.text, at):
            at = match.end()
            if match[0] == '"':
                inner = _Scanner(self.name, self.text, self.depth + 1)
                if inner.depth > MAX_DEPTH:
                    raise self._open_bracket()
                inner.at = at
                inner.inside('"')
                at = inner.at
            elif match[1]:
                end = re.compile(rf"^[ \t]*{match[1]}[ \t]*\r?$", re.MULTILINE).search(self.text, at)
                at = end.end() if end else len(self.text)
            depth += (match[0] == "(") - (match[0] == ")")
            if not depth:
                return at
        raise self._open_bracket()

    def _read_lines(self, redirect: Redirect) -> None:
        """The lines behind, up to the one that says the redirect's target."""
        pieces = redirect.target.pieces if redirect.target else ()
        end = "".join(piece.text for piece in pieces)
        lines: list[str] = []
        while self.at < len(self.text):
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            line, self.at = self.text[self.at : stop].removesuffix("\r"), stop + 1
            line = line.lstrip("\t") if redirect.sign.endswith("-") else line
            if line == end:
                break
            lines.append(line + "\n")
        body = "".join(lines)
        literal = any(piece.quoted for piece in pieces)
        redirect.body = (Piece(body, quoted=True),) if literal else quoted_pieces(self.name, body)

    def _find(self, what: str, at: int) -> int:
        found = self.text.find(what, at)
        if found < 0:
            raise self._open_quote()
        return found

    def _open_quote(self) -> PlaygroundError:
        return wrong(self.name, Sentence("is no shell command: no closing quotation"), Sentence("Check its quotes."))

    def _open_bracket(self) -> PlaygroundError:
        return wrong(self.name, Sentence("is no shell command: no closing bracket"), Sentence("Check its brackets."))


def _letter(match: re.Match[str]) -> str:
    """What `\\n` and its like stand for inside `$'...'`."""
    if match[4]:
        return _LETTERS.get(match[4], match[4])
    code = int(match[3], 8) & 255 if match[3] else int(match[1] or match[2], 16)
    return chr(code) if code and not 0xD800 <= code < 0xE000 else ""  # no text holds a NUL or half a character
