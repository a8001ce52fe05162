"""The remote engine against a stand-in server with each kind's bodies: what it shows, compares, and leaves untold."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from playground.comparison import ComparisonFold
from playground.config import Message, RunConfig, SamplingParams, Speculation
from playground.engines import EngineContext
from playground.engines.remote import Engine
from playground.errors import PlaygroundError
from playground.events import UNKNOWN_TOKEN_ID, Loading, RunFinished, RunStarted, Step
from playground.metrics import RunResult
from tests.remote_standin import CHAT, RAW, Answer, StandIn, body, plain, recorded, sse, standin

VLLM_MODELS = plain({"data": [{"id": "m", "owned_by": "vllm", "root": "m"}]})
KEY = "sk-very-secret"


def config(url: str, *, speculative: bool = True, chat: bool = True, options: Any = None, **more: Any) -> RunConfig:
    sampling = {"max_tokens": 64} | more.pop("sampling", {})
    return RunConfig(
        engine="remote",
        target=more.pop("target", "m"),
        speculation=Speculation(method="server") if speculative else None,
        sampling=SamplingParams(**sampling),
        engine_options={"url": url, "timeout": 120.0} | (options or {}),
        chat=chat,
        **more,
    )


@contextmanager
def loaded(of: RunConfig, context: EngineContext | None = None) -> Iterator[Engine]:
    engine = Engine(of, context or EngineContext())
    list(engine.load())
    try:
        yield engine
    finally:
        engine.close()


def run(engine: Engine, of: RunConfig, prompt: str = "Count.") -> list[Any]:
    """All events of one run."""
    engine.submit("a", of, prompt)
    found: list[Any] = []
    for _, event in engine.events():
        found.append(event)
        if isinstance(event, RunFinished):
            break
    return found


def once(answers: Mapping[str, Any], context: EngineContext | None = None, **more: Any) -> tuple[list[Any], StandIn]:
    with standin(answers) as server:
        of = config(server.url, **more)
        with loaded(of, context) as engine:
            return run(engine, of), server


def message(text: str = "", ids: Any = None, total: Any = None, finish: str | None = None, **more: Any) -> Any:
    """A chat message in vLLM's shape."""
    choice: dict[str, Any] = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    found: dict[str, Any] = {"choices": [choice]}
    if ids is not None:
        choice["token_ids"] = ids
    if total is not None:
        found["usage"] = {"prompt_tokens": 3, "completion_tokens": total}
    return found | more


def ending(tokens: int, **spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": tokens}}
    return found | ({"metrics": {"speculative_decoding": spec}} if spec else {})


def vllm(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"/v1/models": VLLM_MODELS, CHAT: sse(*messages, **more)}


SPEC = {
    "num_spec_steps": 3,
    "num_draft_tokens": 8,
    "num_accepted_draft_tokens": 4,
    "num_spec_tokens": 3,
    "acceptance_histogram": [1, 1, 0, 1],
    "per_step_drafted": [3, 3, 2],
    "per_step_accepted": [3, 0, 1],
}
GOOD = (
    message("", [], 0, prompt_token_ids=[1, 2, 3]),
    message("A", [10], 1),
    message(" b c d", [11, 12, 13, 14], 5),
    message(" e", [15], 6),
    message(" f.", [16, 17], 8, "length"),
)


def test_a_message_is_a_pass_of_vllm():
    events, server = once(vllm(*GOOD, ending(8, **SPEC)))
    started, *steps, finished = events
    assert isinstance(started, RunStarted)
    assert started.prompt_token_ids == (1, 2, 3)
    assert [len(step.tokens) for step in steps] == [1, 4, 1, 2]
    assert [[t.origin for t in step.tokens] for step in steps[1:]] == [
        ["accepted"] * 3 + ["target"],
        ["target"],
        ["accepted", "target"],
    ]
    assert [t.id for step in steps for t in step.tokens] == list(range(10, 18))
    assert [step.num_draft_tokens for step in steps] == [0, 0, 0, 0]
    assert steps[-1].truncated == "length"
    assert finished.reason == "length"
    assert finished.text == "A b c d e f." == "".join(t.text for step in steps for t in step.tokens)
    (_, asked) = server.bodies()
    assert asked["return_token_ids"] is True
    assert asked["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert asked["cache_salt"] != server.bodies()[0]["cache_salt"]


def test_figures_per_pass_are_taken_over_and_nothing_is_invented():
    result = RunResult.of(once(vllm(*GOOD, ending(8, **SPEC)))[0])
    assert result.reconciled is True
    assert (result.num_steps, result.num_drafting_steps) == (3, 3)
    assert (result.num_draft_tokens, result.num_accepted_tokens) == (8, 4)
    assert result.accepted_at == (2, 1, 1)
    assert result.drafted_at == (3, 3, 2)
    assert result.draft_acceptance_rate == 0.5
    assert result.mean_acceptance_length == 1 + 4 / 3
    assert result.tokens_per_step == 7 / 3
    assert result.num_delivered_accepted == 4


def test_a_histogram_is_used_only_where_every_pass_drafted_in_full():
    spec = {name: value for name, value in SPEC.items() if not name.startswith("per_step")}
    assert RunResult.of(once(vllm(*GOOD, ending(8, **spec)))[0]).survival == ()
    full = spec | {"num_draft_tokens": 9}
    result = RunResult.of(once(vllm(*GOOD, ending(8, **full)))[0])
    assert result.survival == (2 / 3, 1 / 3, 1 / 3)
    assert result.conditional_acceptance == (2 / 3, 1 / 2, 1.0)


def test_a_server_without_figures_says_so():
    """And its acceptance is n/a, not zero; that accepted tokens were seen is not hidden."""
    events, _ = once(vllm(*GOOD, ending(8)))
    result = RunResult.of(events)
    assert result.reconciled is True
    assert result.draft_acceptance_rate is None
    assert result.mean_acceptance_length is None
    assert result.survival == ()
    assert result.tokens_per_step == 7 / 3
    assert "drafts" in events[0].environment["untold"]
    assert any("--per-request-spec-decode-metrics" in warning for warning in result.environment["warnings"])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ({"num_accepted_draft_tokens": 9, "num_draft_tokens": 8}, "9 accepted of 8"),
        ({"acceptance_histogram": [1, 1, 0, 7]}, "histogram"),
        ({"per_step_accepted": [3, 3, 4], "per_step_drafted": [3, 3, 2]}, "list of passes"),
        ({"num_draft_tokens": 90}, "passes of at most"),
        (
            {"num_accepted_draft_tokens": 1, "acceptance_histogram": [2, 1, 0, 0], "per_step_accepted": [1, 0, 0]},
            "its stream shows 4",
        ),
    ],
)
def test_figures_that_cannot_be_make_the_run_invalid(spoil, words):
    result = RunResult.of(once(vllm(*GOOD, ending(8, **SPEC | spoil)))[0])
    assert result.valid is False
    assert words in " ".join(result.problems)


@pytest.mark.parametrize(
    "rubbish", [None, "many", -3, 2.5, True, [1], {"a": 1}, 10**40], ids=lambda value: type(value).__name__
)
def test_malformed_figures_count_as_not_said(rubbish):
    result = RunResult.of(once(vllm(*GOOD, ending(8, **SPEC | dict.fromkeys(SPEC, rubbish))))[0])
    assert result.valid
    assert result.draft_acceptance_rate is None
    assert result.num_delivered == 8


def test_a_server_that_lies_about_usage():
    result = RunResult.of(once(vllm(*GOOD, ending(80, **SPEC)))[0])
    assert result.valid is False
    assert "80" in " ".join(result.problems)


def test_a_count_that_differs_from_the_named_tokens():
    spoiled = (*GOOD[:3], message(" e", [15], 9), *GOOD[4:])
    assert RunResult.of(once(vllm(*spoiled, ending(8)))[0]).valid is False


def test_more_than_was_asked_for_is_cut_off_and_said():
    flood = [message("x", [1] * 50, 50 * i) for i in range(1, 40)]
    events, server = once(vllm(*flood, ending(1950)))
    assert server.closed_early.wait(60) or len(events) < 10
    result = RunResult.of(events)
    assert result.valid is False
    assert "at most 64" in " ".join(result.problems)
    assert result.num_delivered < 200


def test_sglang():
    """Its own shape: counts without ids, the end without a token, figures in `sglext`."""
    answers = {
        "/v1/models": Answer(body("sglang_models.json")),
        "/server_info": Answer(body("sglang_server_info.json")),
        CHAT: recorded("sglang_chat.sse"),
    }
    events, server = once(answers, target="default")
    result = RunResult.of(events)
    assert result.problems == ()
    assert events[0].environment["engine_path"].startswith("SGLang 0.5.23 at http://127.0.0.1")
    assert "ids" in events[0].environment["untold"]
    assert [len(e.tokens) for e in events if isinstance(e, Step)] == [1, 4, 2, 1, 2, 1]
    assert events[-1].text == "1, 2, 3, 4, 5."
    assert (result.num_delivered, result.num_steps, result.num_drafting_steps) == (11, 5, 5)
    assert (result.num_draft_tokens, result.num_accepted_tokens) == (15, 5)
    assert result.survival == (3 / 5, 1 / 5, 1 / 5)
    (asked, *_) = server.bodies()
    assert asked["return_spec_tokens_details"] is True
    assert asked["top_k"] == -1
    assert "return_token_ids" not in asked


def test_sglang_with_ngram_does_not_say_how_much_was_drafted():
    info = json.loads(body("sglang_server_info.json")) | {"speculative_algorithm": "NGRAM"}
    answers = {
        "/v1/models": Answer(body("sglang_models.json")),
        "/server_info": plain(info),
        CHAT: recorded("sglang_chat.sse"),
    }
    result = RunResult.of(once(answers, target="default")[0])
    assert result.draft_acceptance_rate is None
    assert result.survival == ()
    assert result.num_drafting_steps == 5


def test_tensorrt_llm():
    """Only the mean is said; no field of another server's is sent, since it refuses what it does not know."""
    answers = {"/v1/models": Answer(body("tensorrt_llm_models.json")), CHAT: recorded("tensorrt_llm_chat.sse")}
    events, server = once(answers, target="llama", sampling={"top_k": 20, "temperature": 0.5, "seed": 3})
    result = RunResult.of(events)
    assert [len(e.tokens) for e in events if isinstance(e, Step)] == [1, 3, 4, 2, 1]
    assert result.tokens_per_step == 10 / 4
    assert result.draft_acceptance_rate is None
    assert result.survival == ()
    known = {
        "model", "messages", "stream", "stream_options", "temperature", "top_p", "top_k", "min_p", "max_tokens", "seed",
        "presence_penalty", "frequency_penalty", "repetition_penalty", "min_tokens", "ignore_eos",
    }  # fmt: skip
    assert set(server.bodies()[1]) == known


def test_an_unknown_server_is_asked_for_nothing_it_may_refuse():
    messages = [{"choices": [{"delta": {"content": text}, "index": 0}]} for text in ("One", " two", " three")]
    messages.append({"choices": [{"delta": {}, "index": 0, "finish_reason": "stop"}]})
    messages.append({"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 7}})
    answers = {"/v1/models": plain({"data": [{"id": "m", "owned_by": "someone"}]}), CHAT: sse(*messages)}
    events, server = once(answers)
    assert set(server.bodies()[0]) == {
        "model", "messages", "stream", "stream_options", "temperature", "top_p", "max_tokens", "presence_penalty",
        "frequency_penalty",
    }  # fmt: skip
    result = RunResult.of(events)
    assert {"ids", "counts", "steps", "drafts"} == result.untold
    assert result.num_delivered == 7
    assert result.tokens_per_step is None
    assert result.draft_share_of_output is None
    assert result.tpot == pytest.approx((result.last_at - result.first_at) / 6)
    with standin(answers) as again:
        of = config(again.url, sampling={"min_p": 0.1, "temperature": 1.0})
        with loaded(of) as engine:
            (finished,) = run(engine, of)
    assert finished.code == "not_supported"
    assert "min_p" in finished.error


@pytest.mark.parametrize(
    ("status", "text", "code", "words"),
    [
        (401, {"error": {"message": "Invalid key sk-very-secret given", "code": 401}}, "unauthorized", "401"),
        (403, {"detail": "no"}, "unauthorized", "403"),
        (404, {"error": {"message": "The model `m` does not exist."}}, "no_such_model", "“m”"),
        (404, {"detail": "Not Found"}, "not_found", "404"),
        (422, {"detail": [{"msg": "extra field", "loc": ["body"]}]}, "refused", "extra field"),
        (429, {"error": "slow down"}, "too_many", "slow down"),
        (500, {"object": "error", "message": "boom"}, "server_error", "boom"),
        (503, {}, "server_error", "503"),
        (307, {}, "redirected", "307"),
    ],
)
def test_what_a_server_refuses_is_one_sentence_and_a_fix(status, text, code, words):
    good = vllm(*GOOD, ending(8))
    answers = good | {CHAT: [good[CHAT], plain(text, status, retry_after="7", location="http://127.0.0.1:1/")]}
    with standin(answers) as server:
        context = EngineContext(keys={server.url: SecretStr(KEY)})
        of = config(server.url)
        with loaded(of, context) as engine:
            (finished,) = [e for e in run(engine, of) if isinstance(e, RunFinished)]
            assert (finished.reason, finished.code) == ("error", code)
            assert words in finished.error
            assert finished.hint
            assert KEY not in finished.error + finished.hint
            assert len([1 for path, _, _ in server.asked if path == CHAT]) == 2
            if status == 429:
                assert "7 s" in finished.hint
            assert server.asked[-1][2]["Authorization"] == f"Bearer {KEY}"


def test_the_next_run_after_a_failed_one_is_right():
    good = vllm(*GOOD, ending(8))
    with standin(good | {CHAT: [good[CHAT], plain({}, 500), good[CHAT]]}) as server:
        of = config(server.url)
        with loaded(of) as engine:
            assert run(engine, of)[-1].reason == "error"
            assert run(engine, of)[-1].reason == "length"


def test_an_error_in_the_middle_of_a_stream():
    """What came before it is kept."""
    answers = vllm(*GOOD, ending(8))
    broken = sse(*GOOD[:3], {"error": {"message": "out of blocks", "code": 500}})
    events, _ = once(answers | {CHAT: [answers[CHAT], broken]})
    assert events[-1].code == "server_error"
    assert "out of blocks" in events[-1].error
    assert events[-1].text == "A b c d"
    assert RunResult.of(events).num_delivered == 5


@pytest.mark.parametrize("how", ["cut", "no end"])
def test_a_stream_cut_in_the_middle_is_a_marked_part(how):
    answers = vllm(*GOOD, ending(8))
    broken = sse(*GOOD, cut=3) if how == "cut" else sse(*GOOD[:3], done=True)
    events, _ = once(answers | {CHAT: [answers[CHAT], broken]})
    assert (events[-1].reason, events[-1].code) == ("error", "stream_cut")
    assert "a part of it" in events[-1].error
    assert events[-1].text == "A b c d"


def test_silence_is_given_up_after_the_patience():
    answers = vllm(*GOOD, ending(8))
    silent = sse(*GOOD[:2], silence=30.0, done=False)
    events, _ = once(answers | {CHAT: [answers[CHAT], silent]}, options={"timeout": 1.0})
    assert events[-1].code == "timeout"
    assert "1 s" in events[-1].error
    assert events[-1].text == "A"


def test_stopping_closes_the_connection():
    """CASES 26: the server notices, and the next run is right."""
    answers = vllm(*GOOD, ending(8))
    with standin(answers | {CHAT: [answers[CHAT], sse(*GOOD[:3], silence=30.0, done=False), answers[CHAT]]}) as server:
        of = config(server.url)
        with loaded(of) as engine:
            engine.submit("a", of, "Count.")
            for _, event in engine.events():
                if isinstance(event, Step) and event.index == 1:
                    engine.abort("a")
                if isinstance(event, RunFinished):
                    break
            assert event.reason == "cancelled"
            assert event.text == "A b c d"
            assert server.closed_early.wait(60)
            assert run(engine, of)[-1].reason == "length"


def test_several_runs_at_once():
    answers = vllm(*GOOD, ending(8, **SPEC), pause=0.05)
    with standin(answers) as server:
        of = config(server.url)
        with loaded(of) as engine:
            for name in "abc":
                engine.submit(name, of, name)
            found: dict[str, list[Any]] = {name: [] for name in "abc"}
            order = []
            for name, event in engine.events():
                found[name].append(event)
                order.append(name)
                if all(isinstance(events[-1:][0] if events else None, RunFinished) for events in found.values()):
                    break
    assert all(RunResult.of(events).reconciled for events in found.values())
    assert order != sorted(order)


def test_stopping_before_a_run_began():
    with standin(vllm(*GOOD, ending(8))) as server:
        of = config(server.url)
        with loaded(of) as engine:
            engine._loop.call_soon_threadsafe(lambda: (engine._begin("a", of, "Count."), engine._cancel("a")))
            (_, event) = next(engine.events())
    assert event == RunFinished("cancelled", 0.0)


def test_a_server_that_is_not_there():
    with standin({}) as server:
        url = server.url
    with pytest.raises(PlaygroundError) as caught, loaded(config(url)):
        pass
    assert caught.value.code == "unreachable"
    assert url in caught.value.message


def test_a_model_it_does_not_serve_is_answered_with_those_it_does():
    with (
        standin(vllm(*GOOD)) as server,
        pytest.raises(PlaygroundError) as caught,
        loaded(config(server.url, target="x")),
    ):
        pass
    assert caught.value.code == "no_such_model"
    assert "It serves: m." in caught.value.hint


def test_something_else_than_a_server_of_models():
    answers = {"/v1/models": Answer("<html>hello</html>", headers={"content-type": "text/html"}), CHAT: plain({"a": 1})}
    with standin(answers) as server, pytest.raises(PlaygroundError) as caught, loaded(config(server.url)):
        pass
    assert caught.value.code == "no_stream"


def test_loading_says_what_it_does():
    with standin(vllm(*GOOD, ending(8))) as server:
        engine = Engine(config(server.url), EngineContext())
        stages = [(e.stage, e.detail) for e in engine.load() if isinstance(e, Loading)]
        engine.close()
    assert stages[0][0] == "connect"
    assert server.url in stages[0][1]
    assert stages[-1] == ("warm-up", "Ready.")


def test_each_arm_has_its_server():
    fast, slow = (
        vllm(*GOOD, ending(8, **SPEC)),
        vllm(*[message("x", [i], i) for i in range(1, 8)], message("y", [8], 8, "length"), ending(8)),
    )
    with standin(fast) as one, standin(slow) as other:
        of = config(one.url, options={"baseline_url": f"{other.url}/v1/"})
        assert Engine.load_key(of, EngineContext()) == Engine.load_key(of.baseline(), EngineContext())
        assert not Engine.stored_baseline(of)
        with loaded(of) as engine:
            plain_run, spec = RunResult.of(run(engine, of.baseline())), RunResult.of(run(engine, of))
    assert (len(one.bodies()), len(other.bodies())) == (2, 2)
    assert plain_run.tokens_per_step == 1.0
    assert plain_run.valid
    assert spec.tokens_per_step == 7 / 3


def test_a_baseline_on_a_server_that_speculates_is_invalid():
    events, _ = once(vllm(*GOOD, ending(8, **SPEC)), speculative=False)
    result = RunResult.of(events)
    assert result.valid is False
    assert "no baseline" in result.problems[0]


METRICS = """# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{engine="0",model_name="m"}} {generated}
vllm:spec_decode_num_drafts_total{{engine="0",model_name="m"}} {steps}
vllm:spec_decode_num_draft_tokens_total{{engine="0",model_name="m"}} {drafted}
vllm:spec_decode_num_accepted_tokens_total{{engine="0",model_name="m"}} {accepted}
"""


def counted(*states: tuple[int, int, int, int]) -> list[Answer]:
    names = ("generated", "steps", "drafted", "accepted")
    return [Answer(METRICS.format(**dict(zip(names, state, strict=True)))) for state in states]


def test_server_wide_counters_are_differences_and_say_so():
    answers = vllm(*GOOD, ending(8)) | {"/metrics": counted((100, 20, 60, 30), (100, 20, 60, 30), (108, 23, 68, 34))}
    result = RunResult.of(once(answers)[0])
    assert (result.num_drafting_steps, result.num_draft_tokens, result.num_accepted_tokens) == (3, 8, 4)
    assert result.survival == ()
    assert any("before and after this run" in warning for warning in result.environment["warnings"])


def test_server_wide_counters_of_others_too_are_left_out():
    answers = vllm(*GOOD, ending(8)) | {"/metrics": counted((100, 20, 60, 30), (100, 20, 60, 30), (300, 60, 180, 90))}
    result = RunResult.of(once(answers)[0])
    assert result.num_draft_tokens == 0
    assert any("Others used the server" in warning for warning in result.environment["warnings"])


def test_a_server_whose_counters_show_speculation_runs_no_baseline():
    answers = vllm(*GOOD, ending(8)) | {"/metrics": counted((100, 20, 60, 30))}
    events, _ = once(answers, speculative=False)
    assert events[-1].code == "no_baseline"
    assert "baseline_url" in events[-1].hint


def test_a_chat_is_sent_whole_and_a_raw_prompt_raw():
    history = (Message(role="user", content="Hi"), Message(role="assistant", content="Hello"))
    _, server = once(vllm(*GOOD, ending(8)), system_prompt="Be brief.", history=history)
    assert [m["role"] for m in server.bodies()[1]["messages"]] == ["system", "user", "assistant", "user"]
    text = {"choices": [{"text": "A", "token_ids": [1], "finish_reason": "stop", "prompt_token_ids": [7, 8]}]}
    events, server = once({"/v1/models": VLLM_MODELS, RAW: sse(text, ending(1))}, chat=False)
    assert server.bodies(RAW)[1]["prompt"] == "Count."
    assert events[0].prompt_token_ids == (7, 8)
    assert events[-1].text == "A"


def test_candidates_come_from_log_probabilities():
    content = [
        {
            "token": "A",
            "logprob": -0.1,
            "top_logprobs": [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.5}],
        }
    ]
    scored = message("A", [10], 1, "length")
    scored["choices"][0]["logprobs"] = {"content": content}
    events, server = once(vllm(scored, ending(1)), options={"candidates": 2})
    assert (server.bodies()[1]["logprobs"], server.bodies()[1]["top_logprobs"]) == (True, 2)
    step = events[1]
    assert [c.text for c in step.target_candidates[0]] == ["A", "B"]
    assert step.logit_gaps == (pytest.approx(2.4),)
    assert step.tokens[0].target_prob == pytest.approx(0.905, abs=0.001)


def test_outputs_without_ids_are_compared_by_their_text():
    def fold(text: str) -> ComparisonFold:
        found = ComparisonFold(greedy=True)
        for arm, words in (("baseline", "One two three"), ("speculative", text)):
            messages = [{"choices": [{"delta": {"content": w}, "index": 0}]} for w in words.split(" ")]
            messages.append({"choices": [{"delta": {}, "index": 0, "finish_reason": "stop"}]})
            events, _ = once({"/v1/models": plain({"data": [{"id": "m"}]}), CHAT: sse(*messages)})
            assert all(t.id == UNKNOWN_TOKEN_ID for e in events if isinstance(e, Step) for t in e.tokens)
            for event in events:
                found.add(arm, event)
        return found

    assert fold("One two three").result().outputs_identical is True
    other = fold("One too three").result()
    assert other.outputs_identical is False
    assert other.first_divergence.position == 1
    assert other.first_divergence.kind == "unknown"


def test_keys_go_only_to_the_address_they_are_for():
    with standin(vllm(*GOOD, ending(8))) as mine, standin(vllm(*GOOD, ending(8))) as other:
        context = EngineContext(keys={f"{mine.url}/v1": SecretStr(KEY)})
        assert KEY not in repr(context)
        of = config(mine.url, options={"baseline_url": other.url})
        with loaded(of, context) as engine:
            events = [*run(engine, of), *run(engine, of.baseline())]
    assert all(headers.get("Authorization") == f"Bearer {KEY}" for _, _, headers in mine.asked)
    assert not any("Authorization" in headers for _, _, headers in other.asked)
    assert KEY not in repr(events)


@pytest.mark.parametrize(
    ("url", "servers", "allowed"),
    [
        ("http://10.0.0.1:8000", None, True),
        ("http://169.254.169.254", None, False),
        ("http://[fe80::1]:80", None, False),
        ("http://[::ffff:169.254.169.254]", None, False),
        ("http://0.0.0.0:8000", None, False),
        ("http://10.0.0.1:8000", (), False),
        ("http://10.0.0.1:8000", ("http://10.0.0.1:8000/v1",), True),
        ("http://10.0.0.1:8001", ("http://10.0.0.1:8000",), False),
        ("https://10.0.0.1:8000", ("http://10.0.0.1:8000",), False),
        ("http://169.254.169.254", ("http://169.254.169.254",), True),
    ],
)
def test_which_addresses_may_be_called(url, servers, allowed):
    from playground.engines._remote.client import check_allowed

    context = EngineContext(servers=servers)
    if allowed:
        check_allowed(url, context)
        return
    with pytest.raises(PlaygroundError) as caught:
        check_allowed(url, context)
    assert caught.value.code == "not_allowed"


def test_a_page_others_can_reach_calls_only_what_is_listed(settings):
    from playground.settings import Settings

    assert settings.engine_context({}).servers is None
    shared = Settings(host="0.0.0.0", auth_user="a", auth_password="b")
    assert shared.engine_context({}).servers == ()
    listed = Settings(remote_servers=("http://a:1",), remote_keys={"http://a:1": KEY})
    assert listed.engine_context({}).servers == ("http://a:1",)
    assert KEY not in repr(listed)
    assert KEY not in repr(listed.engine_context({}))


VLLM = {
    "/v1/models": Answer(body("vllm_models.json")),
    "/version": plain({"version": "0.32.0"}),
    "/metrics": Answer(body("vllm_metrics.txt")),
}
"""A vLLM 0.32 with n-gram speculation (k = 4), as it answered."""


def test_vllm_as_recorded():
    events, _ = once(VLLM | {CHAT: recorded("vllm_chat.sse")}, target="smollm2-135m")
    result = RunResult.of(events)
    assert events[0].environment["engine_path"].startswith("vLLM 0.32.0 at http://127.0.0.1")
    assert events[0].environment["server_num_speculative_tokens"] == 4
    assert len(events[0].prompt_token_ids) == result.num_prompt_tokens == 49
    assert result.reconciled is True
    assert (result.num_delivered, result.num_draft_tokens, result.num_accepted_tokens) == (13, 12, 10)
    assert result.accepted_at == (3, 3, 2, 2)
    assert [e.truncated for e in events if isinstance(e, Step)][-1] == "eos"


def test_a_raw_prompt_as_recorded():
    events, _ = once(VLLM | {RAW: recorded("vllm_raw.sse")}, target="smollm2-135m", chat=False)
    result = RunResult.of(events)
    assert result.reconciled is True
    assert result.num_prompt_tokens == 12
    assert result.num_delivered == 24
    assert events[-1].text.startswith(" three four, one three")


def test_a_stop_string_as_recorded():
    """CASES 12: the server holds text back and cuts it; its tokens are counted as it counts them."""
    events, _ = once(
        VLLM | {CHAT: recorded("vllm_chat_stop.sse")}, target="smollm2-135m", sampling={"stop": ("three",)}
    )
    assert events[-1].text == "One two "
    assert events[-1].reason == "stop"
    assert [e.truncated for e in events if isinstance(e, Step)][-1] == "stop"
    assert RunResult.of(events).reconciled is True


def test_a_speculating_vllm_runs_no_baseline():
    events, _ = once(VLLM | {CHAT: recorded("vllm_chat.sse")}, target="smollm2-135m", speculative=False)
    assert events[-1].code == "no_baseline"


def test_a_tokenizer_of_this_machine_shares_a_pass_out_over_its_tokens(tmp_path):
    from tests import tiny

    folder = tiny.make_model(tmp_path / "m")
    tokenizer = tiny.make_tokenizer()
    ids = tokenizer("one two three")["input_ids"]
    text = tokenizer.decode(ids)
    answers = vllm(
        message(tokenizer.decode(ids[:1]), ids[:1], 1), message(text, ids, 1 + len(ids), "length"), ending(1 + len(ids))
    )
    events, _ = once(answers, EngineContext(model_paths={"m": str(folder)}))
    _, step = (e for e in events if isinstance(e, Step))
    tokens = step.tokens
    assert "".join(token.text for token in tokens) == text
    assert sum(bool(token.text) for token in tokens) > 1
    together, _ = once(answers)
    _, step = (e for e in together if isinstance(e, Step))
    assert step.tokens[0].text == text


LLAMA = {
    "/v1/models": Answer(body("llama_server_models.json")),
    "/props": Answer(body("llama_server_props.json")),
    "/slots": Answer(body("llama_server_slots.json")),
    CHAT: recorded("llama_server_chat.sse"),
}


def test_llama_server():
    """Totals and no passes: no tokens per step, no histogram; tokens are counted though it names none."""
    events, server = once(LLAMA, target="smollm2.gguf")
    result = RunResult.of(events)
    assert events[0].environment["engine_path"].startswith("llama-server b11434-7e4c0a9 at http://127.0.0.1")
    assert result.untold == {"ids", "steps", "drafts"}
    assert (result.num_delivered, result.num_draft_tokens, result.num_accepted_tokens) == (8, 12, 4)
    assert result.draft_acceptance_rate == 1 / 3
    assert result.mean_acceptance_length is None
    assert result.tokens_per_step is None
    assert result.draft_share_of_output is None
    assert result.survival == ()
    assert result.problems == ()
    assert all(token.origin == "target" for e in events if isinstance(e, Step) for token in e.tokens)
    assert events[-1].text == "1, 2, 3, 4."
    asked = server.bodies()[1]
    assert (asked["timings_per_token"], asked["cache_prompt"], asked["repeat_penalty"]) == (True, False, 1.0)
    assert "min_tokens" not in asked


def test_a_llama_server_that_drafts_runs_no_baseline():
    assert once(LLAMA, target="smollm2.gguf", speculative=False)[0][-1].code == "no_baseline"
    hidden = {path: answer for path, answer in LLAMA.items() if path not in ("/slots", "/props")}
    result = RunResult.of(once(hidden, target="smollm2.gguf", speculative=False)[0])
    assert result.valid is False


def test_a_count_beyond_all_bounds_costs_no_memory():
    result = RunResult.of(once(vllm(message("A", None, 1), message("b", None, 2_000_000_000), ending(3)))[0])
    assert result.valid is False
    assert result.num_delivered < 200


def test_text_without_end_is_cut_off():
    answers = vllm(*GOOD, ending(8))
    endless = sse(*[message("x" * 1_000_000, [], 0)] * 8)
    events, _ = once(answers | {CHAT: [answers[CHAT], endless]})
    assert events[-1].reason in ("stop", "error")
    assert len(events[-1].text) < 6_000_000


@pytest.mark.parametrize("value", ["NaN", 1e9, None, "x", {}])
def test_malformed_log_probabilities(value):
    best = [{"token": "A", "logprob": value}]
    scored = message("A", [10], 1, "length")
    scored["choices"][0]["logprobs"] = {"content": [{"token": "A", "logprob": value, "top_logprobs": best}]}
    events, _ = once(vllm(scored, ending(1)), options={"candidates": 2})
    (token,) = events[1].tokens
    assert token.target_prob in (None, 1.0)


def test_passes_that_were_sent_together_give_no_tokens_per_step():
    spec = {name: SPEC[name] for name in ("num_draft_tokens", "num_accepted_draft_tokens")} | {"num_spec_steps": 5}
    result = RunResult.of(once(vllm(*GOOD, ending(8, **spec)))[0])
    assert result.valid
    assert result.tokens_per_step is None
    assert result.num_drafting_steps == 5
    assert any("5 passes in 3 messages" in warning for warning in result.environment["warnings"])


def unknown(*messages: Any) -> dict[str, Any]:
    return {"/v1/models": plain({"data": [{"id": "m"}]}), CHAT: sse(*messages)}


def test_a_count_that_comes_with_the_last_words():
    words = [{"choices": [{"delta": {"content": text}, "index": 0}]} for text in ("One", " two")]
    last = {"choices": [{"delta": {"content": "."}, "index": 0, "finish_reason": "stop"}]}
    result = RunResult.of(once(unknown(*words, last | {"usage": {"prompt_tokens": 4, "completion_tokens": 9}}))[0])
    assert (result.num_delivered, result.num_prompt_tokens) == (9, 4)
    assert result.tpot is not None
    nobody = RunResult.of(once(unknown(*words, last))[0])
    assert nobody.tpot is None
    assert nobody.tokens_per_second_end_to_end is None
    assert nobody.ttft is not None
