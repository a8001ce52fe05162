"""The weights of an EAGLE-3 head as safetensors: vLLM's layout, written; that of published heads, read.

Names and sizes are checked against what the configuration says; a pickled checkpoint is never opened. Knows files and
the head; what a configuration means is known by headfiles.py.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playground.errors import PlaygroundError
from playground.headfiles import bad_head, config_of, write_json
from playground.modelfiles import safetensors_header
from playground.sentence import Sentence

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

_JOINED = {
    "qkv_proj": tuple(f"midlayer.self_attn.{part}_proj" for part in "qkv"),
    "gate_up_proj": tuple(f"midlayer.mlp.{part}_proj" for part in ("gate", "up")),
}


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
        wants = (shape.vocab_size, shape.hidden_size)
        raise bad_head(
            name,
            Sentence(
                "its embeddings, or the target's, are of size {found}, it needs {wanted}",
                found=tuple(table.shape),
                wanted=wants,
            ),
        )
    head = head.to_empty(device=embeddings.device).to(embeddings.dtype)
    head.load_state_dict(state)
    head.register_buffer("embed_tokens", table, persistent=False)
    head.register_buffer("targets", targets.to(embeddings.device), persistent=False)
    if not all(bool(torch.isfinite(weight).all()) for weight in head.parameters()):
        raise bad_head(name, Sentence("it has weights that are not numbers"))
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


def _tensors(name: str, folder: Path) -> dict[str, "Tensor"]:
    """Everything the folder's safetensors files hold, under the names of the original layout."""
    from safetensors.torch import load_file

    files = sorted(file for file in folder.glob("*.safetensors") if file.is_file())
    if not files:
        pickled = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        if pickled:
            raise PlaygroundError(
                Sentence("The head “{name}” has no *.safetensors file, only pickled weights.", name=name),
                Sentence("Convert it to safetensors: a pickle can run code when it is opened."),
                code="bad_model",
            )
        raise PlaygroundError(
            Sentence("The head “{name}” has no *.safetensors file.", name=name),
            Sentence("Download it whole."),
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
                    raise bad_head(name, Sentence("{weights} do not fit together", weights=", ".join(names))) from None
    for key, tensor in tensors.items():
        norm = key.removesuffix(".weight") if key.startswith("fc_norm.") else key
        state[_PLAIN.get(key, norm)] = tensor
    return state


def _match(name: str, wanted: dict[str, tuple[int, ...]], found: dict[str, tuple[int, ...]]) -> None:
    missing, unknown = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
    if missing:
        raise bad_head(name, Sentence("it lacks {weights}", weights=", ".join(missing[:3])))
    if unknown:
        raise bad_head(
            name, Sentence("it has weights this engine does not know: {weights}", weights=", ".join(unknown[:3]))
        )
    for key, size in wanted.items():
        if found[key] != size:
            raise bad_head(
                name,
                Sentence(
                    "{key} is of size {found}, its config.json says {wanted}", key=key, found=found[key], wanted=size
                ),
            )


def _targets(name: str, d2t: "Tensor | None", shape: "Eagle3Shape") -> "Tensor":
    """The target's id of each draft id, int64 [draft_vocab_size]."""
    import torch

    drafts = torch.arange(shape.draft_vocab_size)
    if d2t is None:
        if shape.draft_vocab_size != shape.vocab_size:
            raise bad_head(name, Sentence("it lacks d2t, the map of its reduced vocabulary"))
        return drafts
    if d2t.shape != drafts.shape or d2t.is_floating_point():
        raise bad_head(
            name,
            Sentence(
                "d2t is of size {found}, its config.json says {wanted}",
                found=tuple(d2t.shape),
                wanted=shape.draft_vocab_size,
            ),
        )
    targets = drafts + d2t.long()
    if (
        bool((targets < 0).any())
        or bool((targets >= shape.vocab_size).any())
        or len(set(targets.tolist())) != len(targets)
    ):
        raise bad_head(name, Sentence("d2t leads out of the vocabulary, or twice to the same token"))
    return targets


def _qkv_widths(shape: "Eagle3Shape") -> tuple[int, int, int]:
    keys = shape.num_key_value_heads * shape.head_dim
    return shape.num_attention_heads * shape.head_dim, keys, keys
