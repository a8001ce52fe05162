"""Tiny random Llama-like models with real tokenizers, written to folders as safetensors. Helpers for tests, no tests.

The tokenizer is a byte-level BPE (as SmolLM's, Llama 3's and Qwen's) trained in milliseconds; the models take a few
hundred kilobytes and under a millisecond a forward, so that thousands of steps fit in a test.
"""

import json
import random
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CORPUS = (
    "the quick brown fox jumps over the lazy dog. the dog sleeps, the fox runs away and the sun goes down.",
    "def add(a, b):\n    return a + b\n\ndef sub(a, b):\n    return a - b\n",
    "one two three four five six seven eight nine ten one two three four five six seven eight nine ten",
    "你好，世界。今天天气很好。naïve café déjà vu 👩‍🚀 🇫🇷",
)

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)

BOS, EOS, UNK = "<|bos|>", "<|eos|>", "<|unk|>"
BOS_ID, EOS_ID, UNK_ID = 0, 1, 2
VOCAB = 320


def make_tokenizer(
    *, vocab_size: int = VOCAB, swap: tuple[int, int] | None = None, chat_template: str | None = CHAT_TEMPLATE
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with BOS 0, EOS 1, UNK 2.

    Args:
        swap: two ids whose tokens trade places (a tokenizer of the same size that is not the same).
        chat_template: None leaves it without one.
    """
    bpe = Tokenizer(models.BPE(unk_token=None))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[BOS, EOS, UNK],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator(CORPUS, trainer)
    if swap is not None:
        bpe = _swapped(bpe, *swap)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=BOS, eos_token=EOS, unk_token=UNK, clean_up_tokenization_spaces=False
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def _swapped(bpe: Tokenizer, first: int, second: int) -> Tokenizer:
    data = json.loads(bpe.to_str())
    vocab = data["model"]["vocab"]
    by_id = {i: t for t, i in vocab.items()}
    vocab[by_id[first]], vocab[by_id[second]] = second, first
    return Tokenizer.from_str(json.dumps(data))


def make_config(**overrides: Any) -> LlamaConfig:
    """A two-layer Llama with grouped-query attention; keyword arguments override LlamaConfig's."""
    settings: dict[str, Any] = {
        "vocab_size": VOCAB,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.3,
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
        "pad_token_id": None,
        "tie_word_embeddings": False,
    }
    return LlamaConfig(**{**settings, **overrides})


def make_model(
    folder: Path,
    *,
    seed: int = 0,
    tokenizer: PreTrainedTokenizerFast | None = None,
    no_eos: bool = True,
    **overrides: Any,
) -> Path:
    """Writes a random float32 model and its tokenizer into `folder`, and returns it.

    Args:
        no_eos: the model almost never emits EOS by itself (its output row is zero, others are not).
        overrides: LlamaConfig fields.
    """
    torch.manual_seed(seed)
    model = LlamaForCausalLM(make_config(**overrides))
    if no_eos:
        with torch.no_grad():
            model.lm_head.weight[[BOS_ID, EOS_ID, UNK_ID]] = 0.0
    return save(folder, model, tokenizer or make_tokenizer())


def make_draft(folder: Path, target: Path, *, noise: float = 0.02, seed: int = 1, **saving: Any) -> Path:
    """A draft for `target`: the same weights with noise, so that it agrees often but not always (0: always)."""
    model = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight += noise * torch.randn(weight.shape, generator=generator)
    return save(folder, model, saving.get("tokenizer") or make_tokenizer())


def save(folder: Path, model: Any, tokenizer: PreTrainedTokenizerFast) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_gguf(file: Path, source: Path) -> Path:
    """The model folder `source` as one float32 GGUF file, tokenizer included (without its chat template)."""
    import gguf

    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    config, bpe = model.config, json.loads((source / "tokenizer.json").read_text())["model"]
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    tokens = sorted(bpe["vocab"], key=bpe["vocab"].__getitem__)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if i <= UNK_ID else 1 for i in range(len(tokens))])
    writer.add_token_merges([" ".join(pair) for pair in bpe["merges"]])
    writer.add_bos_token_id(BOS_ID)
    writer.add_eos_token_id(EOS_ID)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, weight in model.state_dict().items():
        for part, count in heads.items():
            if part in name:  # GGUF stores rotary pairs side by side
                weight = weight.view(count, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), weight.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def random_ids(count: int, *, seed: int = 0, low: int = 3, high: int = VOCAB) -> list[int]:
    """`count` ids, none of them special."""
    source = random.Random(seed)
    return [source.randrange(low, high) for _ in range(count)]
