"""The header of a GGUF file: its metadata and its tensors' shapes, never its weights.

Read by hand, since the gguf library maps the whole file and makes an object of every string, which takes seconds for
a vocabulary and trusts every count it reads. Format: llama.cpp's docs on GGUF, versions 2 and 3.
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from playground.errors import PlaygroundError
from playground.sentence import Sentence

MAX_STRING = 4 * 2**20
MAX_ITEMS = 2_000_000
"""Of one array: a vocabulary has at most some 300,000 tokens, a BPE as many merges."""
MAX_HEADER = 256 * 2**20
MAX_TENSORS = 200_000

_PLAIN = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q")

FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
"""`general.file_type` as people name it."""

_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84),
    11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 16: (256, 66), 17: (256, 74), 20: (32, 18),
    23: (256, 136), 30: (1, 2),
}  # fmt: skip
"""ggml's number formats by id: (numbers in a block, bytes of a block). Others are taken to need nothing."""


@dataclass(frozen=True, slots=True)
class Header:
    """`values`: metadata by key. `parameters`: numbers in all tensors. `rows`: of the token embedding. `end`: the least
    bytes that the whole file has, by the places of its tensors."""

    values: dict[str, Any]
    parameters: int
    rows: int | None
    end: int

    @property
    def architecture(self) -> str:
        return str(self.values.get("general.architecture", ""))

    def of(self, name: str) -> Any:
        """A value under the architecture's own prefix ("llama.context_length")."""
        return self.values.get(f"{self.architecture}.{name}")


def read_header(path: Path) -> Header:
    """The header, cached until the file changes.

    Raises:
        PlaygroundError: it is no GGUF file we can read, with code "bad_model".
    """
    try:
        status = path.stat()
    except OSError as error:
        raise _bad(path, Sentence("cannot be read ({why})", why=error.strerror or Sentence("unknown error"))) from None
    return _read(str(path), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _read(name: str, mtime: int, size: int) -> Header:
    path = Path(name)
    try:
        with path.open("rb") as file:
            header = _Reader(file, min(size, MAX_HEADER)).header()
    except OSError as error:
        raise _bad(path, Sentence("cannot be read ({why})", why=error.strerror or Sentence("unknown error"))) from None
    except (ValueError, struct.error, UnicodeDecodeError, MemoryError) as error:
        raise _bad(path, Sentence("is no GGUF file we can read ({why})", why=error)) from None
    if header.end > size:
        raise _bad(path, Sentence("is only part of the file"))
    return header


class _Reader:
    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file, self._left = file, limit

    def header(self) -> Header:
        if self._bytes(4) != b"GGUF":
            raise ValueError(Sentence("no GGUF mark"))
        (version,) = self._unpack("I")
        if version not in (2, 3):
            raise ValueError(Sentence("version {version}", version=version))
        tensors, pairs = self._unpack("QQ")
        if tensors > MAX_TENSORS or pairs > MAX_ITEMS:
            raise ValueError(Sentence("too many entries"))
        values = dict(self._pairs(pairs))
        parameters, rows, end = 0, None, 0
        for _ in range(tensors):
            name, shape, tensor_end = self._tensor()
            parameters += math.prod(shape)
            end = max(end, tensor_end)
            if name == "token_embd.weight":
                rows = shape[-1]
        aligned = values.get("general.alignment", 32)
        start = self._file.tell()
        start += -start % aligned if isinstance(aligned, int) and 0 < aligned < 2**20 else 0
        return Header(values, parameters, rows, start + end if tensors else 0)

    def _pairs(self, count: int) -> Iterator[tuple[str, Any]]:
        for _ in range(count):
            key = self._string()
            value = self._value(*self._unpack("I"), keep=key != "tokenizer.ggml.merges")
            yield key, value

    def _tensor(self) -> tuple[str, tuple[int, ...], int]:
        """Name, shape, and where it ends among the weights."""
        name = self._string()
        (dimensions,) = self._unpack("I")
        if not 1 <= dimensions <= 8:
            raise ValueError(Sentence("shape of a tensor"))
        shape = self._unpack(f"{dimensions}Q")
        kind, place = self._unpack("IQ")
        numbers, size = _BLOCKS.get(kind, (1, 0))
        return name, shape, place + math.prod(shape) // numbers * size

    def _value(self, kind: int, *, keep: bool = True) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array(keep)
        return self._unpack(_plain(kind))[0]

    def _array(self, keep: bool) -> list[Any]:
        kind, count = self._unpack("IQ")
        if count > MAX_ITEMS or kind == _ARRAY:  # nothing known nests them
            raise ValueError(Sentence("an array too long or nested"))
        if kind == _STRING:
            found = list(self._strings(count))
            return [text.decode("utf-8", errors="replace") for text in found] if keep else []
        return list(self._unpack(f"{count}{_plain(kind)}"))

    def _strings(self, count: int) -> Iterator[bytes]:
        """Written out for speed: a vocabulary is hundreds of thousands of them."""
        read, length_of = self._file.read, _LENGTH.unpack
        for _ in range(count):
            (length,) = length_of(read(8))
            self._left -= 8 + length
            if length > MAX_STRING or self._left < 0:
                raise ValueError(Sentence("a text too long"))
            text = read(length)
            if len(text) < length:
                raise ValueError(Sentence("it ends too early"))
            yield text

    def _string(self) -> str:
        (length,) = self._unpack("Q")
        if length > MAX_STRING:
            raise ValueError(Sentence("a text too long"))
        return self._bytes(length).decode("utf-8", errors="replace")

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(f"<{layout}", self._bytes(struct.calcsize(f"<{layout}")))

    def _bytes(self, count: int) -> bytes:
        self._left -= count
        if self._left < 0:
            raise ValueError(Sentence("it ends too early"))
        found = self._file.read(count)
        if len(found) < count:
            raise ValueError(Sentence("it ends too early"))
        return found


def _plain(kind: int) -> str:
    if kind not in _PLAIN:
        raise ValueError(Sentence("value of kind {kind}", kind=kind))
    return _PLAIN[kind]


def _bad(path: Path, what: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("{file} {what}.", file=path.name, what=what), Sentence("Download it again."), code="bad_model"
    )
