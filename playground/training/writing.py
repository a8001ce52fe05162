"""The target writes what its head learns from: prompts out of its bare chat template, and its answers to them.

Where a user's turn would stand in the template the model writes one itself (Xu et al. 2024, Magpie), begun with a word
or not, so that requests come in many kinds; some prompts are about a passage it wrote, some are second turns. A user's
own prompts come first. Knows text, the tokenizer and a sampler; no files.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from playground.engines._loading import Loaded
from playground.training.exchanges import Exchange

STARTS = (
    "Write", "Explain", "How", "What", "Why", "Summarize", "Translate", "Give", "Create", "List", "Describe",
    "Compare", "Calculate", "Can", "Who", "Design", "Rewrite", "Provide", "Tell", "Is", "Solve", "I", "Analyze",
    "Suggest", "Generate", "Discuss", "The", "In", "When", "Which", "Where", "Do", "Please", "Help", "Identify",
    "Develop", "My", "Classify", "Edit", "Find", "Imagine", "Convert", "Outline", "Name",
)  # fmt: skip

PASSAGE_TASKS = (
    "Summarize the following text in two sentences.\n\n{passage}",
    "{passage}\n\nWhat are the main points of this text?",
    "Rewrite this so that a child can understand it:\n\n{passage}",
    "Translate into French:\n\n{passage}",
    "Correct the mistakes in this text and repeat it:\n\n{passage}",
    "{passage}\n\nContinue this text.",
    "List all names, places and numbers in this text:\n\n{passage}",
    "Answer with a quotation from the text: what does it say first?\n\n{passage}",
)

SHORTEST, LONGEST, PASSAGE = 8, 1500, 200
"""Characters of a prompt; least characters of a passage."""

PLAIN, ABOUT_PASSAGE = 0.6, 0.2
"""Shares of the kinds of prompts; the rest are second turns."""

ENDING = 0.25
"""Share of prompts that a target must end by itself for the unended ones to be thrown away."""

ROOM = 16
"""Tokens that must be left for an answer."""

_MARK = "\u2402draftboard\u2403"


class Sample(Protocol):
    def __call__(
        self, prompts: Sequence[Sequence[int]], *, temperature: float, top_p: float, most: int, seed: int
    ) -> list[tuple[int, ...]]: ...


@dataclass
class Writer:
    """Writes exchanges in rounds; a round is reproducible from the seed and from what was written before it.

    Attributes:
        own: a user's prompts. longest: tokens of an exchange. most: tokens of an answer.
    """

    target: Loaded
    sample: Sample
    own: Sequence[str]
    temperatures: Sequence[float]
    batch: int
    longest: int
    most: int
    seed: int
    written: list[Exchange] = field(default_factory=list)
    """What there is already, in order; grows with every round."""

    def rounds(self) -> Iterator[list[Exchange]]:
        """New exchanges, a batch at a time, without end."""
        number = 0
        answered = {(e.prompt_ids, e.temperature) for e in self.written}
        own = [self._ids([("user", prompt)]) for prompt in self.own]
        waiting = [(ids, t) for t in self.temperatures for ids in own if (ids, t) not in answered]
        while True:
            draw = random.Random(f"{self.seed}/{len(self.written)}/{number}")
            number += 1
            if waiting:
                temperature = waiting[0][1]
                chosen = [pair for pair in waiting if pair[1] == temperature][: self.batch]
                waiting = waiting[len(chosen) :]
                prompts = [ids for ids, _ in chosen]
            else:
                temperature = self.temperatures[number % len(self.temperatures)]
                prompts = self._prompts(draw)
            fitting = [ids for ids in prompts if len(ids) + ROOM <= self.longest]
            new = self._answers(fitting, temperature, draw) if fitting else []
            self.written += new
            yield new

    def _answers(self, prompts: list[tuple[int, ...]], temperature: float, draw: random.Random) -> list[Exchange]:
        most = min(self.most, self.longest - min(map(len, prompts)))
        answers = self.sample(prompts, temperature=temperature, top_p=1.0, most=most, seed=draw.randrange(2**31))
        pairs = zip(prompts, answers, strict=True)
        return [Exchange(p, a, temperature).cut(self.longest) for p, a in pairs if a]

    def _prompts(self, draw: random.Random) -> list[tuple[int, ...]]:
        """A batch of prompts of all kinds, rendered."""
        conversations = [self._before(draw) for _ in range(self.batch)]
        begun = []
        for turns, task in conversations:
            start = "" if draw.random() < 0.25 else draw.choice(STARTS)
            begun.append((turns, task, start))
        unwritten = [(turns, start) for turns, task, start in begun if task is None]
        texts = iter(self._user_turns(unwritten, draw) if unwritten else [])
        found = [(turns, next(texts) if task is None else task) for turns, task, _ in begun]
        return [self._ids([*turns, ("user", text)]) for turns, text in found if text]

    def _before(self, draw: random.Random) -> tuple[list[tuple[str, str]], str | None]:
        """(the turns before the prompt, the prompt itself where it needs no writing)."""
        kind = draw.random()
        earlier = draw.choice(self.written) if self.written and self.target.tokenizer.chat_template else None
        if earlier is None or kind < PLAIN:
            return [], None
        answer = self._text(earlier.ids).strip()
        if kind < PLAIN + ABOUT_PASSAGE:
            task = draw.choice(PASSAGE_TASKS).format(passage=answer)
            fits = len(self._ids([("user", task)])) + ROOM <= self.longest
            return [], task if len(answer) >= PASSAGE and fits else None
        turns = [("user", self._last_turn(earlier)), ("assistant", answer)]
        fits = len(self._encode(self._template(turns)[0])) + 4 * ROOM <= self.longest
        return turns if turns[0][1] and answer and fits else [], None

    def _user_turns(self, begun: list[tuple[list[tuple[str, str]], str]], draw: random.Random) -> list[str]:
        """What the model writes in the user's place; "" where that is no usable prompt."""
        prompts = [self._encode(self._template(turns)[0] + start) for turns, start in begun]
        written = self.sample(
            prompts, temperature=1.0, top_p=0.98, most=min(160, self.longest // 4), seed=draw.randrange(2**31)
        )
        ended = [bool(ids) and ids[-1] in self.target.eos_ids for ids in written]
        all_count = not self.target.tokenizer.chat_template or sum(ended) < ENDING * len(ended)
        texts = []
        for (_, start), ids, whole in zip(begun, written, ended, strict=True):
            text = (start + self._text(ids)).strip()
            texts.append(text if SHORTEST <= len(text) <= LONGEST and (whole or all_count) else "")
        return texts

    def _template(self, turns: list[tuple[str, str]]) -> tuple[str, str]:
        """The chat template's text before and after a user's turn that follows `turns`."""
        tokenizer = self.target.tokenizer
        if not tokenizer.chat_template:
            return tokenizer.bos_token or "", ""
        messages = [{"role": role, "content": text} for role, text in [*turns, ("user", _MARK)]]
        text: str = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        before, _, after = text.rpartition(_MARK)
        return before, after

    def _ids(self, turns: list[tuple[str, str]]) -> tuple[int, ...]:
        """A conversation that ends with a user's turn, ready for the answer."""
        before, after = self._template(turns[:-1])
        return self._encode(before + turns[-1][1] + after)

    def _encode(self, text: str) -> tuple[int, ...]:
        ids: list[int] = self.target.tokenizer(text, add_special_tokens=False).input_ids
        return tuple(ids) or (self._first,)

    @property
    def _first(self) -> int:
        """A token to begin with where there is no text at all."""
        tokenizer: Any = self.target.tokenizer
        return int(next((i for i in (tokenizer.bos_token_id, *sorted(self.target.eos_ids)) if i is not None), 0))

    def _text(self, ids: Sequence[int]) -> str:
        text: str = self.target.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def _last_turn(self, exchange: Exchange) -> str:
        """The user's words of a first turn, cut out of its rendered prompt; "" for any other."""
        before, after = self._template([])
        text: str = self.target.tokenizer.decode(list(exchange.prompt_ids), skip_special_tokens=False)
        return text[len(before) : len(text) - len(after)] if text.startswith(before) and text.endswith(after) else ""
