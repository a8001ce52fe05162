"""How events are wired: without Gradio's progress display, and cheaply for the browser. Knows no tab.

At every update of a stream Gradio's page renews the progress state of each component that was ever an input or output
of any event: with all our controls among them, 40 ms of the browser's time. So no event names its outputs for progress,
and Run does not have the controls as inputs: the browser packs their values into one hidden text first.
"""

import json
from typing import Any

import gradio as gr

from playground.errors import PlaygroundError
from playground.sentence import Sentence


class Wiring:
    """Keyword arguments for event listeners. Make one inside the Blocks."""

    def __init__(self) -> None:
        self.packed = gr.Textbox(visible="hidden", elem_id="packed", container=False, show_label=False)
        self.quiet: dict[str, Any] = {
            "show_progress": "hidden",
            "show_progress_on": [self.packed],
            "api_visibility": "private",
        }
        """For handlers that may take a while."""
        self.quick: dict[str, Any] = {**self.quiet, "queue": False}
        """For handlers that answer at once."""
        self.stream: dict[str, Any] = {**self.quiet, "concurrency_limit": None}
        """For generators; how many may run is the runner's business."""
        self.browser: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
        """For listeners in JavaScript alone."""


PACK = "(...values) => JSON.stringify(values)"
"""The values of all inputs as one text, in the browser."""


def unpacked(text: str, count: int) -> list[Any]:
    """The values that `PACK` packed.

    Raises:
        PlaygroundError: they are not that many values; the page and the server are of different versions.
    """
    try:
        values = json.loads(text)
    except (TypeError, ValueError):
        values = None
    if not isinstance(values, list) or len(values) != count:
        raise PlaygroundError(Sentence("The page is older than the server."), Sentence("Reload it."), code="stale_page")
    return values
