"""The configuration of an EAGLE-3 head: as vLLM loads it with `method: eagle3`, written; published ones, read.

Read are the original form and the nested one of the speculators library. A head's folder is untrusted. Knows
config.json and the head's shape; weights are headweights.py's, engines and runs are unknown here.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playground.errors import PlaygroundError
from playground.modelfiles import read_object
from playground.sentence import Sentence

if TYPE_CHECKING:
    from playground.decoding.eagle3 import Eagle3Shape

_AS_NAMED = (
    "hidden_size",
    "target_hidden_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "vocab_size",
    "draft_vocab_size",
    "rms_norm_eps",
    "max_position_embeddings",
    "attention_bias",
    "norm_before_residual",
    "norm_before_fc",
    "fc_norm",
    "norm_output",
    "logit_scale",
)
"""Entries of config.json that are fields of `Eagle3Shape`."""


def is_head(config: Mapping[str, Any]) -> bool:
    """Whether a config.json is that of an EAGLE-3 head."""
    names = config.get("architectures")
    first = str(names[0]).lower() if isinstance(names, list) and names else ""
    return "eagle3" in first or config.get("speculators_model_type") == "eagle3"


def head_config(folder: Path) -> dict[str, Any] | None:
    """The configuration of a folder that holds a head; None for any other folder, or none."""
    found = read_object(folder / "config.json") if folder.is_dir() else None
    return found if found and is_head(found) else None


def read_shape(name: str, config: Mapping[str, Any], num_layers: int) -> "Eagle3Shape":
    """What a head's config.json says.

    Args:
        num_layers: of the target; decides which hidden states are read where the configuration is silent, as in vLLM.

    Raises:
        PlaygroundError: it lacks a size, or asks for something this engine does not compute.
    """
    from playground.decoding.eagle3 import Eagle3Shape

    flat = _flat(config)
    inner = flat.get("eagle_config") if isinstance(flat.get("eagle_config"), dict) else {}
    _only_what_we_compute(name, flat, inner or {})
    said = {**flat, **{key: value for key, value in (inner or {}).items() if key not in flat}}
    taps = said.get("eagle_aux_hidden_state_layer_ids") or (2, num_layers // 2, num_layers - 3)
    try:
        size, heads = int(said["hidden_size"]), int(said["num_attention_heads"])
        shape = Eagle3Shape(
            hidden_size=size,
            target_hidden_size=int(said.get("target_hidden_size") or size),
            intermediate_size=int(said["intermediate_size"]),
            num_attention_heads=heads,
            num_key_value_heads=int(said.get("num_key_value_heads") or heads),
            head_dim=int(said.get("head_dim") or size // heads),
            vocab_size=int(said["vocab_size"]),
            draft_vocab_size=int(said.get("draft_vocab_size") or said["vocab_size"]),
            taps=tuple(int(tap) for tap in taps),
            rms_norm_eps=float(said.get("rms_norm_eps") or 1e-6),
            max_position_embeddings=int(said.get("max_position_embeddings") or 2048),
            rope_parameters=_rope(said),
            attention_bias=bool(said.get("attention_bias", False)),
            norm_before_residual=bool(said.get("norm_before_residual", False)),
            norm_before_fc=bool(said.get("norm_before_fc", False)),
            fc_norm=bool(said.get("fc_norm", False)),
            norm_output=bool(said.get("norm_output", False)),
            logit_scale=float(said.get("logit_scale") or 1.0),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise bad_head(name, Sentence("its config.json is not whole ({why})", why=error)) from None
    if not all(0 <= tap < num_layers for tap in shape.taps) or list(shape.taps) != sorted(set(shape.taps)):
        raise PlaygroundError(
            Sentence(
                "The head “{name}” reads hidden states before layers {layers}, the target has {num_layers}.",
                name=name,
                layers=", ".join(map(str, shape.taps)),
                num_layers=num_layers,
            ),
            Sentence("It was made for another target; choose the one it names."),
            code="incompatible_pair",
        )
    return shape


def write_json(file: Path, data: Mapping[str, Any]) -> None:
    """Replaces the file whole."""
    scratch = file.with_name(f".{file.name}")
    scratch.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(scratch, file)


def config_of(shape: "Eagle3Shape") -> dict[str, Any]:
    """config.json as vLLM reads it."""
    taps = list(shape.taps)
    return {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        **{name: getattr(shape, name) for name in _AS_NAMED},
        "num_hidden_layers": 1,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "dtype": "bfloat16",
        "rope_parameters": dict(shape.rope_parameters),
        "eagle_aux_hidden_state_layer_ids": taps,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": taps, "use_aux_hidden_state": True},
    }


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """The speculators library nests the layer's configuration and means another order of norms where it is silent."""
    nested = config.get("transformer_layer_config")
    if not isinstance(nested, dict):
        return dict(config)
    outer = {key: value for key, value in config.items() if key != "transformer_layer_config" and value is not None}
    return {"norm_before_residual": True, **nested, **outer}


def _only_what_we_compute(name: str, said: Mapping[str, Any], inner: Mapping[str, Any]) -> None:
    reasons = {
        Sentence("it drafts all tokens in one pass"): said.get("speculators_model_type", "eagle3") != "eagle3",
        Sentence("it has {n} layers, not one", n=said.get("num_hidden_layers")): said.get("num_hidden_layers", 1) != 1,
        Sentence("its activation is {activation}", activation=said.get("hidden_act")): said.get("hidden_act", "silu")
        != "silu",
        Sentence("it reads only the last hidden state"): inner.get("use_aux_hidden_state", True) is False,
    }
    for reason, holds in reasons.items():
        if holds:
            raise PlaygroundError(
                Sentence(
                    "The head “{name}” is of a kind this engine does not run: {reason}.", name=name, reason=reason
                ),
                Sentence("Run it with the vLLM engine, or choose an EAGLE-3 head with one Llama layer."),
                code="unsupported_head",
            )


def _rope(said: Mapping[str, Any]) -> dict[str, Any]:
    given = said.get("rope_parameters")
    if isinstance(given, dict) and given:
        return given
    scaling = said.get("rope_scaling")
    scaling = dict(scaling) if isinstance(scaling, dict) else {}
    kind = scaling.pop("type", None) or scaling.get("rope_type") or "default"
    return {"rope_theta": float(said.get("rope_theta") or 10000.0), **scaling, "rope_type": kind}


def bad_head(name: str, what: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("The head “{name}” cannot be loaded: {what}.", name=name, what=what),
        Sentence("Download it again, or choose another."),
        code="bad_model",
    )
