"""The token pane's wire: what a feed sends, in which order, and what it can send again."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.config import RunConfig, SamplingParams, Speculation
from playground.engines._script import Script, ScriptedOptions
from playground.events import UNKNOWN_TOKEN_ID, Event, Heartbeat, Loading, Queued, RunFinished, RunStarted, Step, Token
from playground.ui import token_pane
from playground.ui.token_pane import KEPT_FEEDS, Feed, pane_state, since


def token(text: str, origin: Any = "accepted", id: int = 7) -> Token:
    return Token(id, text, origin, 0.5, 0.25)


def step(index: int, tokens: tuple[Token, ...], **fields: Any) -> Step:
    return Step(index, float(index), tokens, **fields)


def sent(feed: Feed) -> dict[str, Any]:
    value = feed.value()
    assert value is not None
    message: dict[str, Any] = json.loads(value)
    return message


def events(speculative: bool = True, length: int = 60, **sampling: Any) -> list[Event]:
    config = RunConfig(
        engine="scripted",
        speculation=Speculation(method="draft_model", num_speculative_tokens=4) if speculative else None,
        sampling=SamplingParams(max_tokens=length + 20, **sampling),
    )
    return [event for _, event in Script(config, ScriptedOptions(length=length), "prompt")]


def test_a_feed_sends_each_token_once_and_nothing_when_nothing_is_new() -> None:
    feed, got = Feed("once"), []
    for event in events():
        feed.add(event)
        if value := feed.value():
            message = json.loads(value)
            assert message["from"] == len(got)
            got += message["toks"]
        assert feed.value() is None
    assert feed.value() is None
    assert got == feed.since(0)["toks"]


def test_heartbeats_send_nothing() -> None:
    feed = Feed("heartbeat")
    feed.value()
    feed.add(Heartbeat())
    assert feed.value() is None


def test_delivered_tokens_join_to_the_text() -> None:
    """CASES 14, on the wire: what is not a draft's end joins to the one-shot text, each token once."""
    feed, finish = Feed("join"), None
    for event in events():
        feed.add(event)
        finish = event if isinstance(event, RunFinished) else finish
    assert finish is not None
    wire = feed.since(0)["toks"]
    assert "".join(text for kind, text, *_ in wire if kind not in "xun") == finish.text


def test_a_step_is_sent_as_it_is_read() -> None:
    """Accepted, then what was refused and discarded, then what took its place."""
    feed = Feed("order")
    feed.add(
        step(
            3,
            (token("a"), token("c", "recovered")),
            rejected=(token("b", "rejected"), token("?", "rejected"), token("", "rejected", UNKNOWN_TOKEN_ID)),
            num_draft_tokens=4,
            num_accepted_tokens=1,
        )
    )
    assert [t[0] for t in sent(feed)["toks"]] == ["a", "x", "u", "n", "r"]
    assert all(t[2] == 3 for t in feed.since(0)["toks"])


def test_a_truncated_step_hides_drafts_beyond_the_end() -> None:
    """CASES 9: EOS accepted mid-block; nothing is shown after it."""
    feed = Feed("eos")
    feed.add(
        step(
            1,
            (token("a"), token("", "accepted", 2)),
            rejected=(token("late", "rejected"),),
            num_draft_tokens=4,
            num_accepted_tokens=3,
            truncated="eos",
        )
    )
    feed.add(RunFinished("stop", 2.0, "a"))
    message = sent(feed)
    assert [t[:2] for t in message["toks"]] == [["a", "a"], ["A", ""]]
    assert message["state"] == {"name": "done", "reason": "eos"}


def test_a_stop_string_takes_shown_text_back() -> None:
    """CASES 12: the text is cut before the stop string; the length counts as JavaScript does."""
    feed = Feed("stop")
    feed.add(step(1, (token("😀 one"), token(" EN"), token("D", "bonus")), num_draft_tokens=2, num_accepted_tokens=2))
    feed.add(RunFinished("stop", 1.0, "😀 one "))
    assert sent(feed)["trim"] == len("xx one ")


def test_a_text_that_is_no_beginning_of_what_was_shown_trims_nothing() -> None:
    feed = Feed("odd")
    feed.add(step(1, (token("abc"),)))
    feed.add(RunFinished("stop", 1.0, "xb"))
    assert "trim" not in sent(feed)


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (Loading("weights", "SmolLM2", 0.5, 3.0), "loading"),
        (Queued(2, 9.0), "queued"),
        (RunStarted((1, 2)), "running"),
        (RunFinished("cancelled", 1.0), "stopped"),
        (RunFinished("interrupted", 1.0), "stopped"),
        (RunFinished("error", 1.0, error="It broke.", hint="Fix it.", code="x"), "failed"),
        (RunFinished("length", 1.0), "done"),
    ],
)
def test_states_travel_with_the_tokens(event: Event, name: str) -> None:
    feed = Feed(f"state-{name}")
    feed.value()
    feed.add(event)
    assert sent(feed)["state"]["name"] == name


def test_a_failure_carries_its_fix_and_its_details() -> None:
    feed = Feed("failure")
    feed.add(RunStarted((1,), "", {"device": "cpu"}))
    feed.add(RunFinished("error", 1.0, error="It broke.", hint="Fix it.", code="engine_died"))
    state = sent(feed)["state"]
    assert (state["message"], state["hint"]) == ("It broke.", "Fix it.")
    assert "engine_died" in state["details"]
    assert "cpu" in state["details"]


def test_every_value_says_what_a_lost_one_would_have_said() -> None:
    """A busy browser sees only the last of two values: it must carry state, rate and counts by itself."""
    feed = Feed("lost")
    for event in events():
        feed.add(event)
    message = sent(feed)
    assert {"run", "from", "pos", "toks", "rate", "n", "k", "a", "state"} <= message.keys()


def test_a_recording_says_so_in_every_value() -> None:
    feed = Feed("recorded", recorded={"hardware": "H200", "date": "2026-11-01"})
    feed.add(RunStarted((1,)))
    assert sent(feed)["recorded"] == {"hardware": "H200", "date": "2026-11-01"}


@given(gap=st.integers(0, 200), cut=st.integers(1, 200))
@settings(deadline=None, max_examples=25)
def test_a_gap_is_healed_exactly(gap: int, cut: int) -> None:
    """Whatever a browser has missed, `since` from its own count gives the rest, with the right position."""
    feed = Feed("heal")
    for event in events()[:cut]:
        feed.add(event)
    every = feed.since(0)["toks"]
    rest = since(["heal", gap])
    assert rest is not None
    assert rest["toks"] == every[gap:]
    assert rest["pos"] == sum(t[0] not in "xun" for t in every[:gap])


@pytest.mark.parametrize("arguments", [[], ["nobody", 0], [None, 0], ["heal"], ["heal", "0"], [["heal"], 0]])
def test_since_answers_nonsense_with_nothing(arguments: list[Any]) -> None:
    assert since(arguments) is None


def test_the_registry_is_bounded() -> None:
    for i in range(KEPT_FEEDS + 5):
        Feed(f"bounded-{i}")
    assert len(token_pane._feeds) == KEPT_FEEDS
    assert since(["bounded-0", 0]) is None
    assert since([f"bounded-{KEPT_FEEDS + 4}", 0]) is not None


def test_model_text_cannot_open_a_tag_in_transit() -> None:
    """CASES 27: Gradio warns about, and might one day render, a value with a script tag in it."""
    feed = Feed("script")
    feed.add(step(1, (token("</span><script>alert(1)</script>${x}{{x}}"),)))
    value = feed.value()
    assert value is not None
    assert "<" not in value
    assert json.loads(value)["toks"][0][1] == "</span><script>alert(1)</script>${x}{{x}}"


def test_a_value_costs_what_is_new() -> None:
    """Linear wire: after 4,096 tokens a value with one new token is as small as the first."""
    feed = Feed("linear")
    for i in range(4096):
        feed.add(step(i, (token(" word", "target"),)))
    feed.value()
    feed.add(step(4096, (token(" word", "target"),)))
    assert len(feed.value() or "") < 400


def test_pane_state_without_a_run_clears() -> None:
    message = json.loads(pane_state("queued", "r", position=3))
    assert message == {"run": "r", "from": 0, "pos": 0, "toks": [], "state": {"name": "queued", "position": 3}}
