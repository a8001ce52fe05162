"""What the variables of a shell text stand for, line by line, and so its words. Nothing is run.

A variable is filled in where the text itself sets it on every way there is to its use. What an `if`, a loop, `&&` or a
function may or may not have set stands for nothing: a command that needs it is refused.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from playground.errors import PlaygroundError
from playground.importers._shell import Piece, Redirect, Sign, Word, quoted_pieces, tokens
from playground.sentence import Sentence


class Marked(str):
    """A word, and what is to be raised where it is part of a command that matters."""

    refusal: PlaygroundError | None = None


class Operator(Marked):
    """A word that the shell keeps for itself: a line's end, `;`, `&&`, `|`."""


class Script(NamedTuple):
    """A shell text: its words, and by their bare names the files that it writes with `cat > file <<EOF`."""

    words: list[str]
    files: dict[str, str]


def script(name: str, text: str) -> Script:
    """The words of a text with its variables filled in; what ends a command is an `Operator`.

    Raises:
        PlaygroundError: what `tokens` raises.
    """
    flow = _Flow(name)
    for token in tokens(name, text):
        flow.take(token)
    flow.end_of_command()
    _mark_stray_flags(name, flow.found)
    return Script(flow.found, flow.files)


def _mark_stray_flags(name: str, found: list[str]) -> None:
    """A line that begins with a flag is the rest of a command whose line before does not go on."""
    stray = ""
    for word in reversed(found):
        if not isinstance(word, Operator) or word != "\n":
            stray = word if re.match(r"--?[A-Za-z]", word) and not isinstance(word, Operator) else ""
        elif stray:
            word.refusal = PlaygroundError(
                Sentence("{name}: the command ends before {flag}, which begins a line of its own.", name=name,
                         flag=stray[:60]),
                Sentence("End every line of the command but its last in a backslash, with no blank line or comment "
                         "between."),
                code="bad_file",
            )  # fmt: skip


_SET = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=")
_NAMED = re.compile(r"\$\{(\w+|[@*])(\[[@*]\])?(?:(:?[-=+?])(.*))?\}", re.DOTALL)
_HEREDOC = re.compile(r"\$\(\s*cat[ \t]+<<-?[ \t]*(['\"]?)(\w+)\1[ \t]*\r?\n(.*?)[ \t]*\2\s*\)", re.DOTALL)
_OPENS = ("if", "while", "until", "for", "select", "case")
_LOOPS = ("while", "until", "for", "select")
_CLOSES = ("fi", "done", "esac")
_PASSED = ("then", "do", "!", "time")
_DECLARES = ("export", "declare", "readonly", "local", "typeset")
_READS = ("read", "unset", "mapfile", "readarray", "getopts", "let", "printf")

_Value = list[str] | None
"""What a variable stands for; None where that hangs on the way taken."""


@dataclass(slots=True)
class _Frame:
    """A part of the text that may not be run, or not once: `before` is what it has changed, as it was."""

    kind: str
    before: dict[str, _Value | str] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)


_UNSET = "unset"


class _Flow:
    def __init__(self, name: str) -> None:
        self.name = name
        self.found: list[str] = []
        self.files: dict[str, str] = {}
        self._values: dict[str, _Value] = {}
        self._frames: list[_Frame] = []
        self._command: list[str] = []
        self._waiting: list[tuple[str, _Value, bool]] = []
        self._redirects: list[Redirect] = []
        self._declares = self._function = False
        self._goes_on = False
        self._counts = False
        """Whether some variable is declared a number, to which `+=` adds."""

    def take(self, token: Word | Sign | Redirect) -> None:
        if isinstance(token, Redirect):
            self._redirects.append(token)
        elif isinstance(token, Sign):
            self._sign(token.text)
        else:
            self._goes_on = False
            self._word(token)

    # -- commands -----------------------------------------------------------------------------------------------------

    def _word(self, word: Word) -> None:
        if not self._command and not self._waiting and not self._declares and self._keyword(word.plain):
            self.found.append(word.plain)
            return
        if not self._command and (match := _SET.match(word.pieces[0].text)) and not any(word.pieces[0][1:]):
            value = self._assigned(word, match.end())
            # One element of a list is set: what the others are then, nobody counts here.
            self._waiting.append((match[1], None if match[2] else value, bool(match[3])))
            if word.items is None and value is not None:
                text = match[0] + value[0]
                sure = all(frame.kind in ("group", "&&") for frame in self._frames)
                self.found.append(text if sure else self._doubtful(text, match[1]))
            return
        fields = self._expanded(word)
        self.found += fields
        if not self._command and not self._declares and word.plain in _DECLARES:
            self._declares = True
        elif self._declares and re.match(r"-[a-zA-Z]*i", word.plain):
            self._counts = True
        elif not self._declares:
            self._command += fields

    def _keyword(self, plain: str) -> bool:
        """Whether a word at a command's beginning is one that groups commands; it takes effect here."""
        if self._frames and self._frames[-1].kind == "name":
            self._frames[-1].kind = "for"
            self._put(plain, None)
            return False
        if self._function and plain != "{":
            return True  # the name behind `function`
        if plain in _OPENS:
            self._enter("name" if plain in ("for", "select") else plain)
        elif plain in ("else", "elif"):
            self._branch()
        elif plain == "function":
            self._function = True
            return True
        elif plain == "{":
            self._enter("function" if self._function else "group")
        elif plain in _CLOSES or plain == "}":
            self._leave(("group", "function") if plain == "}" else (*_OPENS, "name"))
        elif plain not in _PASSED:
            return False
        self._function = False
        return True

    def _sign(self, sign: str) -> None:
        if sign == "\n" and self._goes_on:
            return  # `&&` at a line's end
        self._goes_on = sign in ("&&", "||", "|", "|&")
        if sign == "()":
            self._function, self._command = True, []
        function = self._function
        self.end_of_command()
        self._function = function and sign in ("()", "\n")
        self.found.append(Operator(sign))
        if sign == "&&":
            if self._kind() not in ("&&", "||"):
                self._enter("&&")
            return
        if sign in ("|", "|&"):
            return
        while self._kind() in ("&&", "||"):
            self._close()
        if self._kind() == "name":
            self._frames[-1].kind = "for"
        if sign == "||":
            self._enter("||")
        elif sign == "(":
            self._enter("(")
        elif sign == ")":
            self._leave(("(",))
        elif sign.startswith("(("):
            self._forget(re.findall(r"[A-Za-z_]\w*", sign) if re.search(r"=|\+\+|--", sign) else [])
        elif sign in (";;", ";&", ";;&"):
            self._branch()

    def end_of_command(self) -> None:
        """Sets what it sets. `NAME=value program` sets it for the program alone."""
        if not self._command:
            for name, value, appends in self._waiting:
                self._assign(name, value, appends)
        command, redirects = self._command, self._redirects
        self._waiting, self._command, self._redirects, self._declares = [], [], [], False
        if command[:2] == ["set", "--"]:
            self._put("@", command[2:])
        elif command[:1] == ["shift"]:
            self._put("@", None)
        elif command and command[0] in _READS and (command[0] != "printf" or command[1:2] == ["-v"]):
            self._forget([found[0] for word in command[1:] if (found := re.match(r"[A-Za-z_]\w*", word))])
        elif any(redirect.body is not None for redirect in redirects):
            self._keep_file(command, redirects)

    def _keep_file(self, command: list[str], redirects: list[Redirect]) -> None:
        command = command[1:] if command[:1] == ["sudo"] else command
        outputs = [redirect for redirect in redirects if redirect.sign in (">", ">>", ">|", "1>") and redirect.target]
        targets = [self._expanded(redirect.target) for redirect in outputs if redirect.target]
        if command[:1] == ["tee"]:
            targets = [[word] for word in command[1:] if not word.startswith("-")]
        elif command != ["cat"]:
            return
        body = next(redirect.body for redirect in redirects if redirect.body is not None)
        text = " ".join(self._expanded(Word(body))) if body else ""
        appends = "-a" in command or any(redirect.sign == ">>" for redirect in outputs)
        for target in targets:
            bare = target[0].rsplit("/", 1)[-1] if target else ""
            self.files[bare] = (self.files.get(bare, "") if appends else "") + text

    # -- what may not be run ------------------------------------------------------------------------------------------

    def _kind(self) -> str:
        return self._frames[-1].kind if self._frames else ""

    def _enter(self, kind: str) -> None:
        self._frames.append(_Frame(kind))
        if kind == "function":
            self._put("@", _UNSET)

    def _branch(self) -> None:
        """Another way through the same part begins where the first did."""
        if self._frames:
            self._undo(self._frames[-1])

    def _undo(self, frame: _Frame) -> None:
        for name, old in frame.before.items():
            if self._values.get(name, _UNSET) != old:
                frame.changed.add(name)
            self._restore(name, old)

    def _leave(self, kinds: tuple[str, ...]) -> None:
        while self._kind() in ("&&", "||"):
            self._close()
        if self._kind() in kinds:
            self._close()

    def _close(self) -> None:
        frame = self._frames.pop()
        now = {name: self._values.get(name, _UNSET) for name in frame.before}
        self._undo(frame)
        for name in now:
            if frame.kind == "group":
                self._put(name, now[name])
            elif name in frame.changed and frame.kind != "(" and name != "@":
                self._put(name, None)

    def _put(self, name: str, value: _Value | str) -> None:
        if self._frames:
            self._frames[-1].before.setdefault(name, self._values.get(name, _UNSET))
        self._restore(name, value)

    def _restore(self, name: str, value: _Value | str) -> None:
        if isinstance(value, str):
            self._values.pop(name, None)
        else:
            self._values[name] = value

    def _forget(self, names: list[str]) -> None:
        """What something else than a plain `NAME=value` sets."""
        for name in names:
            self._put(name, _UNSET)

    def _assign(self, name: str, value: _Value, appends: bool) -> None:
        old = self._values.get(name, [])
        if appends and (old is None or self._counts or any(frame.kind in _LOOPS for frame in self._frames)):
            value = None
        elif appends and value is not None and old is not None:
            value = [*old, *value] if isinstance(value, _Items) else ["".join([*old[:1], *value]), *old[1:]]
        self._put(name, value)

    # -- what words stand for -----------------------------------------------------------------------------------------

    def _assigned(self, word: Word, start: int) -> _Value:
        """The value of `NAME=value`, which no shell splits, or of `NAME=(...)`."""
        if word.items is not None:
            items = _Items(text for item in word.items for text in self._expanded(item))
            return None if any(isinstance(item, Marked) for item in items) else items
        first = word.pieces[0]
        rest = (Piece(first.text[start:], quoted=True), *(Piece(p.text, True, p.filled) for p in word.pieces[1:]))
        fields = self._expanded(Word(rest))
        return None if any(isinstance(text, Marked) for text in fields) else [" ".join(fields)]

    def _expanded(self, word: Word) -> list[str]:
        """A word as the words it becomes: none, one or several."""
        fields: list[str] = []
        now: str | None = None
        doubtful = ""
        for piece in word.pieces:
            values, splits = ([piece.text], False)
            if piece.filled:
                values, splits, unsure = self._filled(piece)
                doubtful = doubtful or unsure
            if not splits:
                for position, value in enumerate(values):
                    if position:
                        fields.append(now or "")
                        now = None
                    now = (now or "") + value
                continue
            text = " ".join(values)
            parts = text.split()
            if text[:1].isspace() and now is not None:
                fields.append(now)
                now = None
            for position, part in enumerate(parts):
                if position:
                    fields.append(now or "")
                    now = None
                now = (now or "") + part
            if parts and text[-1:].isspace() and now is not None:
                fields.append(now)
                now = None
        if now is not None:
            fields.append(now)
        return [self._doubtful(text, doubtful) for text in fields] if doubtful else fields

    def _doubtful(self, text: str, variable: str) -> Marked:
        word = Marked(text)
        word.refusal = PlaygroundError(
            Sentence("{name}: the variable {variable} is set in more than one way, and nothing here says which holds.",
                     name=self.name, variable=variable[:60]),
            Sentence("Put its value there."),
            code="bad_file",
        )  # fmt: skip
        return word

    def _filled(self, piece: Piece) -> tuple[list[str], bool, str]:
        """(what a piece stands for, whether it is split at its spaces, the variable that may be this or that)."""
        text = piece.text if piece.text[1:2] in ("{", "(") or piece.text[0] == "`" else f"${{{piece.text[1:]}}}"
        if match := _HEREDOC.fullmatch(text):
            body = match[3] if match[1] else " ".join(self._expanded(Word(quoted_pieces(self.name, match[3]))))
            return [body.rstrip("\n")], not piece.quoted, ""
        match = _NAMED.fullmatch(text)
        # `$NAME` is shown with its braces, so that it is told from a dollar in quotes.
        shown = [text if re.match(r"\$\{\w", text) else piece.text]
        if match is None:
            return shown, False, ""
        name, how, other = "@" if match[1] == "*" else match[1], match[3] or "", match[4] or ""
        value = self._values.get(name)
        if value is None and name in self._values:
            return shown, False, piece.text
        empty = value is not None and not any(value)
        if (how[-1:] in "-=" and how and (value is None or (how[0] == ":" and empty))) or (
            how[-1:] == "+" and value is not None and not (how[0] == ":" and empty)
        ):
            found = self._other(other, piece.quoted)
            if how[-1] == "=" and not found[2]:
                self._put(name, [" ".join(found[0])])
            return found
        if how[-1:] == "+":
            # Whatever a list that nobody sets is, it is not handed over from outside.
            return ([], True, "") if match[2] or value is not None else (shown, False, "")
        if value is None:
            return shown, False, ""
        if match[2] or name == "@":
            return ([" ".join(value)] if match[1] == "*" and piece.quoted else value), not piece.quoted, ""
        return (shown, False, "") if len(value) > 1 else (value or [""], not piece.quoted, "")

    def _other(self, text: str, quoted: bool) -> tuple[list[str], bool, str]:
        """The text behind `:-` or `:+`."""
        in_quotes = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
        pieces = quoted_pieces(self.name, text[1:-1] if in_quotes else text)
        found = self._expanded(Word(pieces))
        unsure = next((word for word in found if isinstance(word, Marked)), "")
        return found, not quoted and not in_quotes, unsure


class _Items(list[str]):
    """The words of a list in brackets: what is added to it are words more, and not letters."""
