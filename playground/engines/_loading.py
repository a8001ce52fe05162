"""Loading a causal language model and its tokenizer for the embedded engine: safetensors or GGUF, never a pickle.

A model folder is untrusted: it is checked before anything is loaded (CASES 33), its own Python is not run unless the
operator allows it. Knows transformers' loading calls, nothing of runs.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playground import models
from playground.config import Dtype
from playground.decoding.model import CausalModel
from playground.detokenise import Vocabulary
from playground.engines import EngineContext
from playground.engines._device import pick_device, pick_dtype
from playground.errors import PlaygroundError
from playground.sentence import Sentence

LONG = 1 << 17
"""Positions assumed of a model that names no limit."""

SPARE = 4
"""Copies of the weights only where this many times their size is free: two of them, the caches and other programs."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to run.

    Attributes:
        name: as the configuration names it. path: where it came from.
        vocab_size: ids the tokenizer knows; logits past them are padding.
        logit_rows: logits the model gives.
        eos_ids: every id that ends a sequence, by generation config or tokenizer.
        dtype, device, attention, forward: in words, for the run's environment.
    """

    name: str
    path: str
    model: CausalModel
    tokenizer: Any
    vocabulary: Vocabulary
    vocab_size: int
    logit_rows: int
    eos_ids: frozenset[int]
    dtype: str
    device: str
    attention: str
    forward: str = "transformers"
    warmed: set[int] = field(default_factory=set)


def load(name: str, dtype: Dtype, attention: str, context: EngineContext, forward: str = "auto") -> Loaded:
    """Load the model that a configuration calls `name`.

    `attention` and `forward` are `EmbeddedOptions.attn_implementation` and `.forward_pass`.

    Raises:
        PlaygroundError: it is not here, not whole, not safe to open, or not a causal language model.
    """
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    path = models.resolve(name, context.model_paths or {}, offline=context.offline)
    _check(name, Path(path))
    device = pick_device(context.device)
    number = pick_dtype(dtype, device)
    common = {"trust_remote_code": context.trust_remote_code, "local_files_only": context.offline}
    source, gguf = _source(path)
    tokenizer = _load_tokenizer(name, source, {**common, **gguf})
    module = _load_module(name, source, {**common, **gguf}, number, attention).to(device).eval()
    used = _attention(module, attention)
    lean = _lean(module) if forward == "auto" and attention == "auto" else None
    model = CausalModel(module, _max_positions(module, tokenizer), lean)
    if not model.keeps_cache:
        raise PlaygroundError(
            Sentence("The model “{name}” keeps its state in a way this engine cannot continue from.", name=name),
            Sentence("Choose a model with attention layers, or another engine."),
            code="bad_model",
        )
    ids = tokenizer.get_vocab().values()
    rows = int(module.get_output_embeddings().weight.shape[0])
    return Loaded(
        name=name,
        path=path,
        model=model,
        tokenizer=tokenizer,
        vocabulary=Vocabulary(tokenizer),
        vocab_size=min(rows, max(ids) + 1),
        logit_rows=rows,
        eos_ids=eos_ids(module, tokenizer),
        dtype=str(number).removeprefix("torch."),
        device=str(model.device),
        attention=used,
        forward="transformers" if lean is None else f"lean ({lean.named})",
    )


def _lean(module: Any) -> Any:
    """Our own forward pass where it can stand in; its faster ways keep copies, which must fit beside the weights."""
    import psutil

    from playground.decoding.lean import stand_in

    size = sum(weight.numel() * weight.element_size() for weight in module.parameters())
    return stand_in(module, spare=psutil.virtual_memory().available > SPARE * size)


def _check(name: str, path: Path) -> None:
    if path.exists():
        problem = models.inspect(name, path).problem
        if problem:
            what, fix = models.cause_and_fix(problem)
            raise PlaygroundError(
                Sentence("The model “{name}” cannot be loaded. {what}", name=name, what=what),
                (fix or Sentence("Give another folder.")),
                code="bad_model",
            )


def _source(path: str) -> tuple[str, dict[str, Any]]:
    """(folder or hub id, keyword arguments): a GGUF file is its folder and its name."""
    file = Path(path)
    if file.suffix == ".gguf" and file.is_file():
        return str(file.parent), {"gguf_file": file.name}
    return path, {}


def _load_tokenizer(name: str, source: str, arguments: dict[str, Any]) -> Any:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(source, **arguments)
        if not tokenizer.get_vocab():
            raise ValueError("it knows no tokens")
    except Exception as error:  # a malformed file ends in any exception; all are told to the user
        raise _unloadable(name, Sentence("tokenizer"), error) from error
    return tokenizer


def _load_module(name: str, source: str, arguments: dict[str, Any], dtype: Any, attention: str) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, GgufConfig

    if "gguf_file" in arguments:
        arguments = {**arguments, "quantization_config": GgufConfig(dequantize=True)}
    else:
        arguments = {**arguments, "use_safetensors": True}
    if attention != "auto":
        arguments["attn_implementation"] = attention
    try:
        module, report = AutoModelForCausalLM.from_pretrained(
            source, dtype=dtype, output_loading_info=True, **arguments
        )
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # a malformed file ends in any exception; all are told to the user
        raise _unloadable(name, Sentence("model"), error) from error
    missing = sorted(report.get("missing_keys") or ())
    if missing:
        raise PlaygroundError(
            Sentence(
                "The model “{name}” lacks {n} of its weights ({first}, ...): it would run on random ones.",
                name=name,
                n=len(missing),
                first=missing[0],
            ),
            Sentence("Download it again, whole."),
            code="bad_model",
        )
    # Weights on disk may mix number formats; the GGUF path keeps some in float32.
    return module.to(dtype)


def _unloadable(name: str, part: str, error: Exception) -> PlaygroundError:
    text = str(error).strip()
    first = text.splitlines()[0] if text else type(error).__name__
    if "trust_remote_code" in text:
        return PlaygroundError(
            Sentence("The model “{name}” wants to run Python of its own, which is not allowed.", name=name),
            Sentence(
                "Choose another model; an operator who has read its code may set DRAFTBOARD_TRUST_REMOTE_CODE=true."
            ),
            code="remote_code",
        )
    return PlaygroundError(
        Sentence("The {part} of “{name}” cannot be loaded: {why}.", part=part, name=name, why=first[:300].rstrip(".")),
        Sentence("Check that it is a whole causal language model in safetensors or GGUF; download it again if not."),
        code="bad_model",
    )


def _attention(module: Any, asked: str) -> str:
    from playground.decoding import attention

    if asked == "auto":
        attention.install(module)
    return str(module.config._attn_implementation)


def eos_ids(module: Any, tokenizer: Any) -> frozenset[int]:
    """Ids that end a sequence: the generation config's (else the model config's), one or more, and the tokenizer's."""
    generation = getattr(module, "generation_config", None)
    found = getattr(generation, "eos_token_id", None)
    if found is None:
        found = getattr(module.config.get_text_config(decoder=True), "eos_token_id", None)
    ids = set(found if isinstance(found, (list, tuple)) else [found])
    ids.add(tokenizer.eos_token_id)
    return frozenset(int(i) for i in ids if i is not None)


def _max_positions(module: Any, tokenizer: Any) -> int:
    config = module.config.get_text_config(decoder=True)
    limit = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    return int(limit or min(LONG, getattr(tokenizer, "model_max_length", LONG) or LONG))
