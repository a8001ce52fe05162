"""A PlaygroundError from a handler as Gradio's toast. Gradio takes its text for HTML, so it is escaped here, and can
hold both languages: the page shows the reader's, as in every other fragment.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import gradio as gr

from playground.errors import PlaygroundError
from playground.ui.sentences import said_html


@contextmanager
def told() -> Iterator[None]:
    """Within it a PlaygroundError becomes a message on the page, without a traceback in the log."""
    try:
        yield
    except PlaygroundError as error:
        text = str(said_html(error.message, error.hint))
        raise gr.Error(text, duration=12, title="", print_exception=False) from None
