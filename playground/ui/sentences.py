"""Sentences from below the page in the reader's language. Knows wordings, none of those who speak.

What comes with one of our `Sentence`s is worded in every language; anything else, a program's own message or a
stranger's exporter's reason, is the same in all. The database and files hold plain English: there a sentence's
template is found again by its text. The wordings live in `sentences_*.py` beside this file, one per area; findings
about pairs have theirs with the other strings of their tab.
"""

import importlib
import pkgutil
import re
from functools import cache, lru_cache
from itertools import islice
from string import Formatter

from markupsafe import Markup

from playground.doctor.findings import SENTENCES
from playground.doctor.fits import REASONS
from playground.sentence import Sentence
from playground.ui.i18n import LANGS, STRINGS
from playground.ui.render import esc

LONGEST = 4000
"""Characters of a text whose template is looked for."""

_ENOUGH = 8
"""Letters of its own by which a template is known; one with fewer only if a sentence stands in one of its places."""


_DEEPEST = 6
"""Sentences within or after one another that are looked for: settings tell five faults at once."""


def _gather() -> dict[str, str]:
    package = importlib.import_module("playground.ui")
    merged: dict[str, str] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("sentences_"):
            found = importlib.import_module(f"playground.ui.{module.name}").CHINESE
            twice = merged.keys() & found.keys()
            assert not twice, f"{module.name} words again: {sorted(twice)}"
            merged |= found
    return merged


def _findings() -> dict[str, str]:
    told = {english: STRINGS[f"pair.{code}"]["zh-CN"] for code, english in SENTENCES.items()}
    for code, (reason, fix) in REASONS.items():
        told[reason] = STRINGS[f"fit.{code}"]["zh-CN"]
        if fix:
            told[fix] = STRINGS[f"fit.{code}.fix"]["zh-CN"]
    return told


CHINESE: dict[str, str] = _findings() | _gather()
"""English template -> the Chinese one, with the same parameters."""


def texts(said: str) -> dict[str, str]:
    """Language -> text, for the page's scripts."""
    return dict(zip(LANGS, (str(said), chinese(said)), strict=True))


def wired(said: str) -> str | dict[str, str]:
    """The same for `draftboard.said`; a text alone where it is the same in all languages."""
    found = texts(said)
    return found if len(set(found.values())) > 1 else str(said)


def chinese(said: str) -> str:
    """The Chinese of a sentence, or of a text that once was one; itself where there is none."""
    return said.reworded(CHINESE.get) if isinstance(said, Sentence) else found_again(str(said)) or str(said)


def said_html(*said: str) -> Markup:
    """HTML of one sentence or several, in all languages, of which the page shows the reader's."""
    english, chinese_ = " ".join(filter(None, said)), _run_on(list(filter(None, map(chinese, said))))
    if english == chinese_:
        return esc(english)
    spans = (
        Markup('<span lang="{}">{}</span>').format(lang, esc(text))
        for lang, text in zip(LANGS, (english, chinese_), strict=True)
    )
    return Markup('<span class="tr">{}</span>').format(Markup("").join(spans))


def _run_on(parts: list[str]) -> str:
    """Chinese sentences follow each other without a space."""
    return "".join(part if not i or parts[i - 1].endswith(("。", "：")) else f" {part}" for i, part in enumerate(parts))


@lru_cache(maxsize=4096)
def found_again(text: str, depth: int = 0) -> str | None:
    """The Chinese of a text that was one of our sentences before it was stored; None where it was none of them."""
    if len(text) > LONGEST or depth > _DEEPEST:
        return None
    if (whole := CHINESE.get(text)) is not None and " " in text:
        return whole
    for template, letters, longest, pattern in _patterns():
        if longest in text and (match := pattern.fullmatch(text)):
            inner = {name: found_again(value, depth + 1) for name, value in match.groupdict().items()}
            if letters >= _ENOUGH or any(inner.values()):
                return _filled(CHINESE[template], {n: inner.get(n) or v for n, v in match.groupdict().items()})
    for end in islice(re.finditer(r"\. (?=[A-Z“`])", text), _DEEPEST):  # a sentence and its fix
        first, second = found_again(text[: end.start() + 1], depth + 1), found_again(text[end.end() :], depth + 1)
        if first and second:
            return first + second
    return None


@cache
def _patterns() -> list[tuple[str, int, str, re.Pattern[str]]]:
    """(template, letters of its own, its longest piece, what matches its texts), those that say most first."""
    found = []
    for template in CHINESE:
        if not (pieces := _pieces(template)) or not any(literal.strip() for literal, _ in pieces):
            continue
        seen: set[str] = set()
        parts = []
        for literal, name in pieces:
            parts.append(re.escape(literal))
            if name:
                parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>.*?)")
                seen.add(name)
        own = [literal for literal, _ in pieces]
        letters = sum(c.isalpha() for literal in own for c in literal)
        found.append((template, letters, max(own, key=len), re.compile("".join(parts), re.DOTALL)))
    return sorted(found, key=lambda item: -item[1])


def _pieces(template: str) -> list[tuple[str, str | None]]:
    """(literal, the name after it), of a template; empty where it has no places."""
    try:
        pieces = [(literal, name) for literal, name, _, _ in Formatter().parse(template)]
    except ValueError:  # a text without parameters may use braces
        return []
    return pieces if any(name and name.isidentifier() for _, name in pieces) else []


def _filled(template: str, values: dict[str, str]) -> str:
    """`template` with texts in its places, which were formatted already."""
    return "".join(literal + (values.get(name, "") if name else "") for literal, name in _pieces(template))
