"""From token ids to text, one token at a time: no half character, no half stop string, nothing doubled.

The pieces joined are exactly the one-shot decoding of the ids. Byte-level tokenizers (GPT-2's family: Llama 3, Qwen,
SmolLM) are decoded byte by byte; any other through a window that grows by one token and starts again at each whole
character, the way of tokenizers' own DecodeStream, which this replaces because it ends with an exception when a later
token changes earlier text (byte fall-back) and because its cost grows without bound over bytes that never become a
character. Knows tokenizers, no models and no events.
"""

import codecs
import json
import re
from collections.abc import Sequence
from typing import Any, Protocol

BROKEN = "\ufffd"
"""What decoders put for bytes that are no character (yet)."""

PATIENCE = 16
"""Tokens waited for before bytes count as broken for good: a character has at most four bytes."""

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def raw_decode(tokenizer: Any, ids: Sequence[int]) -> str:
    """The tokenizer's own decoding at once, special tokens left out."""
    text: str = tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return text


def decode(tokenizer: Any, ids: Sequence[int]) -> str:
    """One-shot decoding of an output: `raw_decode` without the bytes of a character cut off at the very end."""
    return raw_decode(tokenizer, ids).rstrip(BROKEN)


class TextStream:
    """The shown text of one run.

    Args:
        vocabulary: shared by all runs on one tokenizer.
        stop: the text ends before the first of these to be completed.
        min_tokens: a stop string completed by one of the first `min_tokens` tokens does not count (as in vLLM).
    """

    def __init__(self, vocabulary: "Vocabulary", stop: Sequence[str] = (), min_tokens: int = 0) -> None:
        self._decoder = vocabulary.decoder()
        self._stop = tuple(stop)
        self._min_tokens = min_tokens
        self._count = 0
        self._longest = max((len(s) for s in self._stop), default=0)
        self._tail = ""
        self._held = ""
        self.stopped = False
        """True once a stop string was completed; the token that did so is the last."""

    def push(self, token_id: int) -> str:
        """What this token adds to the shown text; empty while a character or a stop string may be incomplete."""
        self._count += 1
        new = self._decoder.push(token_id)
        if not self._stop or not new:
            return new
        text = self._tail + new
        begin = len(self._tail)
        if self._count > self._min_tokens:
            found = _first_completed(text, self._stop, begin)
            if found is not None:
                self.stopped = True
                start = found - (begin - len(self._held))
                shown, self._held = (self._held + new)[: max(start, 0)], ""
                return shown
        self._tail = text[-(self._longest - 1) :] if self._longest > 1 else ""
        pending = self._held + new
        keep = _possible_start(pending, self._stop)
        self._held = pending[len(pending) - keep :]
        return pending[: len(pending) - keep]

    def flush(self) -> str:
        """What was held back because it might have begun a stop string; the run has ended without completing it."""
        held, self._held = self._held, ""
        return held


def _first_completed(text: str, stops: Sequence[str], begin: int) -> int | None:
    """Where the stop string starts that is completed first, at or after character `begin`; None if none is."""
    best: tuple[int, int] | None = None
    for stop in stops:
        start = text.find(stop, max(0, begin - len(stop) + 1))
        if start >= 0 and (best is None or (start + len(stop), start) < best):
            best = (start + len(stop), start)
    return None if best is None else best[1]


def _possible_start(text: str, stops: Sequence[str]) -> int:
    """Length of the longest end of `text` that a stop string begins with (a whole stop string not counted)."""
    longest = 0
    for stop in stops:
        for size in range(min(len(stop) - 1, len(text)), longest, -1):
            if text.endswith(stop[:size]):
                longest = size
                break
    return longest


class _Decoder(Protocol):
    def push(self, token_id: int) -> str: ...


class Vocabulary:
    """What each id of one tokenizer is, as bytes and as something a person can read.

    Args:
        tokenizer: a transformers tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.special = frozenset(tokenizer.all_special_ids)
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self._byte_of = _byte_alphabet() if _is_byte_level(backend) else None
        self._spaces = "▁" in _decoder_json(backend) or backend is None
        self._bytes: dict[int, bytes] = {}
        self._readable: dict[int, str] = {}

    def decoder(self) -> _Decoder:
        """A fresh incremental decoder."""
        return _WindowDecoder(self.tokenizer) if self._byte_of is None else _ByteDecoder(self)

    def bytes_of(self, token_id: int) -> bytes:
        """The bytes a byte-level token stands for; none for special tokens and ids past the tokenizer."""
        known = self._bytes.get(token_id)
        if known is None:
            known = self._bytes[token_id] = self._spell(token_id)
        return known

    def _spell(self, token_id: int) -> bytes:
        token = self._token(token_id)
        if token is None or token_id in self.special or self._byte_of is None:
            return b""
        try:
            return bytes(self._byte_of[c] for c in token)
        except KeyError:
            return token.encode()  # an added token outside the byte alphabet stands for itself

    def readable(self, token_id: int) -> str:
        """The token by itself, for people: bytes that are no character as ⟨0xE4⟩, special tokens by name."""
        known = self._readable.get(token_id)
        if known is None:
            known = self._readable[token_id] = self._read(token_id)
        return known

    def _read(self, token_id: int) -> str:
        token = self._token(token_id)
        if token is None:
            return f"⟨{token_id}⟩"
        if token_id in self.special:
            return token
        if self._byte_of is not None:
            return self.bytes_of(token_id).decode("utf-8", errors="fragments")
        token = _BYTE_TOKEN.sub(lambda m: f"⟨0x{m[1].upper()}⟩", token)
        return token.replace("▁", " ") if self._spaces else token

    def _token(self, token_id: int) -> str | None:
        if token_id < 0:
            return None
        try:
            token = self.tokenizer.convert_ids_to_tokens(token_id)
        except (IndexError, KeyError, OverflowError):
            return None
        return token if isinstance(token, str) else None


class _ByteDecoder:
    """Byte-level tokens to text. Python and Rust replace the same broken bytes (the Unicode standard's way)."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._broken = ""

    def push(self, token_id: int) -> str:
        text = self._broken + self._utf8.decode(self._vocabulary.bytes_of(token_id))
        # As in `decode`, broken bytes at the end are not shown until something follows them.
        shown = text.rstrip(BROKEN)
        self._broken = text[len(shown) :]
        return shown


class _WindowDecoder:
    """Any tokenizer's tokens to text: decode a short window with and without the new token, show the difference."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._window: list[int] = []
        self._shown_ids = 0
        self._shown = ""
        self._broken = ""

    def push(self, token_id: int) -> str:
        self._window.append(token_id)
        text = raw_decode(self._tokenizer, self._window)
        waiting = len(self._window) - self._shown_ids
        if text.endswith(BROKEN) and waiting < PATIENCE:
            return ""
        if not text.startswith(self._shown):
            # A byte fall-back run turned out broken after part of it was shown: go on from there.
            text = self._shown + raw_decode(self._tokenizer, self._window[self._shown_ids :])
        if text == self._shown:
            return ""
        new = self._broken + text[len(self._shown) :]
        shown = new.rstrip(BROKEN)
        self._broken = new[len(shown) :]
        self._window = self._window[self._shown_ids :]
        self._shown_ids = len(self._window)
        self._shown = raw_decode(self._tokenizer, self._window)
        return shown


def _fragments(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "".join(f"⟨0x{b:02X}⟩" for b in error.object[error.start : error.end]), error.end


codecs.register_error("fragments", _fragments)


def _decoder_json(backend: Any) -> str:
    decoder = getattr(backend, "decoder", None)
    if decoder is None:
        return ""
    state = decoder.__getstate__()
    return state.decode() if isinstance(state, bytes) else str(state)


def _is_byte_level(backend: Any) -> bool:
    text = _decoder_json(backend)
    if not text:
        return False
    data = json.loads(text)
    parts = data.get("decoders", [data])
    return [p.get("type") for p in parts] == ["ByteLevel"]


def _byte_alphabet() -> dict[str, int]:
    """GPT-2's printable stand-in for every byte: visible Latin-1 characters for themselves, the rest from U+0100."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [b for b in range(256) if b not in visible]
    return {chr(b): b for b in visible} | {chr(0x100 + i): b for i, b in enumerate(hidden)}
