"""Single values over a configuration, by the names people type: fields, `method`, `draft`, and options.

The command line's flags and Python's keywords both come down to this. Knows the fields; judges nothing (pydantic does).
"""

import json
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from playground import drafters, engines
from playground.config import RunConfig, SamplingParams, checked
from playground.errors import PlaygroundError
from playground.registry import discover, extension
from playground.sentence import OR, Sentence, joined

SPECULATION = ("method", "draft", "num_speculative_tokens", "method_options")
"""Names that speak of `RunConfig.speculation`; `draft` is `Speculation.model`."""

PLAIN = ("target", "dtype", "chat", "system_prompt")
NONE = "none"

Owner = tuple[str, str, type[BaseModel]]
"""("engine" or "method", its name, its options)."""


def with_overrides(config: RunConfig, values: Mapping[str, Any]) -> RunConfig:
    """`config` with `values` in place of what it says.

    A value may be text, as a command line gives it: "0.7", "none" for an optional field, JSON for a list or mapping.
    Another engine drops what the old one alone understood; another method drops all that was said of the old one.
    `method="none"` (or None) is the baseline. `draft` alone chooses draft_model where the method so far takes
    no model.

    Raises:
        PlaygroundError: an unknown name, an option of another method or engine, or a value pydantic refuses.
    """
    values, data = dict(values), config.model_dump()
    engine = _engine(data, values)
    for name in PLAIN:
        if name in values:
            data[name] = readable(RunConfig.model_fields[name].annotation, values.pop(name))
    for name in SamplingParams.model_fields:
        if name in values:
            data["sampling"][name] = readable(SamplingParams.model_fields[name].annotation, values.pop(name))
    said = {name: values.pop(name) for name in SPECULATION if name in values}
    data["speculation"] = _speculation(data["speculation"], said)
    _options(data, engine, values)
    return checked(RunConfig, data)


def _engine(data: dict[str, Any], values: dict[str, Any]) -> Any:
    """The chosen engine's class; another one than before forgets what only the old one understands."""
    name = values.pop("engine", data["engine"])
    engine = extension(engines.PACKAGE, name, Sentence("engine")).Engine
    if name != data["engine"]:
        data |= {"engine": name, "engine_options": {}}
        if spec := data["speculation"]:
            known = engine.methods().get(spec["method"])
            spec["options"] = {k: v for k, v in spec["options"].items() if known and k in known.model_fields}
            if known is None and "method" not in values:  # the first it has
                data["speculation"] = {"method": next(iter(engine.methods())), "options": {}}
    data["engine_options"] |= values.pop("engine_options", None) or {}
    return engine


def _typed(options: dict[str, Any], model: type[BaseModel], where: str) -> dict[str, Any]:
    """`options` with text read as what it stands for, so that what is stored and exported has its real type."""
    fields = model.model_fields
    read = {key: readable(fields[key].annotation, v) if key in fields else v for key, v in options.items()}
    typed = checked(model, read, where=where).model_dump(mode="json")
    return {key: typed[key] for key in options}


def readable(annotation: Any, value: Any) -> Any:
    """Text as pydantic takes it for a field of this type; anything else as it is."""
    if not isinstance(value, str):
        return value
    kinds = _kinds(annotation)
    if type(None) in kinds and value.lower() in (NONE, ""):
        return None
    if str not in kinds and value[:1] in "[{" and value:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def all_options() -> dict[str, list[Owner]]:
    """Option name -> who has it, of all engines and of all their methods."""
    found: dict[str, list[Owner]] = {}
    for name, module in discover(engines.PACKAGE).items():
        models = [("engine", name, module.Engine.Options)]
        models += [("method", method, options) for method, options in module.Engine.methods().items()]
        for kind, owner, model in models:
            for option in model.model_fields:
                owners = found.setdefault(option, [])
                if (kind, owner) not in [known[:2] for known in owners]:
                    owners.append((kind, owner, model))
    return found


def _speculation(before: dict[str, Any] | None, said: dict[str, Any]) -> dict[str, Any] | None:
    if not said:
        return before
    method, draft = said.get("method"), said.get("draft")
    if "method" in said and (method is None or str(method).lower() == NONE):
        if len(said) > 1:
            raise PlaygroundError(
                Sentence("Without a method there is no {setting}.", setting=next(n for n in said if n != "method")),
                Sentence("Leave it out, or choose a method."),
                code="bad_config",
            )
        return None
    if method is None and draft is not None and not (before and _takes_model(before["method"])):
        method = "draft_model"
    spec = before or {}
    if method is not None and method != spec.get("method"):
        spec = {"method": method}
    spec["options"] = (spec.get("options") or {}) | (said.get("method_options") or {})
    if "draft" in said:
        spec["model"] = draft
    if "num_speculative_tokens" in said:
        spec["num_speculative_tokens"] = said["num_speculative_tokens"]
    return spec


def _takes_model(method: str) -> bool:
    drafter = discover(drafters.PACKAGE).get(method)
    return drafter is None or bool(drafter.Drafter.NEEDS_MODEL)


def _options(data: dict[str, Any], engine: Any, values: dict[str, Any]) -> None:
    """What is left in `values`: options by their own names, to the chosen engine or else to the chosen method.

    A method's option of the engine's name (vLLM's draft has a max_model_len too) is set by method_options.
    """
    spec = data["speculation"]
    of_method = engine.methods().get(spec["method"]) if spec else None
    for name, value in values.items():
        if name in engine.Options.model_fields:
            data["engine_options"][name] = value
        elif spec and of_method and name in of_method.model_fields:
            spec["options"][name] = value
        else:
            raise _no_such(name, data["engine"], spec["method"] if spec else None)
    engine_name = data["engine"]
    data["engine_options"] = _typed(
        data["engine_options"], engine.Options, Sentence("the options of the engine {engine}", engine=engine_name)
    )
    if spec and of_method:
        spec["options"] = _typed(spec["options"], of_method, Sentence("the options of {method}", method=spec["method"]))


_KIND = {"engine": Sentence("engine {name}"), "method": Sentence("method {name}")}


def _no_such(name: str, engine: str, method: str | None) -> PlaygroundError:
    owners = all_options().get(name)
    if not owners:
        return PlaygroundError(
            Sentence("There is no setting called “{name}”.", name=name[:60]),
            Sentence("Check its spelling."),
            code="bad_config",
        )
    places = joined([_KIND[kind].filled(name=owner) for kind, owner, _ in owners], OR)
    now = (
        Sentence("engine {engine} with method {method}", engine=engine, method=method)
        if method
        else Sentence("engine {engine} with no method", engine=engine)
    )
    return PlaygroundError(
        Sentence("{name} is an option of {places}, and not of {now}.", name=name, places=places, now=now),
        Sentence("Choose that, or leave it out."),
        code="bad_config",
    )


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The types an annotation is made of, None among them where it is optional."""
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(kind for part in get_args(annotation) for kind in _kinds(part))
    return (annotation,)
