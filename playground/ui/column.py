"""The left column: every control of one run, made from the config's own fields, and read back into a `RunConfig`.

Knows which fields stand where and which belong to which engine and method; how a field becomes a widget is known by
controls.py.
"""

from collections.abc import Sequence
from typing import Any

import gradio as gr
from markupsafe import Markup
from pydantic import BaseModel

from playground import drafters, engines
from playground.config import Preset, RunConfig, SamplingParams, Speculation, checked
from playground.doctor.examine import examine_here
from playground.errors import PlaygroundError
from playground.models import catalogue
from playground.presets import list_presets
from playground.registry import discover, extension
from playground.sentence import Sentence
from playground.settings import Settings
from playground.ui import i18n
from playground.ui.controls import Control, controls_for, default_of, element_id, nested
from playground.ui.draft_list import draft_names, refused_html
from playground.ui.pair_words import finding_html
from playground.ui.sentences import said_html
from playground.ui.strings_fields import option_models
from playground.ui.wiring import Wiring

SCRIPTED = "scripted"
"""The one engine that loads no model."""

REMOTE = "remote"
"""The engine whose models lie elsewhere."""

NO_METHOD = "none"
"""The method of a run without speculation."""

MAIN_SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "seed")
MORE_SAMPLING = tuple(name for name in SamplingParams.model_fields if name not in MAIN_SAMPLING)

Update = dict[Any, Any]
"""Component -> new value or `gr.update`, as Gradio's handlers may return it."""


class Column:
    """The widgets (`inputs`, in fixed order), `read` them into a config, `show` a config in them."""

    def __init__(self, settings: Settings, wiring: Wiring, opening: Preset) -> None:
        """Call it inside a layout. The widgets begin with `opening`."""
        self.settings = settings
        self._controls: list[Control] = []
        self._groups: dict[type[BaseModel], gr.Group] = {}
        self._options: dict[type[BaseModel], list[Control]] = {}
        with gr.Column(elem_id="column", scale=0, min_width=280):
            self._build(opening)
        for component, update in self.show(opening.config).items():
            if isinstance(update, dict) and "value" in update:
                component.value = update["value"]
        self.inputs: list[Any] = [control.widget for control in self._controls]
        self.outputs: list[Any] = [
            *self.inputs,
            *self._groups.values(),
            self.compatible,
            self.preset,
        ]
        pair = [self.engine, self.target, self.method, self.draft]
        follows = [*self._groups.values(), self.compatible, self.method, self.draft]
        self.engine.input(self.on_engine, pair, follows, **wiring.quick)
        for widget in pair[1:]:
            widget.input(self.on_pair, pair, follows, **wiring.quick)

    def _build(self, opening: Preset) -> None:
        config, speculation = opening.config, opening.config.speculation or Speculation()
        method = config.speculation.method if config.speculation else NO_METHOD
        self.preset = gr.Dropdown(
            preset_names(self.settings),
            value=opening.name,
            label=i18n.label("column.preset"),
            info=i18n.label("column.preset.info"),
            elem_id="ctl-preset",
            elem_classes=["ctl", "ctl-choice"],
        )
        heading("column.pair")
        self.engine = self._choice("engine", RunConfig, engine_names(), config.engine)
        models = [model.name for model in catalogue(self.settings)]
        self.target = self._choice("target", RunConfig, models, config.target, custom=True)
        self.method = self._choice("speculation.method", Speculation, [NO_METHOD, *method_names(config.engine)], method)
        drafts = self.drafts(config.engine, config.target, method)
        self.draft = self._choice(
            "speculation.model", Speculation, drafts, speculation.model, custom=True, visible=needs_model(method)
        )
        said = self.check(config.engine, config.target, method, speculation.model)
        self.compatible = gr.HTML(said, elem_id="compatible", padding=False)
        heading("column.speculation")
        self._add(*controls_for(Speculation, "speculation", ("num_speculative_tokens",)))
        self._option_groups("options.", options_or_none(config.engine, method))
        heading("column.sampling")
        self._add(*controls_for(SamplingParams, "sampling", MAIN_SAMPLING))
        fold_button("column.more_sampling")
        with gr.Column(elem_classes="fold-body"):
            self._add(*controls_for(SamplingParams, "sampling", MORE_SAMPLING))
        heading("column.prompt")
        self._add(*controls_for(RunConfig, "", ("chat", "system_prompt", "dtype")))
        own = options_or_none(config.engine)
        with gr.Column(elem_classes="fold-box"):  # always there: Gradio, told to show it, shows all that is in it
            fold_button("column.engine_options")
            with gr.Column(elem_classes="fold-body"):
                self._option_groups("engine_options.", own)

    def _choice(
        self,
        key: str,
        model: type[BaseModel],
        choices: Sequence[str],
        value: str | None,
        *,
        custom: bool = False,
        visible: bool = True,
    ) -> gr.Dropdown:
        widget = gr.Dropdown(
            list(choices),
            value=value,
            allow_custom_value=custom,
            visible=seen(visible),
            label=i18n.label(f"field.{key}"),
            info=i18n.label(f"field.{key}.info"),
            elem_id=element_id(key),
            elem_classes=["ctl", "ctl-choice"],
        )
        field = model.model_fields[key.rsplit(".", 1)[-1]]
        self._add(Control(key, field, "text", field.default is None, widget))
        return widget

    def _option_groups(self, prefix: str, chosen: type[BaseModel] | None) -> None:
        """One group per set of options, once even where two engines share it; only the chosen one is seen."""
        for name, model in option_models().items():
            if not name.startswith(prefix) or model in self._groups or not model.model_fields:
                continue
            with gr.Group(visible=seen(model is chosen), elem_classes="options") as group:
                self._options[model] = controls_for(model, name)
                self._add(*self._options[model])
            self._groups[model] = group

    def _add(self, *controls: Control) -> None:
        self._controls.extend(controls)

    # -- widgets -> config ------------------------------------------------------------------------------------------

    def read(self, values: Sequence[Any]) -> RunConfig:
        """The config the widgets say.

        Raises:
            PlaygroundError: naming every field that is wrong.
        """
        said = {c.key: c.read(v) for c, v in zip(self._controls, values, strict=True)}
        plain = {key: value for key, value in said.items() if not key.startswith(("options.", "engine_options."))}
        data = nested(plain)
        engine, method = str(said["engine"] or ""), str(said["speculation.method"] or "")
        module = extension(engines.PACKAGE, engine, Sentence("engine"))
        data["engine_options"] = self._said(module.Engine.Options, said)
        if method in ("", NO_METHOD):
            data["speculation"] = None
        else:
            options = method_options(engine, method)
            data["speculation"]["options"] = self._said(options, said)
            if not needs_model(method):
                data["speculation"]["model"] = None
            checked(options, data["speculation"]["options"], where=Sentence("the options of {method}", method=method))
        checked(module.Engine.Options, data["engine_options"], where=Sentence("the options of {engine}", engine=engine))
        return checked(RunConfig, data, where=Sentence("the settings"))

    def _said(self, model: type[BaseModel], said: dict[str, Any]) -> dict[str, Any]:
        """What differs from the defaults: an option nobody touched stays unsaid in presets and exports."""
        found = {}
        for control in self._options.get(model, ()):
            value = said[control.key]
            if value != control.read(control.show(default_of(control.field))):
                found[control.key.rsplit(".", 1)[-1]] = value
        return found

    # -- config -> widgets ------------------------------------------------------------------------------------------

    def show(self, config: RunConfig) -> Update:
        """Updates that make the widgets say `config`."""
        speculation = config.speculation or Speculation(model=None)
        method = config.speculation.method if config.speculation else NO_METHOD
        updates: Update = {}
        flat = _flat(config, speculation)
        for control in self._controls:
            if control.key in flat:
                updates[control.widget] = gr.update(value=control.show(flat[control.key]))
        for model, given in (
            (options_or_none(config.engine), config.engine_options),
            (options_or_none(config.engine, method), speculation.options),
        ):
            for control in self._options.get(model, ()) if model else ():
                name = control.key.rsplit(".", 1)[-1]
                value = given[name] if name in given else default_of(control.field)
                updates[control.widget] = gr.update(value=control.show(value))
        updates[self.method] = gr.update(choices=[NO_METHOD, *method_names(config.engine)], value=method)
        for component, update in self._visible(config.engine, config.target, method).items():
            updates[component] = {**updates.get(component, {}), **update}
        updates[self.compatible] = self.check(config.engine, config.target, method, speculation.model)
        return updates

    def _visible(self, engine: str, target: str, method: str) -> Update:
        shown = {options_or_none(engine), options_or_none(engine, method)}
        updates: Update = {group: gr.update(visible=seen(model in shown)) for model, group in self._groups.items()}
        updates[self.draft] = gr.update(visible=seen(needs_model(method)), choices=self.drafts(engine, target, method))
        return updates

    def on_engine(self, engine: str, target: str, method: str, draft: str | None) -> Update:
        """Another engine offers other methods and options."""
        methods = [NO_METHOD, *method_names(engine)]
        kept = method if method in methods else "ngram" if "ngram" in methods else methods[-1]
        updates = self.on_pair(engine, target, kept, draft)
        return {**updates, self.method: gr.update(choices=methods, value=kept)}

    def on_pair(self, engine: str, target: str, method: str, draft: str | None) -> Update:
        return {**self._visible(engine, target, method), self.compatible: self.check(engine, target, method, draft)}

    def refresh(self, engine: str, target: str, method: str, draft: str | None) -> Update:
        """The models and presets that are on this machine now, and what they say of the pair."""
        updates: Update = {self.compatible: self.check(engine, target, method, draft)}
        now = {
            self.target: [model.name for model in catalogue(self.settings)],
            self.draft: self.drafts(engine, target, method),
            self.preset: preset_names(self.settings),
        }
        for widget, choices in now.items():
            # A list that is sent anew is closed in the browser, perhaps under the user's pointer.
            if choices != [value for _, value in widget.choices]:
                updates[widget] = gr.update(choices=choices)
        return updates

    def drafts(self, engine: str, target: str, method: str) -> list[str]:
        """The draft models to offer: what can work on this machine; none to a method without a model."""
        if engine in (SCRIPTED, REMOTE):
            return [model.name for model in catalogue(self.settings)]
        return draft_names(self.settings, target, method) if needs_model(method) else []

    def check(self, engine: str, target: str, method: str, draft: str | None) -> str:
        """The line under the pair: can this draft model draft for this target, and why not."""
        if engine == SCRIPTED:
            return _line("note", i18n.tr("column.scripted"))
        if engine == REMOTE:
            return _line("note", i18n.tr("column.remote"))
        if (problem := why_unavailable(engine)) is not None:
            return _line("error", said_html(problem.message, problem.hint))
        if not needs_model(method):
            model = next((m for m in catalogue(self.settings) if m.name == target), None)
            if model and model.problem:
                return _line("error", said_html(model.problem))
            return _line("ok", i18n.tr("column.no_speculation" if method in ("", NO_METHOD) else "column.no_draft"))
        refused = refused_html(self.settings, target, method)
        if not draft:
            return _line("note", i18n.tr("column.choose_draft")) + refused
        try:
            report = examine_here(self.settings, target, draft)
        except PlaygroundError as error:
            return _line("error", said_html(error.message, error.hint)) + refused
        return Markup("").join(_line(f.level, finding_html(f)) for f in report.brief) + refused


def preset_names(settings: Settings) -> list[str]:
    """Those that can be used; a broken file is named by the command line, not offered here."""
    return [entry.name for entry in list_presets(settings) if entry.preset]


def engine_names() -> list[str]:
    """The embedded engine first, the scripted one last."""
    order = {"embedded": 0, SCRIPTED: 2}
    return sorted(discover(engines.PACKAGE), key=lambda name: (order.get(name, 1), name))


def method_names(engine: str) -> list[str]:
    module = discover(engines.PACKAGE).get(engine)
    return list(module.Engine.methods()) if module else []


def method_options(engine: str, method: str) -> type[BaseModel]:
    """Raises PlaygroundError when the engine has no such method."""
    methods = extension(engines.PACKAGE, engine, Sentence("engine")).Engine.methods()
    if method not in methods:
        raise PlaygroundError(
            Sentence("The engine {engine} has no method “{method}”.", engine=engine, method=method),
            Sentence("Choose one of: {known}.", known=", ".join(methods)),
            code="bad_config",
        )
    found: type[BaseModel] = methods[method]
    return found


def options_or_none(engine: str, method: str | None = None) -> type[BaseModel] | None:
    """The options of an engine, or of one of its methods; None where there is no such thing."""
    module = discover(engines.PACKAGE).get(engine)
    if module is None:
        return None
    found: type[BaseModel] | None = module.Engine.Options if method is None else module.Engine.methods().get(method)
    return found


def why_unavailable(engine: str) -> PlaygroundError | None:
    """Why an engine cannot run here, and what brings it; None where it can."""
    module = discover(engines.PACKAGE).get(engine)
    ask = getattr(module.Engine, "unavailable", None) if module else None
    problem: PlaygroundError | None = ask() if ask else None
    return problem


def needs_model(method: str) -> bool:
    """Methods that are not ours are assumed to draft with a model, unless they are known to need none."""
    if method in (NO_METHOD, "", "ngram", "ngram_gpu", "suffix", "mtp", "server"):
        return False
    module = discover(drafters.PACKAGE).get(method)
    return bool(module.Drafter.NEEDS_MODEL) if module else True


def seen(visible: bool) -> bool | str:
    """For `visible=`. What is not seen stays in the page: Gradio would forget values given to a widget it took out."""
    return True if visible else "hidden"


def fold_button(key: str) -> gr.HTML:
    """Folds the `fold-body` after it (shell.js). No accordion: Gradio takes a closed one's widgets out of the page."""
    return gr.HTML(
        f'<button type="button" class="fold-button" aria-expanded="false">{i18n.tr(key)}</button>',
        apply_default_css=False,
        elem_classes="fold-head",
    )


def heading(key: str) -> gr.HTML:
    return gr.HTML(f'<h3 class="heading">{i18n.tr(key)}</h3>', elem_classes="heading-box")


def _flat(config: RunConfig, speculation: Speculation) -> dict[str, Any]:
    flat = {name: getattr(config, name) for name in ("engine", "target", "dtype", "chat", "system_prompt")}
    flat |= {f"sampling.{name}": getattr(config.sampling, name) for name in SamplingParams.model_fields}
    flat["speculation.num_speculative_tokens"] = speculation.num_speculative_tokens
    flat["speculation.model"] = speculation.model
    return flat


def _line(level: str, text: Markup) -> Markup:
    mark = {"ok": "✓", "note": "–", "warning": "!", "error": "✕"}[level]
    return Markup('<p class="pair-line pair-{}"><span aria-hidden="true">{}</span> {}</p>').format(level, mark, text)
