"""The Compare tab: ask, run, stop, watch. Also shows recorded runs, since a replay is the same stream read back.

Handlers only: what a config is, how a run goes and how events are drawn is known elsewhere.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import gradio as gr

from playground.comparison import ARMS, Arm
from playground.config import Preset, RunConfig
from playground.errors import PlaygroundError
from playground.events import Event
from playground.presets import named_preset
from playground.replay import paced_arms
from playground.sentence import Sentence
from playground.ui import i18n
from playground.ui.column import Column, Update, engine_names
from playground.ui.context import Context
from playground.ui.examples import EXAMPLES, KINDS, next_example
from playground.ui.problems import told
from playground.ui.recorded import Recorded, recorded
from playground.ui.save import SaveForm
from playground.ui.sessions import Ticket
from playground.ui.stage import Showing, Shown, Stage, refusal, stream
from playground.ui.wiring import PACK, Wiring, unpacked

log = logging.getLogger(__name__)

BOTH, SPECULATIVE, BASELINE = "both", "speculative", "baseline"

Arms = Iterable[tuple[Arm, Event]]


def _buttons(*, busy: bool) -> tuple[Any, Any]:
    """Run and Stop while something streams, or while nothing does."""
    # The labels go along: Gradio forgets a translated one when anything else of the button changes.
    return (
        gr.update(interactive=not busy, value=i18n.label("compare.run")),
        gr.update(interactive=busy, value=i18n.label("compare.stop")),
    )


_LABELS = (str(i18n.label("compare.run")), str(i18n.label("compare.stop")))
"""The two buttons as they are: the cheapest way to change nothing of them."""

_COPY_LINK = """(text) => {
  const ids = JSON.parse(text || "[]");
  if (ids.length) draftboard.copy(draftboard.link(ids), "shell.link_copied");
}"""


class Compare:
    """Builds the tab's inside; `outputs` is what `run` and `open` yield for."""

    def __init__(self, context: Context, wiring: Wiring, opening: Preset) -> None:
        self.context = context
        with gr.Row(elem_id="compare"):
            self.column = Column(context.settings, wiring, opening)
            with gr.Column(elem_id="stage"):
                self._ask()
                self.stage = Stage(context.steps)
        with self.stage.actions:
            self.replay = gr.Button(i18n.label("compare.replay"), elem_id="replay", elem_classes="small")
            self.replay4 = gr.Button("4×", elem_id="replay4", elem_classes="small")
            self.link = gr.Button(i18n.label("compare.link"), elem_classes="small")
            self.save = gr.Button(i18n.label("compare.save"), elem_classes="small", elem_id="save")
            self.export = gr.Button(i18n.label("compare.export"), elem_classes="small", elem_id="to-export")
        with self.stage.foot:
            self.form = SaveForm(context)
        self.outputs: list[Any] = [*self.stage.outputs, self.run_button, self.stop_button]
        self._wire(wiring)

    def _ask(self) -> None:
        with gr.Row(elem_id="ask"):
            self.prompt = gr.Textbox(
                "",
                lines=3,
                max_lines=6,
                label=i18n.label("compare.prompt.label"),
                placeholder=i18n.label("compare.prompt"),
                show_label=False,
                container=False,
                elem_id="prompt",
            )
            with gr.Column(elem_id="go", scale=0, min_width=200):
                with gr.Row():
                    self.run_button = gr.Button(i18n.label("compare.run"), variant="primary", elem_id="run")
                    self.stop_button = gr.Button(i18n.label("compare.stop"), elem_id="stop", interactive=False)
                self.arms = gr.Radio(
                    [(i18n.label(f"compare.arms.{name}"), name) for name in (BOTH, SPECULATIVE, BASELINE)],
                    value=BOTH,
                    label=i18n.label("compare.arms"),
                    show_label=False,
                    container=False,
                    elem_id="arms",
                )
        with gr.Row(elem_id="examples"):
            self.chips = {
                kind: gr.Button(i18n.label(f"example.{kind}"), size="sm", elem_classes="chip") for kind in KINDS
            }

    def _wire(self, wiring: Wiring) -> None:
        quick, stream = wiring.quick, {**wiring.stream, "outputs": self.outputs}
        packed = self.run_button.click(None, self.column.inputs, wiring.packed, js=PACK, **wiring.browser)
        packed.then(self.run, [self.prompt, self.arms, wiring.packed], **stream)
        self.stop_button.click(self.stop, **quick)
        for kind, chip in self.chips.items():
            chip.click(_Example(kind), self.prompt, self.prompt, **quick)
        self.stage.panes["baseline"].example(first_example, None, self.prompt, **quick)
        self.replay.click(self.replay_shown, self.stage.shown, **stream)
        self.replay4.click(self.replay_shown_fast, self.stage.shown, **stream)
        linked = self.link.click(self.shown_ids, self.stage.shown, wiring.packed, **quick)
        linked.then(None, wiring.packed, None, js=_COPY_LINK, **wiring.browser)
        self.form.wire(wiring, self.save, self.stage.shown, self.column.preset)
        self.column.preset.input(self.use_preset, self.column.preset, self.column.outputs, **quick)

    # -- running ----------------------------------------------------------------------------------------------------

    def run(self, request: gr.Request, prompt: str, arms: str, packed: str) -> Iterator[list[Any]]:
        """Both arms, or one, streamed into the panes; recorded whatever becomes of this page."""
        try:
            config = self.column.read(unpacked(packed, len(self.column.inputs)))
            if config.chat and not prompt.strip():
                raise PlaygroundError(
                    Sentence("There is no prompt yet."), Sentence("Write one, or click an example."), code="no_prompt"
                )
            shown, events, abort = self._start(config, prompt, arms)
        except PlaygroundError as error:
            yield self._refused(error)
            return
        showing = Showing(self.context.steps, shown, greedy=config.sampling.greedy)
        yield from self._streamed(request, showing, events, abort)

    def _start(self, config: RunConfig, prompt: str, arms: str) -> tuple[Shown, Arms, Callable[[], None]]:
        runner = self.context.runner
        if arms == BOTH and config.speculation:
            job = runner.start_compare(config, prompt)
            return {**_by_name(job.run_ids), "comparison": job.comparison_id}, job, job.abort
        arm: Arm = "baseline" if arms == BASELINE or config.speculation is None else "speculative"
        run = runner.start_run(config if arm == "speculative" else config.baseline(), prompt)
        return {arm: run.run_id}, ((arm, event) for event in run), run.abort

    def _streamed(
        self, request: gr.Request, showing: Showing, events: Arms, abort: Callable[[], None]
    ) -> Iterator[list[Any]]:
        with self.context.sessions.streaming(session_of(request), abort) as ticket:
            yield [*[gr.skip()] * len(self.stage.outputs), *_buttons(busy=True)]
            for update in guarded_stream(showing, events, ticket):
                yield [*update, *_LABELS]
            # What is yielded last Gradio sends once more, as the result: nothing of a stream that was replaced.
            ending = [gr.skip()] * 2 if ticket.replaced else _buttons(busy=False)
            yield [*[gr.skip()] * len(self.stage.outputs), *ending]

    def _refused(self, error: PlaygroundError) -> list[Any]:
        """A run that could not begin: the reason stands where its text would."""
        showing = Showing(self.context.steps, {"speculative": "refused"}, greedy=False)
        showing.add("speculative", refusal(error))
        showing.shown = {}
        return [*showing.updates(last=True), *_buttons(busy=False)]

    def stop(self, request: gr.Request) -> None:
        """Ends what this tab streams, at the engine; the stream then ends by itself with what it has.

        Not by Gradio's `cancels`: it would close the stream before it could show that the output is partial.
        """
        self.context.sessions.stop(session_of(request))

    # -- recorded runs ----------------------------------------------------------------------------------------------

    def open(self, request: gr.Request, run_ids: list[str], speed: float | None) -> Iterator[list[Any]]:
        """A stored run or pair in the same panes, at `speed` times its own pace; None at once."""
        try:
            found = recorded(self.context.store, run_ids)
        except PlaygroundError as error:
            yield self._refused(error)
            return
        showing = Showing(
            self.context.steps, found.shown, greedy=found.greedy, recorded=found.about, why_not=found.why_not
        )
        yield from self._streamed(request, showing, _replayed(found, speed), lambda: None)

    def replay_shown(self, request: gr.Request, shown: Shown) -> Iterator[list[Any]]:
        yield from self._replay(request, shown, 1.0)

    def replay_shown_fast(self, request: gr.Request, shown: Shown) -> Iterator[list[Any]]:
        yield from self._replay(request, shown, 4.0)

    def _replay(self, request: gr.Request, shown: Shown, speed: float) -> Iterator[list[Any]]:
        if ids := shown_ids(shown):
            yield from self.open(request, ids, speed)
        else:
            gr.Info(str(i18n.tr("save.nothing")), duration=4, title="")
            yield [gr.skip()] * len(self.outputs)

    def shown_ids(self, shown: Shown) -> str:
        """For the link: the ids as JSON text."""
        if not (ids := shown_ids(shown)):
            gr.Info(str(i18n.tr("save.nothing")), duration=4, title="")
        return json.dumps(ids)

    def settings_of(self, run_ids: list[str]) -> Update:
        """The controls and the prompt as the run had them; nothing where this installation has no such engine."""
        run = recorded(self.context.store, run_ids).main
        updates: Update = {self.prompt: run.prompt}
        if run.engine in engine_names():
            updates |= self.column.show(run.config)
        return updates

    # -- presets ----------------------------------------------------------------------------------------------------

    def use_preset(self, name: str) -> Update:
        with told():
            return self.column.show(named_preset(name, self.context.settings).config)


class _Example:
    """The next example of a kind, as a handler: callable with the prompt that stands there."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.__name__ = f"example_{kind}"

    def __call__(self, current: str) -> str:
        return next_example(self.kind, current)


def shown_ids(shown: Shown) -> list[str]:
    """The runs on the stage, the baseline first."""
    return [shown[arm] for arm in ARMS if arm in shown]


def _by_name(run_ids: Mapping[Arm, str]) -> Shown:
    return {str(arm): run_id for arm, run_id in run_ids.items()}


def first_example() -> str:
    return EXAMPLES[0].prompt


def _replayed(found: Recorded, speed: float | None) -> Iterator[tuple[Arm, Event]]:
    for arm, event in paced_arms(found.events(), speed):
        yield ("baseline" if arm == "baseline" else "speculative"), event


def session_of(request: gr.Request) -> str:
    return request.session_hash or ""


def guarded_stream(showing: Showing, events: Arms, ticket: Ticket) -> Iterator[list[Any]]:
    """`stream`, ended by its ticket, and with every failure shown where the text would have been."""
    try:
        yield from stream(showing, events, ticket)
    except PlaygroundError as error:
        showing.fail(refusal(error))
    except Exception as error:
        log.exception("a stream failed")
        wrong = Sentence("Draftboard itself failed: {kind}: {error}.", kind=type(error).__name__, error=error)
        showing.fail(
            refusal(PlaygroundError(wrong, Sentence("The server's log says more; please report it."), code="internal"))
        )
    else:
        return
    if not ticket.replaced:
        yield showing.updates(last=True)
