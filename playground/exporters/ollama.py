"""Ollama: a Modelfile, where the preset can be expressed in one.

Its reference names no instruction for a draft model and no lookup, so only multi-token prediction inside the model, or
no speculation at all, can be said.
"""

import re

from playground.config import Preset, Speculation
from playground.errors import PlaygroundError
from playground.exporters import SCHEMA, Export
from playground.exporters._ledger import Ledger, is_path, method_of, put_engine
from playground.exporters._server import head
from playground.sentence import Sentence

TITLE = "Ollama"

VERSIONS = Sentence("Ollama with draft_num_predict")

_RELATIVES = {
    "max_num_seqs": "OLLAMA_NUM_PARALLEL",
    "kv_cache_dtype": "OLLAMA_KV_CACHE_TYPE",
}

PARAMETERS = {
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "repetition_penalty": "repeat_penalty",
    "max_tokens": "num_predict",
}
"""Field of SamplingParams -> PARAMETER."""


def export(preset: Preset) -> Export:
    """See `Exporter`. Raises PlaygroundError for every method but mtp."""
    books = translate(preset)
    text = head(preset, VERSIONS, books.losses) + _modelfile(books)
    return Export(
        files={f"{preset.name}.Modelfile": text},
        command=f"ollama create {preset.name} -f {preset.name}.Modelfile",
        losses=tuple(books.losses),
        versions=VERSIONS,
        checked_by=SCHEMA,
        written=books.written,
    )


def translate(preset: Preset) -> Ledger:
    """`values`: "FROM", "SYSTEM", and parameters (a list where there are several)."""
    config, books = preset.config, Ledger(preset, "Ollama", _RELATIVES)
    put_engine(books)
    if re.search(r"\s", config.target):
        raise PlaygroundError(
            Sentence("Ollama's FROM takes no name with spaces."), Sentence("Rename the model."), code="not_expressible"
        )
    books.put("target", config.target, "FROM")
    if is_path(config.target) and not books.named("target"):
        reason = Sentence("this place may not be there on the server: name the server's own")
    else:
        reason = Sentence("name the model as Ollama knows it, or a GGUF file or safetensors folder")
    if not books.named("target"):
        books.lose("target", "needs-input", reason)
    reason = Sentence("number formats are a property of the model file: choose its quantisation")
    books.lose("dtype", "dropped", reason)
    if books.option("quantization") is not None:
        books.lose("engine_options.quantization", "dropped", reason)
    books.take([("max_model_len", "num_ctx")])
    _sampling(books)
    text = config.system_prompt
    if '"""' in text or text.startswith('"') or text.endswith('"'):
        reason = Sentence("a Modelfile cannot hold a text with three quotes, or quotes at its ends")
        books.lose("system_prompt", "dropped", reason)
    elif config.system_prompt:
        books.put("system_prompt", config.system_prompt, "SYSTEM")
    _speculation(config.speculation, books)
    books.settle()
    return books


def _sampling(books: Ledger) -> None:
    sampling = books.config.sampling
    for name, key in PARAMETERS.items():
        books.put(f"sampling.{name}", getattr(sampling, name), key)
    books.values["repeat_last_n"] = -1
    if sampling.seed is not None and sampling.seed < 2**31:
        books.put("sampling.seed", sampling.seed, "seed")
    stops = [stop for stop in sampling.stop if '"' not in stop and stop.isprintable()]
    if stops:
        books.put("sampling.stop", stops, "stop")
    if len(stops) < len(sampling.stop):
        reason = Sentence("a Modelfile holds no stop string with quotes, line ends or control characters")
        books.lose("sampling.stop", "dropped" if not stops else "approximated", reason)


def _speculation(spec: Speculation | None, books: Ledger) -> None:
    if spec is None:
        books.say("speculation", "no draft_num_predict")
        return
    if method_of(spec) != "mtp":
        what = Sentence("names no draft model") if spec.model else Sentence("has no such method")
        raise PlaygroundError(
            Sentence("Ollama cannot draft by {method}: its Modelfile {what}.", method=spec.method, what=what),
            Sentence("Export a preset without speculation or with method mtp, or choose llama.cpp."),
            code="not_expressible",
        )
    books.say("speculation.method", "draft_num_predict, with the prediction layers of the model itself")
    books.put("speculation.num_speculative_tokens", spec.num_speculative_tokens, "draft_num_predict")
    if spec.model is not None:
        books.lose("speculation.model", "dropped", Sentence("a Modelfile names no draft model"))


def _modelfile(books: Ledger) -> str:
    lines = [f"FROM {books.values['FROM']}"]
    for key, value in books.values.items():
        if key in ("FROM", "SYSTEM"):
            continue
        for item in value if isinstance(value, list) else [value]:
            lines.append(f"PARAMETER {key} " + (f'"{item}"' if isinstance(item, str) else str(item)))
    if system := books.values.get("SYSTEM"):
        lines.append(f'SYSTEM """{system}"""')
    return "\n".join(lines) + "\n"
