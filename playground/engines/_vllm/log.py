"""What vLLM writes while it loads, as Loading events.

vLLM and its processes write to this process's stderr, which is the parent's crash file: it is read back from there.
Knows vLLM's log lines, imports nothing of it.
"""

import os
import re
import stat
from dataclasses import dataclass

from playground.events import Loading
from playground.sentence import Sentence

STDERR = 2
_PIECE = 1 << 20


class Log:
    """The end of what this process and its children have written, from now on. Empty where stderr is no file."""

    def __init__(self) -> None:
        self._is_file = stat.S_ISREG(os.fstat(STDERR).st_mode)
        self._start = self._read = os.fstat(STDERR).st_size if self._is_file else 0

    def new(self) -> str:
        """What has been added since the last call."""
        text = self._between(self._read)
        self._read += len(text)
        return text.decode(errors="replace")

    def all(self) -> str:
        """Everything since the beginning, its last megabyte."""
        end = os.fstat(STDERR).st_size if self._is_file else 0
        return self._between(max(self._start, end - _PIECE)).decode(errors="replace")

    def _between(self, start: int) -> bytes:
        try:
            return os.pread(STDERR, _PIECE, start) if self._is_file else b""
        except OSError:  # a file that may only be written
            self._is_file = False
            return b""


@dataclass(frozen=True, slots=True)
class _Sign:
    """A log line that tells how far loading is. The pattern's groups fill the sentence; `percent` is a fraction."""

    pattern: re.Pattern[str]
    stage: str
    sentence: str


def _sign(pattern: str, stage: str, sentence: str) -> _Sign:
    return _Sign(re.compile(pattern), stage, sentence)


_SIGNS = (
    _sign(r"Resolved architecture: (?P<what>\w+)", "config", Sentence("vLLM runs it as {what}.")),
    _sign(r"Initializing a V1 LLM engine", "start", Sentence("Starting vLLM's engine.")),
    _sign(r"Starting to load model", "weights", Sentence("Loading the weights.")),
    _sign(
        r"checkpoint shards:\s+(?P<percent>\d+)% Completed \| (?P<what>\d+/\d+)",
        "weights",
        Sentence("Weight files: {what}."),
    ),
    _sign(r"Loading drafter model", "draft", Sentence("Loading the draft.")),
    _sign(
        r"(?:Dynamo bytecode|Compiling a graph|Start compiling|Warming up model for the compilation)",
        "compile",
        Sentence("Compiling the model."),
    ),
    _sign(r"(?:GPU|CPU) KV cache size: (?P<what>[\d,]+) tokens", "kv-cache", Sentence("KV cache for {what} tokens.")),
    _sign(r"Capturing CUDA graphs[^%]*?(?P<percent>\d+)%", "graphs", Sentence("Capturing CUDA graphs.")),
    _sign(r"init engine \(", "warm-up", Sentence("Warming up.")),
)


def progress(text: str) -> Loading | None:
    """The last sign of progress in newly written text; None where there is none."""
    for line in reversed(re.split(r"[\r\n]+", text)):
        for sign in _SIGNS:
            if found := sign.pattern.search(line):
                groups = found.groupdict()
                fraction = int(groups["percent"]) / 100 if groups.get("percent") else None
                return Loading(sign.stage, sign.sentence.format(**groups), fraction)
    return None
