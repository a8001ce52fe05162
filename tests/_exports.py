"""Every way an export can be made: the targets with their choices. Shared by the tests of exports and imports."""

from typing import Any

from playground import exporters
from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exporters import Export
from playground.registry import discover

CHOICES: dict[str, list[dict[str, Any]]] = {
    "tensorrt_llm": [{}, {"dialect": "1.2"}],
    "docker": [{"program": name} for name in ("vllm", "sglang", "tensorrt_llm", "llama_cpp")],
    "kubernetes": [{"flavour": name} for name in ("plain", "production-stack", "llm-d")]
    + [{"program": "tensorrt_llm"}, {"program": "llama_cpp"}, {"program": "sglang"}],
}
WAYS = [(target, choice) for target in discover(exporters.PACKAGE) for choice in CHOICES.get(target, [{}])]


def name_of(way: tuple[str, dict[str, Any]]) -> str:
    target, choice = way
    return "-".join([target, *map(str, choice.values())])


def made(preset: Preset, target: str, choice: dict[str, Any]) -> Export | None:
    """The export; None where the target cannot run the preset."""
    module = discover(exporters.PACKAGE)[target]
    arguments = (module.Options(**choice),) if hasattr(module, "Options") else ()
    try:
        export: Export = module.export(preset, *arguments)
    except PlaygroundError as error:
        if error.code not in ("not_expressible", "bad_config") or not error.hint:
            raise
        return None
    return export


def body(text: str) -> str:
    """A file without the comment lines that say what it is."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(("#", ";")))
