"""Shell commands as words and flags. Nothing is run; a variable is filled in where the text itself sets it.

Knows quoting, line ends and comments; which flags there are is each importer's.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping

from playground.errors import PlaygroundError
from playground.importers._values import refuse_variable, variable_in
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

    `$NAME` and its like are filled in where the text sets NAME before, or gives a default; the others stay.

    Raises:
        PlaygroundError: too long; quotes or brackets that do not match; a line that only seems to go on.
    """
    if len(text) > MAX_CODE:
        raise wrong(
            name, Sentence("is longer than {most:,} characters", most=MAX_CODE), Sentence("Paste the command alone.")
        )
    found: list[str] = []
    variables = _Variables()
    for kind, token, at_end in _tokens(text):
        if kind == "operator":
            if not variables.open:
                variables.end_of_command()
                found.append(Operator(token))
            continue
        if at_end and _SPACED.search(token):
            raise wrong(
                name,
                Sentence("has a space behind the backslash at a line's end, so that the command ends there"),
                Sentence("Remove the space."),
            )
        filled = _words(name, token, variables)
        if not variables.sees(token, filled):
            found += filled
    if variables.open:
        raise wrong(name, Sentence("opens a list in brackets and does not close it"), Sentence("Check its brackets."))
    return found


_SPACED = re.compile(r"(?:^|[^\\])(?:\\\\)*\\[ \t]$")
_LIST = re.compile(r"([A-Za-z_]\w*)=\(")
_SET = re.compile(r"([A-Za-z_]\w*)=")
_ALL = re.compile(r"\"?\$\{(\w+)\[[@*]\]\}\"?|\$(?:(\w+)|\{(\w+)\})")
"""A whole word that stands for several: a list, or a variable without quotes, which a shell splits at its spaces."""

_KEYWORDS = ("then", "else", "do", "{", "(", "&&", "!")
_DECLARES = ("export", "declare", "readonly", "local", "typeset")


class _Variables:
    """What a text sets as it goes. One that is set to two different values is none: which of them, the flow decides."""

    def __init__(self) -> None:
        self.values: dict[str, list[str] | None] = {}
        self.open: str | None = None
        """The name of the list whose closing bracket has not come."""
        self._waiting: dict[str, list[str]] = {}
        self._declares = self._runs = False

    def end_of_command(self) -> None:
        for name, value in self._waiting.items():
            self.values[name] = value if self.values.get(name, value) == value else None
        self._waiting, self._declares, self._runs = {}, False, False

    def sees(self, token: str, filled: list[str]) -> bool:
        """The next word; whether it belongs to a list, which is no part of a command."""
        if self.open is None and not self._runs and (begin := _LIST.match(token)):
            self.open, self._waiting[begin[1]] = begin[1], []
            filled = [word.partition("(")[2] for word in filled[:1]] + filled[1:]
        if self.open is not None:
            closed = token.endswith(")")
            kept = [word.removesuffix(")") if closed else word for word in filled]
            self._waiting[self.open] += [word for word in kept if word]
            self.open = None if closed else self.open
            return True
        if not self._runs and (found := _SET.match(token)):
            self._waiting[found[1]] = ["".join(filled).partition("=")[2]]
        elif not self._runs and not self._declares and token in _DECLARES:
            self._declares = True
        elif not self._declares and token not in _KEYWORDS:
            # `NAME=value program`: it is set for the program alone, and not in what this line says.
            self._runs, self._waiting = True, {}
        return False


def _tokens(text: str) -> Iterator[tuple[str | None, str, bool]]:
    """(kind, text, whether the line holds nothing behind it)."""
    for match in _TOKEN.finditer(text):
        if match.lastgroup in ("operator", "word"):
            yield match.lastgroup, match[0], text[match.end() : match.end() + 1] in ("\n", "\r", "")


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


_NAMED = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?[-=]([^{}]*))?\})")
_IN_QUOTES = re.compile(r"\\(?:\r?\n|([\\\"$`]))|" + _NAMED.pattern)


def _words(name: str, token: str, variables: _Variables) -> list[str]:
    """What a word stands for: itself without quotes and with its variables, or several."""
    if whole := _ALL.fullmatch(token):
        values = variables.values.get(whole[1] or whole[2] or whole[3])
        if values is not None:
            return values if whole[1] else " ".join(values).split()
    return [_word(name, token, variables.values)]


def _filled(match: re.Match[str], plain: str | None, braced: str | None, default: str | None,
            values: Mapping[str, list[str] | None]) -> str:  # fmt: skip
    found = values.get(plain or braced or "")
    if found is not None:
        return " ".join(found)
    if default is not None:
        return default
    return match[0] if plain is None else f"${{{plain}}}"  # so that it is told from a dollar in quotes


def _word(name: str, token: str, values: Mapping[str, list[str] | None]) -> str:
    """One word without its quotes."""

    def named(found: re.Match[str]) -> str:
        return _filled(found, found[1], found[2], found[3], values)

    def in_quotes(found: re.Match[str]) -> str:
        return found[1] or "" if found[0][0] == "\\" else _filled(found, found[2], found[3], found[4], values)

    parts = []
    for match in _PIECE.finditer(token):
        piece = match[0]
        match match.lastgroup:
            case "single":
                parts.append(piece[1:-1])
            case "double":
                parts.append(_IN_QUOTES.sub(in_quotes, piece[1:-1]))
            case "escaped":
                parts.append(piece[1])
            case "plain":
                parts.append(_NAMED.sub(named, piece))
            case "open":
                raise wrong(name, Sentence("is no shell command: no closing quotation"), Sentence("Check its quotes."))
    return "".join(parts)


def one_command(found: list[str], start: int) -> list[str]:
    """The words from `start` to where the shell begins another command."""
    end = next((i for i in range(start, len(found)) if isinstance(found[i], Operator)), len(found))
    return found[start:end]


MANY = 1_000_000
_ALONE = ("enable_", "disable_", "no_", "skip_", "use_")
_REST = ("$@", "$*", "${@}", "${*}")


def plain(flag: str) -> str:
    """A flag as the key it sets, with underscores."""
    return flag.lstrip("-").replace("-", "_")


def is_flag(word: str) -> bool:
    """Whether a word is one; -1 is a number."""
    return bool(re.match(r"--?[A-Za-z]", word))


def most_values(
    known: Container[str], *, alone: Container[str] = (), several: Container[str] = ()
) -> Callable[[str], int]:
    """How many values a flag takes at most: none, one if it is `known`, else any number (nobody says how many)."""

    def most(flag: str) -> int:
        key = plain(flag)
        if key in alone or key == "trust_remote_code" or key.startswith(_ALONE):
            return 0
        return 1 if key in known and key not in several else MANY

    return most


def flags(
    found: list[str], is_flag: Callable[[str], bool] = is_flag, most: Callable[[str], int] = lambda flag: MANY
) -> Iterator[Flag]:
    """(flag or "", value) in order: True for a flag alone, a list for several values; "" for a word without a flag.

    A flag takes as many of the words behind it as `most` says; one that takes none still takes a "true" or "false".
    """
    position = 0
    while position < len(found):
        word = found[position]
        position += 1
        if not is_flag(word):
            yield "", word
            continue
        key, equals, value = word.partition("=")
        values = [value] if equals else []
        limit = most(key)
        while not equals and position < len(found) and not is_flag(found[position]):
            if len(values) >= limit and (limit or values or found[position].lower() not in ("true", "false")):
                break
            values.append(found[position])
            position += 1
        yield key, values[0] if len(values) == 1 else values or True


def put_positional(name: str, found: dict[str, object], key: str, word: str) -> None:
    """A word without a flag: the model, once. What the caller of a script adds is kept as a key of its own, to be said.

    Raises:
        PlaygroundError: a second one, or a variable that may stand for anything.
    """
    if word in _REST:
        found[word] = True
        return
    if variable_in(word) == word:
        refuse_variable(word, name)
    if key in found and found[key] != word:
        raise wrong(
            name,
            Sentence("names two models, {first} and {second}", first=f"{found[key]!s:.60}", second=word[:60]),
            Sentence("Keep one of them."),
        )
    found[key] = word


_SERVERS = ("llama-server", "trtllm-serve", "sglang.launch_server", "vllm.entrypoints.openai.api_server")


def only_first(name: str, text: str) -> list[Sentence]:
    """What to say where a text starts several servers: only the first is read."""
    found = [word.rsplit("/", 1)[-1] for word in words(name, text)]
    count = sum(word in _SERVERS for word in found)
    count += sum(found[i : i + 2] in (["vllm", "serve"], ["sglang", "serve"]) for i in range(len(found)))
    return [Sentence("Of {n} commands only the first is read.", n=count)] if count > 1 else []
