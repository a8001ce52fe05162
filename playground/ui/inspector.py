"""The step inspector: what one step drafted, what the target said about it, and why each draft lived or died."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from playground.events import Step
from playground.ui.render import lines_of_code

_HERE = Path(__file__).parent

StepSource = Callable[[list[Any]], dict[str, Any] | None]
"""[run id, step index] -> `step_payload(...)`, or None where there is no such step."""

_source: list[StepSource] = []


def set_step_source(source: StepSource) -> None:
    """Where the inspector of every page gets its steps."""
    _source[:] = [source]


def step(arguments: list[Any]) -> dict[str, Any] | None:
    """Server function of the component."""
    return _source[0](arguments) if _source else None


def step_payload(step: Step, prefix_text: str = "", *, greedy: bool | None = None) -> dict[str, Any]:
    """A step as the inspector's JSON. `prefix_text`: the shown text before it; only its end is kept."""
    return {"index": step.index, "prefix": prefix_text[-200:]}


def StepInspector(*, group: str = "compare", **kwargs: Any) -> gr.HTML:
    """Shows the step last clicked in any pane of `group`; needs no wiring besides `set_step_source`."""
    return gr.HTML(
        kwargs.pop("value", None),
        html_template='<div class="db-inspector"></div>',
        js_on_load=lines_of_code(_HERE / "inspector.js"),
        apply_default_css=False,
        server_functions=[step],
        group=group,
        **kwargs,
    )
