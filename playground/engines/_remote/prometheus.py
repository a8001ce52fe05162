"""vLLM's server-wide counters, read before and after a run. Their difference is this run's only if nobody else ran."""

import re
from dataclasses import dataclass
from typing import Any

from playground.engines._remote.reported import Reported

_LINE = re.compile(r"^vllm:(\w+?)(?:_total)?\{([^}]*)\}\s+([0-9.eE+-]+)\s*$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_NAMES = {
    "spec_decode_num_drafts": "steps",
    "spec_decode_num_draft_tokens": "drafted",
    "spec_decode_num_accepted_tokens": "accepted",
    "generation_tokens": "generated",
}


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals since the server's start, over its engines. `speculates`: whether it has speculative counters at all."""

    generated: int = 0
    steps: int = 0
    drafted: int = 0
    accepted: int = 0
    speculates: bool = False

    def since(self, before: "Counters") -> "Counters":
        names = ("generated", "steps", "drafted", "accepted")
        return Counters(**{name: getattr(self, name) - getattr(before, name) for name in names})

    def reported(self) -> Reported:
        source = "server-wide counters, before and after this run"
        return Reported(source, steps=self.steps, drafted=self.drafted, accepted=self.accepted)


def counters(text: str, model: str) -> Counters | None:
    """From a server's /metrics, of one model or ("") of all; None where they are no vLLM's."""
    found: dict[str, Any] = {}
    speculates = False
    for name, labels, value in _LINE.findall(text):
        if name not in _NAMES:
            continue
        speculates |= name.startswith("spec_decode")
        if model and dict(_LABEL.findall(labels)).get("model_name", model) != model:
            continue
        try:
            found[_NAMES[name]] = found.get(_NAMES[name], 0) + int(float(value))
        except (ValueError, OverflowError):
            return None
    return Counters(**found, speculates=speculates) if found else None
