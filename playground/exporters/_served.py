"""A preset as a server can take it, which remembers what it was: its models by the server's names, and of a hybrid way
of drafting the half that servers know.

Knows presets, no server.
"""

from collections.abc import Iterator

from pydantic import Field

from playground.config import Preset, Speculation
from playground.errors import PlaygroundError
from playground.sentence import Sentence


class Served(Preset):
    """A preset changed for a server; `config` is the server's."""

    measured: dict[str, str] = Field(default_factory=dict)
    """"target", "speculation.model" -> the preset's own name of that model, of those that were renamed."""
    lookup: str = ""
    """The lookup of a hybrid method whose model alone is left in `config`."""
    left_out: tuple[str, ...] = ()
    """Fields of the preset that belonged to it."""


def served(preset: Preset, target: str = "", draft: str = "") -> Preset:
    """`preset` with its models named as the server knows them; an empty name leaves one as it is.

    Raises:
        PlaygroundError: no name of a model, or a draft's name where the preset drafts without one.
    """
    config, measured = preset.config, dict[str, str]()
    for name in (target, draft):
        if name and (not name.isprintable() or name != name.strip()):
            raise PlaygroundError(
                Sentence("{name} is no name of a model.", name=repr(name[:60])),
                Sentence("Name it in one line, without spaces at its ends."),
                code="bad_config",
            )
    if target:
        measured["target"] = config.target
        config = config.model_copy(update={"target": target})
    if draft:
        spec = config.speculation
        if spec is None or spec.model is None:
            raise PlaygroundError(
                Sentence("This preset drafts without a model, so none can be named “{name}”.", name=draft[:60]),
                Sentence("Leave out the draft's name."),
                code="bad_config",
            )
        measured["speculation.model"] = spec.model
        config = config.model_copy(update={"speculation": spec.model_copy(update={"model": draft})})
    if not measured:
        return preset
    return Served.model_validate(dict(preset) | {"config": config, "measured": measured})


def must_be_shown(preset: Preset) -> None:
    """Whoever reads an exported command must see what it says.

    Raises:
        PlaygroundError: a model's name holds characters that cannot be shown, or that turn others around.
    """
    spec = preset.config.speculation
    for name, flag in ((preset.config.target, "--model-as"), ((spec.model if spec else None) or "", "--draft-as")):
        if not name.isprintable():
            raise PlaygroundError(
                Sentence("The model's name {name} holds characters that cannot be shown.", name=repr(name[:60])),
                Sentence("Name it as the server knows it, with {flag}.", flag=flag),
                code="bad_config",
            )


def model_half(preset: Preset, method: str, options: frozenset[str]) -> Preset:
    """A hybrid preset with its model alone, as `method` with those of its options that this one has.

    The model drafts as many tokens as it did beside the lookup.
    """
    spec = preset.config.speculation
    assert spec is not None
    k, most = spec.num_speculative_tokens, spec.options.get("draft_max_tokens")
    half = Speculation(
        method=method,
        model=spec.model,
        num_speculative_tokens=min(k, most) if isinstance(most, int) else k,
        options={name: value for name, value in spec.options.items() if name in options},
    )
    changed = {
        "config": preset.config.model_copy(update={"speculation": half}),
        "lookup": str(spec.options.get("lookup") or "suffix"),
        "left_out": tuple(f"speculation.options.{name}" for name in spec.options if name not in options),
    }
    return Served.model_validate(dict(preset) | changed)


def is_named(preset: Preset, field: str) -> bool:
    """Whether somebody said what the server calls the model of this field: then nobody has to be asked."""
    return isinstance(preset, Served) and field in preset.measured


def names_measured(preset: Preset) -> Iterator[tuple[str, str, str]]:
    """(field, name when measured, name here) of every model that was renamed."""
    spec = preset.config.speculation
    here = {"target": preset.config.target, "speculation.model": (spec.model or "") if spec else ""}
    if isinstance(preset, Served):
        yield from ((field, name, here[field]) for field, name in preset.measured.items())
