"""Our own preset file, as `exporters/preset.py` or a person wrote it."""

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.importers import Imported
from playground.importers._text import name_from
from playground.importers._yaml import Located, checked_document
from playground.sentence import Sentence

TITLE = "Draftboard preset"


def recognises(name: str, data: object) -> bool:
    return isinstance(data, dict) and "config" in data and not {"model", "services", "apiVersion"} & data.keys()


def read(name: str, data: object, *, keep_lossy: bool = False) -> Imported:
    """The preset. A file without `name` is called after its file.

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
    return Imported(checked_document(Preset, data, name))
