"""Files of model folders, which are strangers' work: bounded, never followed into a pipe, never executed.

JSON of ordinary size and depth, and the headers of safetensors files. Knows no meaning of what it reads.
"""

import json
import math
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playground.errors import PlaygroundError
from playground.sentence import Sentence

CONFIG_BYTES = 16 * 2**20
"""More than any config.json, tokenizer_config.json or index of shards."""

TOKENIZER_BYTES = 256 * 2**20
"""The largest published tokenizer.json are near 35 MB."""

HEADER_BYTES = 100_000_000
"""The safetensors format's own limit of its header."""

MAX_DEPTH = 64

_BYTES_OF = {
    "F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2,
    "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "I8": 1, "U8": 1, "BOOL": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """One entry of a safetensors header: its number format, its shape, and where it ends (bytes after the header)."""

    dtype: str
    shape: tuple[int, ...]
    end: int

    @property
    def count(self) -> int:
        return math.prod(self.shape)


def read_text(path: Path, limit: int = CONFIG_BYTES) -> str | None:
    """The text of an ordinary file (a link to one counts, as the hub's cache has them); None where there is none.

    Raises:
        PlaygroundError: with code "bad_model", for anything that is no readable text of at most `limit` bytes.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _bad(path, Sentence("is no ordinary file"))
        if status.st_size > limit:
            raise _bad(path, Sentence("is larger than {mib:.0f} MiB", mib=limit / 2**20))
        with path.open("rb") as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise _bad(path, Sentence("is larger than {mib:.0f} MiB", mib=limit / 2**20))
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        if path.is_symlink():
            raise _bad(path, Sentence("is a link that leads nowhere")) from None
        return None
    except OSError as error:
        raise _bad(path, Sentence("cannot be read ({why})", why=error.strerror or Sentence("unknown error"))) from None
    except ValueError:  # not UTF-8, or a NUL in the name
        raise _bad(path, Sentence("is not UTF-8 text")) from None


def read_json(path: Path, limit: int = CONFIG_BYTES) -> Any:
    """The data of a JSON file; None where there is no such file.

    Raises:
        PlaygroundError: as `read_text`, and for what is no JSON or nested deeper than `MAX_DEPTH`.
    """
    text = read_text(path, limit)
    if text is None:
        return None
    return parsed(path, text)


def read_object(path: Path, limit: int = CONFIG_BYTES) -> dict[str, Any] | None:
    """As `read_json`, for a file that must hold a JSON object."""
    data = read_json(path, limit)
    if data is not None and not isinstance(data, dict):
        raise _bad(path, Sentence("holds no JSON object"))
    return data


def parsed(path: Path, text: str | bytes) -> Any:
    """`text` of the file `path` as JSON data. Raises PlaygroundError where it is none, or too deep."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise _bad(path, Sentence("is nested too deeply")) from None
    except ValueError:
        raise _bad(path, Sentence("is not valid JSON")) from None
    if any(depth > MAX_DEPTH for depth in _depths(data)):
        raise _bad(path, Sentence("is nested too deeply"))
    return data


def safetensors_header(path: Path) -> dict[str, Tensor]:
    """Tensors by name, from the header alone.

    Raises:
        PlaygroundError: it is no safetensors file, or ends before the header says ("only part of the file").
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise _bad(path, Sentence("is no ordinary file"))
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= HEADER_BYTES:
                raise _bad(path, Sentence("is not a safetensors file"))
            header = file.read(length)
        size = path.stat().st_size
    except OSError as error:
        raise _bad(path, Sentence("cannot be read ({why})", why=error.strerror or Sentence("unknown error"))) from None
    if len(header) < length:
        raise _bad(path, Sentence("is only part of the file"))
    data = parsed(path, header)
    try:
        tensors = {name: _tensor(entry) for name, entry in data.items() if name != "__metadata__"}
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        raise _bad(path, Sentence("cannot be read as safetensors")) from None
    if size < 8 + length + max((t.end for t in tensors.values()), default=0):
        raise _bad(path, Sentence("is only part of the file"))
    return tensors


def whole(value: Any, least: int = 1, most: int = 2**40) -> int | None:
    """A number of a config, if it is a plain whole one within bounds; a stranger may have written anything."""
    return value if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else None


def word(value: Any, longest: int = 200) -> str | None:
    """A text of a config, if it is one of ordinary length."""
    return value if isinstance(value, str) and 0 < len(value) <= longest else None


def _tensor(entry: Any) -> Tensor:
    shape = tuple(entry["shape"])
    if not all(isinstance(n, int) and 0 <= n < 2**48 for n in shape) or len(shape) > 16:
        raise ValueError("shape")
    end = entry["data_offsets"][1]
    if not isinstance(end, int) or end < 0:
        raise ValueError("offsets")
    return Tensor(str(entry["dtype"]), shape, end)


def bytes_of(dtype: str) -> int:
    """Bytes of one number of a safetensors dtype; 2 for one we do not know."""
    return _BYTES_OF.get(dtype, 2)


def _depths(data: Any) -> Iterator[int]:
    """The depth of every list and object, walked without recursion. Long lists of plain values cost nothing."""
    waiting: list[tuple[Any, int]] = [(data, 0)]
    while waiting:
        value, depth = waiting.pop()
        yield depth
        children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        waiting += [(child, depth + 1) for child in children if isinstance(child, (dict, list))]


def _bad(path: Path, what: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("{file} {what}.", file=path.name, what=what), Sentence("Download it again."), code="bad_model"
    )
