"""Text from ids, token by token: joined it is the one-shot decoding, and nothing half is ever shown."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

from playground.detokenise import BROKEN, PATIENCE, TextStream, Vocabulary, decode, raw_decode
from tests import tiny

BYTE_LEVEL = tiny.make_tokenizer()
BYTE_LEVEL.add_tokens(["<think>", "naïve☃"])


def make_fallback() -> PreTrainedTokenizerFast:
    """As Llama 2's and Gemma's: ▁ for spaces, unknown characters as bytes."""
    words = ["<s>", "</s>", "<unk>", *(f"<0x{b:02X}>" for b in range(256)), "▁", "▁fox", "▁the", "a", "é", "▁▁", "ing"]
    vocab = {word: i for i, word in enumerate(words)}
    made = Tokenizer(models.BPE(vocab=vocab, merges=[], byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


FALLBACK = make_fallback()
WORDS = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(models.WordPiece(vocab={"[UNK]": 0, "fox": 1, "##es": 2, "run": 3}, unk_token="[UNK]")),
    unk_token="[UNK]",
)
WORDS.backend_tokenizer.decoder = decoders.WordPiece()


def joined(tokenizer: Any, ids: list[int]) -> str:
    stream = TextStream(Vocabulary(tokenizer))
    pieces = [stream.push(i) for i in ids]
    return "".join(pieces) + stream.flush()


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, len(BYTE_LEVEL) - 1), max_size=40))
def test_byte_level_ids_of_any_kind(ids: list[int]) -> None:
    """CASES 14: also broken bytes, special and added tokens."""
    assert joined(BYTE_LEVEL, ids) == decode(BYTE_LEVEL, ids)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
@pytest.mark.parametrize("tokenizer", [BYTE_LEVEL, FALLBACK], ids=["byte-level", "byte-fallback"])
def test_any_text_comes_back(tokenizer: Any, text: str) -> None:
    """CASES 14: emoji, ZWJ, combining marks, CJK, control characters, leading spaces."""
    ids = list(tokenizer(text, add_special_tokens=False)["input_ids"])
    stream = TextStream(Vocabulary(tokenizer))
    pieces = [stream.push(i) for i in ids]
    whole = decode(tokenizer, ids)
    assert "".join(pieces) == whole
    if BROKEN not in text:
        assert not any(BROKEN in piece for piece in pieces)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, len(FALLBACK) - 1), max_size=30))
def test_byte_fallback_never_raises_and_goes_on(ids: list[int]) -> None:
    """Broken runs are reread by the one-shot decoder, so only what follows whole text is comparable."""
    end = [FALLBACK.convert_tokens_to_ids(t) for t in ("▁fox", "▁the")]
    assert joined(FALLBACK, [*ids, *end]).endswith("fox the")
    if BROKEN not in raw_decode(FALLBACK, ids):
        assert joined(FALLBACK, ids) == decode(FALLBACK, ids)


def test_wordpiece() -> None:
    assert joined(WORDS, [1, 2, 3, 1]) == decode(WORDS, [1, 2, 3, 1]) == "foxes run fox"


def test_nothing_is_shown_of_an_unfinished_character() -> None:
    """CASES 14."""
    ids = BYTE_LEVEL("🙂", add_special_tokens=False)["input_ids"]
    stream = TextStream(Vocabulary(BYTE_LEVEL))
    assert [stream.push(i) for i in ids] == [*[""] * (len(ids) - 1), "🙂"]
    assert decode(BYTE_LEVEL, ids[:-1]) == "" == joined(BYTE_LEVEL, ids[:-1])


@pytest.mark.parametrize("tokenizer", [BYTE_LEVEL, FALLBACK], ids=["byte-level", "byte-fallback"])
def test_cost_does_not_grow_over_bytes_that_never_become_a_character(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary = Vocabulary(tokenizer)
    longest = 0
    original = tokenizer.decode

    def watched(ids: list[int], **kwargs: Any) -> str:
        nonlocal longest
        longest = max(longest, len(ids))
        text: str = original(ids, **kwargs)
        return text

    monkeypatch.setattr(tokenizer, "decode", watched)
    stream = TextStream(vocabulary)
    byte = tokenizer.convert_tokens_to_ids("<0xFF>" if tokenizer is FALLBACK else "ÿ")
    for _ in range(500):
        stream.push(byte)
    assert longest <= 2 * PATIENCE


def push(text: str, stop: tuple[str, ...], min_tokens: int = 0) -> tuple[list[str], bool]:
    """One token a character, until stopped."""
    stream = TextStream(Vocabulary(BYTE_LEVEL), stop, min_tokens)
    pieces = []
    for character in text:
        pieces.append("".join(stream.push(i) for i in BYTE_LEVEL(character, add_special_tokens=False)["input_ids"]))
        if stream.stopped:
            return pieces, True
    return [*pieces, stream.flush()], False


@settings(max_examples=300, deadline=None)
@given(st.text("abc", max_size=20), st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=3))
def test_stop_strings_cut_where_the_first_is_completed(text: str, stops: list[str]) -> None:
    """CASES 12: and what was shown before the end never had to be taken back."""
    pieces, stopped = push(text, tuple(stops))
    wanted = text
    for end in range(1, len(text) + 1):
        done = [s for s in stops if text[:end].endswith(s)]
        if done:
            wanted = text[: end - max(map(len, done))]
            break
    assert "".join(pieces) == wanted
    assert stopped == any(s in text for s in stops)


def test_several_tokens_worth_of_text_at_once() -> None:
    """A token may hold more than a stop string: the one completed first counts."""
    token = BYTE_LEVEL.convert_tokens_to_ids("Ġthe")
    stream = TextStream(Vocabulary(BYTE_LEVEL), ("the", "h"))
    assert stream.push(token) == " t"
    assert stream.stopped


def test_stop_strings_within_min_tokens_do_not_count() -> None:
    pieces, stopped = push("abab", ("ab",), min_tokens=2)
    assert ("".join(pieces), stopped) == ("ab", True)
    assert push("abcd", ("bc",), min_tokens=2)[1]  # begun within, completed after


def test_cost_of_stop_strings_does_not_grow_with_the_text() -> None:
    stream = TextStream(Vocabulary(BYTE_LEVEL), ("zzzz", "stop"))
    for i in BYTE_LEVEL("zzz sto " * 300, add_special_tokens=False)["input_ids"]:
        stream.push(i)
    assert len(stream._tail) <= 3
    assert len(stream._held) <= 3


def test_readable_tokens_for_people() -> None:
    vocabulary = Vocabulary(BYTE_LEVEL)
    read = {t: vocabulary.readable(BYTE_LEVEL.convert_tokens_to_ids(t)) for t in ("Ġthe", "ä", "<|eos|>", "<think>")}
    assert read == {"Ġthe": " the", "ä": "⟨0xE4⟩", "<|eos|>": "<|eos|>", "<think>": "<think>"}
    assert vocabulary.readable(99_999) == "⟨99999⟩"
    assert vocabulary.readable(-1) == "⟨-1⟩"
    fallback = Vocabulary(FALLBACK)
    assert fallback.readable(FALLBACK.convert_tokens_to_ids("<0xE4>")) == "⟨0xE4⟩"
    assert fallback.readable(FALLBACK.convert_tokens_to_ids("▁fox")) == " fox"
    everything = [v.readable(i) for v in (vocabulary, fallback) for i in range(300)]
    assert not any(BROKEN in text for text in everything)
