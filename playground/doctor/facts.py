"""What one model is, from its config and headers: shape, size, number formats, window. Weights are never read.

Fields a stranger may have written wrongly are None, not trusted. Knows no pair and no engine.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from playground import models
from playground.doctor import gguf
from playground.doctor.tokenizers import Tokenizer, read_tokenizer
from playground.errors import PlaygroundError
from playground.modelfiles import bytes_of, read_object, safetensors_header, whole, word

Role = Literal["model", "eagle3", "eagle", "medusa", "mlp_speculator", "other"]
"""What a folder can be in a pair: a language model on its own, or a head made for one target."""

_STATEFUL = ("linear_attention", "mamba", "recurrent", "conv", "rwkv", "ssm")
_STATEFUL_FAMILIES = ("mamba", "rwkv", "jamba", "zamba", "bamba", "recurrent_gemma", "granitemoehybrid", "nemotron_h")


@dataclass(frozen=True, slots=True)
class Facts:
    """One model.

    Attributes:
        name: as the user calls it. path: folder or GGUF file. problem: why it cannot be loaded; "" if nothing is known.
        family: the architecture's family (config.json's model_type, GGUF's architecture). architecture: class name.
        rows: logits it gives. context: positions it was made for. hidden, layers: its shape.
        kv_width: numbers kept per token and layer (keys and values together). window: of sliding attention.
        parameters: numbers in its weights; estimated from the shape where they are packed. size: bytes on disk.
        dtype: number format of the weights as stored. quantization: "awq 4-bit", "Q4_K_M"; None for plain numbers.
        stateful: it keeps a state that cannot be rewound. remote_code: it brings Python of its own.
        mtp_layers: layers for multi-token prediction inside. bos_id, eos_ids: of config and generation config.
    """

    name: str
    path: str
    kind: Literal["folder", "gguf"]
    role: Role = "model"
    problem: str = ""
    family: str | None = None
    architecture: str | None = None
    rows: int | None = None
    context: int | None = None
    hidden: int | None = None
    layers: int | None = None
    kv_width: int | None = None
    window: int | None = None
    parameters: int | None = None
    size: int = 0
    dtype: str | None = None
    quantization: str | None = None
    stateful: bool = False
    remote_code: bool = False
    mtp_layers: int = 0
    bos_id: int | None = None
    eos_ids: tuple[int, ...] = ()
    tokenizer: Tokenizer | None = field(default=None, repr=False)

    @property
    def precision(self) -> str | None:
        """The number format in one word: the quantization where there is one."""
        return self.quantization or self.dtype

    def kv_bytes(self, positions: int, number_bytes: int = 2) -> int | None:
        """Bytes of keys and values for this many positions; sliding layers counted whole, as rewinding needs them."""
        if self.kv_width is None or self.layers is None:
            return None
        return positions * self.layers * self.kv_width * number_bytes

    def as_dict(self) -> dict[str, Any]:
        plain = (
            "name", "path", "kind", "role", "problem", "family", "architecture", "rows", "context", "hidden", "layers",
            "parameters", "size", "dtype", "quantization", "mtp_layers",
        )  # fmt: skip
        found: dict[str, Any] = {name: getattr(self, name) for name in plain}
        t = self.tokenizer
        special = {role: {"text": s.text, "id": s.id} for role, s in t.special.items()} if t else {}
        return found | {
            "tokenizer": None
            if t is None
            else {
                "source": t.source,
                "kind": t.kind,
                "size": t.size,
                "fingerprint": t.fingerprint,
                "special": special,
                "adds_bos": t.adds_bos,
                "chat_template": t.chat_template is not None,
            }
        }


def facts(name: str, place: Path) -> Facts:
    """The facts of a model that is here; cached until its config, weights or tokenizer change.

    What is malformed becomes `problem`, never an exception.
    """
    return _facts(name, str(place), _stamps(place))


def _stamps(place: Path) -> tuple[tuple[str, int, int], ...]:
    found = []
    try:
        for entry in sorted([place] if place.is_file() else place.iterdir())[:10_000]:
            if entry.is_file():
                status = entry.stat()
                found.append((entry.name, status.st_mtime_ns, status.st_size))
    except OSError:
        pass  # what cannot be looked at is told by models.inspect
    return tuple(found)


@lru_cache(maxsize=64)
def _facts(name: str, path: str, stamps: tuple[tuple[str, int, int], ...]) -> Facts:
    place = Path(path)
    model = models.inspect(name, place)
    try:
        tokenizer, wrong = read_tokenizer(place), ""
    except PlaygroundError as error:
        tokenizer, wrong = None, error.message
    try:
        found = _of_gguf(place) if model.kind == "gguf" else _of_folder(place, model)
    except PlaygroundError as error:
        found, wrong = {}, error.message
    role = found.get("role", "model")
    # A head made for one target reads the target's tokens: it needs no tokenizer of its own.
    problem = "" if role != "model" and "tokenizer" in model.problem else model.problem
    kind: Literal["folder", "gguf"] = "gguf" if model.kind == "gguf" else "folder"
    return Facts(name, path, kind, problem=problem or wrong, size=model.size, tokenizer=tokenizer, **found)


def _of_folder(place: Path, model: models.Model) -> dict[str, Any]:
    whole_config = read_object(place / "config.json") or {}
    config = text_config(whole_config)
    generation = read_object(place / "generation_config.json") or {}
    stored, dtypes = _stored(place, config)
    quantization = _quantization(whole_config)
    return _shape(config) | {
        "role": _role(model.architecture, whole_config),
        "family": word(config.get("model_type")) or word(whole_config.get("model_type")),
        "architecture": model.architecture,
        "rows": whole(config.get("vocab_size")),
        "context": whole(config.get("max_position_embeddings")) or whole(config.get("n_positions")),
        "parameters": stored if quantization is None else estimated_parameters(config),
        "dtype": dtypes or model.dtype,
        "quantization": quantization,
        "stateful": _is_stateful(config),
        "remote_code": isinstance(whole_config.get("auto_map"), dict),
        "mtp_layers": whole(config.get("num_nextn_predict_layers"), 0, 100) or 0,
        "bos_id": whole(config.get("bos_token_id"), 0),
        "eos_ids": _ids(generation.get("eos_token_id")) or _ids(config.get("eos_token_id")),
    }


def text_config(config: dict[str, Any]) -> dict[str, Any]:
    """The part about the language model, where a config holds several."""
    nested = config.get("text_config")
    return nested if isinstance(nested, dict) else config


def _shape(config: dict[str, Any]) -> dict[str, Any]:
    hidden = whole(config.get("hidden_size")) or whole(config.get("n_embd"))
    heads = whole(config.get("num_attention_heads")) or whole(config.get("n_head"))
    size = whole(config.get("head_dim")) or (hidden // heads if hidden and heads else None)
    kv_heads = whole(config.get("num_key_value_heads")) or heads
    width = 2 * kv_heads * size if kv_heads and size else None
    if latent := whole(config.get("kv_lora_rank")):  # DeepSeek's latent attention keeps one vector for both
        width = latent + (whole(config.get("qk_rope_head_dim"), 0) or 0)
    return {
        "hidden": hidden,
        "layers": whole(config.get("num_hidden_layers")) or whole(config.get("n_layer")),
        "kv_width": width,
        "window": whole(config.get("sliding_window")),
    }


def _stored(place: Path, config: dict[str, Any]) -> tuple[int | None, str | None]:
    """(numbers in all weight files, the number format most of them have), from the headers."""
    counts: dict[str, int] = {}
    try:
        for file in sorted(place.glob("*.safetensors"))[:1000]:
            for tensor in safetensors_header(file).values():
                counts[tensor.dtype] = counts.get(tensor.dtype, 0) + tensor.count
    except (PlaygroundError, OSError):
        return None, None  # said by models.inspect
    if not counts:
        return None, None
    names = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}
    most = max(counts, key=lambda dtype: counts[dtype] * bytes_of(dtype))
    return sum(counts.values()), names.get(most, most.lower())


def _quantization(config: dict[str, Any]) -> str | None:
    """How the weights are packed, in words."""
    found = config.get("quantization_config") or text_config(config).get("quantization_config")
    if not isinstance(found, dict):
        return None
    method = word(found.get("quant_method")) or word(found.get("quant_algo")) or "quantised"
    bits = whole(found.get("bits"), 1, 16) or whole(found.get("w_bit"), 1, 16)
    if bits is None and found.get("load_in_4bit") is True:
        bits = 4
    return f"{method} {bits}-bit" if bits else method


def _role(architecture: str | None, config: dict[str, Any]) -> Role:
    name = (architecture or "").lower()
    if "eagle3" in name or "draft_vocab_size" in config:
        return "eagle3"
    for role in ("eagle", "medusa"):
        if role in name or config.get("model_type") == role:
            return "eagle" if role == "eagle" else "medusa"
    if "mlpspeculator" in name or config.get("model_type") == "mlp_speculator":
        return "mlp_speculator"
    known = ("CausalLM", "LMHead", "ConditionalGeneration")
    return "model" if architecture is None or any(part in architecture for part in known) else "other"


def _is_stateful(config: dict[str, Any]) -> bool:
    kinds = config.get("layer_types")
    named = {str(kind) for kind in kinds} if isinstance(kinds, list) else set()
    family = str(config.get("model_type", ""))
    return any(mark in kind for kind in named for mark in _STATEFUL) or family.startswith(_STATEFUL_FAMILIES)


def _ids(value: Any) -> tuple[int, ...]:
    found = value if isinstance(value, list) else [value]
    return tuple(i for i in found[:100] if whole(i, 0) is not None)


def estimated_parameters(config: dict[str, Any]) -> int | None:
    """Of a Llama-like model by its shape: embeddings, attention, gated MLP (of all experts); within a few percent."""
    shape = _shape(config)
    hidden, layers, rows = shape["hidden"], shape["layers"], whole(config.get("vocab_size"))
    inner = whole(config.get("intermediate_size"))
    if not (hidden and layers and rows and inner and shape["kv_width"]):
        return None
    heads = whole(config.get("num_attention_heads")) or 1
    queries = heads * (whole(config.get("head_dim")) or hidden // heads)
    experts = whole(config.get("num_local_experts")) or whole(config.get("num_experts")) or 1
    per_layer = hidden * (2 * queries + shape["kv_width"]) + 3 * hidden * inner * experts
    return int(rows * hidden * (1 if config.get("tie_word_embeddings") else 2) + layers * per_layer)


def _of_gguf(file: Path) -> dict[str, Any]:
    header = gguf.read_header(file)
    of = header.of
    heads, hidden = whole(_first(of("attention.head_count"))), whole(of("embedding_length"))
    kv_heads = whole(_first(of("attention.head_count_kv"))) or heads
    size = whole(of("attention.key_length")) or (hidden // heads if hidden and heads else None)
    kind = header.values.get("general.file_type")
    tokens = header.values.get("tokenizer.ggml.tokens")
    name = gguf.FILE_TYPES.get(kind) if isinstance(kind, int) else None
    plain = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}
    role: Role = "eagle3" if header.architecture == "eagle3" else "model"
    return {
        "role": role,
        "family": header.architecture or None,
        "architecture": header.architecture or None,
        "rows": header.rows or (len(tokens) if isinstance(tokens, list) else None),
        "context": whole(of("context_length")),
        "hidden": hidden,
        "layers": whole(of("block_count")),
        "kv_width": 2 * kv_heads * size if kv_heads and size else None,
        "window": whole(of("attention.sliding_window")),
        "parameters": header.parameters or None,
        "dtype": plain.get(name or ""),
        "quantization": None if name is None or name in plain else name,
        "stateful": header.architecture.startswith(_STATEFUL_FAMILIES),
        "bos_id": whole(header.values.get("tokenizer.ggml.bos_token_id"), 0),
        "eos_ids": _ids(header.values.get("tokenizer.ggml.eos_token_id")),
    }


def _first(value: Any) -> Any:
    """Some architectures give one number of heads per layer: the largest counts."""
    numbers = [n for n in value if isinstance(n, int)] if isinstance(value, list) else []
    return max(numbers, default=None) if isinstance(value, list) else value
