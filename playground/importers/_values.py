"""Single values of a stranger's file: texts, switches, keys in one spelling, variables nobody filled in, sane sizes.

Every importer reads them here, so that one spelling means the same in every dialect. Knows no file and no dialect:
`where` opens the error.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from playground.errors import PlaygroundError
from playground.sentence import Sentence

MAX_NAME = 4096
"""Characters of a model's name: the longest path a system takes."""

MAX_WHOLE = 2**31 - 1
"""What lengths and counts can be anywhere; a seed may be larger."""

MAX_SEED = 2**64 - 1

_ON = frozenset(("true", "yes", "on", "1", "t", "y", "enabled"))
_OFF = frozenset(("false", "no", "off", "0", "f", "n", "disabled"))
_VARIABLE = re.compile(r"\$\{[^}]*\}?|\$\([^)]*\)?|\$[A-Z_][A-Z0-9_]*\b|\$[@*]|`[^`]*`?|^\$\w*$")
"""What a shell, a compose file or a pod fills in: `$NAME`, `${name}`, `$(NAME)`, `$@`; `a/$b` in quotes is a name."""


def without_value(where: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("{where}: is given without a value.", where=where),
        Sentence("Write the value, or leave it out."),
        code="bad_config",
    )


def text_of(value: Any, where: str) -> str | None:
    """A text; None where there is none.

    Raises:
        PlaygroundError: no text (a list, a mapping, a number, a flag without its value), or longer than any name.
    """
    if value is True:
        raise without_value(where)
    if value is not None and not isinstance(value, str):
        raise PlaygroundError(
            Sentence("{where}: must be text.", where=where),
            Sentence("Write one name, in quotes if need be."),
            code="bad_config",
        )
    if value is not None and len(value) > MAX_NAME:
        raise PlaygroundError(
            Sentence("{where}: is longer than {most:,} characters.", where=where, most=MAX_NAME),
            Sentence("Correct it."),
            code="bad_config",
        )
    return value or None


def switch_of(value: Any, where: str) -> bool | None:
    """A yes or no in any spelling that YAML, a shell or pydantic knows, quotes or not; None where there is none.

    Raises:
        PlaygroundError: it is neither: what is not understood must not turn into its contrary.
    """
    if value is None or isinstance(value, bool):
        return value
    plain = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if plain in ("", "none", "null") and isinstance(value, str):
        return None
    if plain not in _ON | _OFF:
        raise PlaygroundError(
            Sentence("{where}: {value} is neither true nor false.", where=where, value=f"{value!r:.40}"),
            Sentence("Write true or false."),
            code="bad_config",
        )
    return plain in _ON


def underscored(mapping: Mapping[str, Any], where: Callable[[str], str]) -> dict[str, Any]:
    """A mapping by its keys with underscores.

    Raises:
        PlaygroundError: a key in both spellings, `where(key)` opens the error.
    """
    found: dict[str, Any] = {}
    for key, value in mapping.items():
        plain = key.replace("-", "_")
        if plain in found:
            raise PlaygroundError(
                Sentence("{place}: is given twice.", place=where(key)),
                Sentence("Keep one of them."),
                code="bad_config",
            )
        found[plain] = value
    return found


def variable_in(value: Any) -> str | None:
    """The first variable that still stands in a text, or in the texts inside; None where there is none."""
    for text in _texts(value):
        if found := _VARIABLE.search(text):
            return found[0]
    return None


def refuse_variable(value: Any, where: str) -> None:
    """Raises PlaygroundError where a value still waits for a shell: it is no name of anything."""
    if (found := variable_in(value)) is not None:
        raise PlaygroundError(
            Sentence("{where}: holds the variable {variable}, and nothing here says its value.", where=where,
                     variable=found[:60]),
            Sentence("Put its value there."),
            code="bad_config",
        )  # fmt: skip


def refuse_absurd(name: str, config: Mapping[str, Any]) -> None:
    """Raises PlaygroundError for lengths, counts and names that no system takes; `config` is of a preset."""
    spec = config.get("speculation") or {}
    for key, value in [("target", config.get("target")), ("speculation.model", spec.get("model"))]:
        text_of(value, Sentence("{name}, {key}", name=name, key=key))
    parts = {"": spec, "engine_options": config.get("engine_options") or {}, "options": spec.get("options") or {},
             "sampling": config.get("sampling") or {}}  # fmt: skip
    for values in parts.values():
        for key, value in values.items():
            most = MAX_SEED if key == "seed" else MAX_WHOLE
            if isinstance(value, int) and abs(value) > most:
                raise PlaygroundError(
                    Sentence("{name}, {key}: is larger than {most:,}.", name=name, key=key, most=most),
                    Sentence("Write a number of ordinary size."),
                    code="bad_config",
                )


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        found = waiting.pop(0)
        if isinstance(found, str):
            yield found
        elif isinstance(found, Mapping):
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
