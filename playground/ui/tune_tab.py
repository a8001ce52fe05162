"""The Tune tab: what to try, the curve as it grows, the recommendation, one click to keep it. Handlers only."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gradio as gr

from playground.config import checked
from playground.errors import PlaygroundError
from playground.importers._text import name_from
from playground.presets import save_preset
from playground.sentence import Sentence
from playground.tune.preset import preset_from_tuning
from playground.tune.run import run, start, stored_report
from playground.tune.space import KS, TunePlan
from playground.tune.text import csv_text, json_text, markdown
from playground.tune.ways import tried_options, ways
from playground.ui import bench_html, i18n
from playground.ui.bench_tab import whole_numbers
from playground.ui.bench_view import empty_html
from playground.ui.column import Column, method_names
from playground.ui.context import Context
from playground.ui.problems import told
from playground.ui.tune_view import tuning_html
from playground.ui.wiring import PACK, Wiring
from playground.ui.work_tab import WorkForm, WorkResult, buttons, earlier, followed, refused, sources
from playground.ui.work_view import ended_html
from storage.benchmarks import Kind

KIND: Kind = "tune"
PROMPTS = 24


class TuneTab:
    """Builds the tab's inside. `attach` shows what runs when the page is opened; `refresh` renews the lists."""

    def __init__(self, context: Context, wiring: Wiring, column: Column) -> None:
        self.context, self.column = context, column
        with gr.Row(elem_classes="work", elem_id="tune"):
            with gr.Column(elem_classes="work-form", scale=0, min_width=320):
                self.form = WorkForm(context, "tune", PROMPTS)
                self._space()
                self._earlier()
            with gr.Column(elem_classes="work-result"):
                self.result = WorkResult("tune", empty_html("tune.empty"))
                with self.result.actions:
                    self.name = gr.Textbox(
                        "", lines=1, max_lines=1, placeholder=i18n.label("tune.name"), label=i18n.label("tune.name"),
                        show_label=False, container=False, elem_id="tune-name",
                    )  # fmt: skip
                    self.save = gr.Button(
                        i18n.label("tune.save"), variant="primary", elem_classes="small", elem_id="tune-save"
                    )
        self.shown = gr.State(None)
        self.outputs: list[Any] = [
            self.result.progress, self.result.report, self.shown, self.start_button, self.stop_button, self.earlier,
        ]  # fmt: skip
        self._wire(wiring)

    def _space(self) -> None:
        self.ks = gr.Textbox(
            "1-8,10,12,16", lines=1, max_lines=1, label=i18n.label("tune.ks"), info=i18n.label("tune.ks.info"),
            elem_id="tune-ks",
        )  # fmt: skip
        self.methods = gr.Dropdown(
            every_method(), value=[], multiselect=True, label=i18n.label("tune.methods"),
            info=i18n.label("tune.methods.info"), elem_id="tune-methods",
        )  # fmt: skip
        self.tried = gr.Textbox(
            "", lines=2, max_lines=6, label=i18n.label("tune.options"), info=i18n.label("tune.options.info"),
            elem_id="tune-options",
        )  # fmt: skip
        with gr.Row():
            self.temperatures = gr.Textbox(
                "", lines=1, max_lines=1, placeholder="0,0.8", label=i18n.label("tune.temperatures"),
                min_width=60, elem_id="tune-temperatures",
            )  # fmt: skip
            self.levels = gr.Textbox(
                "",
                lines=1,
                max_lines=1,
                placeholder="1,4,16",
                label=i18n.label("bench.levels"),
                min_width=60,
                elem_id="tune-levels",
            )
        names = ("tokens_per_second", "throughput", "joules_per_token")
        choices = [(i18n.label(f"tune.objective.{name}"), name) for name in names]
        self.objective = gr.Dropdown(
            choices, value=names[0], label=i18n.label("tune.objective"), elem_id="tune-objective"
        )
        with gr.Row():
            self.start_button = gr.Button(
                i18n.label("bench.start"), variant="primary", elem_classes="small", elem_id="tune-start"
            )
            self.stop_button = gr.Button(
                i18n.label("bench.stop"), elem_classes="small", elem_id="tune-stop", interactive=False
            )

    def _earlier(self) -> None:
        gr.HTML("<hr>", padding=False)
        rows = earlier(self.context.store.benchmarks.listed(KIND))
        self.earlier = gr.Dropdown(rows, value=None, label=i18n.label("tune.earlier"), elem_id="tune-earlier")
        with gr.Row():
            self.open_button = gr.Button(i18n.label("bench.open"), elem_classes="small", elem_id="tune-open")
            self.resume_button = gr.Button(i18n.label("bench.resume"), elem_classes="small", elem_id="tune-resume")

    def _wire(self, wiring: Wiring) -> None:
        quick, stream = wiring.quick, {**wiring.stream, "outputs": self.outputs}
        asked = [
            *self.form.inputs, self.ks, self.methods, self.tried, self.temperatures, self.levels, self.objective,
        ]  # fmt: skip
        packed = self.start_button.click(None, self.column.inputs, wiring.packed, js=PACK, **wiring.browser)
        packed.then(self.start, [wiring.packed, *asked], **stream)
        self.stop_button.click(self.stop, None, None, **quick)
        self.resume_button.click(self.resume, self.earlier, **stream)
        self.open_button.click(self.open, self.earlier, self.outputs, **wiring.quiet)
        for event in (self.save.click, self.name.submit):
            event(self.keep, [self.shown, self.name], [self.name, self.form.source], **wiring.quiet)
        self.form.wire(wiring)
        writers: dict[str, Callable[[dict[str, Any]], str]] = {
            "md": markdown,
            "csv": csv_text,
            "json": json_text,
            "html": bench_html.tuning_page,
        }
        self.result.wire(wiring, self.shown, writers, "draftboard-tuning")

    def start(self, packed: str, *values: Any) -> Iterator[list[Any]]:
        """A new tuning; it goes on when this tab is closed."""
        form, (ks, methods, tried, temperatures, levels, objective) = values[:5], values[5:]
        try:
            config, suite = self.form.read(self.column, packed, form)
            variants = ways(config, list(methods or ()), tried_options(str(tried or "").splitlines()))
            config = config.model_copy(update={"speculation": variants[0]})
            data = {
                "config": config,
                "suite": suite,
                "variants": variants,
                "ks": whole_numbers(ks) or KS,
                "temperatures": _reals(temperatures),
                "levels": whole_numbers(levels) or (1,),
                "objective": objective,
                "one_load": self.context.runner.one_load(config),
            }
            tune_id = start(self.context.store, checked(TunePlan, data, where=Sentence("the tuning")))
            yield from self._run(tune_id)
        except PlaygroundError as error:
            yield refused(error)

    def resume(self, tune_id: str | None) -> Iterator[list[Any]]:
        try:
            if not tune_id:
                raise PlaygroundError(Sentence("No earlier tuning is chosen."))
            self.context.store.benchmarks.benchmark(tune_id)
            yield from self._run(tune_id)
        except PlaygroundError as error:
            yield refused(error)

    def _run(self, tune_id: str) -> Iterator[list[Any]]:
        context = self.context
        if context.works.find(KIND):
            raise PlaygroundError(
                Sentence("One is running already."), Sentence("Stop it, or wait for its end."), code="still_running"
            )
        work = context.works.start(f"{KIND}-{tune_id}", partial(run, context.runner, context.store, tune_id))
        yield from followed(context, work, KIND, tuning_html, tune_id)

    def attach(self) -> Iterator[list[Any]]:
        """What is running, for a page that is opened meanwhile."""
        work = self.context.works.find(KIND)
        if work is None:
            yield [gr.skip()] * len(self.outputs)
            return
        yield from followed(self.context, work, KIND, tuning_html, work.name.removeprefix(f"{KIND}-"))

    def stop(self) -> None:
        if work := self.context.works.find(KIND):
            work.stop()

    def open(self, tune_id: str | None) -> list[Any]:
        with told():
            if not tune_id:
                raise PlaygroundError(Sentence("No earlier tuning is chosen."))
            row = self.context.store.benchmarks.benchmark(tune_id)
            report = stored_report(self.context.store, tune_id)
        busy = self.context.works.find(KIND) is not None
        return [ended_html(row.status), tuning_html(report), report, *buttons(busy=busy), gr.skip()]

    def keep(self, report: dict[str, Any] | None, name: str) -> list[Any]:
        """The recommendation as a preset of the user's own; one click, under a name made from what it is."""
        with told():
            if not report:
                raise PlaygroundError(Sentence("Nothing measured yet."))
            wanted = name.strip() or default_name(report)
            preset = preset_from_tuning(self.context.store, report["tune_id"], wanted, scheduled=True)
            save_preset(preset, self.context.settings, overwrite=not name.strip())
        gr.Info(str(i18n.tr("tune.saved", name=preset.name)), duration=6, title="")
        return [preset.name, gr.update(choices=sources(self.context))]

    def refresh(self) -> list[Any]:
        """Presets and earlier tunings as they are now, for `lists`."""
        rows = earlier(self.context.store.benchmarks.listed(KIND))
        return [gr.update(choices=sources(self.context)), gr.update(choices=rows)]

    @property
    def lists(self) -> list[Any]:
        return [self.form.source, self.earlier]


def every_method() -> list[str]:
    """Of all engines; one that the chosen engine lacks is refused by name."""
    from playground.ui.column import engine_names

    return sorted({method for engine in engine_names() for method in method_names(engine)})


def default_name(report: dict[str, Any]) -> str:
    """ "tuned-smollm2-135m-ngram-k8"."""
    found = report["recommended"]
    how = f"{found['method']}-k{found['num_speculative_tokens']}" if found else "none"
    target = str(report["config"]["target"]).rstrip("/").rsplit("/", 1)[-1]
    return name_from(f"tuned-{target[:40]}-{how}.yaml")


def _reals(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",")) if text and text.strip() else ()
    except ValueError:
        raise PlaygroundError(
            Sentence("“{text}” is no list of numbers.", text=text[:60]), Sentence("Write 0,0.8."), code="bad_config"
        ) from None
