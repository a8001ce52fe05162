"""The draft's reduced vocabulary: the tokens the target uses most. Knows ids only."""

from collections import Counter
from collections.abc import Iterable

from playground.training.exchanges import Exchange

RECENT = 64
"""Of a prompt so many last tokens count: answers take up its words."""


def chosen_tokens(exchanges: Iterable[Exchange], size: int, vocab_size: int, always: Iterable[int]) -> list[int]:
    """`size` ids, ascending. Ids never seen fill up from the lowest: tokenizers give low ids to frequent tokens.

    Args:
        vocab_size: ids from here on are padding. always: ids kept in any case, such as EOS.
    """
    answers: Counter[int] = Counter()
    prompts: Counter[int] = Counter()
    for exchange in exchanges:
        answers.update(exchange.ids)
        prompts.update(exchange.prompt_ids[-RECENT:])
    ranked = [*always, *(token for token, _ in (answers + prompts).most_common()), *range(vocab_size)]
    return sorted(list(dict.fromkeys(token for token in ranked if token < vocab_size))[:size])


def coverage(exchanges: Iterable[Exchange], tokens: Iterable[int]) -> float:
    """The share of all answer tokens that are among `tokens`."""
    answers: Counter[int] = Counter()
    for exchange in exchanges:
        answers.update(exchange.ids)
    return sum(answers[token] for token in tokens) / max(answers.total(), 1)
