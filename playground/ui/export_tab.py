"""The Export tab: a measured run or a preset as the files of a production system, and such files read back.

What was measured is exported, not what the widgets say. Losses stand above the files, so that they are seen before the
download. What a system takes is known by its exporter; this file names none.
"""

import base64
import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from playground import exporters
from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exchange import export_options, export_preset, import_together
from playground.exporters import Export
from playground.exporters.preset import preset_yaml
from playground.exportfiles import zipped
from playground.importers import Imported
from playground.importers._text import MAX_BYTES, check_size
from playground.presets import named_preset, next_name, preset_from_run, save_preset
from playground.registry import discover
from playground.sentence import Sentence
from playground.terminal import sanitised
from playground.ui import i18n
from playground.ui.column import Update, preset_names
from playground.ui.context import Context
from playground.ui.controls import Control, controls_for, default_of
from playground.ui.problems import told
from playground.ui.recorded import day
from playground.ui.render import esc, lines_of_code, three
from playground.ui.sentences import said_html, texts
from playground.ui.wiring import Wiring
from playground.validation import Check, check, outlook

if TYPE_CHECKING:
    from storage.history import RunRow

log = logging.getLogger(__name__)

RUN, PRESET = "run", "preset"
RECENT = 100  # runs offered in the list; older ones come from the History tab
FIRST = "vllm"
"""The system shown first, where it is there: nothing has to be renamed for it."""

MAX_FILES = 8

_HERE = Path(__file__).parent


class ExportTab:
    """Builds the tab's inside. `use` sets Compare's controls from `imported`."""

    def __init__(self, context: Context, wiring: Wiring) -> None:
        self.context = context
        self._options: dict[str, list[Control]] = {}
        self._groups: dict[str, gr.Group] = {}
        with gr.Row(elem_id="export"):
            with gr.Column(elem_id="export-form", scale=0, min_width=320):
                self._export_form()
                self._import_form()
            with gr.Column(elem_id="export-result"):
                self.result = gr.HTML(
                    nothing(),
                    html_template='<div class="db-export"></div>',
                    js_on_load=lines_of_code(_HERE / "export.js"),
                    apply_default_css=False,
                    elem_id="export-view",
                    server_functions=[check_function(self.exported)],
                )
        self._wire(wiring)

    def _export_form(self) -> None:
        self.source = gr.Radio(
            [(i18n.label("export.from_run"), RUN), (i18n.label("export.from_preset"), PRESET)],
            value=RUN,
            label=i18n.label("export.source"),
            info=i18n.label("export.from_run.info"),
            elem_classes="segments",
        )
        self.run = gr.Dropdown([], label=i18n.label("export.run"), allow_custom_value=True, elem_id="export-run")
        presets = preset_names(self.context.settings)
        self.preset = gr.Dropdown(presets, label=i18n.label("export.preset"), visible=False, elem_id="export-preset")
        found = discover(exporters.PACKAGE)
        first = FIRST if FIRST in found else next(iter(found))
        self.system = gr.Dropdown(
            systems(),
            value=first,
            label=i18n.label("export.system"),
            info=i18n.label("export.system.info"),
            elem_id="export-system",
        )
        self.model_as = gr.Textbox(
            label=i18n.label("export.model_as"),
            info=i18n.label("export.model_as.info"),
            placeholder="org/model",
            max_lines=1,
            elem_id="export-model-as",
        )
        self.draft_as = gr.Textbox(
            label=i18n.label("export.draft_as"), placeholder="org/draft", max_lines=1, elem_id="export-draft-as"
        )
        for name in found:
            if export_options(name).model_fields:
                with gr.Group(visible=name == first) as self._groups[name]:
                    self._options[name] = controls_for(export_options(name), f"export_options.{name}")

    def _import_form(self) -> None:
        gr.HTML(f'<h3 class="heading">{i18n.tr("export.import")}</h3><p>{i18n.tr("export.import.help")}</p>')
        self.upload = gr.UploadButton(
            i18n.label("export.choose_file"), file_count="multiple", elem_id="export-upload", elem_classes="small"
        )
        self.paste = gr.Textbox(
            label=i18n.label("export.paste"),
            placeholder=i18n.label("export.paste.placeholder"),
            lines=2,
            max_lines=8,
            elem_id="export-paste",
        )
        self.keep = gr.Checkbox(
            False,
            label=i18n.label("export.keep_lossy"),
            info=i18n.label("export.keep_lossy.info"),
            elem_id="export-keep",
        )
        self.pasted = gr.Button(i18n.label("export.read"), elem_id="export-read-pasted", elem_classes="small")
        self.imported = gr.State(None)
        self.read = gr.HTML("", elem_id="export-read")
        with gr.Row(visible=False, elem_id="export-next") as self.next:
            self.keep_preset = gr.Button(
                i18n.label("export.keep"), elem_id="export-keep-preset", elem_classes="small", min_width=0
            )
            self.use = gr.Button(i18n.label("export.use"), elem_id="export-use", elem_classes="small", min_width=0)

    def _wire(self, wiring: Wiring) -> None:
        names = [self.model_as, self.draft_as]
        self.inputs = [self.source, self.run, self.preset, self.system, *names, *self._controls()]
        self.source.input(self.on_source, self.source, [self.run, self.preset], **wiring.quick)
        self.system.input(self.on_system, self.system, list(self._groups.values()), **wiring.quick)
        # One listener for all: with one each, the answer to an earlier choice could come last and stay.
        gr.on(
            [widget.change for widget in self.inputs],
            self.show,
            self.inputs,
            self.result,
            trigger_mode="always_last",
            **wiring.quiet,
        )
        told = [self.read, self.imported, self.next]
        self.upload.upload(self.read_files, [self.upload, self.keep], told, **wiring.quiet)
        self.pasted.click(self.read_pasted, [self.paste, self.keep], told, **wiring.quiet)

    def _controls(self) -> list[Any]:
        return [control.widget for controls in self._options.values() for control in controls]

    # -- choosing ---------------------------------------------------------------------------------------------------

    def on_source(self, source: str) -> Update:
        return {self.run: gr.update(visible=source == RUN), self.preset: gr.update(visible=source == PRESET)}

    def on_system(self, system: str) -> Update:
        return {group: gr.update(visible=name == system) for name, group in self._groups.items()}

    def refresh(self, run: str | None) -> Update:
        """The runs and presets there are now; keeps what is chosen, or chooses the newest."""
        runs = run_choices(self.context)
        chosen = run or (runs[0][1] if runs else None)
        return {
            self.run: gr.update(choices=runs, value=chosen),
            self.preset: gr.update(choices=preset_names(self.context.settings)),
        }

    def keep_imported(self, data: dict[str, Any] | None) -> Update:
        """Saves what was read as a preset of the user's own, under a name still free, and exports that."""
        with told():
            preset = imported_preset(data)
            while True:
                try:
                    save_preset(preset, self.context.settings)
                    break
                except PlaygroundError as error:
                    if error.code != "name_taken":
                        raise
                    preset = preset.model_copy(update={"name": next_name(preset.name)})
        gr.Info(str(i18n.tr("save.saved", name=preset.name)), duration=4, title="")
        return {
            self.source: PRESET,
            self.run: gr.update(visible=False),
            self.preset: gr.update(choices=preset_names(self.context.settings), value=preset.name, visible=True),
        }

    def choose_run(self, run_id: str) -> Update:
        """Updates that make the tab show this run."""
        return {
            self.source: RUN,
            self.run: gr.update(choices=run_choices(self.context), value=run_id, visible=True),
            self.preset: gr.update(visible=False),
        }

    # -- exporting --------------------------------------------------------------------------------------------------

    def show(
        self,
        source: str,
        run: str | None,
        preset: str | None,
        system: str,
        model_as: str | None,
        draft_as: str | None,
        *options: Any,
    ) -> str:
        """The files, or why there are none."""
        chosen = run if source == RUN else preset
        if not chosen:
            return nothing()
        asked = {"source": source, "chosen": chosen, "system": system, "options": self._said(system, options)}
        asked |= {"model_as": (model_as or "").strip(), "draft_as": (draft_as or "").strip()}
        try:
            return view(self.exported(asked), asked)
        except PlaygroundError as error:
            return json.dumps(refusal(error))

    def exported(self, asked: dict[str, Any]) -> Export:
        """The export that a view shows. Raises PlaygroundError."""
        chosen, system, options = str(asked.get("chosen")), str(asked.get("system")), asked.get("options")
        found = (
            preset_from_run(self.context.store, chosen, preset_name(chosen))
            if asked.get("source") == RUN
            else named_preset(chosen, self.context.settings)
        )
        return export_preset(
            found,
            system,
            options if isinstance(options, dict) else {},
            model_as=str(asked.get("model_as") or ""),
            draft_as=str(asked.get("draft_as") or ""),
        )

    def _said(self, system: str, values: tuple[Any, ...]) -> dict[str, Any]:
        controls = [c for found in self._options.values() for c in found]
        mine = self._options.get(system, [])
        said = {c.key.rsplit(".", 1)[-1]: c.read(v) for c, v in zip(controls, values, strict=True) if c in mine}
        fields = {c.key.rsplit(".", 1)[-1]: c.field for c in mine}
        return {name: value for name, value in said.items() if value != default_of(fields[name])}

    # -- importing --------------------------------------------------------------------------------------------------

    def read_files(self, paths: list[str] | str | None, keep_lossy: bool) -> tuple[str, dict[str, Any] | None, Any]:
        """Configs of ours or of another system: what they say, and what had to be rewritten."""
        chosen = [Path(path) for path in ([paths] if isinstance(paths, str) else paths or [])][:MAX_FILES]

        # A script says more than the settings beside it, which may be all of one model or a part of it.
        chosen.sort(key=lambda path: path.suffix not in (".sh", ".bash"))

        def read() -> Imported:
            for path in chosen:
                check_size(path.name, path.stat().st_size)
            files = {path.name: path.read_bytes()[: MAX_BYTES + 1] for path in chosen}
            return import_together(files, keep_lossy=bool(keep_lossy))

        return shown_import(read)

    def read_pasted(self, text: str, keep_lossy: bool) -> tuple[str, dict[str, Any] | None, Any]:
        return shown_import(lambda: import_together({"pasted": str(text or "")}, keep_lossy=bool(keep_lossy)))


def refusal(error: PlaygroundError) -> dict[str, Any]:
    """What the view's script shows of a refusal: as the command line's JSON, in both languages."""
    return {"error": texts(error.message), "hint": texts(error.hint), "code": error.code}


def shown_import(read: Callable[[], Imported]) -> tuple[str, dict[str, Any] | None, Any]:
    """(what is said of it, the preset as data, whether it can be used).

    What is said shows hidden characters of names as pictures; the preset has them as they are. Whatever fails is said
    and takes the place of what was read before: an older preset must never be used for a newer file.
    """
    try:
        return _shown(read())
    except PlaygroundError as error:
        problem = error
    except Exception as error:
        log.exception("an import failed")
        wrong = Sentence("Draftboard itself failed: {kind}: {error}.", kind=type(error).__name__, error=error)
        problem = PlaygroundError(wrong, Sentence("The server's log says more; please report it."), code="internal")
    fix = f'<span class="fix">{said_html(problem.hint)}</span>'
    text = f'<p class="problem" role="alert">{said_html(problem.message)} {fix}</p>'
    return sanitised(text), None, gr.update(visible=False)


def _shown(found: Imported) -> tuple[str, dict[str, Any] | None, Any]:
    rewrites = "".join(f"<li>{said_html(line)}</li>" for line in found.rewrites)
    said = f"<p>{i18n.tr('export.rewrites')}</p><ul>{rewrites}</ul>" if rewrites else ""
    said = said or f"<p>{i18n.tr('export.no_rewrites')}</p>"
    text = f'<h4>{esc(found.preset.name)}</h4>{said}<pre class="h-file">{esc(preset_yaml(found.preset))}</pre>'
    return sanitised(text), found.preset.model_dump(mode="json"), gr.update(visible=True)


def systems() -> list[tuple[str, str]]:
    """(title, name) of every target, by title; our own format last."""
    found = [(module.TITLE, name) for name, module in discover(exporters.PACKAGE).items()]
    return sorted(found, key=lambda pair: (pair[1] == "preset", pair[1] != FIRST, pair[0].lower()))


def check_function(exported: Callable[[dict[str, Any]], Export]) -> Callable[[Any], str]:
    """What the view asks for: `run_check([asked, tier])` -> JSON list of checks, or {"error", "hint"}. One at a time:
    real programs are heavy."""
    one = threading.Lock()

    def run_check(arguments: Any) -> str:
        asked, tier = (*(arguments if isinstance(arguments, list) else ()), {}, "")[:2]
        if not isinstance(asked, dict) or tier not in ("B", "C"):
            return json.dumps({"error": texts(Sentence("There is no such check."))})
        if not one.acquire(blocking=False):
            return json.dumps({"error": texts(Sentence("Another check is running: wait for it to end."))})
        try:
            found = check(exported(asked), str(asked.get("system")), tier)
        except PlaygroundError as error:
            return json.dumps(refusal(error))
        finally:
            one.release()
        return json.dumps([shown_check(item) for item in found])

    return run_check


def imported_preset(data: dict[str, Any] | None) -> Preset:
    """Raises PlaygroundError where nothing was read."""
    if not data:
        raise PlaygroundError(Sentence("No file has been read."), Sentence("Choose one first."), code="nothing_read")
    return Preset.model_validate(data)


def run_choices(context: Context) -> list[tuple[str, str]]:
    """(what a person recognises it by, run id) of the newest measured runs; of a pair only the speculative one."""
    rows = context.store.runs(limit=RECENT).rows
    measured = [row for row in rows if row.arm != "baseline" and row.status not in ("running", "error")]
    return [(run_title(row), row.run_id) for row in measured]


def run_title(row: "RunRow") -> str:
    speedup = row.metrics.get("speedup")
    parts = [day(row), row.target, row.method or "–", f"{three(speedup)}×" if speedup else "", row.prompt[:40]]
    return " · ".join(part for part in parts if part)


def preset_name(run_id: str) -> str:
    """A run's id as a preset's name."""
    kept = "".join(c if c.isalnum() and c.isascii() else "-" for c in run_id.lower()).strip("-")
    return f"run-{kept}"[:64]


def view(export: Export, asked: dict[str, Any]) -> str:
    """What export.js draws. Everything in it is text, drawn as text."""
    return json.dumps(
        {
            "files": export.files,
            "command": export.command,
            "versions": texts(export.versions),
            "checks": [shown_check(item) for item in outlook(export, asked["system"])],
            "notes": [texts(note) for note in export.notes],
            "losses": [
                {"field": loss.field, "level": loss.level, "reason": texts(loss.reason)} for loss in export.losses
            ],
            "zip": base64.b64encode(zipped(export)).decode("ascii"),
            "asked": asked,
        }
    )


def shown_check(item: Check) -> dict[str, Any]:
    return {"tier": item.tier, "by": texts(item.by), "outcome": item.outcome, "detail": texts(item.detail)}


def nothing() -> str:
    return json.dumps({"nothing": True})
