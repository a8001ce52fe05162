"""The stages of a training in their order, on a loaded target. Knows each stage's files in the work folder.

What a stage has finished is found again by the next session: exchanges line by line, hidden states window by window,
the head checkpoint by checkpoint.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from playground.decoding.eagle3 import Eagle3Head
from playground.engines import EngineContext
from playground.engines._loading import Loaded, load
from playground.engines._threads import set_threads
from playground.errors import PlaygroundError
from playground.gpu import describe
from playground.headfiles import head_config, read_shape, write_json
from playground.headweights import read_head, write_head
from playground.modelfiles import read_object
from playground.sentence import Sentence
from playground.suites._library import read_suite
from playground.training.checkpoints import Place
from playground.training.exchanges import Exchange, append_exchanges, held_out, mend, read_exchanges
from playground.training.initial import initial_head, shape_for
from playground.training.loop import Corpus, Evaluation, Loop
from playground.training.options import TrainOptions
from playground.training.progress import Progress
from playground.training.report import card, costs, predictions
from playground.training.sampler import Sampler
from playground.training.states import DiskStates, LiveStates, States, fits_on_disk
from playground.training.vocabulary import chosen_tokens, coverage
from playground.training.writing import Writer

HELD_OUT = 96
"""Exchanges kept from training, at most."""

FRUITLESS = 20
"""Rounds without one exchange after which the target is taken to be unable to write."""


class Stages:
    """Everything between a loaded target and a report."""

    def __init__(
        self,
        work: Path,
        out: Path,
        options: TrainOptions,
        context: EngineContext,
        progress: Progress,
        stopped: Callable[[], bool],
    ) -> None:
        self._work, self._out, self._options, self._context = work, out, options, context
        self._progress, self._stopped = progress, stopped

    def run(self) -> dict[str, Any] | None:
        """The report; None where it was stopped."""
        options = self._options
        self._progress.stage("load", 0, note=f"Loading {options.target}.")
        torch.manual_seed(options.seed)
        set_threads(self._context)
        target = load(options.target, options.dtype, "auto", self._context)
        exchanges = self._exchanges(target)
        if self._stopped():
            return None
        head, covered = self._head(target, exchanges)
        states = self._states(target, head, exchanges)
        if self._stopped():
            return None
        kept = list(held_out(exchanges, HELD_OUT))
        corpus = Corpus(
            [e.tokens for e in exchanges],
            [len(e.prompt_ids) for e in exchanges],
            [i for i, out in enumerate(kept) if not out],
            [i for i, out in enumerate(kept) if out],
            states,
        )
        reason, place, best = self._train(target, head, corpus)
        if reason == "stopped":
            return None
        return self._report(target, exchanges, covered, best, place, reason)

    # -- what it learns from ----------------------------------------------------------------------------------------

    def _exchanges(self, target: Loaded) -> list[Exchange]:
        """Those given, those written before, and as many new ones as are missing."""
        options = self._options
        given = [e for file in options.data for e in read_exchanges(file, target.vocab_size)]
        given = [e for e in (e.cut(options.max_length) for e in given) if len(e.ids) >= 2]
        file = self._work / "exchanges.jsonl"
        mend(file)
        written = read_exchanges(file, target.vocab_size) if file.exists() else []
        prompts = [turn for p in read_suite(options.prompts).prompts for turn in p.turns[:1]] if options.prompts else []
        writer = Writer(
            target,
            Sampler(target, self._stopped),
            prompts,
            options.temperatures,
            options.generate_batch,
            min(options.max_length, target.model.max_positions),
            options.max_answer,
            options.seed,
            written,
        )
        have = sum(len(e.ids) for e in (*given, *written))
        self._progress.stage("write", options.tokens, min(have, options.tokens))
        fruitless = 0
        for new in writer.rounds() if have < options.tokens else ():
            if self._stopped():  # what a stopped batch gave is cut short
                del writer.written[len(writer.written) - len(new) :]
                break
            append_exchanges(file, new)
            have += sum(len(e.ids) for e in new)
            self._progress.at(min(have, options.tokens), note=f"{len(given) + len(writer.written):,} exchanges")
            fruitless = 0 if new else fruitless + 1
            if have >= options.tokens:
                break
            if fruitless >= FRUITLESS:
                raise PlaygroundError(
                    Sentence("{target} writes no usable prompts of its own.", target=options.target),
                    Sentence("Give a file of prompts, or exchanges written before."),
                    code="no_prompts",
                )
        usable = [e for e in (*given, *writer.written) if len(e.ids) >= 2 and len(e.tokens) >= 3]
        if len(usable) < 10 and not self._stopped():
            raise PlaygroundError(
                Sentence("{n} exchanges are too few to train on and to judge by.", n=len(usable)),
                Sentence("Ask for more tokens."),
                code="no_data",
            )
        return usable

    def _head(self, target: Loaded, exchanges: list[Exchange]) -> tuple[Eagle3Head, float]:
        """The head as it begins; its vocabulary is chosen once and for all sessions."""
        if self._options.start_from is not None:
            return self._taken_over(target, exchanges, self._options.start_from)
        file = self._work / "vocabulary.json"
        chosen = read_object(file)
        if chosen is None:
            tokens = chosen_tokens(exchanges, self._options.draft_vocab_size, target.vocab_size, sorted(target.eos_ids))
            chosen = {"tokens": tokens, "coverage": coverage(exchanges, tokens)}
            write_json(file, chosen)
        shape = shape_for(target.model.module, len(chosen["tokens"]), self._options.taps)
        return initial_head(target.model.module, shape, chosen["tokens"], self._options.seed), chosen["coverage"]

    def _taken_over(self, target: Loaded, exchanges: list[Exchange], folder: Path) -> tuple[Eagle3Head, float]:
        """A head made before; its shape and vocabulary stay as they are."""
        config = head_config(folder)
        if config is None:
            raise PlaygroundError(
                Sentence("There is no EAGLE-3 head in {folder}.", folder=folder),
                Sentence("Name the folder with its config.json and model.safetensors, or begin without one."),
                code="no_model",
            )
        module = target.model.module
        layers = int(module.config.get_text_config(decoder=True).num_hidden_layers)
        embeddings = module.get_input_embeddings().weight.detach()
        output = module.get_output_embeddings().weight.detach()
        head = read_head(
            folder.name, folder, read_shape(folder.name, config, layers), embeddings.float(), output.float()
        )
        return head.train().requires_grad_(True), coverage(exchanges, head.targets.tolist())

    def _states(self, target: Loaded, head: Eagle3Head, exchanges: list[Exchange]) -> States:
        live = LiveStates(target.model.module, head.shape.taps, [e.tokens for e in exchanges])
        wanted = self._options.states
        if wanted == "none":
            return live
        disk = DiskStates(self._work / "states.bin", live, [len(e.tokens) for e in exchanges])
        if not fits_on_disk(disk, self._work, wanted):
            return live
        self._progress.stage("states", len(exchanges), note=f"{disk.bytes / 1e9:.1f} GB")
        disk.fill(self._progress.at, self._stopped)
        return disk

    # -- learning ---------------------------------------------------------------------------------------------------

    def _train(self, target: Loaded, head: Eagle3Head, corpus: Corpus) -> tuple[str, Place, Evaluation]:
        """(why it ended, how far it came, the best evaluation); the best head is written whenever there is a better."""
        best_file, total = self._work / "best.json", 0

        def improved(better: Eagle3Head, found: Evaluation) -> None:
            write_head(self._out, better, self._extra(target))
            write_json(best_file, {"loss": found.loss, "acceptance": list(found.acceptance)})

        def said(now: Place, most: int) -> None:
            nonlocal total
            if most != total:  # known once the first pass is laid out; a later one may differ by a few
                total = most
                self._progress.stage("train", total, now.step - 1)
            self._progress.at(now.step)

        output = target.model.module.get_output_embeddings().weight.detach()[head.targets]
        self._progress.stage("train", 0)
        checkpoints = self._work / "checkpoints"
        evaluated = self._progress.evaluated
        loop = Loop(self._options, head, output, corpus, checkpoints, improved, said, evaluated, self._stopped)
        for figures in loop.history:
            evaluated(figures)
        reason = loop.run()
        best = read_object(best_file)
        assert best is not None  # the first evaluation is before the first step
        return reason, loop.place, Evaluation(best["loss"], tuple(best["acceptance"]))

    def _extra(self, target: Loaded) -> dict[str, Any]:
        tokenizer = target.tokenizer
        return {
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "draftboard_target": self._options.target,
        }

    # -- the end ----------------------------------------------------------------------------------------------------

    def _report(
        self, target: Loaded, exchanges: list[Exchange], covered: float, best: Evaluation, place: Place, reason: str
    ) -> dict[str, Any]:
        self._progress.stage("report", 0, note="Timing the target and the head.")
        module = target.model.module
        config = read_object(self._out / "config.json") or {}
        shape = read_shape(
            "the trained head", config, int(module.config.get_text_config(decoder=True).num_hidden_layers)
        )
        head = read_head("the trained head", self._out, shape, module.get_input_embeddings().weight.detach(), None)
        cost = costs(target, head)
        rows = predictions(best.acceptance, cost)
        report = {
            "target": self._options.target,
            "out": str(self._out),
            "acceptance": list(best.acceptance),
            "loss": best.loss,
            "predictions": rows,
            "best_k": max(rows, key=lambda row: row["speedup"])["k"],
            "predicted_speedup": max(row["speedup"] for row in rows),
            **cost,
            "hardware": _hardware(head.device),
            "dtype": target.dtype,
            "exchanges": len(exchanges),
            "answer_tokens": sum(len(e.ids) for e in exchanges),
            "draft_vocab_size": shape.draft_vocab_size,
            "coverage": covered,
            "parameters": sum(weight.numel() for weight in head.parameters()),
            "steps": place.step,
            "trained_positions": place.tokens,
            "training_seconds": place.seconds,
            "ended_by": reason,
            "options": self._options.model_dump(mode="json"),
        }
        write_json(self._out / "report.json", report)
        (self._out / "README.md").write_text(card(self._out.name, self._options.target, report), encoding="utf-8")
        return report


def _hardware(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return str(describe()[-1]["name"]) if device.type == "cpu" else device.type
