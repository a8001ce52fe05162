"""Proof that exported files are accepted, in three tiers, each shown by name with its result.

A: our strict schemas and cross-field rules, always, while the files are made. B: the real program's own parser, where
it is installed. C: a smoke start of the real server on this machine, one request, counters of speculation above zero.
Knows which targets have which tiers, no program.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from playground.exporters import SCHEMA, Export
from playground.sentence import Sentence

Tier = Literal["A", "B", "C"]
Outcome = Literal["passed", "refused", "not-run"]

TIERS: tuple[Tier, ...] = ("A", "B", "C")


@dataclass(frozen=True, slots=True)
class Check:
    """One tier: what looked at the files ("vLLM 0.32.0's own parser"), what came of it, and why where it matters.

    `by` and `detail` are Sentences where they are ours; a program's own words are given as they are.
    """

    tier: Tier
    by: str
    outcome: Outcome
    detail: str = ""


def own_parser(program: str) -> Sentence:
    return Sentence("{program}'s own parser", program=program)


def not_installed(program: str) -> Sentence:
    return Sentence("{program} is not installed here", program=program)


def outlook(export: Export, target: str) -> list[Check]:
    """All tiers before anything is run: A has passed, or there would be no export; the others say why they cannot be
    run here, or nothing."""
    from playground.validation import smoke

    parser = own_parser(_PROGRAMS[target]) if target in _PROGRAMS else Sentence("the real program's own parser")
    return [
        *check(export, target, "A"),
        Check("B", parser, "not-run", _no_parser(export, target) or ""),
        Check("C", smoke.BY, "not-run", (smoke.hindrance(export) or "") if target == "vllm" else _VLLM_ONLY),
    ]


def check(export: Export, target: str, tier: Tier) -> list[Check]:
    """What one tier says about the files of an export. Takes seconds, minutes for C.

    Never raises for what a program refuses: that is a result.
    """
    from playground.validation import smoke

    if tier == "A":
        return [Check("A", export.checked_by or SCHEMA, "passed")]
    if tier == "C":
        return [smoke.start(export)] if target == "vllm" else [outlook(export, target)[2]]
    why = _no_parser(export, target)
    return [outlook(export, target)[1]] if why else [_parsers()[target](export)]


def _parsers() -> dict[str, Callable[[Export], Check]]:
    from playground.validation import llama_cpp, sglang, vllm

    return {
        "vllm": vllm.parse,
        "sglang": sglang.parse,
        "llama_cpp": llama_cpp.parse,
        "docker": vllm.parse_container,
        "kubernetes": vllm.parse_container,
    }


_VLLM_ONLY = Sentence("made for vLLM only")
_CONTAINERS = ("docker", "kubernetes")
_PROGRAMS = {"vllm": "vLLM", "sglang": "SGLang", "llama_cpp": "llama-server"} | dict.fromkeys(_CONTAINERS, "vLLM")


def _no_parser(export: Export, target: str) -> Sentence | None:
    """None where tier B can be run for these files."""
    from playground.validation import llama_cpp, sglang, vllm

    if target == "preset":
        return Sentence("our schema is its parser")
    if target not in _PROGRAMS:
        return Sentence("no parser of it runs on this machine")
    if target in _CONTAINERS and vllm.arguments_in(export) is None:
        if any(name.endswith(".values.yaml") for name in export.files):
            return Sentence("the chart puts the command together: export for vLLM to check its settings")
        return Sentence("inside is another server: export it by itself to check it")
    there = {"sglang": sglang.python, "llama_cpp": llama_cpp.binary}
    return None if there.get(target, vllm.python)() else not_installed(_PROGRAMS[target])
