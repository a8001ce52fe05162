"""Which leading ids of a growing context a drafter already knows. Shared by the drafters; a helper, no drafter."""

from collections.abc import Sequence


class KnownIds:
    """The ids a drafter has worked through, cut back to what it shares with each new context.

    The engine passes one list that only grows; the part once compared is then not compared again, so that a call costs
    the same at token 4,000 as at token 1. Any other context is compared from its start.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._context: Sequence[int] | None = None
        self._agreed = 0

    def keep(self, context: Sequence[int]) -> int:
        """Cut `ids` to their common prefix with `context`; its length."""
        same = context is self._context and self._agreed <= len(context)
        start, end = (self._agreed if same else 0), min(len(self.ids), len(context))
        while start < end and self.ids[start] == context[start]:
            start += 1
        del self.ids[start:]
        self._context, self._agreed = context, start
        return start

    def follow(self, context: Sequence[int], end: int) -> list[int]:
        """Take over the context's ids up to `end`; the new ones. Call `keep` first."""
        new = list(context[len(self.ids) : end])
        self.ids += new
        self._agreed = len(self.ids)
        return new
