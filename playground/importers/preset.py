"""Our own preset file, as `exporters/preset.py` or a person wrote it."""

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.importers import Imported
from playground.importers._lossy import lossy_options
from playground.importers._reading import kept_knowingly, refuse_lossy
from playground.importers._text import name_from
from playground.importers._yaml import Located, checked_document, place
from playground.sentence import Sentence

TITLE = "Draftboard preset"


def recognises(name: str, data: object) -> bool:
    return isinstance(data, dict) and "config" in data and not {"model", "services", "apiVersion"} & data.keys()


def read(name: str, data: object, *, keep_lossy: bool = False) -> Imported:
    """See `Importer`: the preset that `load` reads, where none of its options changes the output."""
    preset = load(name, data)
    options = preset.config.speculation.options if preset.config.speculation else {}

    def where(key: str) -> str:
        return place(name, data, ["config", "speculation", "options", key])

    found = lossy_options(options, where)
    for key, what in found.items():
        refuse_lossy(where(key), what, keep=keep_lossy)
    return Imported(preset, tuple(kept_knowingly(key, what) for key, what in found.items()))


def load(name: str, data: object) -> Preset:
    """The preset as it stands, of a user's own or a shipped one. A file without `name` is called after its file.

    Raises:
        PlaygroundError: with file, line and key.
    """
    if not isinstance(data, dict):
        raise PlaygroundError(
            Sentence("{name}: a preset is a mapping of keys to values.", name=name),
            Sentence("Begin with `name:` and `config:`."),
            code="bad_config",
        )
    if "name" not in data:
        named = Located(data)
        named["name"] = name_from(name)
        data = named
    return checked_document(Preset, data, name)
