"""Flags made from pydantic fields, and the configuration they come to. Knows fields and argparse, no particular field.

A flag is its field's name with dashes; its help is the field's description, bounds and default. Values stay text:
pydantic judges them, so that a refusal reads the same in the page, a file and the command line.
"""

import argparse
import types
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from playground.config import RunConfig, SamplingParams, Speculation
from playground.errors import PlaygroundError
from playground.overrides import PLAIN, all_options, with_overrides
from playground.presets import DEFAULT, load_preset
from playground.settings import Settings

_UNSET = argparse.SUPPRESS
_FIELDS = {*PLAIN, *SamplingParams.model_fields, "engine", "method", "draft", "num_speculative_tokens"}
_COMMANDS_OWN = {"preset", "prompt", "prompt_file", "device", "rejected", "json", "help"}
"""Flags that are no option of an engine or method, whatever those call theirs; such an option is set by KEY=VALUE."""


class Parser(argparse.ArgumentParser):
    """Mistakes are PlaygroundErrors, so that they too end as one sentence, or as JSON."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs)

    def error(self, message: str) -> NoReturn:
        raise PlaygroundError(
            message[:1].upper() + message[1:] + ("" if message.endswith(".") else "."),
            f"See `{self.prog} --help`.",
            code="bad_arguments",
        )


def add_config_flags(parser: argparse.ArgumentParser) -> None:
    """Everything a `RunConfig` says: its own fields, speculation, sampling, and all engines' and methods' options."""
    parser.add_argument(
        "--preset",
        metavar="NAME",
        default=DEFAULT,
        help=f"what the flags below change, by name or path (default: the preset named {DEFAULT})",
    )
    model = parser.add_argument_group("models")
    add_field(model, "engine", RunConfig.model_fields["engine"])
    for name in PLAIN:
        add_field(model, name, RunConfig.model_fields[name])
    spec = parser.add_argument_group("speculation")
    add_field(spec, "method", Speculation.model_fields["method"], more="none: the baseline")
    add_field(spec, "draft", Speculation.model_fields["model"])
    add_field(spec, "num_speculative_tokens", Speculation.model_fields["num_speculative_tokens"])
    sampling = parser.add_argument_group("sampling")
    for name, field in SamplingParams.model_fields.items():
        add_field(sampling, name, field)
    _add_options(parser)
    options = parser.add_argument_group("any option by its name")
    for kind in ("engine", "method"):
        options.add_argument(
            f"--{kind}-option",
            metavar="KEY=VALUE",
            action="append",
            default=_UNSET,
            help=f"any option of the {kind} by name (repeatable)",
        )


def _add_options(parser: argparse.ArgumentParser) -> None:
    """A group of flags for each method and each engine; an option that several have stands with the first."""
    groups: dict[str, Any] = {}
    for name, owners in sorted(all_options().items(), key=lambda item: item[1][0][0] == "engine"):
        if name in _FIELDS | _COMMANDS_OWN:
            continue
        kind, owner, model = owners[0]
        title = f"options of the {kind} {owner}"
        group = groups.setdefault(title, None) or parser.add_argument_group(title)
        groups[title] = group
        others = ", ".join(other for _, other, _ in owners[1:])
        add_field(group, name, model.model_fields[name], more=f"also of {others}" if others else "")


def config_from(args: argparse.Namespace, settings: Settings) -> RunConfig:
    """The preset with the flags over it.

    Raises:
        PlaygroundError: no such preset, or a value that is refused.
    """
    names = (_FIELDS | all_options().keys()) - _COMMANDS_OWN
    values = {name: value for name, value in vars(args).items() if name in names}
    for kind in ("engine", "method"):
        if pairs := getattr(args, f"{kind}_option", None):
            values[f"{kind}_options"] = dict(pair_of(pair) for pair in pairs)
    return with_overrides(load_preset(args.preset, settings).config, values)


def pair_of(text: str) -> tuple[str, str]:
    """ "key=value" in two; dashes in the key are underscores."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise PlaygroundError(
            f"“{text[:60]}” is no KEY=VALUE.", "Write it like match=most_recent.", code="bad_arguments"
        )
    return key.replace("-", "_"), value


def add_field(group: Any, name: str, field: FieldInfo, more: str = "") -> None:
    """The flag of one field; absent from the parsed arguments where it is not given."""
    flag = "--" + name.replace("_", "-")
    kinds = _kinds(field.annotation)
    text = _help(field, more).replace("%", "%%")
    if kinds == (bool,):
        group.add_argument(flag, dest=name, action=argparse.BooleanOptionalAction, default=_UNSET, help=text)
    elif get_origin(field.annotation) in (tuple, list):
        group.add_argument(
            flag, dest=name, action="append", default=_UNSET, metavar="TEXT", help=f"{text} (repeatable)"
        )
    else:
        group.add_argument(flag, dest=name, default=_UNSET, metavar=_metavar(kinds), help=text)


def _help(field: FieldInfo, more: str) -> str:
    text = str(field.description or field.title or "")
    # "..." at the end stays: there the reader goes on by himself.
    parts = [text if text.endswith("...") else text.removesuffix("."), more]
    if get_origin(field.annotation) is Literal:
        parts.append(f"one of {values_of(field)}")
    elif bounds := _bounds(field):
        parts.append(bounds)
    return "; ".join(part for part in parts if part)


def values_of(field: FieldInfo) -> str:
    """What may be given, in few words: the choices, or the bounds; "" where there are neither."""
    if get_origin(field.annotation) is Literal:
        return ", ".join(str(choice) or '""' for choice in get_args(field.annotation))
    return "true, false" if field.annotation is bool else _bounds(field)


def _bounds(field: FieldInfo) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    found = [(sign, getattr(m, name, None)) for m in field.metadata for name, sign in signs.items()]
    return ", ".join(f"{sign} {bound}" for sign, bound in found if bound is not None)


def _metavar(kinds: tuple[Any, ...]) -> str:
    return {int: "N", float: "X"}.get(kinds[0], "TEXT" if str in kinds else "VALUE")


def _kinds(annotation: Any) -> tuple[Any, ...]:
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(k for part in get_args(annotation) if part is not type(None) for k in _kinds(part))
    return (annotation,)
