"""The optimisation: passes over the exchanges, held-out evaluations, checkpoints, an early stop.

The order of batches follows from the seed and the pass alone, so that a training resumed goes on as if never stopped.
Knows the head, batches and checkpoints; nothing of how exchanges were made or of who watches.
"""

import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from playground.decoding.eagle3 import Eagle3Head, Rotation
from playground.engines._device import pick_dtype
from playground.training import checkpoints
from playground.training.checkpoints import Place
from playground.training.options import TrainOptions
from playground.training.states import States
from playground.training.unroll import Batch, Unrolled, collated, unrolled

WARM_UP = 60
"""Steps until the learning rate is whole."""

LEAST_RATE = 0.05
GAIN = 0.002
"""Tokens per step by which an evaluation must be better to count."""

SHUFFLED = 32
"""Batches among which exchanges are sorted by length."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The exchanges as the loop reads them. `prompts`: the length of each prompt; `train`, `held_out`: indices."""

    sequences: Sequence[tuple[int, ...]]
    prompts: Sequence[int]
    train: Sequence[int]
    held_out: Sequence[int]
    states: States


@dataclass(frozen=True, slots=True)
class Evaluation:
    """On held-out exchanges. `acceptance`: per position the share of guesses that are right, given all before were."""

    loss: float
    acceptance: tuple[float, ...]

    @property
    def tokens_per_step(self) -> float:
        """Expected, with as many draft tokens as positions: 1 + the chances to reach and pass each."""
        return expected_tokens(self.acceptance, len(self.acceptance))


def expected_tokens(acceptance: Sequence[float], k: int) -> float:
    """Tokens per step with k drafted; past the positions known, the last one's acceptance is assumed."""
    total, reached = 1.0, 1.0
    for position in range(k):
        reached *= acceptance[min(position, len(acceptance) - 1)]
        total += reached
    return total


class Loop:
    """One training, from its last checkpoint on.

    Args:
        output: the target's output layer at the reduced vocabulary. folder: of checkpoints.
        improved: called with the head and its evaluation whenever it is the best so far.
        said: called with the place and the number of steps there are at most, after every step.
        evaluated: called with the figures of every evaluation.
    """

    def __init__(
        self,
        options: TrainOptions,
        head: Eagle3Head,
        output: Tensor,
        corpus: Corpus,
        folder: Path,
        improved: Callable[[Eagle3Head, Evaluation], None],
        said: Callable[[Place, int], None],
        evaluated: Callable[[dict[str, Any]], None],
        stopped: Callable[[], bool],
    ) -> None:
        self._options, self._head, self._corpus, self._folder = options, head, corpus, folder
        self._output = output
        self._improved, self._said, self._evaluated, self._stopped = improved, said, evaluated, stopped
        self._rotation = Rotation(head.shape, head.device, torch.float32, options.max_length)
        self._optimizer = torch.optim.AdamW(
            head.parameters(), lr=options.learning_rate, betas=(0.9, 0.95), weight_decay=options.weight_decay
        )
        self._place, self.history = checkpoints.restore(folder, head, self._optimizer)
        self._began = time.monotonic() - self._place.seconds
        self._saved = time.monotonic()

    def run(self) -> str:
        """Until it is done: "passes", "no gain" or "stopped", the reason."""
        options = self._options
        if not self.history:
            self._evaluate()
        while self._place.number < math.ceil(options.passes):
            batches = self._batches(self._place.number)
            share = min(options.passes - self._place.number, 1.0)
            count = max(math.ceil(len(batches) * share), 1)
            every = max(count // options.evaluations, 1)
            for index in range(self._place.batch, count):
                if self._stopped():
                    self._save()
                    return "stopped"
                self._step(batches[index], (self._place.number + index / len(batches)) / options.passes)
                last = index + 1 == count
                place = replace(self._place, step=self._place.step + 1)
                self._place = replace(place, number=place.number + last, batch=0 if last else index + 1)
                self._said(self._place, math.ceil(len(batches) * options.passes))
                if (index + 1) % every == 0 or last:
                    self._evaluate()
                    if self._place.stale >= options.patience:
                        return "no gain"
                elif time.monotonic() - self._saved > options.checkpoint_seconds:
                    self._save()
        return "passes"

    @property
    def place(self) -> Place:
        """How far it is."""
        return self._place

    def evaluate(self) -> Evaluation:
        """The head as it is now, on the held-out exchanges."""
        steps, losses = self._options.unroll_steps, 0.0
        alive, hits = torch.zeros(steps, dtype=torch.float64), torch.zeros(steps, dtype=torch.float64)
        self._head.eval()
        with torch.no_grad(), self._autocast():
            groups = self._packed(sorted(self._corpus.held_out, key=lambda i: len(self._corpus.sequences[i])))
            for group in groups:
                found = self._unrolled(self._batch(group))
                losses += found.losses.sum().item() / len(groups)
                alive += found.alive.cpu()
                hits += found.hits.cpu()
        acceptance = (hits / alive.clamp(min=1)).tolist()
        return Evaluation(losses, tuple(acceptance))

    def _step(self, indices: list[int], done: float) -> None:
        rate = self._options.learning_rate * min(1.0, (self._place.step + 1) / WARM_UP)
        rate *= LEAST_RATE + (1 - LEAST_RATE) * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._head.train()
        batch = self._batch(indices)
        with self._autocast():
            losses = self._unrolled(batch).losses
        weights = self._options.step_weight ** torch.arange(len(losses), device=losses.device)
        self._optimizer.zero_grad()
        torch.autograd.backward((losses * weights).sum())
        torch.nn.utils.clip_grad_norm_(self._head.parameters(), 1.0)
        self._optimizer.step()
        self._place = replace(self._place, tokens=self._place.tokens + int(batch.judged.sum()))

    def _evaluate(self) -> None:
        found, place = self.evaluate(), self._place
        better = not self.history or found.tokens_per_step > place.best + GAIN
        self._place = place = replace(
            place,
            best=found.tokens_per_step if better else place.best,
            stale=0 if better else place.stale + 1,
            seconds=time.monotonic() - self._began,
        )
        figures = {"step": place.step, "pass": place.number, "loss": found.loss, "acceptance": list(found.acceptance)}
        self.history.append({**figures, "tokens_per_step": found.tokens_per_step})
        if better:
            self._improved(self._head, found)
        self._save()
        self._evaluated(self.history[-1])

    def _save(self) -> None:
        self._place = replace(self._place, seconds=time.monotonic() - self._began)
        checkpoints.save(self._folder, self._head, self._optimizer, self._place, self.history)
        self._saved = time.monotonic()

    def _unrolled(self, batch: Batch) -> Unrolled:
        return unrolled(self._head, self._output, batch, self._options.unroll_steps, self._rotation)

    def _batch(self, indices: Sequence[int]) -> Batch:
        corpus = self._corpus
        return collated(
            [corpus.sequences[i] for i in indices],
            [corpus.prompts[i] for i in indices],
            corpus.states.rows(indices),
            self._head.shape.target_hidden_size,
            self._head.device,
        )

    def _batches(self, number: int) -> list[list[int]]:
        """The batches of a pass: exchanges of like length together, in an order of the pass's own."""
        draw = random.Random(f"{self._options.seed}/{number}")
        order = list(self._corpus.train)
        draw.shuffle(order)
        mean = sum(len(self._corpus.sequences[i]) for i in order) / max(len(order), 1)
        window = max(int(self._options.batch_tokens / max(mean, 1) * SHUFFLED), 1)
        parts = [order[at : at + window] for at in range(0, len(order), window)]
        batches = [
            b for part in parts for b in self._packed(sorted(part, key=lambda i: len(self._corpus.sequences[i])))
        ]
        draw.shuffle(batches)
        return batches

    def _packed(self, ascending: Sequence[int]) -> list[list[int]]:
        """Batches of at most `batch_tokens` tokens, padding counted."""
        batches: list[list[int]] = []
        for index in ascending:
            length = len(self._corpus.sequences[index])
            if not batches or (len(batches[-1]) + 1) * length > self._options.batch_tokens:
                batches.append([])
            batches[-1].append(index)
        return batches

    def _autocast(self) -> AbstractContextManager[Any]:
        """Matrix work in bfloat16 where the hardware has it."""
        device = self._head.device
        if pick_dtype("auto", device) is not torch.bfloat16:
            return nullcontext()
        return torch.autocast(device.type, dtype=torch.bfloat16)
