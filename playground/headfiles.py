"""An EAGLE-3 head as files: the layout vLLM loads with `method: eagle3`, written; published layouts, read.

Read are the original one (`midlayer.*`, `d2t`) and that of the speculators library (`layers.0.*`, a nested
configuration). A head's folder is untrusted: sizes and names are checked against what its configuration says, and a
pickled checkpoint is never opened. Knows files and the head's shape; nothing of engines or runs.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playground.errors import PlaygroundError
from playground.modelfiles import read_object, safetensors_header

if TYPE_CHECKING:
    from torch import Tensor

    from playground.decoding.eagle3 import Eagle3Head, Eagle3Shape

WEIGHTS = "model.safetensors"

_IGNORED = ("t2d", "mask_hidden", "verifier_norm.weight", "verifier_lm_head.weight")
"""Tensors of published heads that drafting does not need."""

_PLAIN = {
    "fc.weight": "fc.weight",
    "norm.weight": "norm",
    "input_norm.weight": "input_norm",
    "lm_head.weight": "lm_head.weight",
    "midlayer.input_layernorm.weight": "input_layernorm",
    "midlayer.hidden_norm.weight": "hidden_norm",
    "midlayer.post_attention_layernorm.weight": "post_attention_layernorm",
    "midlayer.self_attn.o_proj.weight": "o_proj.weight",
    "midlayer.mlp.down_proj.weight": "down_proj.weight",
}
"""Name in a file -> name in `Eagle3Head`; those joined there follow."""

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

_JOINED = {
    "qkv_proj": tuple(f"midlayer.self_attn.{part}_proj" for part in "qkv"),
    "gate_up_proj": tuple(f"midlayer.mlp.{part}_proj" for part in ("gate", "up")),
}


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
        raise _bad(name, f"its config.json is not whole ({error})") from None
    if not all(0 <= tap < num_layers for tap in shape.taps) or list(shape.taps) != sorted(set(shape.taps)):
        raise PlaygroundError(
            f"The head “{name}” reads hidden states before layers {', '.join(map(str, shape.taps))}, "
            f"the target has {num_layers}.",
            "It was made for another target; choose the one it names.",
            code="incompatible_pair",
        )
    return shape


def read_head(
    name: str, folder: Path, shape: "Eagle3Shape", embeddings: "Tensor", output: "Tensor | None"
) -> "Eagle3Head":
    """The head with its weights, in the target's number format and on its device.

    Args:
        embeddings, output: the target's, for a head without its own; `output` only fits a full draft vocabulary.

    Raises:
        PlaygroundError: weights are missing, unknown, of another size, pickled, or not finite.
    """
    import torch

    from playground.decoding.eagle3 import Eagle3Head

    tensors = _tensors(name, folder)
    own = tensors.pop("embed_tokens.weight", None)
    table = embeddings if own is None else own.to(embeddings)
    targets = _targets(name, tensors.pop("d2t", None), shape)
    if "lm_head.weight" not in tensors and output is not None and len(output) == shape.draft_vocab_size:
        tensors["lm_head.weight"] = output
    state = _joined(name, tensors)
    with torch.device("meta"):
        head = Eagle3Head(shape, table, targets)
    wanted = {key: tuple(value.shape) for key, value in head.state_dict().items()}
    _match(name, wanted, {key: tuple(value.shape) for key, value in state.items()})
    if table.shape != (shape.vocab_size, shape.hidden_size):
        raise _bad(
            name, f"embeddings of size {tuple(table.shape)} where {shape.vocab_size, shape.hidden_size} are needed"
        )
    head = head.to_empty(device=embeddings.device).to(embeddings.dtype)
    head.load_state_dict(state)
    head.register_buffer("embed_tokens", table, persistent=False)
    head.register_buffer("targets", targets.to(embeddings.device), persistent=False)
    if not all(bool(torch.isfinite(weight).all()) for weight in head.parameters()):
        raise _bad(name, "it has weights that are not numbers")
    return head.eval().requires_grad_(False)


def write_head(folder: Path, head: "Eagle3Head", extra: Mapping[str, Any]) -> None:
    """config.json and model.safetensors (bfloat16) as vLLM loads them; each file is replaced whole or not at all.

    Args:
        extra: more entries of config.json: token ids, where the head came from.
    """
    import torch
    from safetensors.torch import save_file

    shape, state = head.shape, head.state_dict()
    tensors = {name: state[key] for name, key in _PLAIN.items() if key in state}
    tensors |= {f"fc_norm.{i}.weight": state[f"fc_norm.{i}"] for i in range(len(shape.taps)) if shape.fc_norm}
    widths = {"qkv_proj": _qkv_widths(shape), "gate_up_proj": (shape.intermediate_size,) * 2}
    for joined, names in _JOINED.items():
        for kind in ("weight", "bias"):
            if (key := f"{joined}.{kind}") in state:
                parts = state[key].split(widths[joined])
                tensors |= {f"{part}.{kind}": tensor for part, tensor in zip(names, parts, strict=True)}
    saved = {name: tensor.detach().to("cpu", torch.bfloat16).contiguous() for name, tensor in tensors.items()}
    targets = head.targets.cpu()
    saved["d2t"] = targets - torch.arange(len(targets))
    saved["t2d"] = torch.zeros(shape.vocab_size, dtype=torch.bool).index_fill_(0, targets, True)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(saved, folder / f".{WEIGHTS}", metadata={"format": "pt"})
    os.replace(folder / f".{WEIGHTS}", folder / WEIGHTS)
    write_json(folder / "config.json", {**config_of(shape), **extra})


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
        "it drafts all tokens in one pass": said.get("speculators_model_type", "eagle3") != "eagle3",
        f"it has {said.get('num_hidden_layers')} layers, not one": said.get("num_hidden_layers", 1) != 1,
        f"its activation is {said.get('hidden_act')}": said.get("hidden_act", "silu") != "silu",
        "it reads only the last hidden state": inner.get("use_aux_hidden_state", True) is False,
    }
    for reason, holds in reasons.items():
        if holds:
            raise PlaygroundError(
                f"The head “{name}” is of a kind this engine does not run: {reason}.",
                "Run it with the vLLM engine, or choose an EAGLE-3 head with one Llama layer.",
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


def _tensors(name: str, folder: Path) -> dict[str, "Tensor"]:
    """Everything the folder's safetensors files hold, under the names of the original layout."""
    from safetensors.torch import load_file

    files = sorted(file for file in folder.glob("*.safetensors") if file.is_file())
    if not files:
        pickled = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        raise PlaygroundError(
            f"The head “{name}” has no *.safetensors file{', only pickled weights' if pickled else ''}.",
            "Convert it to safetensors: a pickle can run code when it is opened." if pickled else "Download it whole.",
            code="bad_model",
        )
    found: dict[str, Tensor] = {}
    for file in files:
        safetensors_header(file)
        found |= load_file(file)
    renamed = {key.removeprefix("model.").replace("layers.0.", "midlayer."): value for key, value in found.items()}
    return {key: value for key, value in renamed.items() if key not in _IGNORED}


def _joined(name: str, tensors: dict[str, "Tensor"]) -> dict[str, "Tensor"]:
    """Names of `Eagle3Head`; what cannot be placed keeps its own name, for `_match` to say so."""
    import torch

    state: dict[str, Tensor] = {}
    for joined, parts in _JOINED.items():
        for kind in ("weight", "bias"):
            names = [f"{part}.{kind}" for part in parts]
            if all(part in tensors for part in names):
                try:
                    state[f"{joined}.{kind}"] = torch.cat([tensors.pop(part) for part in names])
                except RuntimeError:
                    raise _bad(name, f"{', '.join(names)} do not fit together") from None
    for key, tensor in tensors.items():
        norm = key.removesuffix(".weight") if key.startswith("fc_norm.") else key
        state[_PLAIN.get(key, norm)] = tensor
    return state


def _match(name: str, wanted: dict[str, tuple[int, ...]], found: dict[str, tuple[int, ...]]) -> None:
    missing, unknown = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
    if missing:
        raise _bad(name, f"it lacks {', '.join(missing[:3])}")
    if unknown:
        raise _bad(name, f"it has weights this engine does not know: {', '.join(unknown[:3])}")
    for key, size in wanted.items():
        if found[key] != size:
            raise _bad(name, f"{key} is of size {found[key]}, its config.json says {size}")


def _targets(name: str, d2t: "Tensor | None", shape: "Eagle3Shape") -> "Tensor":
    """The target's id of each draft id, int64 [draft_vocab_size]."""
    import torch

    drafts = torch.arange(shape.draft_vocab_size)
    if d2t is None:
        if shape.draft_vocab_size != shape.vocab_size:
            raise _bad(name, "it lacks d2t, the map of its reduced vocabulary")
        return drafts
    if d2t.shape != drafts.shape or d2t.is_floating_point():
        raise _bad(name, f"d2t is of size {tuple(d2t.shape)}, its config.json says {shape.draft_vocab_size}")
    targets = drafts + d2t.long()
    if (
        bool((targets < 0).any())
        or bool((targets >= shape.vocab_size).any())
        or len(set(targets.tolist())) != len(targets)
    ):
        raise _bad(name, "d2t leads out of the vocabulary, or twice to the same token")
    return targets


def _qkv_widths(shape: "Eagle3Shape") -> tuple[int, int, int]:
    keys = shape.num_key_value_heads * shape.head_dim
    return shape.num_attention_heads * shape.head_dim, keys, keys


def _bad(name: str, what: str) -> PlaygroundError:
    return PlaygroundError(
        f"The head “{name}” cannot be loaded: {what}.", "Download it again, or choose another.", code="bad_model"
    )
