"""What runs in a container, read by the importer of that server. Knows no container format."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from playground.errors import PlaygroundError
from playground.importers import Imported, llama_cpp, sglang, tensorrt_llm, vllm
from playground.importers._yaml import parse_yaml
from playground.sentence import Sentence


def words_of(value: object, where: str) -> list[str]:
    """A command given as text or as a list; `where` opens the error about quotes that do not match."""
    if isinstance(value, str):
        try:
            return shlex.split(value)
        except ValueError:
            raise PlaygroundError(
                Sentence("{where} opens a quote and does not close it.", where=where), Sentence("Check its quotes.")
            ) from None
    items = value if isinstance(value, list) else []
    if any(isinstance(item, (dict, list)) for item in items):
        raise PlaygroundError(
            Sentence("{where}: must be text, or a list of texts.", where=where),
            Sentence("Write one word of the command in each line."),
            code="bad_config",
        )
    return [str(item) for item in items]


def read_command(name: str, text: str, files: Mapping[str, str], *, keep_lossy: bool) -> Imported:
    """The preset of a server's command; `files` are the texts it may name, by file name.

    Raises:
        PlaygroundError: no importer reads it, or what the importer says.
    """
    for module in (llama_cpp, sglang, tensorrt_llm, vllm):
        if not module.recognises(name, text):
            continue
        wanted = module.refers(name, text)
        content = files.get(wanted.rsplit("/", 1)[-1]) if wanted else None
        beside: Any = None
        if content is not None:
            beside = content if module is llama_cpp else parse_yaml(f"{name}, {wanted}", content)
        found: Imported = module.read(name, text, keep_lossy=keep_lossy, beside=beside)
        return found
    raise PlaygroundError(
        Sentence("{name}: starts no server we know.", name=name),
        Sentence("Known are vLLM, SGLang, TensorRT-LLM and llama.cpp."),
    )


def told(imported: Imported, *sentences: Sentence) -> Imported:
    return replace(imported, rewrites=(*sentences, *imported.rewrites))
