"""The Train tab: a draft head for a target, started here, followed by whoever looks, stopped and continued.

Handlers only: training knows the work, the view how it is drawn. A head's folder is a name among this machine's models,
never a path: who may open the page may not write anywhere else.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from playground.config import RunConfig, Speculation, checked
from playground.errors import PlaygroundError
from playground.models import DEFAULT, catalogue
from playground.sentence import Sentence
from playground.suites._library import read_suite
from playground.training import Training, TrainOptions, last_training, start_training
from playground.ui import i18n
from playground.ui.column import Update
from playground.ui.context import Context
from playground.ui.sentences import said_html
from playground.ui.sessions import Sessions
from playground.ui.train_view import nothing_html, problem_html, status_html
from playground.ui.wiring import Wiring

POLL = 0.7
"""Seconds between two looks at the progress."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class TrainTab:
    """Builds the tab's inside. `use` asks to set Compare's controls to the head."""

    def __init__(self, context: Context, wiring: Wiring) -> None:
        self.context = context
        self._training: Training | None = None
        self._followers = Sessions()
        with gr.Row(elem_id="train"):
            with gr.Column(elem_id="train-form", scale=0, min_width=320):
                self._form()
            with gr.Column(elem_id="train-result"):
                self.view = gr.HTML(
                    nothing_html(_command(DEFAULT)), elem_id="train-view", apply_default_css=False, padding=False
                )
        self._wire(wiring)

    def _form(self) -> None:
        defaults = {name: field.default for name, field in TrainOptions.model_fields.items()}
        names = target_names(self.context)
        self.target = gr.Dropdown(
            names,
            value=DEFAULT,
            label=i18n.label("train.target"),
            info=i18n.label("train.target.info"),
            elem_id="train-target",
        )
        self.name = gr.Textbox(
            "my-head",
            max_lines=1,
            label=i18n.label("train.name"),
            info=i18n.label("train.name.info"),
            elem_id="train-name",
        )
        self.temperatures = gr.Textbox(
            ", ".join(map(str, defaults["temperatures"])),
            max_lines=1,
            label=i18n.label("train.temperatures"),
            info=i18n.label("train.temperatures.info"),
            elem_id="train-temperatures",
        )
        self.upload = gr.UploadButton(i18n.label("train.prompts"), elem_id="train-upload", elem_classes="small")
        self.prompts = gr.State(None)
        self.chosen = gr.HTML(_chosen(None), elem_id="train-prompts", padding=False)
        self.numbers: dict[str, gr.Number] = {}
        for name, key in NUMBERS.items():
            self.numbers[name] = gr.Number(
                defaults[name],
                precision=None if name == "passes" else 0,
                label=i18n.label(f"train.{key}"),
                info=i18n.label(f"train.{key}.info"),
                elem_id=f"train-{key}",
            )
        with gr.Row():
            self.start = gr.Button(
                i18n.label("train.start"), variant="primary", elem_classes="small", elem_id="train-start"
            )
            self.halt = gr.Button(
                i18n.label("train.stop"), elem_classes="small", elem_id="train-stop", interactive=False
            )
        self.use = gr.Button(i18n.label("train.use"), elem_classes="small", elem_id="train-use")

    def _wire(self, wiring: Wiring) -> None:
        asked = [self.target, self.name, self.temperatures, self.prompts, *self.numbers.values()]
        shown = [self.view, self.start, self.halt]
        self.upload.upload(self.read_file, self.upload, [self.prompts, self.chosen], **wiring.quiet)
        self.start.click(self.run, asked, shown, **wiring.stream)
        self.halt.click(self.stop, None, None, **wiring.quick)

    # -- handlers ---------------------------------------------------------------------------------------------------

    def run(
        self, request: gr.Request, target: str, name: str, temperatures: str, prompts: str | None, *numbers: Any
    ) -> Iterator[list[Any]]:
        """Starts or continues it, and follows it as long as the page is there."""
        try:
            options = options_of(target, temperatures, prompts, dict(zip(NUMBERS, numbers, strict=True)))
            self._training = start_training(self.context.settings, options, self._folder(name))
        except PlaygroundError as error:
            yield [problem_html(error), *_buttons(busy=False)]
            return
        yield from self.watch(request)

    def watch(self, request: gr.Request) -> Iterator[list[Any]]:
        """What the latest training says, as long as it says something new; or what this tab is for."""
        training = self._training or last_training(self.context.settings)
        if training is None:
            yield [gr.skip(), *_buttons(busy=False)]
            return
        said: Any = None
        with self._followers.streaming(request.session_hash or "", lambda: None) as ticket:
            while ticket.alive:  # one follower a page, however often its tab is opened
                running, status = training.running, training.status()
                if (running, status) != said:
                    said = (running, status)
                    yield [status_html(status, str(training.out)), *_buttons(busy=running)]
                if not running:
                    return
                time.sleep(POLL)

    def stop(self) -> None:
        """It saves and ends; what it has done stays."""
        if self._training is not None:
            self._training.stop()

    def read_file(self, path: str) -> tuple[str | None, str]:
        """A user's prompts, if they can be read."""
        try:
            return path, _chosen((Path(path).name, len(read_suite(Path(path)).prompts)))
        except PlaygroundError as error:
            return None, f'<p class="problem" role="alert">{said_html(error.message, error.hint)}</p>'

    def refresh(self, target: str | None) -> Update:
        """The models that are here now."""
        return {self.target: gr.update(choices=target_names(self.context), value=target)}

    def config_of(self, target: str, name: str) -> RunConfig:
        """The head in Compare. Raises PlaygroundError where there is none of that name."""
        folder = self._folder(name)
        if not (folder / "model.safetensors").exists():
            raise PlaygroundError(
                Sentence("There is no head called “{name}” yet.", name=name),
                Sentence("Train it first."),
                code="no_such_model",
            )
        speculation = Speculation(method="eagle3", model=name, num_speculative_tokens=3)
        return RunConfig(engine="embedded", target=target, speculation=speculation)

    def _folder(self, name: str) -> Path:
        if not _NAME.fullmatch(name or ""):
            raise PlaygroundError(
                Sentence("“{name}” is no name for a head.", name=(name or "")[:60]),
                Sentence("Use letters, digits, dots, dashes and underscores, 64 at most."),
                code="bad_config",
            )
        return self.context.settings.models_folder / name


NUMBERS = {"tokens": "tokens", "max_length": "max_length", "draft_vocab_size": "vocab", "passes": "passes"}
"""Options that the form asks for as numbers, and their strings."""


def options_of(target: str, temperatures: str, prompts: str | None, numbers: dict[str, Any]) -> TrainOptions:
    """What the form says.

    Raises:
        PlaygroundError: naming every field that is wrong.
    """
    said = {name: value for name, value in numbers.items() if value is not None}
    listed = [part.strip() for part in (temperatures or "").replace("，", ",").split(",") if part.strip()]
    data = {"target": target or "", "temperatures": listed, "prompts": prompts, **said}
    return checked(TrainOptions, data, where=Sentence("the training's options"))


def target_names(context: Context) -> list[str]:
    """Models that a head can be trained for: those that are here and load."""
    names = [model.name for model in catalogue(context.settings) if model.path and not model.problem]
    return names if DEFAULT in names else [DEFAULT, *names]


def _command(target: str) -> str:
    return f"python -m playground train --target {target} --out {target}-eagle3 --tokens 4000000"


def _chosen(file: tuple[str, int] | None) -> str:
    words = i18n.tr("train.prompts.none") if file is None else i18n.tr("train.prompts.some", name=file[0], n=file[1])
    return f'<p class="t-soft">{words}</p>'


def _buttons(*, busy: bool) -> list[Any]:
    # The labels go along: Gradio forgets a translated one when anything else of the button changes.
    return [
        gr.update(interactive=not busy, value=i18n.label("train.start")),
        gr.update(interactive=busy, value=i18n.label("train.stop")),
    ]
