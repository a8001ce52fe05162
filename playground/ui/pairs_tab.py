"""The Pairs tab: choose two models, read what speaks for and against them, and try them on prompts.

Handlers only: what a pair is, the doctor knows; how it is drawn, the views know.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr

from playground.config import RunConfig, Speculation
from playground.doctor.examine import examine_here
from playground.doctor.trial import (
    LONGEST,
    MAX_TOKENS,
    PROMPTS,
    Progress,
    Trial,
    method_for,
    trial_config,
    trial_prompts,
)
from playground.errors import PlaygroundError
from playground.models import DEFAULT, catalogue
from playground.sentence import Sentence
from playground.suites import _library
from playground.ui import i18n
from playground.ui.column import Update
from playground.ui.context import Context
from playground.ui.pair_catalogue import catalogue_html
from playground.ui.pair_trial_view import trial_html, waiting_html
from playground.ui.pair_view import nothing_html, problem_html, report_html
from playground.ui.sessions import Sessions
from playground.ui.wiring import Wiring

MAX_CONTEXT = 10_000_000

_SHOW_TRIAL = "() => document.querySelector('#pairs-trial')?.scrollIntoView({ block: 'center', behavior: 'smooth' })"


class PairsTab:
    """Builds the tab's inside. `use` asks to set Compare's controls to the pair."""

    def __init__(self, context: Context, wiring: Wiring) -> None:
        self.context = context
        self.sessions = Sessions()
        with gr.Row(elem_id="pairs"):
            with gr.Column(elem_id="pairs-form", scale=0, min_width=320):
                self._form()
            with gr.Column(elem_id="pairs-result"):
                plain: dict[str, Any] = {"apply_default_css": False, "padding": False}
                self.report = gr.HTML(nothing_html(), elem_id="pairs-view", **plain)
                self.trial = gr.HTML(waiting_html(), elem_id="pairs-trial", **plain)
                self.known = gr.HTML("", elem_id="pairs-catalogue", **plain)
        self._wire(wiring)

    def _form(self) -> None:
        names = model_names(self.context)
        first = DEFAULT if DEFAULT in names else None
        self.target = gr.Dropdown(
            names, value=first, label=i18n.label("pairs.target"), allow_custom_value=True, elem_id="pairs-target"
        )
        self.draft = gr.Dropdown(
            names, value=None, label=i18n.label("pairs.draft"), allow_custom_value=True, elem_id="pairs-draft"
        )
        self.positions = gr.Textbox(
            "",
            lines=1,
            max_lines=1,
            label=i18n.label("pairs.context"),
            info=i18n.label("pairs.context.info"),
            placeholder="8192",
            elem_id="pairs-context",
        )
        with gr.Row():
            self.examine = gr.Button(
                i18n.label("pairs.examine"), variant="primary", elem_classes="small", elem_id="pairs-examine"
            )
            self.use = gr.Button(i18n.label("pairs.use"), elem_classes="small", elem_id="pairs-use")
        gr.HTML(f'<h3 class="heading">{i18n.tr("pairs.trial")}</h3><p>{i18n.tr("pairs.trial.help")}</p>', padding=False)
        suites = [suite.name for suite in _library.list_suites(self.context.settings)]
        self.suite = gr.Dropdown(
            suites, value=suites[0] if suites else None, label=i18n.label("pairs.suite"), elem_id="pairs-suite"
        )
        self.prompts = gr.Textbox(
            "",
            lines=3,
            max_lines=8,
            label=i18n.label("pairs.prompts"),
            info=i18n.label("pairs.prompts.info"),
            elem_id="pairs-prompts",
        )
        self.limit = gr.Slider(1, 40, PROMPTS, step=1, label=i18n.label("pairs.limit"), elem_id="pairs-limit")
        self.max_tokens = gr.Slider(
            8, 256, MAX_TOKENS, step=8, label=i18n.label("pairs.max_tokens"), elem_id="pairs-max-tokens"
        )
        self.longest = gr.Slider(1, 20, LONGEST, step=1, label=i18n.label("pairs.longest"), elem_id="pairs-longest")
        with gr.Row():
            self.start = gr.Button(
                i18n.label("pairs.trial.start"), variant="primary", elem_classes="small", elem_id="pairs-start"
            )
            self.halt = gr.Button(
                i18n.label("compare.stop"), elem_classes="small", elem_id="pairs-stop", interactive=False
            )

    def _wire(self, wiring: Wiring) -> None:
        pair = [self.target, self.draft, self.positions]
        for event in (self.examine.click, self.target.input, self.draft.input, self.positions.submit):
            event(self.show, pair, self.report, trigger_mode="always_last", **wiring.quick)
        asked = [self.target, self.draft, self.suite, self.prompts, self.limit, self.max_tokens, self.longest]
        outputs = [self.trial, self.start, self.halt]
        self.start.click(self.run, asked, outputs, **wiring.stream)
        self.start.click(None, None, None, js=_SHOW_TRIAL, **wiring.browser)
        self.halt.click(self.stop, None, None, **wiring.quick)

    # -- before loading ---------------------------------------------------------------------------------------------

    def show(self, target: str | None, draft: str | None, positions: str | None) -> str:
        """The report, or why there is none."""
        if not target or not draft:
            return nothing_html()
        try:
            return report_html(examine_here(self.context.settings, target, draft, context=context_of(positions)))
        except PlaygroundError as error:
            return problem_html(error)

    def refresh(self, target: str | None, draft: str | None) -> Update:
        """The models that are here now, keeping what is chosen."""
        names = model_names(self.context)
        return {
            self.target: gr.update(choices=names, value=target),
            self.draft: gr.update(choices=names, value=draft),
            self.known: catalogue_html(self.context.settings, self.context.store),
        }

    def chosen(self, target: str | None, draft: str | None) -> tuple[str, str, str]:
        """(target, draft, the embedded engine's method for them), to be used in Compare.

        Raises:
            PlaygroundError: they are not both chosen, or cannot work together.
        """
        if not target or not draft:
            raise PlaygroundError(
                Sentence("No pair is chosen."), Sentence("Choose a target and a draft model."), code="no_pair"
            )
        report = examine_here(self.context.settings, target, draft)
        if report.verdict == "does not work":
            raise PlaygroundError(report.sentence, Sentence("Choose another draft."), code="incompatible_pair")
        return target, draft, method_for(report)

    # -- loaded -----------------------------------------------------------------------------------------------------

    def run(
        self,
        request: gr.Request,
        target: str | None,
        draft: str | None,
        suite: str | None,
        prompts: str,
        limit: float,
        max_tokens: float,
        longest: float,
    ) -> Iterator[list[Any]]:
        """The agreement test, streamed; recorded run by run whatever becomes of this page."""
        try:
            names = self.chosen(target, draft)
            wanted = trial_prompts(
                self.context.settings, suite=suite, prompts=(prompts or "").splitlines(), limit=int(limit)
            )
            config = trial_config(
                *names[:2], method=names[2], max_tokens=int(max_tokens), num_speculative_tokens=int(longest)
            )
            trial = Trial(self.context.runner, config, wanted)
        except PlaygroundError as error:
            yield [problem_html(error), *_buttons(busy=False)]
            return
        with self.sessions.streaming(request.session_hash or "", trial.abort) as ticket:
            yield [trial_html(Progress(0, 2 * len(wanted), "", trial.agreement)), *_buttons(busy=True)]
            try:
                for progress in trial:
                    yield [trial_html(progress), gr.skip(), gr.skip()]
            except PlaygroundError as error:
                yield [problem_html(error), gr.skip(), gr.skip()]
            if not ticket.replaced:
                yield [gr.skip(), *_buttons(busy=False)]

    def stop(self, request: gr.Request) -> None:
        """Ends the test; what is done stays."""
        self.sessions.stop(request.session_hash or "")

    def config_of(self, target: str | None, draft: str | None) -> RunConfig:
        """The pair as a configuration for Compare. Raises PlaygroundError as `chosen` does."""
        names = self.chosen(target, draft)
        speculation = Speculation(method=names[2], model=names[1])
        return RunConfig(engine="embedded", target=names[0], speculation=speculation)


def model_names(context: Context) -> list[str]:
    return [model.name for model in catalogue(context.settings) if model.path]


def context_of(typed: str | None) -> int | None:
    """What the field holds, as a context; None for the target's own.

    Raises:
        PlaygroundError: it is no sensible number of tokens.
    """
    plain = (typed or "").replace(",", "").replace("_", "").strip()
    if not plain:
        return None
    if not plain.isascii() or not plain.isdecimal() or not 1 <= int(plain[:12]) <= MAX_CONTEXT:
        raise PlaygroundError(
            Sentence("“{text}” is no number of tokens.", text=plain[:20]),
            Sentence("Give one from 1 to {most:,}.", most=MAX_CONTEXT),
            code="bad_config",
        )
    return int(plain)


def _buttons(*, busy: bool) -> Sequence[Any]:
    # The labels go along: Gradio forgets a translated one when anything else of the button changes.
    return (
        gr.update(interactive=not busy, value=i18n.label("pairs.trial.start")),
        gr.update(interactive=busy, value=i18n.label("compare.stop")),
    )
