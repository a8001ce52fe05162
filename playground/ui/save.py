"""The small form that saves what the stage shows as a preset, with its evidence."""

from typing import Any

import gradio as gr

from playground.errors import PlaygroundError
from playground.presets import preset_from_run, save_preset
from playground.sentence import Sentence
from playground.ui import i18n
from playground.ui.column import preset_names
from playground.ui.context import Context
from playground.ui.problems import told
from playground.ui.sentences import said_html
from playground.ui.wiring import Wiring


class SaveForm:
    """A popover, hidden until `open`. `saved` fires after a preset was written; outputs then hold the new choices."""

    def __init__(self, context: Context) -> None:
        self.context = context
        with gr.Column(visible=False, elem_id="save-form", elem_classes="popover") as self.box:
            self.name = gr.Textbox(
                label=i18n.label("save.name"), placeholder=i18n.label("save.name.placeholder"), elem_id="save-name"
            )
            self.description = gr.Textbox(label=i18n.label("save.description"), lines=2, max_lines=4)
            self.overwrite = gr.Checkbox(False, label=i18n.label("save.overwrite"), container=False)
            self.said = gr.HTML("", elem_id="save-said")
            with gr.Row():
                label = i18n.label("save.save")
                self.save = gr.Button(label, variant="primary", elem_classes="small", elem_id="save-do")
                self.cancel = gr.Button(i18n.label("save.cancel"), elem_classes=["small", "cancel"])

    def wire(self, wiring: Wiring, button: gr.Button, shown: gr.State, preset: gr.Dropdown) -> None:
        """`button` opens it; what it saves is what `shown` names; `preset` learns the new name."""
        quick = wiring.quick
        button.click(self.open, shown, [self.box, self.said], **quick).then(None, js=_FOCUS, **wiring.browser)
        self.cancel.click(self.close, None, [self.box], **quick)
        inputs = [shown, self.name, self.description, self.overwrite]
        for event in (self.save.click, self.name.submit):
            event(self.write, inputs, [self.said, self.box, preset], **quick)

    def open(self, shown: dict[str, str]) -> list[Any]:
        with told():
            if not run_to_save(shown):
                raise PlaygroundError(
                    Sentence("Nothing has been measured here yet: run something first, or open a run from History."), ""
                )
        return [gr.update(visible=True), ""]

    def close(self) -> Any:
        return gr.update(visible=False)

    def write(self, shown: dict[str, str], name: str, description: str, overwrite: bool) -> list[Any]:
        """Saves; a refusal stands in the form, which stays open."""
        try:
            preset = preset_from_run(self.context.store, run_to_save(shown), name.strip(), description.strip())
            save_preset(preset, self.context.settings, overwrite=overwrite)
        except PlaygroundError as error:
            return [f'<p class="problem" role="alert">{said_html(error.message, error.hint)}</p>', gr.skip(), gr.skip()]
        gr.Info(str(i18n.tr("save.saved", name=preset.name)), duration=4, title="")
        return ["", gr.update(visible=False), gr.update(choices=preset_names(self.context.settings))]


def run_to_save(shown: dict[str, str]) -> str:
    """The run that a preset is made of: the speculative one where there is one; "" where nothing is shown."""
    return shown.get("speculative") or shown.get("baseline") or ""


_FOCUS = "() => setTimeout(() => document.querySelector('#save-name textarea, #save-name input')?.focus(), 50)"
