"""The History tab: every run in a table that searches, sorts and pages on the server; opens, compares, notes, deletes.

The table draws itself (history.js) from `runs_page`, a page at a time, so that ten thousand runs cost as much as fifty.
Texts of runs travel as JSON and reach the page through `textContent` alone. What a run is, the store knows.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from playground.errors import PlaygroundError
from playground.sentence import Sentence
from playground.ui import i18n
from playground.ui.column import NO_METHOD, engine_names, method_names
from playground.ui.context import Context
from playground.ui.render import lines_of_code
from playground.ui.sentences import said_html, wired
from playground.ui.wiring import Wiring

if TYPE_CHECKING:
    from storage.history import RunRow
    from storage.store import Store

PAGE = 50
EXCERPT = 160  # characters of a prompt in the table
MAX_NOTE = 2000
MAX_SELECTED = 2000

_METRICS = ("num_delivered", "tokens_per_second", "draft_acceptance_rate", "tokens_per_step", "speedup")
_PLAIN = (
    "run_id", "status", "started_at", "engine", "target", "method", "num_speculative_tokens", "arm", "source", "note",
)  # fmt: skip
_SORTS = ("started_at", "target", "method", "num_speculative_tokens", "status", "engine", *_METRICS)
_FILTERS = ("engine", "method", "status", "arm")

_HERE = Path(__file__).parent


class History:
    """Builds the tab's inside. `table` has the events `open`, `config` (export it) and `files` (JSONL or CSV)."""

    def __init__(self, context: Context, wiring: Wiring) -> None:
        self.context = context
        store = context.store
        choices = {
            "engine": engine_names(),
            "method": sorted({m for engine in engine_names() for m in method_names(engine)} | {NO_METHOD}),
            "status": ["stop", "length", "cancelled", "interrupted", "error", "running"],
        }
        self.table = gr.HTML(
            html_template='<div class="db-history"></div>',
            js_on_load=lines_of_code(_HERE / "history.js"),
            apply_default_css=False,
            elem_id="history",
            server_functions=server_functions(store),
            choices=choices,
            page=PAGE,
        )
        with gr.Row(elem_id="history-files"):
            self.upload = gr.UploadButton(
                i18n.label("history.import"), file_types=[".jsonl", ".json"], elem_classes="small"
            )
            self.download = gr.DownloadButton(visible="hidden", elem_id="history-download")
        self.imported = gr.HTML("", elem_id="history-imported")
        written = self.table.files(self.write_files, None, self.download, **wiring.quiet)
        written.then(None, js=_CLICK_DOWNLOAD, **wiring.browser)
        read = self.upload.upload(self.read_file, self.upload, self.imported, **wiring.quiet)
        read.then(None, js=_RELOAD, **wiring.browser)

    def write_files(self, event: gr.EventData) -> str:
        """The selected runs as one file to download."""
        ids = selected(event)
        kind = "csv" if getattr(event, "kind", "") == "csv" else "jsonl"
        export = self.context.store.export_csv if kind == "csv" else self.context.store.export_jsonl
        name = f"draftboard-{ids[0]}" if len(ids) == 1 else f"draftboard-{len(ids)}-runs"
        path = Path(tempfile.mkdtemp(prefix="draftboard-")) / f"{name}.{kind}"
        with path.open("w", encoding="utf-8", newline="") as file:
            file.writelines(export(ids))
        return str(path)

    def read_file(self, path: str) -> str:
        """Imports a JSONL file; says how many runs it brought, or what is wrong with it."""
        try:
            with Path(path).open(encoding="utf-8", errors="replace", newline="\n") as file:
                count = len(self.context.store.import_jsonl(file))
        except PlaygroundError as error:
            return f'<p class="problem" role="alert">{said_html(error.message, error.hint)}</p>'
        return f'<p role="status">{i18n.tr("history.imported", n=count)}</p>'


def selected(event: gr.EventData) -> list[str]:
    """The run ids that an event of the table carries; nothing else from the browser is believed.

    Raises:
        PlaygroundError: none, or more than a person selects.
    """
    ids = getattr(event, "ids", None)
    if not isinstance(ids, list) or not ids or not all(isinstance(run_id, str) for run_id in ids):
        raise PlaygroundError(Sentence("No run is selected."), Sentence("Select one first."), code="bad_selection")
    if len(ids) > MAX_SELECTED:
        raise PlaygroundError(
            Sentence("{n} runs are too many at once.", n=len(ids)), Sentence("Select fewer."), code="bad_selection"
        )
    return ids


def server_functions(store: "Store") -> list[Callable[..., Any]]:
    """What the table asks for. Each takes one JSON value and gives JSON text; a problem comes as {"error", "hint"}."""

    def runs_page(query: Any) -> str:
        return answer(lambda: page_of(store, query if isinstance(query, dict) else {}))

    def note_run(arguments: Any) -> str:
        run_id, text = map(str, (*(arguments or ()), "", "")[:2])
        return answer(lambda: noted(store, run_id, text[:MAX_NOTE]))

    def delete_runs(ids: Any) -> str:
        wanted = [i for i in ids if isinstance(i, str)][:MAX_SELECTED] if isinstance(ids, list) else []
        return answer(lambda: {"deleted": store.delete(wanted)})

    return [runs_page, note_run, delete_runs]


def noted(store: "Store", run_id: str, text: str) -> dict[str, Any]:
    store.note(run_id, text)
    return {"note": text}


def page_of(store: "Store", query: dict[str, Any]) -> dict[str, Any]:
    """A page of the table: {"rows": [...], "total": n}. Unknown sorts and filters of the query are ignored."""
    sort = query.get("sort")
    filters = {name: value for name in _FILTERS if isinstance(value := query.get(name), str) and value}
    found = store.runs(
        search=str(query.get("search") or ""),
        sort=sort if sort in _SORTS else "started_at",
        descending=query.get("descending") is not False,
        limit=PAGE,
        offset=max(0, int(query.get("offset") or 0)),
        **filters,
    )
    return {"rows": [table_row(row) for row in found.rows], "total": found.total}


def table_row(row: "RunRow") -> dict[str, Any]:
    """A run as the table shows it."""
    shown: dict[str, Any] = {name: getattr(row, name) for name in _PLAIN}
    shown |= {name: row.metrics.get(name) for name in _METRICS}
    valid = row.metrics.get("reconciled") is not False
    return shown | {"prompt": row.prompt[:EXCERPT], "error": wired(row.error), "valid": valid}


def answer(produce: Callable[[], dict[str, Any]]) -> str:
    try:
        return json.dumps(produce())
    except PlaygroundError as error:
        return json.dumps(error.as_dict() | {"error": wired(error.message), "hint": wired(error.hint)})
    except (TypeError, ValueError) as error:
        return json.dumps(
            {
                "error": wired(Sentence("The page asked for something odd: {why}.", why=error)),
                "hint": wired(Sentence("Reload it.")),
            }
        )


_CLICK_DOWNLOAD = "() => document.querySelector('#history-download')?.click()"
_RELOAD = "() => dispatchEvent(new Event('draftboard:history'))"
