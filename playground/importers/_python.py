"""Python snippets as plain values: literals, and names, mappings and `dict(...)` made of them. Nothing is run.

Knows Python's grammar, no library. What is no plain value is an `Unread` with its line, for the importer to judge.
"""

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from playground.errors import PlaygroundError
from playground.importers import _command as command
from playground.importers._command import wrong
from playground.sentence import Sentence

UNREADABLE = object()
MAX_PARTS = 200_000
"""Parts of all values of a snippet, names filled in: lists of lists by name would grow without end."""
_MAX_DEPTH = 40
_CHANGES = {"update", "setdefault", "pop", "popitem", "clear", "append", "extend", "insert", "remove"}
"""Methods after which a mapping or list is no longer what it was assigned."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A keyword (or "**") whose value, written `text` in `line`, is no plain one."""

    key: str
    text: str
    line: int
    node: ast.expr

    def refused(self, name: str) -> PlaygroundError:
        """For a value without which the preset would say something else than the file."""
        what = self.text if self.key == "**" else f"{self.key}={self.text}"
        return PlaygroundError(
            Sentence(
                "{name}, line {line}: {what} is no plain value in the snippet.", name=name, line=self.line, what=what
            ),
            Sentence("Write its value there: without it the preset would say something else than the file."),
            code="bad_file",
        )

    def left_out(self) -> Sentence:
        key = self.text if self.key == "**" else self.key[:60]
        return Sentence("{key} is left out: {why}.", key=key, why=Sentence("it is no plain value in the snippet"))


def parsed(name: str, text: str) -> tuple[ast.Module, list[ast.Call]]:
    """The tree of a snippet and every call in it. Raises PlaygroundError where it is no Python."""
    if len(text) > command.MAX_CODE:
        raise wrong(
            name,
            Sentence("is longer than {most:,} characters", most=command.MAX_CODE),
            Sentence("Paste the call alone."),
        )
    try:
        tree = ast.parse(text)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    except SyntaxError as error:
        place = Sentence("{name}, line {line}", name=name, line=error.lineno) if error.lineno else name
        raise wrong(place, Sentence("is no Python"), Sentence("Paste whole statements.")) from None
    except (ValueError, RecursionError, MemoryError):
        raise wrong(name, Sentence("is nested too deeply"), Sentence("Paste the call alone.")) from None
    for node in ast.walk(tree):
        if (key := _twice(node)) is not None:
            place = Sentence("{name}, line {line}", name=name, line=getattr(node, "lineno", 1))
            raise wrong(place, Sentence("gives {flag} twice", flag=key[:60]), Sentence("Keep one of them."))
    return tree, calls


def _twice(node: ast.AST) -> str | None:
    """A keyword that a call has twice (Python refuses it as it compiles), or a key of a mapping (the last wins)."""
    keys: list[str] = []
    if isinstance(node, ast.Call):
        keys = [word.arg for word in node.keywords if word.arg is not None]
    elif isinstance(node, ast.Dict):
        keys = [key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return next((key for key, times in Counter(keys).items() if times > 1), None)


def called(node: ast.expr | None) -> str:
    """The bare name of what a call calls; "" for what is no call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


class _Unplain(Exception):
    """Somewhere inside is no plain value."""


class Literals:
    """The plain values of a snippet. A name stands for its value where it is assigned once and never changed."""

    def __init__(self, tree: ast.Module) -> None:
        self._parts = 0
        times: Counter[str] = Counter()
        changed: set[str] = set()
        self._names: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            times.update(_binds(node))
            changed |= _changes(node)
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) else None
            if value is not None:
                self._names |= {target.id: value for target in targets if isinstance(target, ast.Name)}
        for name in [name for name in self._names if times[name] > 1 or name in changed]:
            del self._names[name]

    def behind(self, node: ast.expr) -> ast.expr:
        """What a name was assigned, where that is known; else the node itself."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(node, ast.Name) or node.id not in self._names:
                return node
            node = self._names[node.id]
        return node

    def keywords(self, call: ast.Call) -> tuple[dict[str, Any], list[Unread]]:
        """The plain values of a call's keywords, those of `**mapping` among them, and the others."""
        found: dict[str, Any] = {}
        unread: list[Unread] = []
        for word in call.keywords:
            value = self.value(word.value)
            if word.arg is None and isinstance(value, dict) and all(isinstance(key, str) for key in value):
                found |= value
            elif word.arg is None or value is UNREADABLE:
                unread.append(self.unread(word.arg or "**", word.value))
            else:
                found[word.arg] = value
        return found, unread

    @staticmethod
    def unread(key: str, node: ast.expr) -> Unread:
        try:
            text = ast.unparse(node)
        except RecursionError:
            text = "..."
        short = text if len(text) <= 60 else text[:59] + "…"
        return Unread(key, f"**{short}" if key == "**" else short, node.lineno, node)

    def value(self, node: ast.expr) -> Any:
        """The plain value of an expression, or UNREADABLE."""
        try:
            return self._plain(node, 0)
        except (_Unplain, ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return UNREADABLE

    def _plain(self, node: ast.expr, depth: int) -> Any:
        self._parts += 1
        if self._parts > MAX_PARTS or depth > _MAX_DEPTH:
            raise _Unplain
        match node:
            case ast.Name(id=name):
                if name not in self._names:
                    raise _Unplain
                return self._plain(self._names[name], depth + 1)  # a name that leads to itself ends at _MAX_DEPTH
            case ast.List(elts=items):
                return [self._plain(item, depth + 1) for item in items]
            case ast.Tuple(elts=items):
                return tuple(self._plain(item, depth + 1) for item in items)
            case ast.Dict(keys=keys, values=values):
                return self._mapping(keys, values, depth)
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=words):
                keys = [None if word.arg is None else ast.Constant(word.arg) for word in words]
                return self._mapping(keys, [word.value for word in words], depth)
        return ast.literal_eval(node)

    def _mapping(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr], depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, node in zip(keys, values, strict=True):
            value = self._plain(node, depth + 1)
            if key is not None:
                found[self._plain(key, depth + 1)] = value
            elif isinstance(value, dict):
                found |= value
            else:
                raise _Unplain
        return found


def _binds(node: ast.AST) -> list[str]:
    """The names that a node gives a value, or takes one from."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.arg(arg=name):
            return [name]
        case ast.alias(name=name, asname=other):
            return [other or name.partition(".")[0]]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return [name]
    return []


def _changes(node: ast.AST) -> set[str]:
    """Names whose value a node changes in place: `spec["k"] = 5`, `spec.update(...)`."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            return {name}
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=verb)) if verb in _CHANGES:
            return {name}
    return set()
