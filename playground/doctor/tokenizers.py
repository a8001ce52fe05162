"""A model's tokenizer as its files describe it: which string each id means, special tokens, chat template.

No tokenizer is built and nothing of the folder is run: tokenizer.json and its older forms are data. Ids and strings are
compared as the files write them (byte-level BPE writes a space as "Ġ", SentencePiece as "▁").
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from playground.doctor import gguf
from playground.errors import PlaygroundError
from playground.modelfiles import TOKENIZER_BYTES, read_object, read_text, whole, word
from playground.sentence import Sentence

FILES = ("tokenizer.json", "vocab.json", "tokenizer.model")
"""Where a vocabulary is looked for, best first; the first that is there is read."""

ROLES = ("bos", "eos", "pad", "unk")

_MOST_TOKENS = 4_000_000


@dataclass(frozen=True, slots=True)
class Special:
    """One special token: its string, and its id where the vocabulary has it."""

    text: str
    id: int | None


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """What the files say.

    Attributes:
        source: the file the vocabulary comes from. kind: its model ("BPE", "Unigram", ...), where said.
        vocabulary: string -> id, added tokens included, filling without meaning left out.
        special: by role (`ROLES`). adds_bos, adds_eos: whether encoding begins with BOS, ends with EOS; None
            where unsaid.
        marked: every special token's string -> id.
        chat_template: the template's text; None without one.
        fingerprint: equal for two tokenizers exactly if every id means the same string.
    """

    source: str
    kind: str | None
    vocabulary: Mapping[str, int] = field(repr=False)
    special: Mapping[str, Special]
    marked: Mapping[str, int] = field(repr=False)
    adds_bos: bool | None
    adds_eos: bool | None
    chat_template: str | None = field(repr=False)
    fingerprint: str

    @property
    def size(self) -> int:
        """The ids it knows: one more than the largest."""
        return max(self.vocabulary.values(), default=-1) + 1


def read_tokenizer(place: Path) -> Tokenizer | None:
    """The tokenizer of a model folder or GGUF file, cached until its files change; None where it has none we can read.

    Raises:
        PlaygroundError: there is one, and it is malformed; code "bad_model".
    """
    try:
        if place.is_file():
            return _of_gguf(str(place), place.stat().st_mtime_ns)
        stamps = tuple((name, _stamp(place / name)) for name in (*FILES, *_BESIDE))
    except OSError as error:
        raise PlaygroundError(
            Sentence("{file} cannot be read: {why}.", file=place.name, why=error.strerror),
            Sentence("Check its permissions."),
            code="bad_model",
        ) from None
    return _of_folder(str(place), stamps)


_BESIDE = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "config.json",
)


def _stamp(path: Path) -> int | None:
    return path.stat().st_mtime_ns if path.exists() else None


@lru_cache(maxsize=12)
def _of_folder(folder: str, stamps: tuple[tuple[str, int | None], ...]) -> Tokenizer | None:
    place = Path(folder)
    source = next((name for name, stamp in stamps if name in FILES and stamp is not None), None)
    if source is None:
        return None
    data = read_object(place / source, TOKENIZER_BYTES) if source.endswith(".json") else None
    vocabulary, kind, marked = _READERS[source](place, data or {})
    vocabulary |= _added(place, vocabulary)
    config = read_object(place / "tokenizer_config.json") or {}
    strings = (read_object(place / "special_tokens_map.json") or {}) | config
    special = {role: Special(text, vocabulary.get(text)) for role in ROLES if (text := _text(strings, role))}
    marked |= {s.text: s.id for s in special.values() if s.id is not None}
    adds, ends = config.get("add_bos_token"), config.get("add_eos_token")
    return _made(
        source=source,
        kind=kind,
        vocabulary=vocabulary,
        special=special,
        marked=marked,
        adds_bos=adds if isinstance(adds, bool) else _template_adds_bos(data or {}, special.get("bos")),
        adds_eos=ends if isinstance(ends, bool) else None,
        chat_template=_chat_template(place, config),
    )


def _from_tokenizer_json(place: Path, data: dict[str, Any]) -> tuple[dict[str, int], str | None, dict[str, int]]:
    model = data.get("model")
    found = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(found, list):  # Unigram: [string, score] in the order of ids
        vocabulary = {item[0]: i for i, item in enumerate(found) if isinstance(item, list) and item}
    else:
        vocabulary = dict(found) if isinstance(found, dict) else {}
    marked = {}
    for item in data.get("added_tokens") or ():
        if isinstance(item, dict) and isinstance(item.get("content"), str) and isinstance(item.get("id"), int):
            vocabulary[item["content"]] = item["id"]
            if item.get("special"):
                marked[item["content"]] = item["id"]
    return vocabulary, word(model.get("type")) if isinstance(model, dict) else None, marked


def _from_vocab_json(place: Path, data: dict[str, Any]) -> tuple[dict[str, int], str | None, dict[str, int]]:
    return dict(data), "BPE", {}


def _from_sentencepiece(place: Path, data: dict[str, Any]) -> tuple[dict[str, int], str | None, dict[str, int]]:
    """tokenizer.model as the protobuf it is; Tiktoken files of the same name are lines of base64 and are not read."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from sentencepiece import sentencepiece_model_pb2

    layout: Any = sentencepiece_model_pb2  # its classes are made at import time

    path = place / "tokenizer.model"
    if path.stat().st_size > TOKENIZER_BYTES:
        raise PlaygroundError(
            Sentence("tokenizer.model is too large."), Sentence("Download it again."), code="bad_model"
        )
    model = layout.ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError:
        return {}, None, {}
    pieces = model.pieces
    control = layout.ModelProto.SentencePiece.CONTROL
    marked = {piece.piece: i for i, piece in enumerate(pieces) if piece.type == control}
    return {piece.piece: i for i, piece in enumerate(pieces)}, "SentencePiece", marked


_READERS = {
    "tokenizer.json": _from_tokenizer_json,
    "vocab.json": _from_vocab_json,
    "tokenizer.model": _from_sentencepiece,
}


def _added(place: Path, vocabulary: Mapping[str, int]) -> dict[str, int]:
    """Tokens that older folders keep beside the vocabulary."""
    config = read_object(place / "tokenizer_config.json") or {}
    decoder = config.get("added_tokens_decoder")
    found = {}
    for number, item in decoder.items() if isinstance(decoder, dict) else ():
        if isinstance(item, dict) and isinstance(item.get("content"), str) and str(number).isdecimal():
            found[item["content"]] = int(number)
    beside = read_object(place / "added_tokens.json") or {}
    return {text: i for text, i in (found | beside).items() if text not in vocabulary}


@lru_cache(maxsize=12)
def _of_gguf(file: str, stamp: int) -> Tokenizer | None:
    values = gguf.read_header(Path(file)).values
    tokens = values.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list):
        return None
    types = values.get("tokenizer.ggml.token_type")
    control = {i for i, t in enumerate(types) if t == 3} if isinstance(types, list) else set()
    special = {}
    for role, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"), ("unk", "unknown")):
        number = values.get(f"tokenizer.ggml.{key}_token_id")
        if isinstance(number, int) and 0 <= number < len(tokens):
            special[role] = Special(str(tokens[number]), number)
    adds, ends = (values.get(f"tokenizer.ggml.add_{role}_token") for role in ("bos", "eos"))
    template = values.get("tokenizer.chat_template")
    return _made(
        source="GGUF",
        kind=word(values.get("tokenizer.ggml.model")),
        vocabulary={text: i for i, text in enumerate(tokens)},
        special=special,
        marked={tokens[i]: i for i in control if i < len(tokens)},
        adds_bos=adds if isinstance(adds, bool) else None,
        adds_eos=ends if isinstance(ends, bool) else None,
        chat_template=template if isinstance(template, str) and template else None,
    )


def _made(*, vocabulary: dict[str, int], source: str, **rest: Any) -> Tokenizer | None:
    sound = {text: i for text, i in vocabulary.items() if _is_token(text, i)}
    if not sound or len(sound) > _MOST_TOKENS:
        return None
    return Tokenizer(source=source, vocabulary=sound, fingerprint=fingerprint(sound), **rest)


def _is_token(text: Any, number: Any) -> bool:
    """A string with a sane id, and not what converters fill a vocabulary up with ("[PAD151936]" at 151,936)."""
    if not isinstance(text, str) or whole(number, 0, _MOST_TOKENS) is None:
        return False
    return not (text.startswith("[PAD") and text == f"[PAD{number}]")


def fingerprint(vocabulary: Mapping[str, int]) -> str:
    """16 hex digits that are equal for equal vocabularies."""
    digest = hashlib.sha256()
    for text, number in sorted(vocabulary.items(), key=lambda item: (item[1], item[0])):
        digest.update(f"{number}\0{text}\0".encode(errors="surrogatepass"))
    return digest.hexdigest()[:16]


def _text(strings: Mapping[str, Any], role: str) -> str | None:
    """A special token's string: written as one, or as an object with `content`."""
    value = strings.get(f"{role}_token")
    return word(value.get("content") if isinstance(value, dict) else value)


def _template_adds_bos(data: Mapping[str, Any], bos: Special | None) -> bool | None:
    """Whether tokenizer.json's post-processor puts BOS first; None where there is no BOS to put."""
    if bos is None:
        return None
    for processor in _processors(data.get("post_processor")):
        single = processor.get("single")
        first = single[0] if isinstance(single, list) and single else None
        start = first.get("SpecialToken") if isinstance(first, dict) else None
        if isinstance(start, dict) and start.get("id") == bos.text:
            return True
    return False


def _processors(found: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(found, dict):
        yield found
        nested = found.get("processors")
        yield from (p for p in nested if isinstance(p, dict)) if isinstance(nested, list) else ()


def _chat_template(place: Path, config: Mapping[str, Any]) -> str | None:
    """A file of its own wins, as in transformers; of several named ones the default."""
    if text := read_text(place / "chat_template.jinja"):
        return text
    found = (read_object(place / "chat_template.json") or {}).get("chat_template") or config.get("chat_template")
    if isinstance(found, list):
        named = {
            t.get("name"): t.get("template") for t in found if isinstance(t, dict) and isinstance(t.get("name"), str)
        }
        found = named.get("default") or next(iter(named.values()), None)
    return found if isinstance(found, str) and found.strip() else None
