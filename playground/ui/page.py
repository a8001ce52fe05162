"""The page: header, tabs, and what joins them. Layout and wiring only."""

from collections.abc import Iterator
from typing import Any

import gradio as gr
from fastapi import FastAPI

from playground.config import Preset, RunConfig
from playground.errors import PlaygroundError
from playground.presets import DEFAULT, named_preset
from playground.sentence import Sentence
from playground.settings import Settings
from playground.ui import i18n
from playground.ui.bench_tab import BenchTab
from playground.ui.column import Update, preset_names
from playground.ui.compare import Compare
from playground.ui.context import Context
from playground.ui.endpoint import compare_endpoint
from playground.ui.export_tab import ExportTab, imported_preset
from playground.ui.header import head, header
from playground.ui.history import History, selected
from playground.ui.inspector import set_step_source
from playground.ui.pairs_tab import PairsTab
from playground.ui.problems import told
from playground.ui.save import run_to_save
from playground.ui.theme import HEAD, theme
from playground.ui.train_tab import TrainTab
from playground.ui.train_view import problem_html
from playground.ui.tune_tab import TuneTab
from playground.ui.wiring import Wiring

MAX_UPLOAD = "256mb"


def page(context: Context) -> gr.Blocks:
    """The whole page as Gradio Blocks, not yet served."""
    set_step_source(context.steps.source)
    with gr.Blocks(title="Draftboard", fill_width=True, analytics_enabled=False, delete_cache=(3600, 3600)) as blocks:
        header(lambda: context.runner.status().as_dict())
        wiring = Wiring()
        with gr.Tabs(elem_id="tabs") as tabs:
            with gr.Tab(i18n.label("tab.compare"), id="compare", render_children=True):
                compare = Compare(context, wiring, opening_preset(context.settings))
            with gr.Tab(i18n.label("tab.pairs"), id="pairs", render_children=True) as pairs_tab:
                pairs = PairsTab(context, wiring)
            with gr.Tab(i18n.label("tab.train"), id="train", render_children=True) as train_tab:
                train = TrainTab(context, wiring)
            with gr.Tab(i18n.label("tab.tune"), id="tune", render_children=True) as tune_tab:
                tune = TuneTab(context, wiring, compare.column)
            with gr.Tab(i18n.label("tab.bench"), id="bench", render_children=True) as bench_tab:
                bench = BenchTab(context, wiring, compare.column)
            with gr.Tab(i18n.label("tab.export"), id="export", render_children=True) as export_tab:
                export = ExportTab(context, wiring)
            with gr.Tab(i18n.label("tab.history"), id="history", elem_id="history-tab", render_children=True):
                history = History(context, wiring)
        gr.api(compare_endpoint(context), api_name="compare", concurrency_limit=None)
        joins = Joins(context, tabs, compare, export, history)
        joins.wire(blocks, wiring, export_tab)
        PairJoins(compare, tabs, pairs).wire(blocks, wiring, pairs_tab)
        TrainJoins(compare, tabs, train).wire(wiring, train_tab)
        for tab, inside in ((tune_tab, tune), (bench_tab, bench)):
            tab.select(inside.refresh, None, inside.lists, **wiring.quick)
            blocks.load(inside.attach, None, inside.outputs, **wiring.stream)
    blocks.queue(default_concurrency_limit=16)
    return blocks


class Joins:
    """What one tab does to another, and what happens when the page is opened or closed."""

    def __init__(self, context: Context, tabs: gr.Tabs, compare: Compare, export: ExportTab, history: History) -> None:
        self.context, self.tabs, self.compare, self.export, self.history = context, tabs, compare, export, history

    def wire(self, blocks: gr.Blocks, wiring: Wiring, export_tab: gr.Tab) -> None:
        quick, streams = wiring.quick, {**wiring.stream, "outputs": self.compare.outputs}
        settings = [self.compare.prompt, *self.compare.column.outputs]
        chosen = [self.tabs, self.export.source, self.export.run, self.export.preset]
        column = self.compare.column
        blocks.load(
            column.refresh, [column.engine, column.target, column.method, column.draft], column.outputs, **quick
        )
        blocks.load(self.linked_settings, None, settings, **quick)
        blocks.load(self.linked, None, **streams)
        blocks.unload(self.compare.stop)
        self.history.table.open(self.opened_settings, None, settings, **quick)
        self.history.table.open(self.opened, None, **streams)
        self.history.table.config(self.export_selected, None, chosen, **quick)
        self.compare.export.click(self.export_shown, self.compare.stage.shown, chosen, **quick)
        export_tab.select(self.export.refresh, self.export.run, [self.export.run, self.export.preset], **quick)
        used = [self.tabs, *self.compare.column.outputs]
        self.export.use.click(self.use_imported, self.export.imported, used, **quick)
        kept = [*chosen[1:], self.compare.column.preset]
        self.export.keep_preset.click(self.keep_imported, self.export.imported, kept, **quick)

    def linked(self, request: gr.Request) -> Iterator[list[Any]]:
        """`?run=ID` or `?run=ID,ID`: shown at once."""
        if ids := linked_runs(request):
            yield from self.compare.open(request, ids, None)
        else:
            yield [gr.skip()] * len(self.compare.outputs)  # without a word Gradio would empty them all

    def linked_settings(self, request: gr.Request) -> Update:
        try:
            return self.compare.settings_of(linked_runs(request))
        except PlaygroundError:
            return {self.compare.prompt: gr.skip()}  # no link, or `linked` says what is wrong with it

    def opened(self, request: gr.Request, event: gr.EventData) -> Iterator[list[Any]]:
        with told():
            speed = getattr(event, "speed", None)
            yield from self.compare.open(request, selected(event), speed if speed in (1, 4) else None)

    def opened_settings(self, event: gr.EventData) -> Update:
        try:
            return self.compare.settings_of(selected(event))
        except PlaygroundError:
            return {self.compare.prompt: gr.skip()}

    def export_selected(self, event: gr.EventData) -> Update:
        with told():
            return {**self.export.choose_run(selected(event)[0]), self.tabs: gr.Tabs(selected="export")}

    def export_shown(self, shown: dict[str, str]) -> Update:
        with told():
            if not (run_id := run_to_save(shown)):
                raise PlaygroundError(
                    Sentence("Nothing has been measured here yet: run something first, or open a run from History.")
                )
            return {**self.export.choose_run(run_id), self.tabs: gr.Tabs(selected="export")}

    def use_imported(self, data: dict[str, Any] | None) -> Update:
        with told():
            return {**self.compare.column.show(imported_preset(data).config), self.tabs: gr.Tabs(selected="compare")}

    def keep_imported(self, data: dict[str, Any] | None) -> Update:
        updates = self.export.keep_imported(data)
        return {**updates, self.compare.column.preset: gr.update(choices=preset_names(self.context.settings))}


class PairJoins:
    """What the Pairs tab does to Compare."""

    def __init__(self, compare: Compare, tabs: gr.Tabs, pairs: PairsTab) -> None:
        self.column, self.tabs, self.pairs = compare.column, tabs, pairs

    def wire(self, blocks: gr.Blocks, wiring: Wiring, tab: gr.Tab) -> None:
        chosen = [self.pairs.target, self.pairs.draft]
        tab.select(self.pairs.refresh, chosen, [*chosen, self.pairs.known], **wiring.quick)
        self.pairs.use.click(self.use, chosen, [self.tabs, *self.column.outputs], **wiring.quick)
        blocks.unload(self.pairs.stop)

    def use(self, target: str | None, draft: str | None) -> Update:
        with told():
            return {**self.column.show(self.pairs.config_of(target, draft)), self.tabs: gr.Tabs(selected="compare")}


class TrainJoins:
    """What the Train tab does to Compare."""

    def __init__(self, compare: Compare, tabs: gr.Tabs, train: TrainTab) -> None:
        self.column, self.tabs, self.train = compare.column, tabs, train

    def wire(self, wiring: Wiring, tab: gr.Tab) -> None:
        train = self.train
        tab.select(train.refresh, train.target, [train.target], **wiring.quick)
        tab.select(train.watch, None, [train.view, train.start, train.halt], **wiring.stream)
        used = [self.tabs, train.view, *self.column.outputs]
        train.use.click(self.use, [train.target, train.name], used, **wiring.quick)

    def use(self, target: str, name: str) -> Update:
        try:
            return {**self.column.show(self.train.config_of(target, name)), self.tabs: gr.Tabs(selected="compare")}
        except PlaygroundError as error:
            return {self.train.view: problem_html(error)}


def linked_runs(request: gr.Request) -> list[str]:
    """The run ids of the page's address."""
    return [run_id for run_id in str(request.query_params.get("run", "")).split(",") if run_id][:3]


def mount(app: FastAPI, context: Context) -> None:
    """The page at "/" of a web application: with its looks and languages, behind the settings' auth, no extras."""
    settings = context.settings
    password = settings.auth_password.get_secret_value()
    gr.mount_gradio_app(
        app,
        page(context),
        path="/",
        server_name=settings.host,
        server_port=settings.port,
        auth=(settings.auth_user, password) if settings.auth_user else None,
        theme=theme(),
        head=HEAD + head(),
        i18n=i18n.gradio_i18n(),
        footer_links=[],
        show_error=False,  # what went wrong inside is for the log; what a user can mend is told by name
        run_history=False,
        enable_monitoring=False,
        max_file_size=MAX_UPLOAD,
        ssr_mode=False,
    )


def opening_preset(settings: Settings) -> Preset:
    """What the page opens with."""
    try:
        return named_preset(DEFAULT, settings)
    except PlaygroundError:
        return Preset(name=DEFAULT, config=RunConfig())
