"""Everything that is known of a pair before it is loaded, as one report: findings, engines, memory, verdict.

Reads configs, headers and tokenizers; the models' weights stay where they are. Knows no page and no runner.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from playground.config import Dtype
from playground.doctor import engines
from playground.doctor.engines import ORDER, Pair
from playground.doctor.engines._common import KINDS, first_difference
from playground.doctor.facts import Facts, facts
from playground.doctor.findings import LEVELS, Finding, Fit, PairReport, Verdict, finding
from playground.doctor.memory import Room, judged, memory_of, room
from playground.doctor.tokenizers import Tokenizer
from playground.models import model_paths, resolve
from playground.pairs import Vocabulary, compare_vocabularies
from playground.registry import discover
from playground.settings import Settings

LARGE_DRAFT = 2.0
"""A target with fewer times the draft's parameters than this gains nothing by drafting with it."""


def examine(
    target: str,
    draft: str,
    paths: Mapping[str, str],
    *,
    offline: bool = True,
    context: int | None = None,
    dtype: Dtype = "auto",
    device: str = "auto",
    trust_remote_code: bool = False,
) -> PairReport:
    """The report on a pair; `target` and `draft` as a `RunConfig` names them.

    Args:
        paths: name -> path of the models this machine knows.
        context: positions to reckon the memory for; None is the target's window, at most 8,192.

    Raises:
        PlaygroundError: one of the two is not here, and may not be fetched ("no_such_model").
    """
    places = [Path(resolve(name, paths, offline=offline)) for name in (target, draft)]
    away = [name for name, place in zip((target, draft), places, strict=True) if not place.exists()]
    if away:
        return PairReport("unknown", (finding("not_here", "note", model=away[0]),))
    models = [facts(n if n in paths else p.name, p) for n, p in zip((target, draft), places, strict=True)]
    return report_on(
        models[0], models[1], place=room(device), context=context, dtype=dtype, trust_remote_code=trust_remote_code
    )


def examine_here(
    settings: Settings, target: str, draft: str, *, context: int | None = None, dtype: Dtype = "auto"
) -> PairReport:
    """As `examine`, with this machine's models, device and permissions."""
    return examine(
        target,
        draft,
        model_paths(settings),
        offline=settings.offline,
        context=context,
        dtype=dtype,
        device=settings.device,
        trust_remote_code=settings.trust_remote_code,
    )


def report_on(
    target: Facts,
    draft: Facts,
    *,
    place: Room,
    context: int | None = None,
    dtype: Dtype = "auto",
    trust_remote_code: bool = False,
) -> PairReport:
    """The same for two models whose facts are known, loaded into `place`."""
    vocabulary = vocabulary_of(target, draft)
    memory = memory_of(target, draft, context, dtype, place)
    pair = Pair(target, draft, vocabulary, trust_remote_code, place.device.startswith("cuda"))
    fits = engine_fits(pair)
    found = [
        *_files(target, draft),
        *_vocabulary(pair),
        *_tokens(target, draft),
        *_shapes(target, draft),
        judged(memory),
    ]
    if not any(f.level == "error" for f in found):
        found += _nowhere_or_elsewhere(fits)
    ordered = tuple(sorted(found, key=lambda f: LEVELS.index(f.level)))
    return PairReport(_verdict(ordered, fits), ordered, fits, vocabulary, memory, target, draft)


def engine_fits(pair: Pair) -> tuple[Fit, ...]:
    """What each engine's rules say, in the order they are shown."""
    modules = discover(engines.PACKAGE)
    order = sorted(modules, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    return tuple(modules[name].fit(pair) for name in order)


def vocabulary_of(target: Facts, draft: Facts) -> Vocabulary | None:
    """The comparison; None for a head, and where one side has no tokenizer we can read."""
    if target.tokenizer is None or draft.tokenizer is None or draft.role not in ("model", "other"):
        return None
    return compare_vocabularies(target.tokenizer.vocabulary, draft.tokenizer.vocabulary, target.rows, draft.rows)


def _nowhere_or_elsewhere(fits: tuple[Fit, ...]) -> Iterator[Finding]:
    """Where nothing speaks against the pair itself: an engine here that cannot run it, or no engine at all."""
    embedded = next(fit for fit in fits if fit.engine == "embedded")
    if embedded.outcome == "no":
        nowhere = all(fit.outcome == "no" for fit in fits)
        yield finding("no_engine" if nowhere else "not_embedded", "error" if nowhere else "warning", why=embedded.text)


def _verdict(findings: tuple[Finding, ...], fits: tuple[Fit, ...]) -> Verdict:
    levels = {f.level for f in findings}
    if "error" in levels:
        return "does not work"
    if any(fit.engine == "embedded" and fit.outcome == "unknown" for fit in fits):
        return "unknown"
    return "works with care" if "warning" in levels else "works"


def _files(target: Facts, draft: Facts) -> Iterator[Finding]:
    for model in (target, draft):
        if model.problem:
            yield finding("unusable", "error", model=model.name, why=model.problem)
        if model.stateful:
            yield finding("stateful", "error", model=model.name)
        if model.remote_code:
            yield finding("remote_code", "warning", model=model.name)
    if draft.role == "other" or target.role != "model":
        wrong = draft if draft.role == "other" else target
        yield finding("not_a_model", "error", model=wrong.name, kind=wrong.architecture)


def _vocabulary(pair: Pair) -> Iterator[Finding]:
    target, draft, vocabulary = pair.target, pair.draft, pair.vocabulary
    if kind := KINDS.get(draft.role):
        if target.hidden and draft.hidden and target.hidden != draft.hidden:
            yield finding("head_mismatch", "error", kind=kind, target=target.hidden, draft=draft.hidden)
        else:
            yield finding("head_fits", "ok", kind=kind, hidden=draft.hidden)
        yield finding("vocabulary_by_target", "ok")
    elif vocabulary is None:
        without = target if target.tokenizer is None else draft
        if not without.problem:
            yield finding("vocabulary_unknown", "note", model=without.name)
    elif vocabulary.verdict == "identical":
        yield finding("vocabulary_identical", "ok", size=vocabulary.target_size)
    elif vocabulary.verdict == "padding only":
        yield finding("vocabulary_padding_only", "ok", target=target.rows, draft=draft.rows)
    else:
        code = "vocabulary_incompatible"
        if vocabulary.verdict == "tokens differ":
            one_sided = vocabulary.share == 1.0
            code = "vocabulary_extra_tokens" if one_sided else "vocabulary_tokens_differ"
        yield finding(code, "error", **first_difference(vocabulary))


def _tokens(target: Facts, draft: Facts) -> Iterator[Finding]:
    ours, theirs = target.tokenizer, draft.tokenizer
    if ours is None or theirs is None:
        return
    for role in ("bos", "eos"):
        texts = [t.special[role].text if role in t.special else None for t in (ours, theirs)]
        params = {"target": texts[0] or "–", "draft": texts[1] or "–"}
        same = texts[0] == texts[1]
        yield finding(f"{role}_same" if same else f"{role}_differs", "ok" if same else "warning", **params)
    if ours.vocabulary == theirs.vocabulary and ours.marked != theirs.marked:
        odd = sorted(ours.marked.keys() ^ theirs.marked.keys(), key=lambda text: ours.vocabulary.get(text, 0))
        if odd:
            yield finding("special_differ", "note", n=len(odd), first=odd[0])
    yield _templates(ours, theirs)


def _templates(ours: Tokenizer, theirs: Tokenizer) -> Finding:
    if ours.chat_template is None:
        return finding("template_none", "note")
    if theirs.chat_template is None:
        return finding("template_missing", "warning")
    if ours.chat_template.strip() != theirs.chat_template.strip():
        return finding("template_differs", "warning")
    return finding("template_same", "ok")


def _shapes(target: Facts, draft: Facts) -> Iterator[Finding]:
    if target.family and draft.family:
        code = "family_same" if target.family == draft.family else "family_differs"
        yield finding(code, "ok" if code == "family_same" else "note", target=target.family, draft=draft.family)
    if target.context and draft.context:
        if draft.context < target.context:
            yield finding("shorter_window", "warning", draft=draft.context, target=target.context)
        else:
            yield finding("window_same", "ok", target=target.context)
    if target.parameters and draft.parameters:
        ratio = target.parameters / draft.parameters
        large = ratio < LARGE_DRAFT
        yield finding("draft_too_large" if large else "size_ratio", "warning" if large else "ok", ratio=ratio)
    yield from _formats(target, draft)


def _formats(target: Facts, draft: Facts) -> Iterator[Finding]:
    if draft.quantization:
        yield finding("draft_quantised", "note", draft=draft.quantization)
    if target.quantization:
        yield finding("target_quantised", "note", target=target.quantization)
    if not draft.quantization and not target.quantization and target.dtype and draft.dtype:
        if target.dtype == draft.dtype:
            yield finding("dtype_same", "ok", target=target.dtype)
        else:
            yield finding("dtype_differs", "note", target=target.dtype, draft=draft.dtype)
