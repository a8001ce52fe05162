"""Ollama: a Modelfile as a preset."""

import re
from typing import Any

from playground.errors import PlaygroundError
from playground.exporters.ollama import PARAMETERS
from playground.importers import Imported
from playground.importers._reading import (
    Reading,
    Values,
    engine_for,
    penalty_window,
    pinned_defaults,
    taken,
)
from playground.sentence import Sentence

TITLE = "Ollama"

_FIELDS = {key: name for name, key in PARAMETERS.items()} | {"seed": "seed"}
_DEFAULTS = {"temperature": 0.8, "top_k": 40, "top_p": 0.9, "min_p": 0.0}
_WINDOW = 64
"""Tokens that Ollama's penalties look back where nothing is said."""
_DRAFTS = 4
"""draft_num_predict with a draft model, where nothing is said."""
_PENALTIES = ("repeat_penalty", "presence_penalty", "frequency_penalty")
_INSTRUCTION = re.compile(
    r"^[ \t]*(FROM|PARAMETER|SYSTEM|TEMPLATE|ADAPTER|LICENSE|MESSAGE|REQUIRES|DRAFT)\b[ \t]*", re.I | re.M
)


def recognises(name: str, data: object) -> bool:
    if not isinstance(data, str):
        return False
    return "modelfile" in name.lower() or bool(
        re.search(r"^FROM[ \t]+\S+[ \t\r]*$", data, re.MULTILINE) and re.search(r"^PARAMETER\s", data, re.MULTILINE)
    )


def read(name: str, data: object, *, keep_lossy: bool = False) -> Imported:
    """See `Importer`."""
    raw, stops, other = _parsed(name, str(data))
    reading = Reading(name, raw, keep_lossy=keep_lossy)
    target = reading.text("FROM")
    if target is None:
        raise PlaygroundError(
            Sentence("{name}: names no model.", name=name), Sentence("Begin with FROM."), code="bad_config"
        )
    k, draft = reading.values.pop("draft_num_predict", None), reading.text("DRAFT")
    sampling: Values = dict(_DEFAULTS)
    sampling |= {_FIELDS[key]: reading.values.pop(key) for key in list(reading.values) if key in _FIELDS}
    if pinned := [key for key in _DEFAULTS if key not in raw]:
        values = ", ".join(f"{key} {_DEFAULTS[key]:g}" for key in pinned)
        reading.said.append(pinned_defaults("Ollama", values))
    if "repeat_penalty" not in raw:
        reading.said.append(
            taken("repeat_penalty", 1, Sentence("it is not given, and Ollama has a default of its own"))
        )
    if str(sampling.get("max_tokens", "")).startswith("-"):
        del sampling["max_tokens"]
    sampling |= {"stop": stops} if stops else {}
    length = reading.values.pop("num_ctx", None)
    options = {} if length is None else {"max_model_len": reading.whole("num_ctx", length)}
    window = reading.values.pop("repeat_last_n", _WINDOW)
    if str(window) != "-1" and any(raw.get(key) is not None for key in _PENALTIES):
        reading.said.append(penalty_window(window))
    speculation = _speculation(reading, k, draft)
    config: Values = {"target": target, "engine_options": options, "speculation": speculation, "sampling": sampling}
    if isinstance(system := reading.values.pop("SYSTEM", None), str):
        config["system_prompt"] = system
    if other or reading.values:
        reading.left_out_of("Modelfile", sorted({*other, *reading.values}))
    config["engine"] = engine_for(options, speculation)
    return reading.finish(TITLE, config)


def _speculation(reading: Reading, k: str | None, draft: str | None) -> Values | None:
    """By a draft model of its own, or by layers of the model that predict more tokens; 0 turns either off."""
    if str(k) == "0" or (k is None and draft is None):
        if draft is not None:
            reading.leave("DRAFT", Sentence("draft_num_predict 0 turns it off"))
        return None
    if draft is None:
        reading.said.append(Sentence("draft_num_predict is read as method mtp, prediction layers inside the model."))
        return {"method": "mtp", "num_speculative_tokens": k, "model": None, "options": {}}
    reading.said.append(Sentence("DRAFT is read as method draft_model, by a model of its own."))
    if k is None:
        reading.said.append(Sentence("draft_num_predict is not given: {n}, the default there, is taken.", n=_DRAFTS))
    return {"method": "draft_model", "num_speculative_tokens": k or _DRAFTS, "model": draft, "options": {}}


def _parsed(name: str, text: str) -> tuple[dict[str, Any], list[str], list[str]]:
    """Instructions and parameters by name, stop strings, names of instructions that are not read."""
    raw: dict[str, Any] = {}
    stops: list[str] = []
    other: list[str] = []
    position = 0
    while match := _INSTRUCTION.search(text, position):
        value, position = _value(name, text, match.end())
        kind = match[1].upper()
        if kind == "PARAMETER":
            key, _, rest = value.partition(" ")
            if not key:
                raise PlaygroundError(
                    Sentence("{name}: a PARAMETER has no name.", name=name),
                    Sentence("Write its name and value, or take the line out."),
                    code="bad_config",
                )
            if key.lower() == "stop":
                stops.append(_unquoted(rest.strip()))
            elif key.lower() in raw:
                raise PlaygroundError(
                    Sentence("{name}: {key} is given twice.", name=name, key=key[:40]),
                    Sentence("Keep one of them."),
                    code="bad_config",
                )
            else:
                raw[key.lower()] = _unquoted(rest.strip())
        elif kind in ("FROM", "SYSTEM", "DRAFT"):
            if kind in raw:
                raise PlaygroundError(
                    Sentence("{name}: {kind} is given twice.", name=name, kind=kind),
                    Sentence("Keep one of them."),
                    code="bad_config",
                )
            raw[kind] = _unquoted(value)
        else:
            other.append(kind)
    return raw, stops, other


def _value(name: str, text: str, start: int) -> tuple[str, int]:
    """To the end of the line, or of a text in three quotes."""
    if text.startswith('"""', start):
        end = text.find('"""', start + 3)
        if end < 0:
            raise PlaygroundError(
                Sentence("{name}: a text in three quotes has no end.", name=name),
                Sentence("Close it."),
                code="bad_file",
            )
        return text[start : end + 3], end + 3
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return text[start:end].strip(), end


def _unquoted(text: str) -> str:
    for mark in ('"""', '"'):
        if text.startswith(mark) and text.endswith(mark) and len(text) >= 2 * len(mark):
            return text[len(mark) : -len(mark)]
    return text
