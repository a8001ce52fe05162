"""vLLM: serve files (YAML, JSON), command lines and Python keywords, old spellings included, as presets.

Keys that say how a server is reached or logs are left out by name; a key nobody knows is named too, and refused where
it looks like a slip of the pen. Nothing of the input is run.
"""

import difflib
import re
from typing import Any

from playground.config import SamplingParams
from playground.errors import PlaygroundError
from playground.exporters._vllm_schema import (
    ENGINE_OPTIONS,
    METHOD_OPTIONS,
    GenerationDefaults,
    ServeConfig,
    SpeculativeConfig,
    dashed,
)
from playground.importers import Imported, llama_cpp, sglang, tensorrt_llm
from playground.importers import _vllm_flags as flags
from playground.importers import _vllm_source as source
from playground.importers import preset as preset_file
from playground.importers._command import only_first
from playground.importers._reading import (
    FREE_TEXT,
    NEUTRAL,
    NO_SAMPLING,
    checked_as,
    described,
    left_out_of,
    located,
    models_own,
    no_length,
    not_along,
    not_known,
    place,
    servers_own,
)
from playground.importers._text import name_from
from playground.importers._values import refuse_absurd, refuse_variable, switch_of, text_of, underscored, without_value
from playground.importers._vllm_upgrade import DROPPED, MOVED_INSIDE, Values, upgrade
from playground.importers._yaml import Located, parse_json
from playground.sentence import Sentence

TITLE = "vLLM"

_OURS = {
    "model",
    "dtype",
    "generation_config",
    "override_generation_config",
    "speculative_config",
    "speculative_model",
    "sampling_params",
    "chat",
    "system_prompt",
    *ENGINE_OPTIONS,
    *DROPPED,
    *MOVED_INSIDE,
}
_SERVER = flags.KNOWN - _OURS
_OF_OTHERS = ("decoding_type", "speculative_algorithm", "speculative-algorithm")


def recognises(name: str, data: object) -> bool:
    if isinstance(data, str):
        if any(other.recognises(name, data) for other in (llama_cpp, sglang, tensorrt_llm)):
            return False  # a script that has flags in lines of their own is anybody's
        return source.is_python(data) or source.is_command(data)
    if not isinstance(data, dict) or preset_file.recognises(name, data):
        return False
    spec = data.get("speculative_config", data.get("speculative-config"))
    if any(key in data or (isinstance(spec, dict) and key in spec) for key in _OF_OTHERS):
        return False
    return bool({key.replace("-", "_") for key in data} & (_OURS - {"dtype", "chat"}))


def refers(name: str, data: object) -> str | None:
    """The file that a command line names after --config."""
    if not isinstance(data, str) or source.is_python(data):
        return None
    config = source.from_command(name, data, _OURS | _SERVER).get("config")
    return config if isinstance(config, str) else None


def read(name: str, data: object, *, keep_lossy: bool = False, beside: object = None) -> Imported:
    """See `Importer`; `data` is a mapping, or a command line or Python snippet as text.

    `beside` is the file after --config; where both say something, the command line wins.
    """
    about: list[Sentence] = []
    if isinstance(data, str) and source.is_python(data):
        raw, about = source.from_python(name, data)
    elif isinstance(data, str):
        raw = source.from_command(name, data, _OURS | _SERVER)
        about += only_first(name, data)
        if isinstance(beside, dict):
            file = str(raw.pop("config"))
            raw = underscored(beside, lambda key: place(f"{name}, {file}", beside, key)) | raw
    elif isinstance(data, dict):
        raw = data
    else:
        raise PlaygroundError(
            Sentence("{name}: is no mapping of keys to values.", name=name),
            Sentence("Give a vLLM configuration."),
            code="bad_file",
        )
    values = _normal(name, raw)
    values, said = upgrade(name, values, keep_lossy=keep_lossy)
    said += about
    server, strange = _left_out(name, values, raw)
    if isinstance(missing := values.get("config"), str):
        said.append(not_along(missing))
    said += [servers_own(server)] if server else []
    said += [not_known(strange)] if strange else []
    config = _config(name, values, raw, said)
    description = described(name, TITLE, [*server, *strange])
    preset = {"name": name_from(name), "description": description, "config": config}
    return Imported(preset_file.load(name, preset), tuple(said))


def _normal(name: str, raw: dict[str, Any]) -> Values:
    """Keys with underscores; JSON text inside read."""
    underscored(raw, lambda key: place(name, raw, key))
    values: Values = {}
    for key, value in raw.items():
        plain = key.replace("-", "_")
        if value is True and plain in ("speculative_config", "override_generation_config", "config"):
            raise without_value(place(name, raw, key))
        if plain in ("speculative_config", "override_generation_config") and isinstance(value, str):
            value = parse_json(f"{name}, {key}", value)
        if plain in ("speculative_config", "override_generation_config") and not isinstance(value, dict):
            raise PlaygroundError(
                Sentence("{place}: must be a mapping of keys to values.", place=place(name, raw, key)),
                Sentence("Write it as JSON or as nested YAML."),
                code="bad_config",
            )
        if plain not in _SERVER | FREE_TEXT:
            refuse_variable(value, place(name, raw, key))
        values[plain] = value
    return values


def _left_out(name: str, values: Values, raw: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The keys that have no place in a preset: the server's, and those that nobody knows."""
    server = sorted(key for key in values if key in _SERVER and key != "config")
    strange = sorted(key for key in values if key not in _SERVER and key not in _OURS)
    for key in strange:
        close = difflib.get_close_matches(key, _OURS, n=1, cutoff=0.85)
        if close:
            raise PlaygroundError(
                Sentence("{place}: is not a known key.", place=place(name, raw, key)),
                Sentence("Did you mean {close}?", close=close[0]),
                code="bad_config",
            )
    return server, strange


def _config(name: str, values: Values, raw: dict[str, Any], said: list[Sentence]) -> Values:
    model = text_of(values.get("model"), place(name, raw, "model"))
    if model is None:
        elsewhere = "config" in values
        hint = (
            Sentence("Import the file after --config itself.")
            if elsewhere
            else Sentence("Add `model:` with the target model.")
        )
        raise PlaygroundError(Sentence("{name}: names no model.", name=name), hint, code="bad_config")
    config: Values = {"engine": "vllm", "target": model, "dtype": values.get("dtype", "auto"), "speculation": None}
    config["engine_options"] = _engine_options(name, values, raw)
    if spec := values.get("speculative_config"):
        config["speculation"] = _speculation(name, spec, raw)
    config["sampling"] = _sampling(name, values, raw, said)
    if switch_of(values.get("chat"), place(name, raw, "chat")) is False:
        config["chat"] = False
    if (prompt := values.get("system_prompt")) is not None:
        if not isinstance(prompt, str):
            text_of(prompt, place(name, raw, "system_prompt"))
        config["system_prompt"] = prompt
    refuse_absurd(name, config)
    return config


def _engine_options(name: str, values: Values, raw: dict[str, Any]) -> Values:
    options = {key: values[key] for key in ENGINE_OPTIONS if values.get(key) not in (None, "None", "auto")}
    if str(options.get("max_model_len")) == "-1":  # another way to say auto
        del options["max_model_len"]
    options |= {key: _length(options[key]) for key in _LENGTHS if key in options}
    defaults = {"model": "-", "dtype": "auto", "gpu_memory_utilization": 0.5, "generation_config": "vllm"}
    file = {dashed(key): value for key, value in (defaults | options).items()}
    read = checked_as(ServeConfig, file | {"override-generation-config": {}}, name, raw)
    return {key: getattr(read, key) for key in options}


_LENGTHS = ("max_model_len", "max_num_batched_tokens")
"""Flags of ours that take a letter behind the number; vLLM takes none for max_num_seqs."""


def _length(value: Any) -> Any:
    """vLLM's "25.6k" (thousands) and "8K" (1,024s, whole ones only)."""
    match = _WITH_LETTER.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or ("." in match[1] and match[2].isupper()):
        return value
    power = "kmgt".index(match[2].lower()) + 1
    return int(match[1]) * 1024**power if match[2].isupper() else int(float(match[1]) * 1000**power)


_WITH_LETTER = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([kKmMgGtT])")


def _speculation(name: str, spec: Values, raw: dict[str, Any]) -> Values:
    inner = _inside(raw, "speculative_config")
    read = checked_as(SpeculativeConfig, spec, name, inner, _around(raw, spec))
    options = {key: value for key in METHOD_OPTIONS if (value := getattr(read, key)) is not None}
    out: Values = {"method": read.method, "model": read.model, "options": options}
    if read.num_speculative_tokens is not None:
        out["num_speculative_tokens"] = read.num_speculative_tokens
    return located(out, inner, _around(raw, spec))


def _around(raw: dict[str, Any], spec: Values) -> Located:
    """Where what the file does not say inside speculative_config stands: at an old key outside, else at the whole.

    Other keys outside may have the names of keys inside (model, quantization), and another meaning.
    """
    outside = {key.replace("-", "_"): line for key, line in getattr(raw, "lines", {}).items()}
    whole = outside.get("speculative_config")
    old = {new: outside[key] for key, new in ({"speculative_model": "model"} | MOVED_INSIDE).items() if key in outside}
    found = Located(spec)
    found.lines = (dict.fromkeys(spec, whole) if whole is not None else {}) | old
    return found


def _sampling(name: str, values: Values, raw: dict[str, Any], said: list[Sentence]) -> Values:
    given = values.get("override_generation_config") or {}
    read = checked_as(GenerationDefaults, given, name, given)
    sampling: Values = NEUTRAL | read.model_dump(exclude_none=True)
    if "max_new_tokens" in sampling:
        sampling["max_tokens"] = sampling.pop("max_new_tokens")
        said.append(Sentence("max_new_tokens capped every request of the server; here it is max_tokens of the run."))
    request = values.get("sampling_params")
    if request is not None and not isinstance(request, dict):
        raise PlaygroundError(
            Sentence("{place}: must be a mapping of keys to values.", place=place(name, raw, "sampling_params")),
            Sentence("Write it as JSON or as nested YAML."),
            code="bad_config",
        )
    if isinstance(request, dict):
        sampling |= _request(request, said)
    elif not given:
        said.append(NO_SAMPLING)
    if "max_tokens" not in sampling:
        said.append(no_length())
    if values.get("generation_config", "auto") != "vllm" and not isinstance(request, dict):
        said.append(models_own("generation-config: vllm"))
    if sampling["top_k"] == -1:
        sampling["top_k"] = 0
    return located(sampling, given)


def _request(request: Values, said: list[Sentence]) -> Values:
    """Keywords of SamplingParams(...): the request's own, so they win; its max_tokens is 16 unless given."""
    known = {key: value for key, value in request.items() if key in SamplingParams.model_fields and value is not None}
    strange = sorted(key for key in request if key not in SamplingParams.model_fields)
    if strange:
        said.append(left_out_of("SamplingParams", strange))
    if "max_tokens" not in request:
        said.append(Sentence("SamplingParams sets no max_tokens: vLLM's default there, {n}, is taken.", n=16))
    return {"max_tokens": 16} | known


def _inside(raw: dict[str, Any], key: str) -> Any:
    return next((value for spelled, value in raw.items() if spelled.replace("-", "_") == key), None)
