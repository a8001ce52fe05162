"""The scripted engine: a stream like a real engine's, the same every time, right at every edge."""

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.config import RunConfig, SamplingParams, Speculation
from playground.engines import EngineContext
from playground.engines.scripted import Engine, ScriptedOptions
from playground.events import Heartbeat, RunFinished, RunStarted, Step
from playground.metrics import RunResult

NGRAM, DRAFT = Speculation(method="ngram"), Speculation(method="draft_model", model="small")


def config(speculation=NGRAM, sampling=None, **options):
    return RunConfig(
        engine="scripted",
        engine_options={"pace": False, "load_seconds": 0} | options,
        speculation=speculation,
        sampling=SamplingParams(**(sampling or {})),
    )


def stream(config, prompt="Hello"):
    engine = Engine(config, EngineContext())
    list(engine.load())
    engine.submit("a", config, prompt)
    events = []
    for _, event in engine.events():
        events.append(event)
        if isinstance(event, RunFinished):
            engine.close()
    return events


def steps(events):
    return [event for event in events if isinstance(event, Step)]


def ids(events):
    return [token.id for step in steps(events) for token in step.tokens]


def consistent(events):
    """What events.py and METRICS.md promise of every stream."""
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert [step.index for step in steps(events)] == list(range(len(steps(events))))
    for step in steps(events):
        k, a, n = step.num_draft_tokens, step.num_accepted_tokens, len(step.tokens)
        assert 0 <= a <= k
        assert 1 <= n <= a + 1
        assert n == a + 1 or step.truncated
        assert len(step.rejected) == k - a
        assert {token.origin for token in step.rejected} <= {"rejected"}
        assert all(token.target_prob is None for token in step.rejected[1:])
        origins = [token.origin for token in step.tokens]
        whole = ["accepted"] * a + ["target" if k == 0 else "bonus" if a == k else "recovered"]
        assert origins == whole[:n]
        assert len(step.logit_gaps) == a + 1
        assert len(step.target_candidates) in (0, a + 1)
        assert len(step.draft_candidates) in (0, k)
    for step in steps(events)[:-1]:
        assert step.truncated is None
    times = [step.at for step in steps(events)]
    assert times == sorted(times)
    result = RunResult.of(events)
    assert result.problems == ()
    assert "".join(token.text for step in steps(events) for token in step.tokens) == events[-1].text


@pytest.mark.parametrize("source", ["lorem", "code", "hostile", "chinese"])
def test_both_arms_write_the_same_text(source):
    arms = [stream(config(speculation, source=source)) for speculation in (None, NGRAM, DRAFT)]
    for events in arms:
        consistent(events)
    assert ids(arms[0]) == ids(arms[1]) == ids(arms[2])
    assert len(steps(arms[0])) == 121
    assert len(steps(arms[1])) < 121


def test_hostile_text_covers_what_breaks_pages():
    """CASES 14 and 27."""
    events = stream(config(source="hostile"))
    for part in ("<b>", "</span><script>", "${x}", "{{x}}", "```", "👩‍👩‍👧", "e\u0301", "你好", "\t", "\u202e"):
        assert part in events[-1].text
    assert any(token.text == "" and token.id != 2 for step in steps(events) for token in step.tokens)
    assert any(token.text.isspace() for step in steps(events) for token in step.tokens)


def test_the_same_every_time_and_another_with_another_seed():
    first, again, other = (stream(config(DRAFT, steps_seed=seed)) for seed in (1, 1, 2))
    assert steps(first) == steps(again)
    assert steps(first) != steps(other)


@settings(max_examples=60, deadline=None)
@given(
    max_tokens=st.integers(1, 40),
    k=st.integers(1, 8),
    length=st.integers(0, 40),
    acceptance=st.sampled_from([0.0, 0.5, 1.0]),
    ignore_eos=st.booleans(),
    stop=st.sampled_from([(), ("draft model",), ("tokens and",), ("zzz",)]),
)
def test_every_cut_is_exact(max_tokens, k, length, acceptance, ignore_eos, stop):
    """CASES 11, 12 and 13, of this engine: the stream stays consistent wherever it is cut."""
    run = config(
        Speculation(num_speculative_tokens=k),
        {"max_tokens": max_tokens, "ignore_eos": ignore_eos, "stop": stop},
        length=length,
        acceptance=acceptance,
    )
    events = stream(run)
    consistent(events)
    assert events[-1].usage_completion_tokens == len(ids(events)) <= max_tokens
    assert ids(events) == ids(stream(run.baseline()))
    assert events[-1].reason == ("length" if steps(events)[-1].truncated == "length" else "stop")
    assert all(text not in events[-1].text for text in stop)


def test_min_tokens_holds_back_the_end():
    sampling = {"min_tokens": 20, "stop": ["draft"]}
    events = stream(config(None, sampling, length=5))
    consistent(events)
    assert len(ids(events)) >= 20


def test_full_acceptance():
    """CASES 7."""
    result = RunResult.of(stream(config(Speculation(num_speculative_tokens=4), {"max_tokens": 101}, acceptance=1.0)))
    assert result.draft_acceptance_rate == 1.0
    assert result.tokens_per_step == 5.0


def test_divergence_and_miscount_can_be_shown():
    base, tie = stream(config(None, diverge_at=10)), stream(config(diverge_at=10))
    assert ids(base)[:10] == ids(tie)[:10]
    assert ids(base)[10] != ids(tie)[10]
    gaps = [gap for step in steps(base) for gap in step.logit_gaps]
    assert gaps[10] < 1e-3
    assert RunResult.of(stream(config(miscount=True))).reconciled is False


def test_inspector_sees_why_a_draft_was_refused():
    events = stream(config(DRAFT, acceptance=0.3))
    refused = [step for step in steps(events) if step.rejected]
    assert refused
    for step in refused:
        a, first = step.num_accepted_tokens, step.rejected[0]
        assert first.id in [candidate.id for candidate in step.target_candidates[a]]
        assert step.draft_candidates[a][0].id == first.id
        assert first.target_prob < step.target_candidates[a][0].prob
    assert all(len({c.id for c in law}) == len(law) for step in refused for law in step.target_candidates)


def test_paced_and_unpaced_plan_the_same_times():
    fast = stream(config(None, length=3, prefill_seconds=0.6, tokens_per_second=100))
    slow = stream(config(None, length=3, prefill_seconds=0.6, tokens_per_second=100, pace=True))
    assert steps(fast) == steps(slow)
    assert any(isinstance(event, Heartbeat) for event in slow)


def test_runs_at_once_and_abort():
    quick, long = config(length=5), config(length=100_000, sampling={"max_tokens": 100_000}, pace=True)
    engine = Engine(quick, EngineContext())
    engine.submit("long", long, "x")
    engine.submit("quick", quick, "x")
    ended = {}
    for run_id, event in engine.events():
        if isinstance(event, RunFinished):
            ended[run_id] = event.reason
            engine.abort("long")
            engine.abort("nobody")
        if len(ended) == 2:
            engine.close()
    assert ended == {"quick": "stop", "long": "cancelled"}


def test_closing_ends_an_idle_engine():
    engine = Engine(config(), EngineContext())
    threading.Timer(0.05, engine.close).start()
    assert list(engine.events()) == []


def test_options_have_words():
    for name, field in ScriptedOptions.model_fields.items():
        assert field.title, name
        assert field.description, name
