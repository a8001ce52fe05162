"""Sentences that can be said again in another language: English text that remembers what it was made of.

A `Sentence` is the text, for files, terminals and JSON. Its template is also the key under which a reader's language
has its own wording; that wording is looked up elsewhere, so whoever says a sentence knows nothing of pages.
"""

from collections.abc import Callable


class Sentence(str):
    """`template` with `{name}` filled in from `params`; a parameter may itself be a Sentence."""

    template: str
    params: dict[str, object]

    def __new__(cls, template: str, /, **params: object) -> "Sentence":
        """The template is a literal where it is said, so that a test finds every one; values go into `params`."""
        made = super().__new__(cls, template.format(**params) if params else template)
        made.template, made.params = template, params
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, object]]:
        """For copies and pickles, which would make it of its text alone."""
        return (self.template,), self.params

    def reworded(self, wording: Callable[[str], str | None]) -> str:
        """The text by another template, `wording(template)`; its own where that is None."""
        template = wording(self.template) or self.template
        if not self.params:
            return template
        return template.format(
            **{
                name: value.reworded(wording) if isinstance(value, Sentence) else value
                for name, value in self.params.items()
            }
        )


def joined(parts: "list[Sentence] | tuple[Sentence, ...]") -> Sentence:
    """Several with commas between them, as one."""
    first, *rest = parts
    for part in rest:
        first = Sentence("{first}, {second}", first=first, second=part)
    return first
