"""Canned texts for the scripted engine, as (piece, ...) tuples that join to the shown text.

Knows strings only: no events, no timing.
"""

import re
from typing import Literal

Source = Literal["lorem", "code", "hostile", "chinese"]

_LOREM = (
    "The draft model proposes a few tokens and the target model judges them all in one pass. Where both agree, several "
    "tokens arrive for the price of one. Where they differ, the target's own token takes the place of the first wrong "
    "one, so the text is exactly what the target alone would have written.\n\n"
    "1. A good draft is cheap.\n2. A good draft is often right.\n3. A long draft is not always a better one.\n\n"
    "Predictable text, such as code, lists and quotations, gains the most; a poem at a high temperature gains least. "
)

_CODE = '''def fibonacci(n: int) -> list[int]:
    """The first n Fibonacci numbers."""
    numbers = [0, 1]
    while len(numbers) < n:
        numbers.append(numbers[-1] + numbers[-2])
    return numbers[:n]


for number in fibonacci(10):
    print(f"{number:>5}")

'''

_CHINESE = "投机解码用小模型起草，用大模型验证。两者一致时，一次前向就能得到多个词元；不一致时，以目标模型为准。\n"

# Every string that broke some page: markup, template syntax, Markdown, repeats, whitespace, split characters.
_HOSTILE = (
    *("<b>", "bold", "</b>", " </span><script>", "alert(1)", "</script>", " ${x}", " {{x}}", " ${HOME:-x}"),
    *(" <img src=x onerror=alert(1)>", " &amp;", " &lt;", ' "quoted"', " 'single'", "\\", "`", "\n"),
    *("# Heading", "\n", "**bold** _it_", " ![i](http://example.invalid/i.png)", " [a](javascript:alert(1))", "\n"),
    *("```python", "\n", "print('<hi>')", "\n", "```", "\n", "| a | b |", "\n", "|---|---|", "\n"),
    *(" the", " the", " the", " the", " ", "  ", "   ", "\t", "\n", "\n\n", " \n ", "\r\n", "\u00a0", "\u200b"),
    *(
        "你好",
        "，",
        "世界",
        "。",
        "",
        "",
        "",
        "👩‍👩‍👧",
        "",
        "🏳️‍🌈",
        " cafe\u0301",
        " \u202eright-to-left\u202c",
        "العربية",
    ),
    *(" $E=mc^2$", " \\(x\\)", " <!-- -->", " --", "-->", " end", ".", "\n"),
)


def pieces(source: Source) -> tuple[str, ...]:
    """The tokens of one round of `source`; a piece may be empty (a character still incomplete)."""
    if source == "hostile":
        return _HOSTILE
    if source == "chinese":
        return tuple(re.findall(r"[\u4e00-\u9fff]{1,2}|\s|.", _CHINESE))
    text = {"lorem": _LOREM, "code": _CODE}[source]
    return split(text)


def split(text: str) -> tuple[str, ...]:
    """Any text as word-like tokens that join to it again."""
    return tuple(re.findall(r"\n| ?[A-Za-z]+| ?\d| {2,}|\s|[^\w\s]|.", text))
