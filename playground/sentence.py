"""Sentences that can be said again in another language: English text that remembers what it was made of.

A `Sentence` is the text, for files, terminals and JSON. Its template is also the key under which a reader's language
has its own wording; that wording is looked up elsewhere, so whoever says a sentence knows nothing of pages.
"""

from collections.abc import Callable, Mapping, Sequence


class Sentence(str):
    """`template` with `{name}` filled in from `params`; a parameter may itself be a Sentence."""

    template: str
    params: Mapping[str, str | int | float]

    def __new__(cls, template: str, /, **params: object) -> "Sentence":
        """The template is a literal where it is said, so that a test finds every one; values go into `params`.

        Values that are neither text nor numbers are kept as their text: a sentence crosses pipes, and a path or a
        library's exception need not.
        """
        kept = {name: value if isinstance(value, str | int | float) else str(value) for name, value in params.items()}
        made = super().__new__(cls, template.format(**kept) if kept else template)
        made.template, made.params = template, kept
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str], Mapping[str, str | int | float]]:
        """For copies and pickles, which would make it of its text alone."""
        return (self.template,), self.params

    def filled(self, **params: object) -> "Sentence":
        """This one, said without its parameters so far, with them: for tables of sentences."""
        return Sentence.__new__(type(self), self.template, **params)

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


COMMA = Sentence("{first}, {second}")
SEMICOLON = Sentence("{first}; {second}")
OR = Sentence("{first} or {second}")


def joined(parts: Sequence[str], between: Sentence = COMMA) -> str:
    """Several with `between` between them, as one; "" for none."""
    if not parts:
        return ""
    first, *rest = parts
    for part in rest:
        first = between.filled(first=first, second=part)
    return first
