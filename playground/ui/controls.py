"""Widgets made from pydantic fields, and their values read back. Knows Gradio and pydantic, no particular field.

A field's title, description and bounds become the widget's label, tooltip and range; pydantic alone judges the values,
so that a refusal reads the same in the page, the command line and a file.
"""

import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

import gradio as gr
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from playground.ui import i18n

Kind = Literal["switch", "choice", "whole", "real", "lines", "text"]

SLIDER_SPAN = 200
"""A number with both bounds, at most this far apart, gets a slider; anything wider is typed."""


UNSAID = ""
"""The choice that leaves an optional field empty."""


@dataclass(frozen=True, slots=True)
class Control:
    """One field as a widget. `key` is the field's dotted place in what is read back ("sampling.top_p")."""

    key: str
    field: FieldInfo
    kind: Kind
    optional: bool
    widget: gr.components.Component

    def read(self, value: Any) -> Any:
        """A widget's value as pydantic input."""
        if self.kind == "lines":
            return [line for line in str(value or "").replace("\r\n", "\n").split("\n") if line]
        if self.optional and value in ("", None):
            return None
        if self.kind == "whole" and isinstance(value, float) and value.is_integer():
            return int(value)
        return value

    def show(self, value: Any) -> Any:
        """A field's value as the widget takes it."""
        if self.kind == "lines":
            return "\n".join(value or ())
        if self.kind == "text" or (self.optional and self.kind in ("whole", "real")):
            return "" if value is None else str(value)
        return UNSAID if self.kind == "choice" and value is None else value


def controls_for(model: type[BaseModel], prefix: str, only: Iterable[str] | None = None) -> list[Control]:
    """A control per field of `model`, in the order of `only` or else the model's own. Call it inside a layout.

    Fields that are marked as internal, which other parts of the program set, have none.
    """
    names = [n for n, field in model.model_fields.items() if not is_internal(field)] if only is None else list(only)
    return [make_control(f"{prefix}.{name}" if prefix else name, model.model_fields[name]) for name in names]


def is_internal(field: FieldInfo) -> bool:
    extra = field.json_schema_extra
    return isinstance(extra, dict) and bool(extra.get("internal"))


def make_control(key: str, field: FieldInfo) -> Control:
    kind, optional, choices = kind_of(field)
    named = {"label": i18n.label(f"field.{key}"), "info": i18n.label(f"field.{key}.info"), "elem_id": element_id(key)}
    value = default_of(field)
    match kind:
        case "switch":
            widget = gr.Checkbox(bool(value), elem_classes=["ctl", "ctl-switch"], **named)
        case "choice":
            offered = [UNSAID, *choices] if optional else choices
            shown = UNSAID if value is None else value
            widget = gr.Dropdown(
                [(str(c) or "–", c) for c in offered], value=shown, elem_classes=["ctl", "ctl-choice"], **named
            )
        case "whole" | "real" if not optional and (bounds := slider_bounds(field)):
            low, high = bounds
            step = 1 if kind == "whole" else 0.01
            low = low if _inclusive(field) or kind == "whole" else low + step
            widget = gr.Slider(low, high, value, step=step, elem_classes=["ctl", "ctl-slider"], **named)
        case "whole" | "real" if not optional:
            step = 1 if kind == "whole" else 0.01
            widget = gr.Number(value, step=step, elem_classes=["ctl", "ctl-number"], **named)
        case "lines":
            widget = gr.Textbox("", lines=1, max_lines=4, elem_classes=["ctl", "ctl-lines"], **named)
        case _:
            shown = "" if value is None else str(value)
            widget = gr.Textbox(shown, lines=1, max_lines=1, elem_classes=["ctl", "ctl-text"], **named)
    return Control(key, field, kind, optional, widget)


def kind_of(field: FieldInfo) -> tuple[Kind, bool, tuple[Any, ...]]:
    """(what widget, whether None is allowed, the choices of a Literal)."""
    annotation, optional = _without_none(field.annotation)
    if annotation is bool and optional:  # a switch cannot say "neither"
        return "choice", True, (True, False)
    if get_origin(annotation) is Literal:
        return "choice", optional, get_args(annotation)
    if get_origin(annotation) in (tuple, list):
        return "lines", optional, ()
    kinds: dict[Any, Kind] = {bool: "switch", int: "whole", float: "real"}
    return kinds.get(annotation, "text"), optional, ()


def slider_bounds(field: FieldInfo) -> tuple[float, float] | None:
    low = next((b for m in field.metadata if (b := getattr(m, "ge", getattr(m, "gt", None))) is not None), None)
    high = next((b for m in field.metadata if (b := getattr(m, "le", getattr(m, "lt", None))) is not None), None)
    return (low, high) if low is not None and high is not None and high - low <= SLIDER_SPAN else None


def default_of(field: FieldInfo) -> Any:
    value = field.get_default(call_default_factory=True)
    return None if value is PydanticUndefined else value


def element_id(key: str) -> str:
    return "ctl-" + key.replace(".", "-").replace("_", "-")


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """{"a.b": 1} as {"a": {"b": 1}}."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        *path, last = key.split(".")
        branch = tree
        for part in path:
            branch = branch.setdefault(part, {})
        branch[last] = value
    return tree


def _inclusive(field: FieldInfo) -> bool:
    return not any(getattr(m, "gt", None) is not None for m in field.metadata)


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [a for a in get_args(annotation) if a is not type(None)]
        if len(rest) == 1:
            return rest[0], True
    return annotation, False
