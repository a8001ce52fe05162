"""The Benchmark tab: choose, start, watch, keep. Handlers only: what a benchmark is, `playground.bench` knows."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gradio as gr

from playground.bench.plan import THRESHOLD, BenchPlan
from playground.bench.run import run, start, stored_report
from playground.bench.text import csv_text, json_text, markdown
from playground.config import checked
from playground.errors import PlaygroundError
from playground.sentence import Sentence
from playground.ui import bench_html, i18n
from playground.ui.bench_view import empty_html, report_html
from playground.ui.column import Column
from playground.ui.context import Context
from playground.ui.problems import told
from playground.ui.wiring import PACK, Wiring
from playground.ui.work_tab import PROMPTS, WorkForm, WorkResult, buttons, earlier, followed, refused, sources
from playground.ui.work_view import ended_html
from storage.benchmarks import Kind

KIND: Kind = "bench"


class BenchTab:
    """Builds the tab's inside. `attach` shows what runs when the page is opened; `refresh` renews the lists."""

    def __init__(self, context: Context, wiring: Wiring, column: Column) -> None:
        self.context, self.column = context, column
        with gr.Row(elem_classes="work", elem_id="bench"):
            with gr.Column(elem_classes="work-form", scale=0, min_width=320):
                self.form = WorkForm(context, "bench", PROMPTS)
                self._options()
                self._earlier()
            with gr.Column(elem_classes="work-result"):
                self.result = WorkResult("bench", empty_html("bench.empty"))
        self.shown = gr.State(None)
        self.outputs: list[Any] = [
            self.result.progress, self.result.report, self.shown, self.start_button, self.stop_button, self.earlier,
        ]  # fmt: skip
        self._wire(wiring)

    def _options(self) -> None:
        with gr.Row():
            self.threshold = gr.Number(
                THRESHOLD, min_width=60, minimum=0.1, maximum=100, step=0.1, label=i18n.label("bench.threshold"),
                elem_id="bench-threshold",
            )  # fmt: skip
            self.repeats = gr.Number(
                1,
                min_width=60,
                precision=0,
                minimum=1,
                maximum=20,
                label=i18n.label("bench.repeats"),
                elem_id="bench-repeats",
            )
        self.check = gr.Checkbox(True, label=i18n.label("bench.check"), container=False, elem_id="bench-check")
        self.levels = gr.Textbox(
            "", lines=1, max_lines=1, placeholder="1,2,4", label=i18n.label("bench.levels"),
            info=i18n.label("bench.levels.info"), elem_id="bench-levels",
        )  # fmt: skip
        with gr.Row():
            self.start_button = gr.Button(
                i18n.label("bench.start"), variant="primary", elem_classes="small", elem_id="bench-start"
            )
            self.stop_button = gr.Button(
                i18n.label("bench.stop"), elem_classes="small", elem_id="bench-stop", interactive=False
            )

    def _earlier(self) -> None:
        gr.HTML("<hr>", padding=False)
        rows = earlier(self.context.store.benchmarks.listed(KIND))
        self.earlier = gr.Dropdown(rows, value=None, label=i18n.label("bench.earlier"), elem_id="bench-earlier")
        with gr.Row():
            self.open_button = gr.Button(i18n.label("bench.open"), elem_classes="small", elem_id="bench-open")
            self.resume_button = gr.Button(i18n.label("bench.resume"), elem_classes="small", elem_id="bench-resume")
            self.forget_button = gr.Button(i18n.label("bench.forget"), elem_classes="small", elem_id="bench-forget")

    def _wire(self, wiring: Wiring) -> None:
        quick, stream = wiring.quick, {**wiring.stream, "outputs": self.outputs}
        asked = [*self.form.inputs, self.threshold, self.repeats, self.check, self.levels]
        packed = self.start_button.click(None, self.column.inputs, wiring.packed, js=PACK, **wiring.browser)
        packed.then(self.start, [wiring.packed, *asked], **stream)
        self.stop_button.click(self.stop, None, None, **quick)
        self.resume_button.click(self.resume, self.earlier, **stream)
        self.open_button.click(self.open, self.earlier, self.outputs, **wiring.quiet)
        self.forget_button.click(self.forget, self.earlier, self.earlier, **wiring.quiet)
        self.form.wire(wiring)
        writers: dict[str, Callable[[dict[str, Any]], str]] = {
            "md": markdown,
            "csv": csv_text,
            "json": json_text,
            "html": bench_html.page,
        }
        self.result.wire(wiring, self.shown, writers, "draftboard-benchmark")

    def start(self, packed: str, *values: Any) -> Iterator[list[Any]]:
        """A new benchmark; it goes on when this tab is closed."""
        form, (threshold, repeats, check, levels) = values[:5], values[5:]
        try:
            config, suite = self.form.read(self.column, packed, form)
            if config.speculation is None:
                raise PlaygroundError(
                    Sentence("There is nothing to measure: no drafting method is chosen."), "", code="bad_config"
                )
            data = {
                "config": config,
                "suite": suite,
                "threshold": threshold,
                "repeats": repeats,
                "check": bool(check),
                "levels": whole_numbers(levels),
                "one_load": self.context.runner.one_load(config),
            }
            benchmark_id = start(self.context.store, checked(BenchPlan, data, where=Sentence("the benchmark")))
            yield from self._run(benchmark_id)
        except PlaygroundError as error:
            yield refused(error)

    def resume(self, benchmark_id: str | None) -> Iterator[list[Any]]:
        try:
            if not benchmark_id:
                raise PlaygroundError(Sentence("No earlier benchmark is chosen."))
            self.context.store.benchmarks.benchmark(benchmark_id)
            yield from self._run(benchmark_id)
        except PlaygroundError as error:
            yield refused(error)

    def _run(self, benchmark_id: str) -> Iterator[list[Any]]:
        context = self.context
        if context.works.find(KIND):
            raise PlaygroundError(
                Sentence("One is running already."), Sentence("Stop it, or wait for its end."), code="still_running"
            )
        work = context.works.start(f"{KIND}-{benchmark_id}", partial(run, context.runner, context.store, benchmark_id))
        yield from followed(context, work, KIND, report_html, benchmark_id)

    def attach(self) -> Iterator[list[Any]]:
        """What is running, for a page that is opened meanwhile."""
        work = self.context.works.find(KIND)
        if work is None:
            yield [gr.skip()] * len(self.outputs)
            return
        yield from followed(self.context, work, KIND, report_html, work.name.removeprefix(f"{KIND}-"))

    def stop(self) -> None:
        if work := self.context.works.find(KIND):
            work.stop()

    def open(self, benchmark_id: str | None) -> list[Any]:
        """A stored one; its report made anew from its runs."""
        with told():
            if not benchmark_id:
                raise PlaygroundError(Sentence("No earlier benchmark is chosen."))
            row = self.context.store.benchmarks.benchmark(benchmark_id)
            report = stored_report(self.context.store, benchmark_id)
        busy = self.context.works.find(KIND) is not None
        return [ended_html(row.status), report_html(report), report, *buttons(busy=busy), gr.skip()]

    def forget(self, benchmark_id: str | None) -> Any:
        with told():
            if benchmark_id:
                self.context.store.benchmarks.delete(benchmark_id)
        return gr.update(choices=earlier(self.context.store.benchmarks.listed(KIND)), value=None)

    def refresh(self) -> list[Any]:
        """Presets and earlier benchmarks as they are now, for `lists`."""
        rows = earlier(self.context.store.benchmarks.listed(KIND))
        return [gr.update(choices=sources(self.context)), gr.update(choices=rows)]

    @property
    def lists(self) -> list[Any]:
        return [self.form.source, self.earlier]


def whole_numbers(text: str) -> tuple[int, ...]:
    """ "1,2,4" as numbers; empty for nothing.

    Raises:
        PlaygroundError: something else was written.
    """
    from playground.cli.suite import numbers

    return numbers(text, i18n.t("bench.levels")) if text and text.strip() else ()
