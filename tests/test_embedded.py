"""The embedded engine as a process uses it: loading, queue, abort, errors of one run, what a run says of itself."""

import json
import pickle
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from playground.config import RunConfig, SamplingParams, Speculation
from playground.decoding.model import ModelSession
from playground.engines import EngineContext
from playground.engines.embedded import Engine
from playground.errors import PlaygroundError
from playground.events import Event, Heartbeat, Loading, Queued, RunFinished, RunStarted, Step
from tests import tiny
from tests.rig import Rig, draft_model, ngram

PROMPT = "one two three one two three one two"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    target = tiny.make_model(root / "target")
    other = tiny.make_tokenizer(chat_template="{% for m in messages %}{{ m['content'] }}{% endfor %}")
    other.bos_token = tiny.UNK
    return {
        "target": target,
        "near": tiny.make_draft(root / "near", target, noise=0.01),
        "padded": tiny.make_model(root / "padded", vocab_size=tiny.VOCAB + 64, seed=2),
        "short": tiny.make_model(root / "short", max_position_embeddings=16),
        "swapped": tiny.make_model(root / "swapped", tokenizer=tiny.make_tokenizer(swap=(40, 41))),
        "otherwise": tiny.make_model(root / "otherwise", seed=4, tokenizer=other),
    }


@pytest.fixture(scope="module")
def rig(folders: dict[str, Path]) -> Rig:
    return Rig(folders["target"], {name: path for name, path in folders.items() if name != "target"})


class Live:
    """An engine in its own thread, as the child process runs it."""

    def __init__(self, folders: dict[str, Path], **config: Any) -> None:
        self.context = EngineContext(device="cpu", model_paths={n: str(p) for n, p in folders.items()}, threads=1)
        self.config = RunConfig(target="target", dtype="float32", speculation=None, chat=False, **config)
        self.engine = Engine(self.config, self.context)
        self.loading = list(self.engine.load())
        self.stream = self.engine.events()
        self.seen: list[tuple[str, Event]] = []

    def submit(
        self, run_id: str, prompt: str = PROMPT, speculation: Speculation | None = None, **sampling: Any
    ) -> None:
        update = {"speculation": speculation, "sampling": SamplingParams(**sampling)}
        self.engine.submit(run_id, self.config.model_copy(update=update), prompt)

    def until_finished(self, *run_ids: str) -> dict[str, list[Event]]:
        waiting = set(run_ids)
        events: dict[str, list[Event]] = {run_id: [] for run_id in run_ids}
        while waiting:
            run_id, event = next(self.stream)
            self.seen.append((run_id, event))
            events.setdefault(run_id, []).append(event)
            if isinstance(event, RunFinished):
                waiting.discard(run_id)
        return events


@pytest.fixture
def live(folders: dict[str, Path]) -> Iterator[Live]:
    made = Live(folders)
    yield made
    made.engine.close()
    assert list(made.stream) == []


def finished(events: list[Event]) -> RunFinished:
    assert isinstance(events[-1], RunFinished)
    return events[-1]


def test_loading_warms_up_before_the_first_run(live: Live) -> None:
    """CASES 25: the first run after load is not a cold one."""
    stages = [event.stage for event in live.loading if isinstance(event, Loading)]
    assert list(dict.fromkeys(stages)) == ["start", "weights", "warm-up"]
    live.submit("r", max_tokens=3)
    events = live.until_finished("r")["r"]
    assert not any(isinstance(event, Loading) for event in events)
    started = next(event for event in events if isinstance(event, RunStarted))
    assert started.environment["runs_since_load"] == 0


def test_warm_up_covers_every_shape_of_a_run(rig: Rig) -> None:
    """CASES 25: also for a larger k than the engine was loaded with."""
    out = rig.run(PROMPT, ngram(8), max_tokens=4)
    assert any(isinstance(event, Loading) and event.stage == "warm-up" for event in out.events)
    assert rig.models.target.warmed >= set(range(1, 10))
    again = rig.run(PROMPT, ngram(8), max_tokens=4)
    assert isinstance(again.events[0], RunStarted)


def test_runs_are_served_in_order(live: Live) -> None:
    for number in range(3):
        live.submit(f"r{number}", max_tokens=5 + number)
    events = live.until_finished("r0", "r1", "r2")
    order = [run_id for run_id, event in live.seen if isinstance(event, RunFinished)]
    assert order == ["r0", "r1", "r2"]
    assert [finished(events[f"r{n}"]).usage_completion_tokens for n in range(3)] == [5, 6, 7]
    assert any(isinstance(event, Queued) for event in events["r2"])
    for run_events in events.values():
        assert sum(isinstance(event, RunFinished) for event in run_events) == 1


def test_abort_ends_one_run_and_the_next_is_right(live: Live) -> None:
    """CASES 26."""
    live.submit("reference", max_tokens=12, ignore_eos=True)
    reference = live.until_finished("reference")["reference"]
    live.submit("long", max_tokens=400, ignore_eos=True)
    live.submit("waiting", max_tokens=400)
    live.submit("next", max_tokens=12, ignore_eos=True)
    for run_id, event in live.stream:
        if run_id == "long" and isinstance(event, Step) and event.index == 5:
            live.engine.abort("long")
            live.engine.abort("waiting")
            live.engine.abort("never heard of")
            break
    events = live.until_finished("long", "waiting", "next")
    assert finished(events["long"]).reason == "cancelled"
    assert finished(events["long"]).reconciled is True
    assert finished(events["waiting"]).reason == "cancelled"
    assert finished(events["next"]).text == finished(reference).text


def test_heartbeats_while_a_forward_pass_is_slow(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    feed = ModelSession.feed

    def slow(self: ModelSession, ids: torch.Tensor, keep: int) -> torch.Tensor:
        time.sleep(0.7)
        return feed(self, ids, keep)

    monkeypatch.setattr(ModelSession, "feed", slow)
    live.submit("slow", max_tokens=1)
    live.submit("behind", max_tokens=1)
    events = live.until_finished("slow", "behind")
    assert sum(isinstance(event, Heartbeat) for event in events["slow"]) >= 2
    assert sum(isinstance(event, Heartbeat) for event in events["behind"]) >= 2


def test_closing_ends_a_run_and_the_stream(folders: dict[str, Path]) -> None:
    live = Live(folders)
    live.submit("long", max_tokens=400, ignore_eos=True)
    live.submit("behind", max_tokens=4)
    threading.Timer(0.2, live.engine.close).start()
    events = live.until_finished("long", "behind")
    assert {finished(e).reason for e in events.values()} <= {"cancelled", "length"}
    assert [event for _, event in live.stream if not isinstance(event, Heartbeat)] == []


def test_a_load_that_fails_is_one_error(tmp_path: Path) -> None:
    engine = Engine(RunConfig(target=str(tmp_path / "nothing")), EngineContext(device="cpu", offline=True))
    with pytest.raises(PlaygroundError, match="no model"):
        list(engine.load())


def test_nan_ends_that_run_and_no_other(folders: dict[str, Path], tmp_path: Path) -> None:
    """CASES 3: in the target and in the draft."""
    model = AutoModelForCausalLM.from_pretrained(folders["target"])
    with torch.no_grad():
        model.model.embed_tokens.weight[tiny.make_tokenizer()("Z")["input_ids"][0]] = float("nan")
    broken = tiny.save(tmp_path / "broken", model, tiny.make_tokenizer())
    rig = Live({"target": broken})
    rig.submit("bad", "aZ", max_tokens=5)
    rig.submit("good", "ab", max_tokens=5, ignore_eos=True)
    events = rig.until_finished("bad", "good")
    bad = finished(events["bad"])
    assert (bad.reason, bad.code) == ("error", "bad_logits")
    assert "target" in bad.error
    assert bad.hint
    assert finished(events["good"]).usage_completion_tokens == 5
    rig.engine.close()
    drafted = Rig(folders["target"], {"broken": broken})
    with pytest.raises(PlaygroundError, match="draft model gave logits"):
        drafted.run("aZ", draft_model("broken"), max_tokens=8, ignore_eos=True)


def test_bad_requests_are_that_runs_error(live: Live) -> None:
    live.submit("method", speculation=Speculation(method="nonsense"))
    live.submit("option", speculation=Speculation(method="ngram", options={"n": 3}))
    live.submit("no draft", speculation=Speculation(method="draft_model"))
    live.submit("swapped", speculation=draft_model("swapped"))
    live.submit("too long", prompt="a b " * 400)
    events = live.until_finished("method", "option", "no draft", "swapped", "too long")
    codes = {run_id: finished(e).code for run_id, e in events.items()}
    assert codes == {
        "method": "unknown_extension",
        "option": "bad_config",
        "no draft": "bad_config",
        "swapped": "incompatible_pair",  # CASES 2: the message names the id and both strings
        "too long": "prompt_too_long",
    }
    assert "40" in finished(events["swapped"]).error
    assert all(finished(e).hint for e in events.values())


def test_no_seed_gives_different_texts(rig: Rig) -> None:
    """CASES 20."""
    runs = [rig.run("a", max_tokens=8, temperature=1.0, ignore_eos=True) for _ in range(20)]
    assert len({tuple(out.ids) for out in runs}) > 1
    seeds = {out.started.environment["seed"] for out in runs}
    assert len(seeds) == 20
    again = rig.run("a", max_tokens=8, temperature=1.0, ignore_eos=True, seed=runs[0].started.environment["seed"])
    assert again.ids == runs[0].ids


def test_padding_only_difference_is_allowed_and_said(rig: Rig, folders: dict[str, Path]) -> None:
    """CASES 1: either side padded; no id past the tokenizer is drafted or emitted."""
    baseline = rig.run(PROMPT, max_tokens=30, ignore_eos=True)
    out = rig.run(PROMPT, draft_model("padded", 5), max_tokens=30, ignore_eos=True)
    assert out.ids == baseline.ids
    assert any("padding" in w for w in out.started.environment["warnings"])
    padded = Rig(folders["padded"], {"near": folders["near"]})
    baseline = padded.run(PROMPT, max_tokens=30, ignore_eos=True)
    out = padded.run(PROMPT, draft_model("near", 5), max_tokens=30, ignore_eos=True)
    assert out.ids == baseline.ids
    drafted = [t.id for s in out.steps for t in (*s.tokens, *s.rejected)]
    assert max(drafted) < tiny.VOCAB


def test_a_draft_window_shorter_than_the_prompt(rig: Rig) -> None:
    """CASES 16: the run goes on without drafts, and says so; a window that ends later only ends drafting."""
    long = rig.run(PROMPT * 3, draft_model("short"), max_tokens=10, ignore_eos=True)
    assert long.ids == rig.run(PROMPT * 3, max_tokens=10, ignore_eos=True).ids
    assert long.result.num_draft_tokens == 0
    assert long.result.draft_acceptance_rate is None
    assert any("nothing is drafted" in w for w in long.started.environment["warnings"])
    short = rig.run("abc", draft_model("short"), max_tokens=30, ignore_eos=True)
    assert short.ids == rig.run("abc", max_tokens=30, ignore_eos=True).ids
    assert short.result.num_draft_tokens > 0
    assert short.steps[-1].num_draft_tokens == 0
    assert any("past that" in w for w in short.started.environment["warnings"])


def test_the_prompt_is_rendered_once_with_the_targets_template(rig: Rig) -> None:
    """CASES 21: one BOS, and a warning where the draft would have read it otherwise."""
    chat = {"chat": True, "system_prompt": "be brief"}
    out = rig.run("hello", draft_model("otherwise"), config=chat, max_tokens=4, ignore_eos=True)
    ids = out.started.prompt_token_ids
    assert out.started.prompt_text == f"{tiny.BOS}[system] be brief{tiny.EOS}[user] hello{tiny.EOS}[assistant] "
    assert ids.count(tiny.BOS_ID) == 1
    assert ids[0] == tiny.BOS_ID
    assert list(ids) == tiny.make_tokenizer()(out.started.prompt_text, add_special_tokens=False)["input_ids"]
    warnings = out.started.environment["warnings"]
    assert any("chat template" in w for w in warnings)
    assert any("BOS" in w for w in warnings)
    assert out.ids == rig.run("hello", config=chat, max_tokens=4, ignore_eos=True).ids


def test_an_empty_prompt_still_has_something_to_continue(rig: Rig) -> None:
    """CASES 17."""
    out = rig.run("", max_tokens=3, ignore_eos=True)
    assert out.started.prompt_token_ids == (tiny.BOS_ID,)
    assert len(out.ids) == 3


def test_what_a_run_says_of_itself(rig: Rig) -> None:
    environment = rig.run(PROMPT, draft_model("near"), max_tokens=3, seed=7).started.environment
    assert environment["device"] == "cpu"
    assert environment["dtype"] == "float32"
    assert environment["seed"] == 7
    assert environment["greedy"] is True
    assert environment["hardware"]
    assert set(environment["versions"]) == {"torch", "transformers", "draftboard"}
    assert environment["draft_path"].endswith("near")
    assert json.loads(json.dumps(environment)) == environment
    assert b"torch" not in pickle.dumps({**environment, "versions": 0})
    assert {type(v) for v in environment["versions"].values()} == {str}  # nothing that makes the parent import torch


def test_first_draft_token_is_verified_too(rig: Rig) -> None:
    """CASES 6: n-gram on a prompt of equal tokens, which the target would not continue so."""
    prompt = "aaaaaa"
    baseline = rig.run(prompt, max_tokens=12, ignore_eos=True)
    out = rig.run(prompt, ngram(4), max_tokens=12, ignore_eos=True)
    assert out.ids == baseline.ids
    assert baseline.ids[0] != rig.models.target.tokenizer("a")["input_ids"][-1]


def test_candidates_and_probabilities(rig: Rig) -> None:
    """Five best of both models, probabilities after temperature and filters, the ones the accept test used."""
    for sampling in ({}, {"temperature": 0.8, "top_k": 10, "seed": 1}):
        out = rig.run(PROMPT, draft_model("near", 3), max_tokens=20, ignore_eos=True, **sampling)
        for step in out.steps[1:]:
            a, k = step.num_accepted_tokens, step.num_draft_tokens
            assert len(step.target_candidates) == a + 1 == len(step.logit_gaps)
            assert len(step.draft_candidates) == k
            drafted = [t.id for t in step.tokens if t.origin == "accepted"] + [t.id for t in step.rejected]
            assert len(drafted) >= k - 1
            for row in (*step.target_candidates, *step.draft_candidates):
                assert len(row) == 5
                assert [c.logit for c in row] == sorted((c.logit for c in row), reverse=True)
                assert all(0 <= c.prob <= 1 for c in row)
            for token, row in zip(step.tokens, step.target_candidates, strict=False):
                shown = {c.id: c.prob for c in row}
                if token.id in shown:
                    assert token.target_prob == pytest.approx(shown[token.id])
                if not sampling:
                    assert token.id == row[0].id
                    assert row[0].logit - row[1].logit == pytest.approx(
                        step.logit_gaps[step.tokens.index(token)], abs=1e-4
                    )
            # Greedy drafts are certain to the accept test; at temperature 0 both laws are shown as softmax.
            assert all((t.draft_prob == 1.0) == bool(sampling) for t in step.rejected)


def test_drafts_are_loaded_when_first_asked_for_and_few_are_kept(folders: dict[str, Path]) -> None:
    rig = Rig(folders["target"], folders)

    def loads(name: str) -> bool:
        out = rig.run(PROMPT, draft_model(name), max_tokens=2)
        return any(isinstance(event, Loading) and event.stage == "draft" for event in out.events)

    assert not loads("target")  # its own weights serve twice
    assert [loads(name) for name in ("near", "near", "padded", "short", "padded", "near")] == [1, 0, 1, 1, 0, 1]


def test_no_candidates_when_not_asked(folders: dict[str, Path]) -> None:
    out = Rig(folders["target"], engine_options={"candidates": 0}).run(PROMPT, ngram(), max_tokens=8)
    assert all(s.target_candidates == () for s in out.steps)
    assert len(out.steps[0].logit_gaps) == 1


def test_both_arms_share_one_load(folders: dict[str, Path]) -> None:
    context = EngineContext(device="cpu", model_paths={n: str(p) for n, p in folders.items()})
    config = RunConfig(target="target", speculation=draft_model("near"))
    assert Engine.load_key(config, context) == Engine.load_key(config.baseline(), context)
    assert Engine.load_key(config, context) != Engine.load_key(config.model_copy(update={"dtype": "float32"}), context)
    assert Engine.device(config, context) == "cpu"


def test_bfloat16_runs_and_reconciles(folders: dict[str, Path]) -> None:
    rig = Rig(folders["target"], {"near": folders["near"]}, dtype="bfloat16")
    out = rig.run(PROMPT, draft_model("near"), max_tokens=20, ignore_eos=True)
    assert out.started.environment["dtype"] == "bfloat16"
    assert (out.result.num_delivered, out.result.reconciled) == (20, True)
