"""The pair doctor's first half: can this draft model draft for this target, from configs and tokenizers alone.

Speculative decoding is exact only if both models mean the same string by the same id. Loads no weights.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol

from playground.errors import PlaygroundError
from playground.models import Model, inspect, resolve

Verdict = Literal["compatible", "padding only", "incompatible", "unknown"]
Level = Literal["ok", "note", "warning", "error"]


class _Vocabulary(Protocol):
    def get_vocab(self) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How two vocabularies compare.

    Attributes:
        verdict: compatible (identical), padding only (same tokens, unequal logit rows past them), incompatible.
        num_different: ids whose strings differ. first_id, target_text, draft_text: the lowest such id.
    """

    verdict: Verdict
    num_different: int = 0
    first_id: int | None = None
    target_text: str = ""
    draft_text: str = ""

    @property
    def sentence(self) -> str:
        if self.verdict == "padding only":
            return "Same tokens; only the padding past them differs."
        if self.verdict == "incompatible":
            return (
                f"{self.num_different:,} token ids mean different strings, the first is {self.first_id}: "
                f"target {self.target_text!r}, draft {self.draft_text!r}."
            )
        return "Same vocabulary."


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing said about a pair. `code` is stable, for translation; `params` fill its sentence."""

    code: str
    level: Level
    text: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PairReport:
    """The verdict on a pair before loading, with its reasons, worst first."""

    verdict: Verdict
    findings: tuple[Finding, ...]

    @property
    def sentence(self) -> str:
        return self.findings[0].text if self.findings else "Nothing is known against this pair."

    def as_dict(self) -> dict[str, Any]:
        findings = [{"code": f.code, "level": f.level, "text": f.text, **f.params} for f in self.findings]
        return {"verdict": self.verdict, "findings": findings}


def compare_vocabularies(
    target: Mapping[str, int], draft: Mapping[str, int], target_rows: int | None, draft_rows: int | None
) -> Vocabulary:
    """Compare string -> id maps; `*_rows` are the models' numbers of logits (CASES 1 and 2)."""
    if target != draft:
        ours, theirs = ({i: s for s, i in v.items()} for v in (target, draft))
        different = sorted(i for i in ours.keys() | theirs.keys() if ours.get(i) != theirs.get(i))
        if different:
            first = different[0]
            return Vocabulary("incompatible", len(different), first, ours.get(first, ""), theirs.get(first, ""))
    if target_rows is not None and draft_rows is not None and target_rows != draft_rows:
        return Vocabulary("padding only")
    return Vocabulary("compatible")


def check_vocabulary(
    target_tokenizer: _Vocabulary, draft_tokenizer: _Vocabulary, target_rows: int, draft_rows: int
) -> Vocabulary:
    """The same for two loaded tokenizers.

    Raises:
        PlaygroundError: the vocabularies differ; names the first id and both strings.
    """
    found = compare_vocabularies(target_tokenizer.get_vocab(), draft_tokenizer.get_vocab(), target_rows, draft_rows)
    if found.verdict == "incompatible":
        raise PlaygroundError(
            f"The draft model cannot draft for this target: {found.sentence}",
            "Choose a draft model of the same family and tokenizer, or method ngram, which needs none.",
            code="incompatible_pair",
        )
    return found


def check_pair(target: str, draft: str, paths: Mapping[str, str], *, offline: bool) -> PairReport:
    """What configs and tokenizers say of a pair; `target` and `draft` as a `RunConfig` names them.

    Raises:
        PlaygroundError: one of the two is not here.
    """
    places = [Path(resolve(name, paths, offline=offline)) for name in (target, draft)]
    models = [inspect(n, p) for n, p in zip((target, draft), places, strict=True) if p.exists()]
    if len(models) < 2:
        return _report("unknown", _finding("not_here", "note", "Not on this machine yet: checked when it is loaded."))
    findings = [
        _finding("unusable", "error", f"{m.name} cannot be loaded. {m.problem}", model=m.name, why=m.problem)
        for m in models
        if m.problem
    ]
    if findings:
        return _report("incompatible", *findings)
    vocabularies = [_vocabulary(place) for place in places]
    if vocabularies[0] is None or vocabularies[1] is None:
        finding = _finding("no_tokenizer_file", "note", "No tokenizer.json to compare: checked when both are loaded.")
        return _report("unknown", finding, *_sizes(*models))
    found = compare_vocabularies(vocabularies[0], vocabularies[1], models[0].vocab_size, models[1].vocab_size)
    level: Level = "error" if found.verdict == "incompatible" else "ok"
    params = {"n": found.num_different, "id": found.first_id, "target": found.target_text, "draft": found.draft_text}
    vocabulary = _finding(f"vocabulary_{found.verdict.replace(' ', '_')}", level, found.sentence, **params)
    return _report(found.verdict, vocabulary, *_sizes(*models))


def _sizes(target: Model, draft: Model) -> list[Finding]:
    findings = []
    if target.context and draft.context and draft.context < target.context:
        findings.append(
            _finding(
                "shorter_window",
                "warning",
                f"The draft model reads {draft.context:,} tokens, the target {target.context:,}: no drafts past that.",
                draft=draft.context,
                target=target.context,
            )
        )
    if target.size and draft.size:
        ratio = target.size / draft.size
        if ratio < 2:
            findings.append(
                _finding(
                    "draft_too_large",
                    "warning",
                    f"The target is only {ratio:.1f} times the draft's size: drafting will cost what it saves.",
                    ratio=ratio,
                )
            )
        else:
            text = f"The target is {ratio:.0f} times the draft's size."
            findings.append(_finding("size_ratio", "ok", text, ratio=ratio))
    return findings


def _report(verdict: Verdict, *findings: Finding) -> PairReport:
    order = {"error": 0, "warning": 1, "note": 2, "ok": 3}
    first, rest = findings[0], sorted(findings[1:], key=lambda f: order[f.level])
    return PairReport(verdict, (first, *rest))


def _finding(code: str, level: Level, text: str, **params: Any) -> Finding:
    return Finding(code, level, text, params)


def _vocabulary(place: Path) -> dict[str, int] | None:
    file = place / "tokenizer.json"
    return _read_vocabulary(str(file), file.stat().st_mtime) if file.is_file() else None


@lru_cache(maxsize=16)
def _read_vocabulary(file: str, mtime: float) -> dict[str, int] | None:
    """String -> id of a tokenizer.json; None where the tokenizers library cannot read it. `mtime` renews the cache."""
    from tokenizers import Tokenizer

    try:
        json.loads(Path(file).read_text(encoding="utf-8"))
        return dict(Tokenizer.from_file(file).get_vocab(with_added_tokens=True))
    except (OSError, ValueError):
        return None
    except Exception as error:  # tokenizers raises bare Exception for every malformed file
        if type(error) is not Exception:
            raise
        return None
