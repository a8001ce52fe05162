"""The target's law through the whole engine: every drafter, sampled, against the law worked out from the model itself.

Some thousand seeded runs of four tokens; the counts of the first three together are held against their exact joint law
by chi-square. A drafter that looked at what was drawn, or an engine that mixed up positions, would bend it.
"""

from collections import Counter
from itertools import product
from pathlib import Path

import pytest
import torch
from scipy import stats
from transformers import AutoModelForCausalLM, AutoTokenizer

from playground import drafters
from playground.config import Speculation
from playground.engines.embedded import Engine
from playground.registry import discover
from tests import heads, tiny
from tests.rig import Rig

PROMPT = "one two three four five six seven eight nine ten one three five seven nine two four six eight ten one"
TOP_K, TEMPERATURE = 3, 0.9
RUNS = 1200
TOKENS = 3
REJECT_BELOW = 1e-4
"""Seeds are fixed: a p-value this small means a wrong law, not bad luck."""

Law = dict[tuple[int, ...], float]


def talkative(folder: Path, seed: int) -> Path:
    """A random model that says nothing but the prompt's own tokens, so that lookups can be right."""
    tiny.make_model(folder, seed=seed)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        words = model.lm_head.weight[sorted(set(tokenizer(PROMPT)["input_ids"]))].clone()
        model.lm_head.weight.zero_()
        model.lm_head.weight[sorted(set(tokenizer(PROMPT)["input_ids"]))] = words
    return tiny.save(folder, model, tiny.make_tokenizer())


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talkative(tmp_path_factory.mktemp("law") / "target", 0)


@pytest.fixture(scope="module")
def rig(target: Path, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    folder = tmp_path_factory.mktemp("drafts")
    head = heads.make_head(folder / "head", target, like_target=True, targets=range(tiny.VOCAB - 200, tiny.VOCAB))
    other = talkative(folder / "other", 1)
    return Rig(target, {"head": head, "other": other})


@pytest.fixture(scope="module")
def law(target: Path) -> Law:
    """The probability of each three tokens after the prompt."""
    model = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32).eval()
    prompt = AutoTokenizer.from_pretrained(target)(PROMPT)["input_ids"]

    def next_laws(prefix: tuple[int, ...]) -> dict[int, float]:
        with torch.inference_mode():
            logits = model(torch.tensor([[*prompt, *prefix]])).logits[0, -1, : tiny.VOCAB]
        best = torch.topk(logits / TEMPERATURE, TOP_K)
        return dict(zip(best.indices.tolist(), best.values.softmax(-1).tolist(), strict=True))

    found: Law = {(): 1.0}
    for _ in range(TOKENS):
        found = {(*prefix, token): p * q for prefix, p in found.items() for token, q in next_laws(prefix).items()}
    return found


def counts(rig: Rig, speculation: Speculation | None) -> tuple[Counter[tuple[int, ...]], int]:
    """(how often each three tokens came, draft tokens accepted in all)."""
    seen: Counter[tuple[int, ...]] = Counter()
    accepted = 0
    for seed in range(RUNS):
        out = rig.run(
            PROMPT,
            speculation,
            temperature=TEMPERATURE,
            top_k=TOP_K,
            max_tokens=TOKENS + 1,
            seed=seed,
            ignore_eos=True,
        )
        seen[tuple(out.ids[:TOKENS])] += 1
        accepted += out.result.num_accepted_tokens
    return seen, accepted


def p_value(seen: Counter[tuple[int, ...]], law: Law) -> float:
    """Of chi-square; outcomes expected less than five times are taken together."""
    assert set(seen) <= set(law), "impossible tokens came"
    observed, expected, few = [], [], [0.0, 0.0]
    for outcome, p in law.items():
        if p * RUNS >= 5:
            observed.append(float(seen[outcome]))
            expected.append(p * RUNS)
        else:
            few = [few[0] + seen[outcome], few[1] + p * RUNS]
    if few[1] > 0:
        observed.append(few[0])
        expected.append(few[1])
    scale = sum(observed) / sum(expected)
    return float(stats.chisquare(observed, [e * scale for e in expected]).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("method", [None, *sorted(Engine.methods())])
def test_what_is_drawn_follows_the_targets_law(rig: Rig, law: Law, method: str | None) -> None:
    speculation = None
    if method is not None:
        kind = discover(drafters.PACKAGE)[method].Drafter
        draft = "head" if "head" in kind.DRAFTS_WITH else "other" if kind.NEEDS_MODEL else None
        options = {"prompt_lookup_min": 1} if "prompt_lookup_min" in kind.Options.model_fields else {}
        speculation = Speculation(method=method, num_speculative_tokens=3, model=draft, options=options)
    seen, accepted = counts(rig, speculation)
    assert p_value(seen, law) > REJECT_BELOW
    assert accepted > 0 or method is None


def test_the_test_can_fail(law: Law) -> None:
    """Draws from the same tokens at another temperature are told apart."""
    sharper = {outcome: p**1.5 for outcome, p in law.items()}
    total = sum(sharper.values())
    wrong = Counter({outcome: round(RUNS * p / total) for outcome, p in sharper.items()})
    assert p_value(wrong, law) < REJECT_BELOW


def test_the_law_is_whole(law: Law) -> None:
    assert sum(law.values()) == pytest.approx(1.0)
    assert len(law) == len(list(product(range(TOP_K), repeat=TOKENS)))
