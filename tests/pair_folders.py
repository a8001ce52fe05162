"""Model folders and GGUF files made of a few bytes, for tests that read files and load nothing. Helpers, no tests."""

import json
from pathlib import Path
from typing import Any

TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
WORDS = {"<s>": 0, "</s>": 1, **{f"w{i}": i for i in range(2, 100)}}


def model(
    root: Path,
    name: str,
    *,
    words: dict[str, int] | None = None,
    rows: int = 100,
    context: int = 64,
    numbers: int = 64,
    bos: str | None = "<s>",
    eos: str | None = "</s>",
    template: str | None = TEMPLATE,
    adds_bos: bool = False,
    config: dict[str, Any] | None = None,
    tokenizer: bool = True,
) -> str:
    """A folder like a Hugging Face model's, with one tensor of `numbers` bytes; its path as text.

    Args:
        config: more keys of config.json, or other values of ours.
    """
    folder = root / name
    folder.mkdir(parents=True)
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    said = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": rows, "intermediate_size": 64}
    said |= {"max_position_embeddings": context, **shape, **(config or {})}
    write(folder / "config.json", said)
    header = json.dumps({"w": {"dtype": "U8", "shape": [numbers], "data_offsets": [0, numbers]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * numbers)
    if tokenizer:
        words = WORDS if words is None else words
        added = [{"id": words[t], "content": t, "special": True} for t in (bos, eos) if t in words]
        bpe = {"type": "WordLevel", "vocab": words, "unk_token": "<s>"}
        write(folder / "tokenizer.json", {"version": "1.0", "added_tokens": added, "model": bpe})
        texts: dict[str, Any] = {
            "add_bos_token": adds_bos,
            "bos_token": bos,
            "eos_token": {"content": eos},
            "chat_template": template,
        }
        write(folder / "tokenizer_config.json", {key: value for key, value in texts.items() if value is not None})
    return str(folder)


def head(root: Path, name: str, *, hidden: int = 32, architecture: str = "LlamaForCausalLMEagle3") -> str:
    """An EAGLE-3 head's folder: no tokenizer of its own."""
    more = {"architectures": [architecture], "hidden_size": hidden, "draft_vocab_size": 50, "num_hidden_layers": 1}
    return model(root, name, config=more, tokenizer=False)


def swapped(first: int, second: int) -> dict[str, int]:
    """The words with two of them in each other's place."""
    by_id = {i: text for text, i in WORDS.items()}
    return WORDS | {by_id[first]: second, by_id[second]: first}


def write(file: Path, data: Any) -> None:
    file.write_text(json.dumps(data), encoding="utf-8")


def gguf(file: Path, *, words: dict[str, int] | None = None, file_type: int = 15, context: int = 64) -> str:
    """A GGUF file with a header and no weights worth the name, written by the gguf library."""
    import numpy
    from gguf import GGUFWriter

    words = WORDS if words is None else words
    writer = GGUFWriter(file, "llama")
    writer.add_context_length(context)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_file_type(file_type)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(sorted(words, key=words.__getitem__))
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_chat_template(TEMPLATE)
    writer.add_tensor("token_embd.weight", numpy.zeros((100, 32), dtype=numpy.float32))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        getattr(writer, step)()
    return str(file)
