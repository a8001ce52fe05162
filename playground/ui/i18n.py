"""English and Simplified Chinese: one dictionary, three ways out of it.

- `t` gives plain text in one language (files, tests, notebooks).
- `tr` gives HTML that holds both languages; the page's `lang` attribute decides which one is seen, so a fragment the
  server made once never has to be made again when the reader switches.
- `label` and `gradio_i18n` serve Gradio's own components, which translate in the browser.

The strings live in `strings_*.py` beside this file, one per area. Knows no view.
"""

import importlib
import json
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup, escape

from playground.ui.render import esc, lines_of_code

LANGS = ("en", "zh-CN")
"""The languages of the page, the first being the one to fall back to."""


def _gather() -> dict[str, dict[str, str]]:
    package = importlib.import_module("playground.ui")
    merged: dict[str, dict[str, str]] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("strings_"):
            found = importlib.import_module(f"playground.ui.{module.name}").STRINGS
            twice = merged.keys() & found.keys()
            assert not twice, f"{module.name} defines again: {sorted(twice)}"
            merged |= found
    return merged


STRINGS: dict[str, dict[str, str]] = _gather()
"""Key -> language -> text; `{name}` in a text is a parameter."""


def t(key: str, lang: str = "en", **params: object) -> str:
    """The plain text of a key. Falls back to English; KeyError for an unknown key, so that tests find typos."""
    text = _text(key, lang)
    return text.format(**params) if params else text


def tr(key: str, **params: object) -> Markup:
    """The text of a key as HTML in both languages; parameters are escaped, or used as they are when `Markup`."""
    parts = [Markup('<span lang="{}">{}</span>').format(lang, _filled(_text(key, lang), params)) for lang in LANGS]
    return Markup('<span class="tr" data-i18n="{}">{}</span>').format(key, Markup("").join(parts))


def tr_svg(key: str, attributes: str, class_: str, **params: object) -> Markup:
    """Like `tr`, as SVG `<text>` elements; `attributes` is our own markup ("x=… y=…"), never a user's."""
    return Markup("").join(
        Markup(f'<text class="tr-svg {class_}" lang="{lang}" {attributes}>{_filled(_text(key, lang), params)}</text>')
        for lang in LANGS
    )


def label(key: str) -> Any:
    """A key for the `label`, `info`, `placeholder` or `value` of a Gradio component; translated in the browser."""
    assert key in STRINGS, key
    assert "{" not in STRINGS[key]["en"], f"{key} takes parameters, which Gradio's labels do not"
    return gr.i18n.I18nData(key)


@cache
def gradio_i18n() -> gr.I18n:
    """What `launch(i18n=...)` or `mount_gradio_app(i18n=...)` takes."""
    plain = {key: texts for key, texts in STRINGS.items() if "{" not in texts["en"]}
    english = {key: texts["en"] for key, texts in plain.items()}
    chinese = {key: texts.get("zh-CN") or texts["en"] for key, texts in plain.items()}
    return gr.I18n(en=english, **{"zh-CN": chinese, "zh-TW": chinese})


def browser_strings(*prefixes: str) -> dict[str, dict[str, str]]:
    """The strings the page's own scripts use: language -> key -> text, for keys that start with one of `prefixes`."""
    return {
        lang: {key: text.get(lang) or text["en"] for key, text in STRINGS.items() if key.startswith(prefixes)}
        for lang in LANGS
    }


TAB_KEYS = ("tab.", "compare.")
"""What the keys of tab labels begin with; the tab's id follows."""


def language_script() -> str:
    """JavaScript that gives the page `draftboard.setLanguage(lang)` and `draftboard.t(key, params)`.

    Gradio's own labels follow through the `changeLocale` of its core module, whose hashed name is read from disk.
    """
    assets = Path(gr.__file__).parent / "templates" / "frontend" / "assets"
    core = next((path.name for path in assets.glob("core-*.js")), "")
    used = browser_strings("pane.", "inspector.", "origin.", *TAB_KEYS)
    strings = json.dumps(used, ensure_ascii=False).replace("<", "\\u003c")
    code = lines_of_code(Path(__file__).with_name("views.js"))
    constants = f"const CORE={json.dumps(core)}, TAB_KEYS={json.dumps(TAB_KEYS)}, STRINGS={strings};"
    return f"(() => {{\n{constants}\n{code}}})();"


def _text(key: str, lang: str) -> str:
    texts = STRINGS[key]
    return texts["en"] if lang == "en" else texts.get(lang, texts["en"])


def _filled(text: str, params: dict[str, object]) -> Markup:
    """`text` as safe HTML with its parameters in place; only a text given parameters may use braces."""
    if not params:
        return esc(text)
    safe = str(escape(text)).replace("$", "&#36;").replace("`", "&#96;")
    return Markup(safe.format(**{name: esc(value) for name, value in params.items()}))
