"""The header: name, engine chip, language and light/dark switches. Drawn once; its chip asks the runner itself.

Knows what a chip says, not how the engine gets there.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from playground.ui.i18n import browser_strings
from playground.ui.render import lines_of_code
from playground.ui.sentences import wired

HERE = Path(__file__).parent
STYLES = ("shell.css", "history.css", "export.css", "bench.css", "pairs.css", "train.css")

_LEFT = """
<a class="skip" href="#prompt" data-label="shell.skip" data-label-as="text"></a>
<button id="fold" type="button" data-label="shell.fold" aria-controls="column" aria-expanded="true">
  <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2 3.5h12M2 8h12M2 12.5h12"/></svg>
</button>
<a id="brand" href="./" data-label="shell.home"><span aria-hidden="true" class="mark"></span>Draftboard</a>
"""

_RIGHT = """
<span id="chip" role="status" data-label="shell.chip" data-state="none"><span class="dot" aria-hidden="true"></span>
<span class="chip-text"></span></span>
<button id="language" type="button" data-label="shell.language">
  <span lang="en">EN</span>/<span lang="zh-CN">中</span>
</button>
<button id="dark" type="button" data-label="shell.dark">
  <svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6"/><path d="M8 2a6 6 0 0 1 0 12z"/></svg>
</button>
"""


def header(status: Callable[[], dict[str, Any]]) -> None:
    """Call it inside the Blocks, before the tabs.

    Args:
        status: what the chip shows: {"engine", "target", "state", "detail", "waiting"}.
    """

    def engine_status(_: Any = None) -> str:
        found = status()
        return json.dumps(found | {"detail": wired(found["detail"])})

    gr.HTML(html_template=_LEFT, js_on_load=None, elem_id="topleft", apply_default_css=False)
    gr.HTML(
        html_template=_RIGHT,
        js_on_load=lines_of_code(HERE / "chip.js"),
        elem_id="topright",
        apply_default_css=False,
        server_functions=[engine_status],
    )


def head() -> str:
    """The shell's CSS and script, for the page's head."""
    strings = json.dumps(browser_strings("shell."), ensure_ascii=False).replace("<", "\\u003c")
    style = "\n".join(lines_of_code(HERE / name) for name in STYLES)
    script = f"const SHELL={strings};\n" + lines_of_code(HERE / "shell.js")
    return f"<style>\n{style}\n</style>\n<script>\n{script}\n</script>"
