"""What the Benchmark and the Tune tab have in common: choosing settings and prompts, following work, files, the list of
earlier ones. Knows neither what is measured nor how it is reported.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from playground.config import RunConfig
from playground.errors import PlaygroundError
from playground.presets import named_preset
from playground.suites import Suite
from playground.suites._library import chosen, list_suites, named_suite, read_suite
from playground.ui import i18n
from playground.ui.bench_view import problem_html
from playground.ui.column import Column, preset_names
from playground.ui.context import Context
from playground.ui.problems import told
from playground.ui.wiring import Wiring, unpacked
from playground.ui.work_view import ended_html, progress_html, starting_html
from playground.work import Work
from storage.benchmarks import BenchmarkRow, Kind

FILES = [".jsonl", ".json", ".csv", ".tsv", ".txt", ".gz", ".parquet"]

COMPARE = ""
"""The source that stands for the Compare tab's settings; no preset has an empty name."""

MAX_TOKENS = 64
PROMPTS = 40

CLICK = "() => document.querySelector('#{}')?.click()"


class WorkForm:
    """The upper part of the form, the same in both tabs: settings, prompts, how many, how long."""

    def __init__(self, context: Context, name: str, prompts: int) -> None:
        self.context = context
        self.source = gr.Dropdown(
            sources(context), value=COMPARE, label=i18n.label("bench.source"), info=i18n.label("bench.source.info"),
            elem_id=f"{name}-source",
        )  # fmt: skip
        names = [file.name for file in list_suites(context.settings)]
        self.suite = gr.Dropdown(
            names, value=names[0] if names else None, label=i18n.label("bench.suite"),
            info=i18n.label("bench.suite.info"), elem_id=f"{name}-suite",
        )  # fmt: skip
        self.file = gr.State(None)
        self.upload = gr.UploadButton(
            i18n.label("bench.upload"), file_types=FILES, elem_classes="small", elem_id=f"{name}-file"
        )
        with gr.Row():
            self.count = gr.Number(
                prompts,
                min_width=60,
                precision=0,
                minimum=0,
                maximum=20_000,
                label=i18n.label("bench.count"),
                elem_id=f"{name}-count",
            )
            self.max_tokens = gr.Number(
                MAX_TOKENS, min_width=60, precision=0, minimum=1, maximum=131_072, label=i18n.label("bench.max_tokens"),
                elem_id=f"{name}-max-tokens",
            )  # fmt: skip
        self.inputs: list[Any] = [self.source, self.suite, self.file, self.count, self.max_tokens]

    def wire(self, wiring: Wiring) -> None:
        self.upload.upload(self.take_file, self.upload, [self.file, self.suite], **wiring.quiet)

    def take_file(self, path: str) -> list[Any]:
        """An uploaded file becomes the chosen suite, under its own name; refused at once where a line is wrong."""
        with told():
            read_suite(Path(path), Path(path).name)
        names = [file.name for file in list_suites(self.context.settings)]
        return [path, gr.update(choices=[Path(path).name, *names], value=Path(path).name)]

    def read(self, column: Column, packed: str, values: Sequence[Any]) -> tuple[RunConfig, Suite]:
        """Configuration and prompts, as the widgets say.

        Raises:
            PlaygroundError: a setting, a preset or a line of a file is wrong.
        """
        source, suite, file, count, max_tokens = values
        config = (
            column.read(unpacked(packed, len(column.inputs)))
            if source == COMPARE
            else named_preset(str(source), self.context.settings).config
        )
        few = max(1, int(max_tokens or MAX_TOKENS))
        sampling = config.sampling.model_copy(
            update={"max_tokens": few, "min_tokens": min(config.sampling.min_tokens, few)}
        )
        own = bool(file) and Path(file).name == suite
        found = read_suite(Path(file), str(suite)) if own else named_suite(str(suite), self.context.settings)
        return config.model_copy(update={"sampling": sampling}), chosen(found, sample=int(count) if count else None)


class WorkResult:
    """The right side: progress, the report, files."""

    def __init__(self, name: str, empty: str) -> None:
        plain: dict[str, Any] = {"apply_default_css": False, "padding": False}
        self.progress = gr.HTML("", elem_id=f"{name}-progress", **plain)
        self.actions = gr.Row(elem_classes="work-files", elem_id=f"{name}-actions")
        with self.actions:
            self.files = {
                ending: gr.Button(ending.upper(), elem_classes="small", elem_id=f"{name}-{ending}")
                for ending in ("md", "csv", "json", "html")
            }
            self.download = gr.DownloadButton(visible="hidden", elem_id=f"{name}-download")
        self.report = gr.HTML(empty, elem_id=f"{name}-report", **plain)
        self.name = name

    def wire(
        self, wiring: Wiring, shown: gr.State, writers: Mapping[str, Callable[[dict[str, Any]], str]], stem: str
    ) -> None:
        """Each button downloads the shown report in its form."""
        for ending, button in self.files.items():
            written = button.click(_Writer(stem, ending, writers[ending]), shown, self.download, **wiring.quiet)
            written.success(None, js=CLICK.format(f"{self.name}-download"), **wiring.browser)


class _Writer:
    """Writes the shown report to a file of one kind; a handler."""

    def __init__(self, stem: str, ending: str, write: Callable[[dict[str, Any]], str]) -> None:
        self.stem, self.ending, self.write = stem, ending, write
        self.__name__ = f"write_{ending}"

    def __call__(self, report: dict[str, Any] | None) -> str:
        if not report:
            raise gr.Error(str(i18n.tr("bench.none")), duration=6, title="", print_exception=False)
        path = Path(tempfile.mkdtemp(prefix="draftboard-")) / f"{self.stem}.{self.ending}"
        path.write_text(self.write(report), encoding="utf-8", newline="")
        return str(path)


def sources(context: Context) -> list[tuple[Any, str]]:
    return [(i18n.label("bench.source.compare"), COMPARE), *((name, name) for name in preset_names(context.settings))]


def earlier(rows: Sequence[BenchmarkRow]) -> list[tuple[str, str]]:
    """(what a list says, id), the newest first."""
    return [
        (f"{row.created_at[5:16].replace('T', ' ')}  {row.title}  ({row.status})", row.benchmark_id) for row in rows
    ]


def buttons(*, busy: bool) -> tuple[Any, Any]:
    """Start and Stop. The labels go along: Gradio forgets a translated one when anything else of a button changes."""
    return (
        gr.update(interactive=not busy, value=i18n.label("bench.start")),
        gr.update(interactive=busy, value=i18n.label("bench.stop")),
    )


def followed(
    context: Context, work: Work[Any], kind: Kind, draw: Callable[[dict[str, Any]], str], item_id: str
) -> Iterator[list[Any]]:
    """Updates of [progress, report, shown report, start, stop, list of earlier ones] until the work has ended.

    The report is sent when it is another; closing this leaves the work alone.
    """
    shown: dict[str, Any] | None = None
    skip: Any = gr.skip()
    yield [starting_html(), skip, skip, *buttons(busy=True), skip]
    for stage in work.follow():
        if stage is None:
            continue
        report = stage.report
        new = report is not None and report is not shown
        shown = report if new else shown
        bar = progress_html(stage.done, stage.total, stage.seconds_left, stage.now)
        yield [bar, draw(report) if new else skip, report if new else skip, *buttons(busy=True), skip]
    store = context.store
    row = store.benchmarks.benchmark(item_id)
    report = dict(row.report) if row.report else None
    listed = gr.update(choices=earlier(store.benchmarks.listed(kind)), value=item_id)
    drawn = draw(report) if report else problem_html(row.error, row.hint) if row.error else skip
    yield [ended_html(row.status, work.error), drawn, report or skip, *buttons(busy=False), listed]


def refused(error: PlaygroundError) -> list[Any]:
    """What could not begin: the reason stands where its report would."""
    skip: Any = gr.skip()
    return ["", problem_html(error.message, error.hint), skip, *buttons(busy=False), skip]
