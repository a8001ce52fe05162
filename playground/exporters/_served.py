"""A preset whose models are called as the server calls them, which remembers what they were called when measured.

Knows presets, no server.
"""

from collections.abc import Iterator

from pydantic import Field

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.sentence import Sentence


class Served(Preset):
    """A preset for a server with names of its own; `config` holds the server's, `measured` those it was measured by."""

    measured: dict[str, str] = Field(default_factory=dict)
    """"target", "speculation.model" -> the preset's own name of that model, of those that were renamed."""


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


def is_named(preset: Preset, field: str) -> bool:
    """Whether somebody said what the server calls the model of this field: then nobody has to be asked."""
    return isinstance(preset, Served) and field in preset.measured


def names_measured(preset: Preset) -> Iterator[tuple[str, str, str]]:
    """(field, name when measured, name here) of every model that was renamed."""
    spec = preset.config.speculation
    here = {"target": preset.config.target, "speculation.model": (spec.model or "") if spec else ""}
    if isinstance(preset, Served):
        yield from ((field, name, here[field]) for field, name in preset.measured.items())
