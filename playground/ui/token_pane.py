"""The token pane: one arm's text, token by token, at a cost that does not grow with its length.

`TokenPane` makes the component, `Feed` turns one run's events into the values the component takes: compact JSON with
only what is new since the last one. A value that a busy browser misses is healed by one call of the server function
`since`. Model text travels as JSON and reaches the page through `textContent` alone. Knows no engine and no database.
"""

import json
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import Any

import gradio as gr

from playground.comparison import Arm
from playground.events import (
    UNKNOWN_TOKEN_ID,
    Event,
    Loading,
    Queued,
    RunFinished,
    RunStarted,
    Step,
    Token,
)
from playground.metrics import RunResult
from playground.ui.render import lines_of_code
from playground.ui.sentences import wired

_HERE = Path(__file__).parent

WireToken = list[Any]
"""[kind, text, step index, target probability, draft probability].

Kinds: t target, a accepted, r recovered, b bonus; a capital one ended the run as EOS; x the draft the target refused,
u a draft discarded unjudged, n a draft the engine cannot name.
"""

_KINDS = {"target": "t", "accepted": "a", "recovered": "r", "bonus": "b"}

KEPT_FEEDS = 64
"""How many recent runs can heal a gap. A feed holds its run's tokens: about 0.5 MB at 4,096 of them."""


def TokenPane(arm: Arm = "speculative", *, group: str = "compare", **kwargs: Any) -> gr.HTML:
    """One pane of the comparison: `gr.HTML` with our script (no subclass: Gradio writes a .pyi beside each of those).

    Args:
        arm: which side it is: its title, and whose steps are lit when a token is hovered.
        group: panes of one group light each other's steps and scroll together.
        kwargs: of `gr.HTML` (elem_id, min_width, ...).

    Events: `select` (a token was clicked; data: run, step, position) and `example` (the empty pane's button).
    """
    return gr.HTML(
        kwargs.pop("value", pane_state("empty")),
        html_template='<div class="db-pane"></div>',
        js_on_load=lines_of_code(_HERE / "token_pane.js"),
        apply_default_css=False,
        server_functions=[since],
        arm=arm,
        group=group,
        **kwargs,
    )


def pane_state(name: str, run: str | None = None, **fields: Any) -> str:
    """A pane's value that shows a state and no tokens: "empty", "waiting", "loading", "queued", "failed", ...

    Fields: loading takes stage, detail, fraction, seconds; queued position, expected_seconds; failed message, hint,
    details. A `run` other than the one shown clears the pane.
    """
    return _json({"run": run, "from": 0, "pos": 0, "toks": [], "state": {"name": name, **fields}})


class Feed:
    """The values of one run's pane, made from its events.

    Args:
        run_id: unique; the browser asks for missing tokens by it.
        recorded: for a replay: {"hardware": ..., "date": ...}, shown for as long as the pane shows the run.

    `result` is the run's metrics so far (the same fold as everywhere).
    """

    def __init__(self, run_id: str, *, recorded: dict[str, str] | None = None) -> None:
        self.run_id = run_id
        self.recorded = recorded
        self.result = RunResult()
        self._tokens: list[WireToken] = []
        self._texts: list[str] = []
        self._positions = [0]  # how many tokens were delivered before each of `_tokens`
        self._state: dict[str, Any] = {"name": "loading", "stage": "start", "seconds": 0.0}
        self._trim: int | None = None
        self._end: str | None = None  # why the last step was truncated
        self._sent = 0
        self._new = True
        remember(self)

    def add(self, event: Event) -> None:
        """Take one event in; cheap at any length."""
        self.result = self.result.add(event)
        match event:
            case Loading():
                self._become(
                    "loading",
                    stage=event.stage,
                    detail=wired(event.detail),
                    fraction=event.fraction,
                    seconds=round(event.seconds, 2),
                )
            case Queued():
                self._become("queued", position=event.position, expected_seconds=event.expected_seconds)
            case RunStarted():
                self._become("running")
            case Step():
                self._step(event)
            case RunFinished():
                self._finish(event)

    def value(self) -> str | None:
        """What is new since the last call, as the component's value; None when nothing is (then `gr.skip()`)."""
        if not self._new:
            return None
        start, self._sent, self._new = self._sent, len(self._tokens), False
        return _json(self._message(start))

    def since(self, offset: int) -> dict[str, Any]:
        """Everything from token `offset` on, in the shape of `value`."""
        return self._message(min(max(offset, 0), len(self._tokens)))

    def _message(self, start: int) -> dict[str, Any]:
        result = self.result
        rate = result.tokens_per_second if result.finished else result.live_tokens_per_second
        message: dict[str, Any] = {
            "run": self.run_id,
            "from": start,
            "pos": self._positions[start],
            "toks": self._tokens[start:],
            "rate": None if rate is None else round(rate, 3),
            "n": result.num_delivered,
            "k": result.num_draft_tokens,
            "a": result.num_accepted_tokens,
            "state": self._state,
        }
        if self._trim is not None:
            message["trim"] = self._trim
        if self.recorded is not None:
            message["recorded"] = self.recorded
        return message

    def _become(self, name: str, **fields: Any) -> None:
        self._state = {"name": name, **{k: v for k, v in fields.items() if v not in (None, "")}}
        self._new = True

    def _step(self, step: Step) -> None:
        if self._state["name"] != "running":
            self._become("running")
        for kind, token in _in_order(step):
            self._tokens.append([kind, token.text, step.index, _short(token.target_prob), _short(token.draft_prob)])
            delivered = kind not in "xun"
            self._positions.append(self._positions[-1] + delivered)
            if delivered:
                self._texts.append(token.text)
        self._end = step.truncated
        self._new = True

    def _finish(self, event: RunFinished) -> None:
        if event.text is not None:
            shown = "".join(self._texts)
            if len(event.text) < len(shown) and shown.startswith(event.text):
                self._trim = _utf16_length(event.text)
        match event.reason:
            case "error":
                details = {"run": self.run_id, **self.result.environment, "code": event.code}
                text = json.dumps(details, ensure_ascii=False, indent=1, default=str)
                self._become("failed", message=wired(event.error), hint=wired(event.hint), details=text)
            case "cancelled" | "interrupted":
                self._become("stopped", reason=event.reason)
            case reason:
                ends = {"eos": "eos", "stop": "stop_string"}
                self._become("done", reason=ends.get(self._end or "", reason) if reason == "stop" else reason)


_feeds: OrderedDict[str, Feed] = OrderedDict()
_feeds_lock = Lock()


def remember(feed: Feed) -> None:
    """Keep a feed for healing; the oldest beyond `KEPT_FEEDS` are forgotten."""
    with _feeds_lock:
        _feeds[feed.run_id] = feed
        _feeds.move_to_end(feed.run_id)
        while len(_feeds) > KEPT_FEEDS:
            _feeds.popitem(last=False)


def since(arguments: list[Any]) -> dict[str, Any] | None:
    """Server function: [run id, token offset] -> the missing tokens; None where the run is no longer kept."""
    run_id, offset = (*arguments, None, None)[:2]
    with _feeds_lock:
        feed = _feeds.get(run_id) if isinstance(run_id, str) else None
    return feed.since(offset) if feed is not None and isinstance(offset, int) else None


def _in_order(step: Step) -> list[tuple[str, Token]]:
    """A step's tokens as they are read: accepted, the rejected drafts, then what replaced them.

    Drafts beyond a truncated end are left out: nothing leads up to them (the inspector shows them).
    """
    a = step.num_accepted_tokens
    delivered = [(_KINDS.get(token.origin, "t"), token) for token in step.tokens]
    if step.truncated == "eos" and delivered:
        kind, token = delivered[-1]
        delivered[-1] = (kind.upper(), token)
    if len(step.tokens) <= a:
        return delivered
    rejected = [
        ("n" if token.id == UNKNOWN_TOKEN_ID else "u" if i else "x", token) for i, token in enumerate(step.rejected)
    ]
    return delivered[:a] + rejected + delivered[a:]


def _short(probability: float | None) -> float | None:
    """Four significant digits: what a tooltip can use."""
    return None if probability is None else float(f"{probability:.4g}")


def _utf16_length(text: str) -> int:
    """The length as JavaScript counts it."""
    return len(text.encode("utf-16-le")) // 2


def _json(message: dict[str, Any]) -> str:
    # "<" as \u003c: inert should anyone ever render it, and no warning about <script> in model text.
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
