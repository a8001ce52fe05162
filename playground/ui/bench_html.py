"""A report as one self-contained HTML file: the page's own fragments, its CSS and two switches; nothing is fetched.

Prompts and model names in it are strangers' words: everything was escaped where the fragments were made.
"""

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import escape

from playground.ui.bench_view import report_html
from playground.ui.render import lines_of_code
from playground.ui.tune_view import tuning_html

_HERE = Path(__file__).parent

_SCRIPT = """
const root = document.documentElement;
document.getElementById("language").onclick = () => { root.lang = root.lang === "en" ? "zh-CN" : "en"; };
document.getElementById("dark").onclick = () => { document.body.classList.toggle("dark"); };
if (matchMedia("(prefers-color-scheme: dark)").matches) document.body.classList.add("dark");
"""

_STYLE = """
body { margin: 0; background: var(--db-page); color: var(--db-ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem; }
header { display: flex; gap: 1rem; align-items: baseline; margin-bottom: 1rem; }
header h1 { font-size: 1.2rem; margin: 0; flex: 1; }
header button { font: inherit; color: var(--db-accent); background: none; cursor: pointer; padding: .15rem .6rem; }
header button { border: 1px solid var(--db-faint); border-radius: 6px; }
"""

# No script of a stranger's could run even if one got in, and nothing is fetched: only this very script is allowed.
_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'; img-src data:"


def page(report: Mapping[str, Any]) -> str:
    """A benchmark."""
    return _file(str(report["title"]), _without_links(report_html(report)))


def tuning_page(report: Mapping[str, Any]) -> str:
    """A tuning."""
    return _file(str(report["title"]), tuning_html(report))


def _without_links(fragment: str) -> str:
    """Links to runs lead nowhere outside of the page that has them."""
    return fragment.replace('<a href="./?run=', '<a data-run="')


def _file(title: str, body: str) -> str:
    styles = "\n".join(lines_of_code(_HERE / name) for name in ("style.css", "bench.css"))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{styles}\n{_STYLE}</style>\n</head>\n<body>\n"
        f'<main class="gradio-container"><header><h1>{escape(title)}</h1>'
        '<button id="language" type="button">EN/中</button><button id="dark" type="button">◐</button></header>\n'
        f"{body}\n</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )
