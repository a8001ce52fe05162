"""Sentences of exports, imports and checks in the reader's language. Knows wordings, no exporter.

What comes with one of our `Sentence`s is worded in every language; anything else, a program's own message or a
stranger's exporter's reason, is the same in all.
"""

from markupsafe import Markup

from playground.sentence import Sentence
from playground.ui import sentences_checks, sentences_exports, sentences_imports
from playground.ui.i18n import LANGS
from playground.ui.render import esc

CHINESE: dict[str, str] = sentences_exports.CHINESE | sentences_imports.CHINESE | sentences_checks.CHINESE
"""English template -> the Chinese one, with the same parameters."""


def texts(said: str) -> dict[str, str]:
    """Language -> text, for the page's scripts."""
    chinese = said.reworded(CHINESE.get) if isinstance(said, Sentence) else str(said)
    return dict(zip(LANGS, (str(said), chinese), strict=True))


def said_html(said: str) -> Markup:
    """HTML that holds all languages, of which the page shows the reader's."""
    parts = [Markup('<span lang="{}">{}</span>').format(lang, esc(text)) for lang, text in texts(said).items()]
    return Markup('<span class="tr">{}</span>').format(Markup("").join(parts))
