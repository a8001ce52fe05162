"""Two vocabularies side by side: does every id mean the same string to target and draft.

A target verifies ids, so what a draft means by them never changes the output; but a draft that reads other words than
the target wrote drafts in vain, and ids past the target's vocabulary must never be fed. Loads no weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from playground.errors import PlaygroundError
from playground.sentence import Sentence

Verdict = Literal["identical", "padding only", "tokens differ", "incompatible"]

RELATED = 0.9
"""Share of common ids that mean the same string from which on two vocabularies are one family's with differences."""


class _Vocabulary(Protocol):
    def get_vocab(self) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How two vocabularies compare.

    Attributes:
        verdict: identical; padding only (same tokens, unequal logit rows past them); tokens differ (one family, but
            some ids mean different strings or exist on one side only); incompatible (different vocabularies).
        num_different: ids whose strings differ. first_id, target_text, draft_text: the lowest such id and its strings,
            None where that side has no such id.
        target_size, draft_size: ids each side knows. share: of common ids that mean the same string.
    """

    verdict: Verdict
    num_different: int = 0
    first_id: int | None = None
    target_text: str | None = None
    draft_text: str | None = None
    target_size: int = 0
    draft_size: int = 0
    share: float = 1.0

    @property
    def same_tokens(self) -> bool:
        return self.verdict in ("identical", "padding only")

    @property
    def sentence(self) -> str:
        if self.verdict == "padding only":
            return Sentence("Same tokens; only the padding past them differs.")
        if self.verdict == "identical":
            return Sentence("Same vocabulary.")
        found = Sentence(
            "{n:,} token ids mean different strings, the first is {id}: target {target}, draft {draft}.",
            n=self.num_different,
            id=str(self.first_id),
            target=_shown(self.target_text),
            draft=_shown(self.draft_text),
        )
        return (
            found
            if self.verdict == "tokens differ"
            else Sentence("These are different vocabularies: {what}", what=found)
        )


def compare_vocabularies(
    target: Mapping[str, int], draft: Mapping[str, int], target_rows: int | None, draft_rows: int | None
) -> Vocabulary:
    """Compare string -> id maps; `*_rows` are the models' numbers of logits (CASES 1 and 2)."""
    sizes = (max(target.values(), default=-1) + 1, max(draft.values(), default=-1) + 1)
    if target != draft:
        ours, theirs = ({i: s for s, i in v.items()} for v in (target, draft))
        different = sorted(i for i in ours.keys() | theirs.keys() if ours.get(i) != theirs.get(i))
        if different:
            first = different[0]
            common = ours.keys() & theirs.keys()
            share = sum(ours[i] == theirs[i] for i in common) / len(common) if common else 0.0
            verdict: Verdict = "tokens differ" if share >= RELATED else "incompatible"
            return Vocabulary(verdict, len(different), first, ours.get(first), theirs.get(first), *sizes, share)
    if target_rows is not None and draft_rows is not None and target_rows != draft_rows:
        return Vocabulary("padding only", 0, None, None, None, *sizes)
    return Vocabulary("identical", 0, None, None, None, *sizes)


def check_vocabulary(
    target_tokenizer: _Vocabulary, draft_tokenizer: _Vocabulary, target_rows: int, draft_rows: int
) -> Vocabulary:
    """The same for two loaded tokenizers.

    Raises:
        PlaygroundError: the vocabularies differ; names the first id and both strings.
    """
    found = compare_vocabularies(target_tokenizer.get_vocab(), draft_tokenizer.get_vocab(), target_rows, draft_rows)
    if not found.same_tokens:
        raise PlaygroundError(
            Sentence("The draft model cannot draft for this target: {why}", why=found.sentence),
            Sentence("Choose a draft model of the same family and tokenizer, or method ngram, which needs none."),
            code="incompatible_pair",
        )
    return found


def _shown(text: str | None) -> str:
    return Sentence("has no such id") if text is None else repr(text[:80])
