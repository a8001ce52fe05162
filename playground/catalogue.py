"""Which models of this machine can work together: grouped by tokenizer, offered as drafts or refused with the reason.

Known public pairs are data (`presets/pairs/*.yaml`) and count as untested until a comparison of them is stored here.
Knows models and the doctor's facts; no engine and no page.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from playground import models
from playground.doctor.engines._common import KINDS, first_difference
from playground.doctor.examine import LARGE_DRAFT, vocabulary_of
from playground.doctor.facts import Facts, facts
from playground.doctor.findings import Finding, finding
from playground.errors import PlaygroundError
from playground.importers._text import read_file
from playground.importers._yaml import checked_document, parse_yaml
from playground.settings import Settings


@dataclass(frozen=True, slots=True)
class Group:
    """Models whose tokenizers mean the same string by every id, the largest first.

    `fingerprint` is None for those without a tokenizer we can read; `tokens` is the vocabulary's size.
    """

    fingerprint: str | None
    tokens: int | None
    members: tuple[Facts, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model as a draft for one target. `why`: the finding that refuses it, or that goes with it; None for none."""

    model: Facts
    usable: bool
    why: Finding | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.model.name, "usable": self.usable, "why": self.why.as_dict() if self.why else None}


class KnownPair(BaseModel):
    """A public pair. Without `draft` the target brings what drafts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    family: str = Field(min_length=1, max_length=100)
    target: str = Field(min_length=1, max_length=300)
    draft: str | None = Field(None, min_length=1, max_length=300)
    method: str = Field("draft_model", min_length=1, max_length=64)
    note: str = Field("", max_length=500)


class _KnownPairs(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    pairs: tuple[KnownPair, ...] = Field(max_length=2000)


def all_models(settings: Settings) -> list[Facts]:
    """The facts of every model that is here, in the order of `models.catalogue`."""
    return [facts(model.name, Path(model.path)) for model in models.catalogue(settings) if model.path]


def groups(found: Iterable[Facts]) -> list[Group]:
    """By tokenizer, groups of most models first; heads stand with those that have no tokenizer."""
    by_tokenizer: dict[str | None, list[Facts]] = {}
    for model in found:
        by_tokenizer.setdefault(model.tokenizer.fingerprint if model.tokenizer else None, []).append(model)
    made = [
        Group(
            fingerprint,
            members[0].tokenizer.size if members[0].tokenizer else None,
            tuple(sorted(members, key=lambda m: (-(m.parameters or m.size), m.name))),
        )
        for fingerprint, members in by_tokenizer.items()
    ]
    return sorted(made, key=lambda group: (group.fingerprint is None, -len(group.members)))


def drafts_for(target: str, method: str, settings: Settings) -> list[Candidate]:
    """Every model of this machine as a draft for `target` by `method`: the usable ones first, the smallest first.

    A target that is not here lets all pass: nothing is known against them.
    """
    found = all_models(settings)
    chosen = _target(target, found)
    made = [_candidate(chosen, model, method) for model in found]
    return sorted(
        made, key=lambda c: (not c.usable, c.model is chosen, c.model.parameters or c.model.size, c.model.name)
    )


def _target(name: str, found: list[Facts]) -> Facts | None:
    for model in found:
        if name in (model.name, model.path):
            return model
    try:
        place = Path(name).expanduser()
        return facts(place.name, place.resolve()) if place.is_file() or (place / "config.json").is_file() else None
    except (OSError, ValueError, RuntimeError):  # no valid path, a loop of links, no such home
        return None


def _candidate(target: Facts | None, draft: Facts, method: str) -> Candidate:
    if refusal := next(_refusals(target, draft, method), None):
        return Candidate(draft, False, refusal)
    if target is None:
        return Candidate(draft, True)
    if target is draft:
        return Candidate(draft, True, finding("same_model", "note"))
    if target.parameters and draft.parameters and target.parameters / draft.parameters < LARGE_DRAFT:
        ratio = target.parameters / draft.parameters
        return Candidate(draft, True, finding("draft_too_large", "warning", ratio=ratio))
    return Candidate(draft, True)


def _refusals(target: Facts | None, draft: Facts, method: str) -> Iterator[Finding]:
    kind = KINDS.get(draft.role)
    if draft.problem:
        yield finding("unusable", "error", model=draft.name, why=draft.problem)
    if kind and method != draft.role:
        yield finding("is_head", "error", kind=kind, method=draft.role)
    if not kind and method in KINDS:
        yield finding("is_no_head", "error", kind=KINDS[method])
    if draft.role == "other":
        yield finding("not_a_model", "error", model=draft.name, kind=draft.architecture)
    if draft.stateful:
        yield finding("stateful", "error", model=draft.name)
    if target is None:
        return
    if kind and target.hidden and draft.hidden and target.hidden != draft.hidden:
        yield finding("head_mismatch", "error", kind=kind, target=target.hidden, draft=draft.hidden)
    yield from _vocabulary_refusal(target, draft)


def _vocabulary_refusal(target: Facts, draft: Facts) -> Iterator[Finding]:
    ours, theirs = target.tokenizer, draft.tokenizer
    if ours is None or theirs is None or ours.fingerprint == theirs.fingerprint:
        return
    vocabulary = vocabulary_of(target, draft)
    if vocabulary is not None and not vocabulary.same_tokens:
        code = "vocabulary_tokens_differ" if vocabulary.verdict == "tokens differ" else "vocabulary_incompatible"
        yield finding(code, "error", **first_difference(vocabulary))


def known_pairs(settings: Settings) -> list[KnownPair]:
    """The public pairs of the shipped files, then those of the user's own.

    Raises:
        PlaygroundError: a file is wrong: with file, line and key.
    """
    found: list[KnownPair] = []
    for folder in (settings.shipped_presets / "pairs", settings.presets_folder / "pairs"):
        for file in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
            data = parse_yaml(str(file), read_file(file))
            found += checked_document(_KnownPairs, data, str(file)).pairs
    return found


def same_model(name: str, other: str) -> bool:
    """Whether two names are one model's: "org/Name" and the folder or file called Name."""
    return _plain(name) == _plain(other)


def _plain(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].lower().removesuffix(".gguf")


def on_machine(name: str, found: Iterable[Facts]) -> str | None:
    """What a public model is called here; None where it is not."""
    return next((model.name for model in found if same_model(name, model.name)), None)


def checked_pairs(settings: Settings) -> tuple[list[KnownPair], PlaygroundError | None]:
    """`known_pairs`, and the error of a wrong file in place of an exception: for views that show the rest."""
    try:
        return known_pairs(settings), None
    except PlaygroundError as error:
        return [], error
