"""The field's terms, one line each, in both languages. The page's hover explanations and its glossary."""

from playground.ui.i18n import tr

TERMS = ("target", "draft", "step")


def glossary() -> str:
    """The glossary as an HTML definition list."""
    return ""
