"""Agreement of draft and target: the fold against what a plain loop over two models counts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.config import RunConfig
from playground.doctor.agreement import (
    Agreement,
    Fold,
    Point,
    expected_tokens,
    flags_of,
    overlap_bounds,
    survival,
)  # fmt: skip
from playground.doctor.trial import Trial, trial_config, trial_prompts
from playground.errors import PlaygroundError
from playground.events import Candidate, RunFinished, RunStarted, Step, Token
from playground.runner import Runner
from playground.settings import Settings
from storage import Store
from tests.children import children
from tests.tiny import make_draft, make_model, make_tokenizer


def step(index: int, a: int, k: int, delivered: int | None = None, **more: object) -> Step:
    origins = ["accepted"] * a + ["bonus" if a == k else "recovered"]
    tokens = tuple(Token(i, "x", origin) for i, origin in enumerate(origins[:delivered]))  # type: ignore[arg-type]
    return Step(index, 0.1 * index, tokens, (), k, a, draft_seconds=0.01 * k, verify_seconds=0.1, **more)  # type: ignore[arg-type]


def test_a_step_says_which_of_its_tokens_the_draft_had_right() -> None:
    assert flags_of(step(1, 2, 4)) == [True, True, False]
    assert flags_of(step(1, 4, 4)) == [True] * 4 + [None]  # nothing was drafted where the bonus token stands
    assert flags_of(step(1, 0, 0)) == [None]
    assert flags_of(step(1, 3, 4, delivered=2)) == [True, True]  # cut by EOS


def naive(runs: list[list[bool]], longest: int) -> list[float | None]:
    """Of all positions that can see i flags, or a false before: the share whose first i are true."""
    shares: list[float | None] = []
    for i in range(1, longest + 1):
        starts = [(flags, t) for flags in runs for t in range(len(flags))]
        able = [flags[t : t + i] for flags, t in starts if len(flags) - t >= i or False in flags[t:]]
        shares.append(sum(len(w) == i and all(w) for w in able) / len(able) if able else None)
    return shares


@given(st.lists(st.lists(st.booleans(), max_size=30).map(lambda f: [*f, False]), min_size=1, max_size=5))
def test_agreement_is_the_share_of_positions_where_nothing_is_unknown(runs: list[list[bool]]) -> None:
    """Every text ends in a false, so that no position is cut short: the estimate must be the plain count."""
    found, told = survival(runs, 6)
    for ours, plain in zip(found, naive(runs, 6), strict=True):
        if ours is not None:
            assert ours == pytest.approx(plain)
    assert told[0] == sum(map(len, runs))


def test_unknown_positions_neither_help_nor_hurt() -> None:
    """Draft = target at k = 2: true, true, unknown, again and again. The agreement is 1 at every length it can see."""
    shares, told = survival([[True, True, None] * 20], 4)
    assert shares[:2] == (1.0, 1.0)
    assert shares[2:] == (None, None)
    assert told[:2] == (40, 20)


def test_expected_tokens_are_the_formulas() -> None:
    assert expected_tokens(1.0, 4) == 5.0
    assert expected_tokens(0.0, 4) == 1.0
    assert expected_tokens(0.5, 2) == pytest.approx(1 + 0.5 + 0.25)


@given(st.integers(1, 20), st.integers(2, 60), st.randoms(use_true_random=False))
def test_the_true_overlap_lies_within_its_bounds(count: int, size: int, random: object) -> None:
    def law() -> list[float]:
        weights = [random.random() ** 4 + 1e-6 for _ in range(size)]  # type: ignore[attr-defined]
        return [w / sum(weights) for w in weights]

    def best(probs: list[float]) -> list[Candidate]:
        order = sorted(range(size), key=lambda i: -probs[i])[:count]
        return [Candidate(i, "", probs[i]) for i in order]

    target, draft = law(), law()
    low, high = overlap_bounds(best(target), best(draft))
    true = sum(map(min, target, draft))
    assert low - 1e-9 <= true <= high + 1e-9
    if count >= size:
        assert low == pytest.approx(true)
        assert high == pytest.approx(true)


def fed(pairs: list[tuple[int, list[Step]]], *, longest: int = 4, cold_first: bool = True) -> Agreement:
    """A fold over baselines of 0.1 s a step and the given drafting runs."""
    fold = Fold(len(pairs), longest)
    for number, (k, steps) in enumerate(pairs):
        length = sum(len(s.tokens) for s in steps)
        baseline = [
            Step(i, 0.1 * i, (Token(0, "x", "target"),), draft_seconds=0.0, verify_seconds=0.1) for i in range(length)
        ]
        for arm, of_k, events in (("baseline", 0, baseline), ("speculative", k, steps)):
            since = 2 * number + (arm == "speculative") if cold_first else 9
            fold.add(str(number), arm, of_k, RunStarted((1,), "", {"runs_since_load": since}))
            for event in events:
                fold.add(str(number), arm, of_k, event)
            fold.add(str(number), arm, of_k, RunFinished("length", events[-1].at))
    return fold.agreement


def test_predicted_speed_from_agreement_and_step_times() -> None:
    """All four drafts right at 0.01 s each and 0.1 s a verification against 0.1 s a token: 5 tokens in 0.14 s."""
    prefill = Step(0, 0.0, (Token(0, "x", "target"),))
    found = fed([(4, [prefill, *(step(i, 4, 4) for i in range(1, 6))])] * 3, cold_first=False)
    last = found.curve[-1]
    assert (last.num_speculative_tokens, last.expected_tokens_per_step, last.formula) == (4, 5.0, 5.0)
    assert last.predicted_speedup == pytest.approx(5 * 0.1 / 0.14)
    middle = found.curve[1]  # on the line between 0 and 4 drafts
    assert middle.draft_seconds == pytest.approx(0.02)
    assert middle.predicted_speedup == pytest.approx(3 * 0.1 / 0.12)
    assert found.best == last
    assert found.judgement == "worth it"


def test_the_first_run_after_a_load_gives_no_times() -> None:
    """CASES 25: cold."""
    prefill = Step(0, 0.0, (Token(0, "x", "target"),))
    runs = (4, [prefill, *(step(i, 4, 4) for i in range(1, 6))])
    assert fed([runs]).target_seconds is None
    assert fed([runs]).judgement == "unknown"
    assert fed([runs, runs]).target_seconds is not None
    assert [fed([runs] * n).judgement for n in (2, 3, 4)] == ["unknown", "unknown", "worth it"]


def test_a_machine_that_slows_down_does_not_change_the_prediction() -> None:
    """Prompts are compared with their own baselines: one that ran ten times slower, both arms, says the same."""
    found = []
    for slow in (1.0, 10.0):
        fold = Fold(3, 4)
        for number, (k, factor) in enumerate(((4, 1.0), (2, slow), (4, 1.0))):
            for arm, of_k in (("baseline", 0), ("speculative", k)):
                fold.add(str(number), arm, of_k, RunStarted((1,), "", {"runs_since_load": 9}))
                for i in range(6):
                    tokens = tuple(Token(0, "x", "accepted") for _ in range(of_k + 1 if i else 1))
                    at, drafted = 0.1 * factor * i, of_k if i else 0
                    seconds = {"draft_seconds": 0.02 * of_k * factor, "verify_seconds": 0.1 * factor}
                    fold.add(str(number), arm, of_k, Step(i, at, tokens, (), drafted, drafted, **seconds))
                fold.add(str(number), arm, of_k, RunFinished("length", 1.0))
        found.append([point.predicted_speedup for point in fold.agreement.curve])
    assert found[0] == pytest.approx(found[1])


def test_a_dear_draft_is_not_worth_it_however_it_agrees() -> None:
    """CASES 23: each draft token costs what a target's pass costs."""
    prefill = Step(0, 0.0, (Token(0, "x", "target"),))
    steps = [Step(i, 0.5 * i, tuple(Token(0, "x", "accepted") for _ in range(5)), (), 4, 4, draft_seconds=0.4,
                  verify_seconds=0.11) for i in range(1, 6)]  # fmt: skip
    found = fed([(4, [prefill, *steps])] * 3, cold_first=False)
    assert found.agreement[0] == 1.0
    assert found.best is not None
    assert found.best.predicted_speedup is not None
    assert found.best.predicted_speedup < 1.0
    assert found.judgement == "not worth it"


def test_nothing_drafted_is_not_a_number() -> None:
    """CASES 24: no shares of nothing."""
    found = fed([(4, [Step(0, 0.0, (Token(0, "x", "target"),))])])
    assert found.agreement == (None,) * 4
    assert found.first_five is None
    assert found.curve == ()
    assert found.as_dict()["rule_of_thumb"]["holds"] is None


def test_the_rule_of_thumb_is_the_mean_over_five() -> None:
    assert Agreement(agreement=(0.9, 0.8, 0.7, 0.7, 0.65)).first_five == pytest.approx(0.75)
    assert Agreement(agreement=(0.9, 0.8, 0.7, 0.7, 0.65)).as_dict()["rule_of_thumb"]["holds"]
    assert Agreement(agreement=(0.9, 0.8)).first_five is None


def test_the_best_k_is_the_fastest_one() -> None:
    curve = tuple(Point(k, 1.0, 1.0, predicted_speedup=s) for k, s in ((1, 1.2), (2, 1.4), (3, 1.3)))
    assert Agreement(curve=curve).best == curve[1]


# -- with models ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("trial")
    target = make_model(root / "models" / "target")
    make_draft(root / "models" / "near", target, noise=0.05)
    make_model(root / "models" / "stranger", seed=3, tokenizer=make_tokenizer(swap=(70, 80)))
    return root


@pytest.fixture(scope="module")
def runner(data: Path) -> Iterator[Runner]:
    """One engine for all tests; after them nothing of it is left."""
    before = children()
    settings = Settings(data=data, device="cpu", threads=1)
    store = Store(settings.database_path)
    made = Runner(settings, store)
    yield made
    made.close()
    store.close()
    assert {p for p in children() - before if p.is_running()} == set()


PROMPTS = ["the quick brown fox", "one two three four", "def add(a, b):"]


def truth(target: Path, draft: Path, runs: list[tuple[list[int], list[int]]], longest: int) -> list[float]:
    """Agreement counted by hand: the draft's own greedy continuation of every position of the target's answers."""
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(draft, dtype=torch.float32).eval()
    agreed, told = [0] * longest, [0] * longest
    with torch.inference_mode():
        for prompt, answer in runs:
            for t in range(1, len(answer)):
                ids = prompt + answer[:t]
                for _ in range(min(longest, len(answer) - t)):
                    ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
                right = [a == b for a, b in zip(ids[len(prompt) + t :], answer[t:], strict=False)]
                for i in range(longest):
                    if i < len(right) or False in right:
                        told[i] += 1
                        agreed[i] += i < len(right) and all(right[: i + 1])
    return [a / n for a, n in zip(agreed, told, strict=True)]


def test_agreement_of_two_models_is_what_a_plain_loop_counts(data: Path, runner: Runner) -> None:
    """The rows of text have unknown positions (bonus tokens), which the plain loop has not: near, not equal."""
    config = trial_config("target", "near", max_tokens=40, num_speculative_tokens=6, dtype="float32")
    config = config.model_copy(update={"chat": False})
    trial = Trial(runner, config, PROMPTS)
    last = None
    for progress in trial:
        last = progress
    assert last is not None
    assert last.finished
    assert (last.done, last.total) == (6, 6)
    found = trial.agreement
    assert (found.prompts, found.identical) == (3, 3)
    store = runner._store
    rows = [r for r in store.runs(source="doctor").rows if r.arm == "baseline"]
    assert len(rows) == 3
    answers = []
    for row in rows:
        events = list(store.replay(row.run_id))
        started = next(e for e in events if isinstance(e, RunStarted))
        ids = [token.id for e in events if isinstance(e, Step) for token in e.tokens]
        answers.append((list(started.prompt_token_ids), ids))
    plain = truth(data / "models" / "target", data / "models" / "near", answers, 3)
    assert [s for s in found.agreement[:3] if s is not None] == pytest.approx(plain, abs=0.12)
    assert found.overlap is not None
    assert 0 < found.overlap[0] <= found.overlap[1] <= 1
    assert found.curve[0].predicted_speedup is not None
    assert [p.num_speculative_tokens for p in found.curve if p.n] == [2, 3]  # the first pair is cold


def test_a_draft_that_is_its_target_agrees_always(runner: Runner) -> None:
    """CASES 7: at every length, with outputs identical."""
    config = trial_config("target", "target", max_tokens=24, num_speculative_tokens=4, dtype="float32")
    trial = Trial(runner, config, PROMPTS[:2])
    for _ in trial:
        pass
    assert set(trial.agreement.agreement) == {1.0}
    assert trial.agreement.overlap is not None
    assert trial.agreement.overlap[1] == pytest.approx(1.0, abs=1e-3)
    assert trial.agreement.identical == 2


def test_a_pair_that_cannot_work_fails_with_its_reason(runner: Runner) -> None:
    """CASES 2: also when it is only found out by loading."""
    with pytest.raises(PlaygroundError, match="first is 70"):
        for _ in Trial(runner, trial_config("target", "stranger", max_tokens=8, dtype="float32"), PROMPTS):
            pass


def test_stop_keeps_what_is_done_and_leaves_nothing_running(runner: Runner) -> None:
    trial = Trial(
        runner, trial_config("target", "near", max_tokens=200, num_speculative_tokens=2, dtype="float32"), PROMPTS * 4
    )
    done = 0
    for progress in trial:
        done = progress.done
        if done == 4:
            trial.abort()
    assert done < 24
    assert trial.agreement.cancelled
    assert trial.agreement.prompts >= 2
    assert runner.status().run_id is None


def test_prompts_are_the_users_own_or_a_suites(settings: Settings) -> None:
    assert trial_prompts(settings, prompts=["a", " ", "b"]) == ["a", "b"]
    assert len(trial_prompts(settings, limit=3)) == 3
    with pytest.raises(PlaygroundError, match="no suite"):
        trial_prompts(settings, suite="nothing")


def test_the_runs_are_greedy_and_alternate() -> None:
    from playground.doctor.trial import _runs

    runs = _runs(trial_config("t", "d", num_speculative_tokens=10), ["a", "b", "c", "d"])
    assert [r.arm for r in runs] == ["baseline", "speculative"] * 4
    ks = [r.config.speculation.num_speculative_tokens for r in runs if r.config.speculation]
    assert ks == [10, 5, 2, 10]
    assert all(r.config.sampling.greedy for r in runs)
    assert isinstance(runs[0].config, RunConfig)
