"""YAML and JSON from strangers as plain data that remembers its lines. Builds no objects.

Read as YAML: one document of mappings with text keys, lists and scalars; anchors, aliases and merge keys (`<<: *gpu`),
as Compose files have them. Refused, each by line: tags (`!!python/...`), more aliases or more text by aliases than
anyone writes (the "billion laughs"), an alias inside its own anchor, a key given twice, nesting past `MAX_DEPTH`,
numbers that are no finite number.
Knows no schema: `checked_document` takes the model to check against.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from playground.errors import PlaygroundError
from playground.faults import MOST, words
from playground.importers._text import check_size, decode
from playground.importers._values import refuse_variable
from playground.sentence import SEMICOLON, Sentence, joined

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

MAX_DEPTH = 40
MAX_DOCUMENTS = 64
MAX_ALIASES = 256
MAX_EXPANDED = 200_000
"""Values and characters that all aliases of a file together may stand for."""
MAX_NUMBER = 40
"""Characters of a number: more than any float needs."""
M = TypeVar("M", bound=BaseModel)

_PREFIX = "tag:yaml.org,2002:"
_CONSTRUCTORS = {
    _PREFIX + "null": "construct_yaml_null",
    _PREFIX + "bool": "construct_yaml_bool",
    _PREFIX + "int": "construct_yaml_int",
    _PREFIX + "float": "construct_yaml_float",
}
"""Every other plain scalar (dates, `=`, a `<<` that is no key) stays the text it is."""
_MERGE = _PREFIX + "merge"


class Located(dict[str, Any]):
    """A mapping that knows on which line each of its keys stands (1-based); otherwise a dict."""

    __slots__ = ("lines",)

    def __init__(self, data: Mapping[str, Any] | None = None) -> None:
        """A copy of `data`, with its lines if it has some."""
        super().__init__(data or {})
        self.lines: dict[str, int] = dict(getattr(data, "lines", {}))


def parse_yaml(name: str, content: bytes | str) -> object:
    """The data of one YAML document (JSON is read as YAML too, see `parse_json` for the strict reading).

    Raises:
        PlaygroundError: naming file and line, for anything refused above, and for broken YAML.
    """
    documents = parse_documents(name, content)
    if len(documents) != 1:
        _refuse(name, 1, Sentence("holds more than one YAML document"), Sentence("Give one."))
    return documents[0]


def parse_documents(name: str, content: bytes | str) -> list[object]:
    """The data of every document of a YAML file, at least one and at most `MAX_DOCUMENTS`."""
    text = decode(name, content)
    check_size(name, len(text))
    try:
        _inspect(name, text)
        nodes = [node for node in yaml.compose_all(text, Loader=_Loader) if not _is_empty(node)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        _broken(name, text, mark.line + 1 if mark else 1, error.problem or Sentence("this is not YAML"), "YAML")
    except yaml.YAMLError as error:
        _refuse(name, 1, str(error).splitlines()[0], Sentence("Correct the YAML."))
    if not nodes or len(nodes) > MAX_DOCUMENTS:
        _refuse(
            name,
            1,
            Sentence("holds no YAML document") if not nodes else Sentence("holds more documents than we read"),
            Sentence("Give one."),
        )
    return [_build(name, node, _Loader("")) for node in nodes]


def parse_json(name: str, content: bytes | str) -> object:
    """The same rules for JSON."""
    text = decode(name, content)
    check_size(name, len(text))

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in items:
            if key in found:
                raise PlaygroundError(
                    Sentence("{name}: the key “{key}” is given twice.", name=name, key=key),
                    Sentence("Keep one of them."),
                    code="bad_file",
                )
            found[key] = value
        return found

    def constant(value: str) -> NoReturn:
        raise PlaygroundError(
            Sentence("{name}: {value} is no number.", name=name, value=value),
            Sentence("Write a finite number."),
            code="bad_file",
        )

    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        if text[error.pos : error.pos + 1] in ("$", "`"):
            refuse_variable(text[error.pos :], name)  # a shell was to put the value, or all of it, there
        _broken(
            name,
            text,
            error.lineno,
            Sentence("{why} (column {column})", why=error.msg.lower(), column=error.colno),
            "JSON",
        )
    except RecursionError:
        _refuse(name, 1, Sentence("is nested too deeply"), Sentence("Check that this is the right file."))
    except ValueError:  # an integer of thousands of digits
        _refuse(
            name, 1, Sentence("holds a number of thousands of digits"), Sentence("Write a number of ordinary size.")
        )
    if any(depth > MAX_DEPTH for depth in _depths(data)):
        _refuse(
            name,
            1,
            Sentence("is nested deeper than {most} levels", most=MAX_DEPTH),
            Sentence("Check that this is the right file."),
        )
    return data


def checked_document(model: type[M], data: object, name: str, *, strict: bool | None = None) -> M:
    """`data` as a `model`; `strict` overrides the model's own choice.

    Raises:
        PlaygroundError: with file, line (where `data` was read by `parse_yaml`) and key of every problem.
    """
    try:
        return model.model_validate(data, strict=strict)
    except ValidationError as error:
        problems = [_problem(item, data) for item in error.errors()[:MOST]]
    raise PlaygroundError(
        Sentence("{name}, {faults}.", name=name, faults=joined(problems, SEMICOLON)),
        Sentence("Correct the named value and try again."),
        code="bad_config",
    )


def line_of(data: object, path: Sequence[str | int]) -> int | None:
    """The line of the innermost key of `path` that the file really has; None where lines are unknown."""
    line = None
    for part in path:
        if isinstance(data, dict) and isinstance(part, str) and part in data:
            line, data = getattr(data, "lines", {}).get(part, line), data[part]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            break
    return line


def place(name: str, data: object, path: Sequence[str | int]) -> str:
    """ "file, line 3, a.b": how every error about a value begins."""
    line = line_of(data, path)
    key = ".".join(map(str, path))
    if line:
        return Sentence("{name}, line {line}, {key}", name=name, line=line, key=key)
    return Sentence("{name}, {key}", name=name, key=key)


def _problem(item: Any, data: object) -> Sentence:
    path, fault = item["loc"], words(item)
    key = ".".join(map(str, path)) or Sentence("the document")
    if line := line_of(data, path):
        return Sentence("line {line}, {key}: {fault}", line=line, key=key, fault=fault)
    return Sentence("{key}: {fault}", key=key, fault=fault)


@dataclass(slots=True)
class _Open:
    """A collection on its way: what it weighs with its aliases written out, how deep it is inside, its anchor."""

    anchor: str | None
    weight: int = 1
    height: int = 0


def _inspect(name: str, text: str) -> None:
    """Everything that must be refused before a tree is built, by one flat pass over the parser's events."""
    stack: list[_Open] = []
    anchors: dict[str, _Open] = {}
    aliases = expanded = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag is not None:
            _refuse(
                name, line, Sentence("the tag {tag} is not read", tag=_shown(event.tag)), Sentence("Leave the tag out.")
            )
        done: _Open | None = None
        if isinstance(event, yaml.DocumentStartEvent):
            anchors = {}
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
            done = _meant(name, line, str(event.anchor), anchors, stack)
            expanded += done.weight
        elif isinstance(event, yaml.ScalarEvent):
            done = _Open(event.anchor, 1 + len(event.value))
        elif isinstance(event, yaml.CollectionStartEvent):
            stack.append(_Open(event.anchor))
        elif isinstance(event, yaml.CollectionEndEvent):
            done = stack.pop()
        if aliases > MAX_ALIASES or expanded > MAX_EXPANDED:
            _refuse(
                name,
                line,
                Sentence("its aliases (*name) stand for more than we write out"),
                Sentence("Write the value out."),
            )
        if len(stack) + (done.height if done else 0) > MAX_DEPTH:
            _refuse(
                name,
                line,
                Sentence("nested deeper than {most} levels", most=MAX_DEPTH),
                Sentence("Check that this is the right file."),
            )
        if done is None:
            continue
        if done.anchor is not None:
            anchors[done.anchor] = done
        if stack:
            stack[-1].weight += done.weight
            stack[-1].height = max(stack[-1].height, done.height + 1)


def _meant(name: str, line: int, alias: str, anchors: Mapping[str, _Open], stack: Sequence[_Open]) -> _Open:
    """What an alias stands for."""
    if any(one.anchor == alias for one in stack):
        _refuse(
            name,
            line,
            Sentence("the alias {alias} stands inside what it is to stand for", alias=_shown(f"*{alias}")),
            Sentence("Write the value out."),
        )
    if alias not in anchors:
        _refuse(
            name,
            line,
            Sentence("the alias {alias} has no anchor before it", alias=_shown(f"*{alias}")),
            Sentence("Write the value out."),
        )
    return replace(anchors[alias], anchor=None)


def _build(name: str, node: yaml.Node, loader: Any) -> object:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        mapping = Located()
        merged: tuple[int, yaml.Node] | None = None
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode) or not _is_text(key_node):
                shown = _shown(str(getattr(key_node, "value", ""))) if isinstance(key_node, yaml.ScalarNode) else "?"
                _refuse(
                    name, key_line, Sentence("the key {key} is not text", key=shown), Sentence("Put the key in quotes.")
                )
            key = str(key_node.value)
            if key_node.tag == _MERGE and merged is None:
                merged = (key_line, value_node)
                continue
            if key_node.tag == _MERGE or key in mapping:
                first = merged[0] if merged and key_node.tag == _MERGE else mapping.lines[key]
                _refuse(
                    name,
                    key_line,
                    Sentence("{key} is given twice (first in line {first})", key=_shown(key), first=first),
                    Sentence("Keep one of them."),
                )
            mapping.lines[key] = key_line
            mapping[key] = _build(name, value_node, loader)
        if merged is not None:
            _merge(name, mapping, *merged, loader)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_build(name, item, loader) for item in node.value]
    constructor = _CONSTRUCTORS.get(node.tag)
    if constructor is None:
        return str(node.value)
    try:
        if len(node.value) > MAX_NUMBER:
            raise ValueError
        value = getattr(loader, constructor)(node)
    except (ValueError, OverflowError, IndexError):
        _refuse(
            name,
            line,
            Sentence("{value} is no number we can read", value=_shown(str(node.value))),
            Sentence("Write a plain decimal number."),
        )
    if isinstance(value, float) and not math.isfinite(value):
        _refuse(
            name,
            line,
            Sentence("{value} is no finite number", value=_shown(str(node.value))),
            Sentence("Write a finite number."),
        )
    return value


def _merge(name: str, mapping: Located, line: int, node: yaml.Node, loader: Any) -> None:
    """Puts the mapping behind `<<`, or each of a list of them, the first first, beneath what `mapping` says itself."""
    for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
        beneath = _build(name, part, loader)
        if not isinstance(beneath, Located):
            _refuse(name, line, Sentence("“<<” merges mappings alone"), Sentence("Name a mapping: `<<: *name`."))
        for key, value in beneath.items():
            if key not in mapping:
                mapping[key], mapping.lines[key] = value, beneath.lines[key]


def _is_empty(node: yaml.Node) -> bool:
    """Whether nothing stands between two `---`, or behind the last."""
    return isinstance(node, yaml.ScalarNode) and node.tag == _PREFIX + "null" and not node.value


def _is_text(node: yaml.ScalarNode) -> bool:
    """Whether it can be a key: a whole number counts as the text it is written as."""
    return node.tag not in _CONSTRUCTORS or node.tag == _PREFIX + "int"


def _depths(data: object) -> Iterator[int]:
    """The depth of every value, walked without recursion."""
    waiting: list[tuple[object, int]] = [(data, 0)]
    while waiting:
        value, depth = waiting.pop()
        yield depth
        children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        waiting += [(child, depth + 1) for child in children]


def _shown(text: str) -> str:
    """A stranger's words inside our sentence: one line, short, in quotes."""
    short = text if len(text) <= 60 else text[:59] + "…"
    return "“" + "".join(c if c.isprintable() else "·" for c in short) + "”"


def _broken(name: str, text: str, line: int, problem: str, kind: str) -> NoReturn:
    """A parser finds out at the end that something never ended, and names the line after the last."""
    last = max(1, len(text.rstrip().splitlines()))
    if line > last:
        _refuse(
            name,
            last,
            Sentence("the {format} ends too early", format=kind),
            Sentence("Check that the file is whole: a bracket or quote is open."),
        )
    _refuse(name, line, problem, Sentence("Correct the {format} there.", format=kind))


def _refuse(name: str, line: int, problem: str, hint: str) -> NoReturn:
    raise PlaygroundError(
        Sentence("{name}, line {line}: {problem}.", name=name, line=line, problem=problem), hint, code="bad_file"
    )
