"""Our own preset file: canonical YAML, every value written, nothing lost. What `importers/preset.py` reads back."""

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exporters import SCHEMA, Export
from playground.exporters._served import Served
from playground.exporters._yaml import to_yaml
from playground.sentence import Sentence

TITLE = "Draftboard preset"

_HEADER = "# A Draftboard preset: what runs, and what was measured with it. See presets/README.md.\n"


def export(preset: Preset) -> Export:
    """One file, `<name>.yaml`; expresses everything.

    Raises:
        PlaygroundError: its models were given a server's names, which is what a preset says nothing of.
    """
    if isinstance(preset, Served) and preset.measured:
        raise PlaygroundError(
            Sentence("A preset calls its models as they were measured."),
            Sentence("Leave out the server's names for them, or choose a server to export for."),
            code="not_expressible",
        )
    return Export(
        files={f"{preset.name}.yaml": preset_yaml(preset)},
        command=f"python -m playground compare --preset {preset.name}.yaml --prompt 'Hello'",
        checked_by=SCHEMA,
    )


def preset_yaml(preset: Preset) -> str:
    """The text of a preset file. All fields are explicit, so that a later change of a default changes no preset."""
    data = preset.model_dump(mode="json")
    if preset.evidence is None:
        del data["evidence"]
    return _HEADER + to_yaml(data)
