"""Which engines can run a pair. One file = one engine; this file is only their protocol.

A file holds that engine's own rules, as read in the version it names or as this installation has them, and is light to
import. `pair` is everything known without loading: see `Pair`.
"""

from dataclasses import dataclass
from typing import Protocol

from playground.doctor.facts import Facts
from playground.doctor.findings import Fit
from playground.pairs import Vocabulary

PACKAGE = __name__

ORDER = ("embedded", "vllm", "tensorrt_llm", "sglang", "llama_cpp")
"""How they are shown; others follow by name."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What an engine's rules look at. `vocabulary` is None where it could not be compared, or the draft is a head."""

    target: Facts
    draft: Facts
    vocabulary: Vocabulary | None
    trust_remote_code: bool = False
    has_nvidia: bool = False


class Rules(Protocol):
    """What every file of this package defines, as names of the module."""

    TITLE: str
    """The engine's name, for people."""

    def fit(self, pair: Pair) -> Fit:
        """Whether and how it runs this pair. Never raises."""
