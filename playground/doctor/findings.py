"""What is said of a pair: findings with stable codes, their English sentences, and the report they make up.

A sentence is written once, here; the page's Chinese has the same codes and parameters. Knows no model.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from playground.doctor.facts import Facts
from playground.doctor.fits import REASONS
from playground.pairs import Vocabulary
from playground.sentence import Sentence

Level = Literal["ok", "note", "warning", "error"]
Verdict = Literal["works", "works with care", "does not work", "unknown"]
Outcome = Literal["works", "setting", "no", "unknown"]

LEVELS: tuple[Level, ...] = ("error", "warning", "note", "ok")

SENTENCES: dict[str, str] = {
    # Files
    "not_here": "{model} is not on this machine: checked when it is loaded.",
    "unusable": "{model} cannot be loaded. {why}",
    "remote_code": "{model} brings Python of its own, which is not run here.",
    # Vocabulary
    "vocabulary_identical": "Same vocabulary: {size} tokens.",
    "vocabulary_padding_only": "Same tokens; only the padding past them differs ({target} and {draft} logits).",
    "vocabulary_tokens_differ": (
        "{n} token ids mean different strings, the first is {id}: target “{target}”, draft “{draft}”."
    ),
    "vocabulary_extra_tokens": (
        "{n} token ids exist on one side only, the first is {id}: target “{target}”, draft “{draft}”."
    ),
    "vocabulary_incompatible": (
        "Different vocabularies: {n} token ids mean different strings, the first is {id}: target “{target}”, draft "
        "“{draft}”."
    ),
    "vocabulary_unknown": "{model} has no tokenizer file that can be compared: checked when both are loaded.",
    "vocabulary_by_target": "The head reads and writes the target's own tokens.",
    "head_fits": "An {kind} head for a target of this hidden size ({hidden}).",
    "head_mismatch": "An {kind} head for a target of hidden size {draft}, but this target's is {target}.",
    "not_a_model": "{model} is no causal language model ({kind}), so it cannot draft as one.",
    "is_head": "An {kind} head: it drafts by the method {method}.",
    "is_no_head": "No {kind} head, which this method needs.",
    "same_model": "The target itself: it shows the machinery and gains nothing.",
    # Special tokens
    "bos_same": "Same BOS token, {target}.",
    "bos_differs": "BOS is {target} in the target and {draft} in the draft: the prompt is made with the target's.",
    "eos_same": "Same EOS token, {target}.",
    "eos_differs": "EOS is {target} in the target and {draft} in the draft: the target's ends the answer.",
    "special_differ": "{n} special tokens are not marked alike, the first is “{first}”.",
    # Chat template
    "template_same": "Same chat template.",
    "template_differs": "Another chat template in the draft: the target's is used for both.",
    "template_missing": "The draft has no chat template: the target's is used, but the draft may not know chats.",
    "template_none": "The target has no chat template: prompts are sent raw.",
    # Shape
    "family_same": "Same architecture family, {target}.",
    "family_differs": "Architecture families differ: {target} and {draft}.",
    "window_same": "The draft reads as far as the target: {target} tokens.",
    "shorter_window": "The draft reads {draft} tokens, the target {target}: nothing is drafted past that.",
    "size_ratio": "The target has {ratio} times the draft's parameters.",
    "draft_too_large": "The target has only {ratio} times the draft's parameters: drafting will cost what it saves.",
    "stateful": "{model} keeps a state that cannot be rewound (linear attention or Mamba layers).",
    "dtype_same": "Both are stored as {target}.",
    "dtype_differs": "Stored as {target} and {draft}; both run in one number format.",
    "draft_quantised": "The draft is quantised ({draft}): smaller, and it agrees a little less often.",
    "target_quantised": "The target is quantised ({target}).",
    "not_embedded": "Not in the embedded engine: {why}",
    "no_engine": "No engine runs it: {why}",
    # Agreement test
    "trial_worth": "Predicted {speedup} at k = {k}: worth loading.",
    "trial_marginal": "Predicted {speedup} at the best k, {k}: little to gain.",
    "trial_not_worth": "Predicted {speedup} at the best k, {k}: it would be slower than the target alone.",
    "trial_unknown": "Too few runs for times: no speed is predicted yet.",
    "trial_cost": "One draft token costs {share} of a target's token.",
    "trial_few": "Only {n} positions so far; below {enough} the shares are rough.",
    "rule_holds": "The first five draft tokens agree on {share}, at least the {threshold} of the rule of thumb.",
    "rule_fails": "The first five draft tokens agree on {share}, below the {threshold} of the rule of thumb.",
    "outputs_identical": "All {n} outputs are identical with and without drafting.",
    "outputs_differ": "{n} of {of} outputs differ with drafting: numeric ties, unless it runs in float32.",
    # Memory
    "memory_fits": "Needs {need} of {free} free on {device}, at {context} tokens as {dtype}.",
    "memory_tight": "Needs {need} of {free} free on {device}, at {context} tokens as {dtype}: little is left.",
    "memory_short": "Needs {need}, but only {free} are free on {device}, at {context} tokens as {dtype}.",
    "memory_unknown": "The memory it needs cannot be told from its config.",
}
"""Code -> English sentence with its parameters, which are filled as text by `filled`."""

_SCALES = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes as a parameter, shown as MiB or GiB."""

    bytes: int

    def __str__(self) -> str:
        for unit, scale in _SCALES:
            if self.bytes >= scale:
                value = self.bytes / scale
                return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
        return f"{self.bytes} B"


class Share(float):
    """A share as a parameter, shown in percent."""

    def __str__(self) -> str:
        return f"{100 * float(self):.0f} %" if self >= 0.0995 else f"{100 * float(self):.1f} %"


class Times(float):
    """A speed-up as a parameter, shown as 1.87×."""

    def __str__(self) -> str:
        return f"{float(self):.2f}×"


def shown(value: Any) -> str:
    """A parameter as people read it: 151,936, 7.5, 75 %, “n/a” for nothing."""
    if value is None:
        return "n/a"
    if isinstance(value, str):
        return value  # a Sentence stays one
    if isinstance(value, (Share, Times)):
        return str(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.1f}" if math.isfinite(value) and abs(value) < 100 else f"{value:,.0f}"


def filled(template: str, params: dict[str, Any]) -> Sentence:
    return Sentence(template, **{name: shown(value) for name, value in params.items()})


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing said about a pair."""

    code: str
    level: Level
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return filled(SENTENCES[self.code], self.params)

    def as_dict(self) -> dict[str, Any]:
        plain = {name: value.bytes if isinstance(value, Size) else value for name, value in self.params.items()}
        return {"code": self.code, "level": self.level, "text": self.text, **plain}


def finding(code: str, level: Level, **params: Any) -> Finding:
    return Finding(code, level, params)


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether one engine can run the pair.

    Attributes:
        engine: its extension name. outcome: works, setting (works with `setting`), no, unknown.
        text: why, in a sentence. setting: what to write, as the engine spells it. fix: what to do where it does not.
        basis: what the answer rests on: this installation, or which version's rules.
        code, params: the sentence's, for translation; setting and fix likewise under their own codes.
    """

    engine: str
    outcome: Outcome
    code: str
    params: dict[str, Any] = field(default_factory=dict)
    setting: str = ""
    basis: str = ""

    @property
    def text(self) -> str:
        return filled(REASONS[self.code][0], self.params)

    @property
    def fix(self) -> str:
        return filled(REASONS[self.code][1], self.params)

    def as_dict(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "outcome": self.outcome,
            "reason": self.text,
            "setting": self.setting,
            "fix": self.fix,
            "basis": self.basis,
            "code": self.code,
        }


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes a pair needs at a context: weights and keys and values of both, against what is free. None: not known."""

    context: int
    dtype: str
    target_weights: int | None
    target_kv: int | None
    draft_weights: int | None
    draft_kv: int | None
    device: str
    free: int | None
    total: int | None

    @property
    def need(self) -> int | None:
        parts = (self.target_weights, self.target_kv, self.draft_weights, self.draft_kv)
        return None if None in parts else sum(part for part in parts if part is not None)

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*self.__slots__, "need")}


@dataclass(frozen=True, slots=True)
class PairReport:
    """The verdict on a pair before anything is loaded, with its reasons, worst first."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    engines: tuple[Fit, ...] = ()
    vocabulary: Vocabulary | None = None
    memory: Memory | None = None
    target: Facts | None = None
    draft: Facts | None = None

    @property
    def sentence(self) -> str:
        """The reason that decides: the first one of the worst level."""
        return self.findings[0].text if self.findings else Sentence("Nothing is known against this pair.")

    @property
    def brief(self) -> tuple[Finding, ...]:
        """What a narrow place shows: the vocabulary's line and the size's, and all that speaks against the pair."""
        told = ("vocabulary_", "not_here", "size_ratio", "head_")
        return tuple(f for f in self.findings if f.level in ("error", "warning") or f.code.startswith(told))

    def as_dict(self) -> dict[str, Any]:
        """JSON values only."""
        v = self.vocabulary
        return {
            "verdict": self.verdict,
            "reason": self.sentence,
            "findings": [f.as_dict() for f in self.findings],
            "engines": {fit.engine: fit.as_dict() for fit in self.engines},
            "vocabulary": None
            if v is None
            else {
                "verdict": v.verdict,
                "num_different": v.num_different,
                "first_id": v.first_id,
                "target_text": v.target_text,
                "draft_text": v.draft_text,
            },
            "memory": None if self.memory is None else self.memory.as_dict(),
            "target": None if self.target is None else self.target.as_dict(),
            "draft": None if self.draft is None else self.draft.as_dict(),
        }
