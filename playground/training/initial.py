"""The head before training: as much of the target's own last layer as fits. Knows Llama-like modules by their names."""

from typing import Any

import torch
from torch import nn

from playground.decoding.eagle3 import Eagle3Head, Eagle3Shape
from playground.errors import PlaygroundError
from playground.sentence import Sentence


def shape_for(module: Any, draft_vocab_size: int, taps: tuple[int, ...]) -> Eagle3Shape:
    """A head's shape for a loaded causal language model: its own sizes.

    Raises:
        PlaygroundError: the model is not Llama-like enough to say its sizes, or has fewer layers than `taps` name.
    """
    config = module.config.get_text_config(decoder=True)
    layers = int(config.num_hidden_layers)
    chosen = taps or tuple(sorted({min(2, layers - 1), layers // 2, max(layers - 2, 0)}))
    try:
        heads, size = int(config.num_attention_heads), int(config.hidden_size)
        shape = Eagle3Shape(
            hidden_size=size,
            target_hidden_size=size,
            intermediate_size=int(config.intermediate_size),
            num_attention_heads=heads,
            num_key_value_heads=int(getattr(config, "num_key_value_heads", None) or heads),
            head_dim=int(getattr(config, "head_dim", None) or size // heads),
            vocab_size=int(module.get_output_embeddings().weight.shape[0]),
            draft_vocab_size=draft_vocab_size,
            taps=chosen,
            rms_norm_eps=float(config.rms_norm_eps),
            max_position_embeddings=int(config.max_position_embeddings),
            rope_parameters=dict(config.rope_parameters),
        )
    except (AttributeError, TypeError, ValueError):
        raise PlaygroundError(
            Sentence("{kind} is not Llama-like: it does not say the sizes a head needs.", kind=type(module).__name__),
            Sentence("Train heads for Llama, Mistral, Qwen, SmolLM and their like."),
            code="unsupported_target",
        ) from None
    if not all(0 <= tap < layers for tap in shape.taps) or list(shape.taps) != sorted(set(shape.taps)):
        raise PlaygroundError(
            Sentence(
                "Hidden states before layers {layers} were asked of {n} layers.",
                layers=", ".join(map(str, shape.taps)),
                n=layers,
            ),
            Sentence("Name ascending layers from 0 to {last}, or none.", last=layers - 1),
            code="bad_config",
        )
    return shape


@torch.no_grad()
def initial_head(module: Any, shape: Eagle3Shape, targets: list[int], seed: int) -> Eagle3Head:
    """In float32 on the target's device. The output layer is the target's rows of the reduced vocabulary; the layer is
    the target's last one, reading the highest hidden state; what cannot be taken over begins small and random.
    """
    embeddings = module.get_input_embeddings().weight.detach()
    known = torch.tensor(targets, dtype=torch.long)
    torch.manual_seed(seed)
    head = Eagle3Head(shape, embeddings.float().cpu(), known)
    for weight in head.parameters():
        if weight.dim() > 1:
            nn.init.normal_(weight, std=0.02)
    size = shape.hidden_size
    head.fc.weight[:, -size:] += torch.eye(size)
    head.lm_head.weight.copy_(module.get_output_embeddings().weight[known.to(embeddings.device)])
    decoder = module.get_decoder()
    _copy(head.norm, getattr(decoder, "norm", None))
    layers = getattr(decoder, "layers", None)
    if layers is not None:
        _from_last_layer(head, layers)
    return head.to(embeddings.device)


def _from_last_layer(head: Eagle3Head, layers: Any) -> None:
    last, first = layers[-1], layers[0]
    _copy(head.input_layernorm, getattr(first, "input_layernorm", None))
    _copy(head.hidden_norm, getattr(last, "input_layernorm", None))
    _copy(head.post_attention_layernorm, getattr(last, "post_attention_layernorm", None))
    attention, mlp = getattr(last, "self_attn", None), getattr(last, "mlp", None)
    names = ("q_proj", "k_proj", "v_proj")
    parts = [part for name in names if (part := getattr(attention, name, None)) is not None]
    size = head.shape.hidden_size
    if len(parts) == len(names):
        joined = torch.cat([part.weight for part in parts])
        if joined.shape == (head.qkv_proj.weight.shape[0], size):
            head.qkv_proj.weight[:, size:] = joined.to("cpu", torch.float32)
    _copy(head.o_proj.weight, getattr(attention, "o_proj", None))
    gate, up = getattr(mlp, "gate_proj", None), getattr(mlp, "up_proj", None)
    if gate is not None and up is not None:
        joined = torch.cat([gate.weight, up.weight])
        if joined.shape == head.gate_up_proj.weight.shape:
            head.gate_up_proj.weight.copy_(joined)
    _copy(head.down_proj.weight, getattr(mlp, "down_proj", None))


def _copy(into: torch.Tensor, part: Any) -> None:
    weight = getattr(part, "weight", None)
    if weight is not None and weight.shape == into.shape:
        into.copy_(weight)
