"""A stand-in target that says a script, whatever it is fed, and drafters that propose what a test wants.

Lets a test decide where a draft is right, where EOS falls, how many tokens a block accepts. Helpers, no tests.
"""

import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from playground.config import SamplingParams
from playground.decoding.law import SamplingLaw
from playground.decoding.model import CausalModel
from playground.detokenise import Vocabulary
from playground.drafters import Draft
from playground.engines._generation import Generation, Plan
from playground.engines._loading import Loaded
from playground.events import RunFinished, RunStarted, Step
from playground.metrics import RunResult
from tests import tiny

TOKENIZER = tiny.make_tokenizer()
PROMPT = [tiny.BOS_ID, 86, 74, 71]


class ScriptedModule(torch.nn.Module):
    """After position p its best token is script[p + 1 - len(prompt)], by a margin of 5; EOS after the script."""

    def __init__(self, script: Sequence[int], prompt_length: int, rows: int, max_positions: int) -> None:
        super().__init__()
        self.config = tiny.make_config(vocab_size=rows, max_position_embeddings=max_positions)
        self.generation_config = SimpleNamespace(eos_token_id=tiny.EOS_ID)
        self.device = torch.device("cpu")
        self._script = list(script)
        self._prompt_length = prompt_length
        self.fed: list[int] = []

    def forward(self, input_ids: torch.Tensor, position_ids: torch.Tensor, **kwargs: Any) -> Any:
        self.fed.append(input_ids.shape[1])
        logits = torch.zeros(1, input_ids.shape[1], self.config.vocab_size)
        for row, position in enumerate(position_ids[0].tolist()):
            place = position + 1 - self._prompt_length
            said = self._script[place] if 0 <= place < len(self._script) else tiny.EOS_ID
            logits[0, row, said] = 5.0
        return SimpleNamespace(logits=logits)


class FixedDrafter:
    """Proposes the next tokens of `script` (ids after the prompt); None in it stands for a wrong token."""

    def __init__(self, script: Sequence[int | None], prompt_length: int = len(PROMPT), wrong: int = 9) -> None:
        self._script = [wrong if i is None else i for i in script]
        self._prompt_length = prompt_length

    def propose(self, context: Sequence[int], k: int) -> Draft:
        start = len(context) - self._prompt_length
        return Draft(torch.tensor(self._script[start : start + k], dtype=torch.long))


def loaded(
    script: Sequence[int],
    *,
    tokenizer: Any = TOKENIZER,
    prompt_length: int = len(PROMPT),
    rows: int = tiny.VOCAB,
    max_positions: int = 512,
) -> Loaded:
    module = ScriptedModule(script, prompt_length, rows, max_positions)
    return Loaded(
        name="scripted",
        path="",
        model=CausalModel(module, max_positions),
        tokenizer=tokenizer,
        vocabulary=Vocabulary(tokenizer),
        vocab_size=min(rows, len(tokenizer)),
        logit_rows=rows,
        eos_ids=frozenset({tiny.EOS_ID}),
        dtype="float32",
        device="cpu",
        attention="none",
    )


class Outcome:
    """The events of one run, taken apart."""

    def __init__(self, events: list[Any]) -> None:
        self.events = events
        self.steps = [e for e in events if isinstance(e, Step)]
        self.finished: RunFinished = next(e for e in events if isinstance(e, RunFinished))
        self.ids = [t.id for s in self.steps for t in s.tokens]
        self.texts = [t.text for s in self.steps for t in s.tokens]
        self.result = RunResult.of(events)

    @property
    def started(self) -> RunStarted:
        return next(e for e in self.events if isinstance(e, RunStarted))

    @property
    def shown(self) -> str:
        return "".join(self.texts)


def generate(
    target: Loaded,
    drafter: Any = None,
    k: int = 0,
    *,
    sampling: SamplingParams | None = None,
    budget: int | None = None,
    prompt: Sequence[int] = PROMPT,
    aborted: Callable[[], bool] = lambda: False,
    law: SamplingLaw | None = None,
) -> Outcome:
    """One greedy run of the step loop."""
    sampling = sampling or SamplingParams(max_tokens=64)
    plan = Plan(
        target=target,
        prompt=list(prompt),
        sampling=sampling,
        law=law or SamplingLaw(min_tokens=sampling.min_tokens, stop_ids=() if sampling.ignore_eos else (tiny.EOS_ID,)),
        budget=sampling.max_tokens if budget is None else budget,
        generator=None,
        drafter=drafter,
        k=k,
        candidates=5,
        chunk=16,
        aborted=aborted,
        origin=time.perf_counter(),
    )
    with torch.inference_mode():
        return Outcome(list(Generation(plan).events()))
