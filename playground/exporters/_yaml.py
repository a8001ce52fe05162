"""YAML as we write it: block style, keys in the order given, no aliases, text that survives any reader.

Knows no schema. Comments are made here too, so that no stranger's word can leave its comment.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

WIDTH = 110
WIDE = 1_000_000
"""For files whose long lines are JSON and commands: readable on one line, hard to read folded."""

_OTHER_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")
"""YAML 1.1 takes these as line ends and folds them to spaces unless they are escaped."""


_JOINERS = "\u200c\u200d"
"""Emoji and many scripts are written with them, and they turn and hide nothing."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Lists stand indented under their key."""
        super().increase_indent(flow, False)

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """What is quoted for a character that cannot be seen shows that character as an escape."""
        kept, self.allow_unicode = self.allow_unicode, self.allow_unicode and not _hides(text)
        super().write_double_quoted(text, split)
        self.allow_unicode = kept


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value and not value.startswith((" ", "\n")) else None
    if _OTHER_LINE_ENDS.search(value) or _hides(value):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _list(dumper: yaml.SafeDumper, values: Iterable[Any]) -> yaml.SequenceNode:
    """A short list of plain values on one line."""
    items = list(values)
    short = all(isinstance(i, (int, float, str, type(None))) and len(str(i)) <= 20 for i in items) and len(items) <= 16
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
_Dumper.add_representer(tuple, _list)


def to_yaml(data: Mapping[str, Any], *, width: int = WIDTH) -> str:
    return yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width)


def comment(text: str) -> str:
    """`text` as comment lines, whatever line ends or control characters it holds; "" for nothing."""
    lines = [one_line(line) for line in text.splitlines()]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def one_line(text: str) -> str:
    """`text` with everything that could end a line, move a cursor or turn the writing direction shown by its number."""
    return "".join(f"‹U+{ord(c):04X}›" if _hidden(c) else c for c in text)


def _hidden(character: str) -> bool:
    return character not in _JOINERS and unicodedata.category(character) in ("Cc", "Cf", "Co", "Zl", "Zp", "Cs")


def _hides(text: str) -> bool:
    """Whether it holds a character that is neither seen nor a line end nor a tab."""
    return any(_hidden(c) for c in text if c not in "\n\t")
