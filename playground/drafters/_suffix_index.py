"""Every suffix of a growing text with how often it occurred, and what followed: a trie grown token by token.

After Oliaro et al. 2024 (SuffixDecoding, section 4) and the counting of Arctic Inference, which vLLM's `suffix` runs.
Appending and looking up cost at most one or two node visits per level of depth, whatever the length of the text: a
suffix seen once is a leaf that only points into the text, and is unfolded when it is seen again. Knows ids only.
"""

from dataclasses import dataclass


class _Node:
    """One distinct suffix. `end`: where its first occurrence ends; `best`: the child that reached most counts first."""

    __slots__ = ("best", "children", "count", "end")

    def __init__(self, end: int) -> None:
        self.count = 1
        self.end = end
        self.children: dict[int, _Node] = {}
        self.best = -1

    def child(self, token: int) -> "_Node":
        """The child for a token that was just seen after this suffix once more and is known here."""
        found = self.children[token]
        found.count += 1
        if found.count > self.children[self.best].count:
            self.best = token
        return found

    def grow(self, token: int, end: int) -> None:
        """A token that was never seen after this suffix."""
        if not self.children:
            self.best = token
        self.children[token] = _Node(end)


@dataclass(frozen=True, slots=True)
class Continuation:
    """What followed the end of the text before.

    Attributes:
        ids: the most frequent path. match_length: tokens at the end of the text that it was found by.
        score: sum over `ids` of the frequency with which the path went there; how many are expected to be right.
    """

    ids: list[int]
    match_length: int
    score: float


NOTHING = Continuation([], 0, 0.0)


class SuffixIndex:
    """The suffixes of one text up to `depth` tokens, match and continuation together."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._root = _Node(0)
        self._ids: list[int] = []
        self._open: list[_Node] = []
        """The nodes of the text's own last 1, 2, ... tokens, as far as they occurred before."""

    def append(self, token: int) -> None:
        """The text goes on with `token`."""
        self._ids.append(token)
        end = len(self._ids)
        following: list[_Node] = []
        for length, node in enumerate((self._root, *self._open[: self._depth - 1]), 1):
            known = node.children.get(token)
            if known is None:
                node.grow(token, end)
                continue
            if known.count == 1 and length < self._depth:
                known.grow(self._ids[known.end], known.end + 1)  # unfold the one occurrence that it was
            following.append(node.child(token))
        self._open = following

    def continuation(self, most: int, max_spec_factor: float, min_token_prob: float) -> Continuation:
        """The best guess at what follows, over all lengths of match; equal scores go to the longer match.

        Args:
            most: tokens at most. max_spec_factor: tokens per token of match, at most.
            min_token_prob: a path ends before a token whose estimated probability is below this.
        """
        found = NOTHING
        for length, node in enumerate(self._open[: self._depth - 1], 1):
            limit = min(most, int(length * max_spec_factor + 1e-6), self._depth - length)
            candidate = self._path(node, length, limit, min_token_prob)
            if candidate.score >= found.score:
                found = candidate
        return found

    def _path(self, node: _Node, length: int, limit: int, min_token_prob: float) -> Continuation:
        ids: list[int] = []
        prob, score = 1.0, 0.0
        while len(ids) < limit:
            if not node.children:
                # A leaf: the only occurrence goes on in the text itself, for certain.
                rest = self._ids[node.end : node.end + limit - len(ids)]
                return Continuation(ids + rest, length, score + prob * len(rest))
            child = node.children[node.best]
            prob *= child.count / node.count
            if prob < min_token_prob:
                break
            ids.append(node.best)
            score += prob
            node = child
        return Continuation(ids, length, score)
