"""What a trained head promises on this machine: acceptance, tokens per step, costs timed here, the speed-up they imply.

A prediction, not a measurement: `compare` measures. Knows the target, the head and clocks.
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from playground.decoding.eagle3 import Eagle3Head, Eagle3Session
from playground.decoding.model import ModelSession
from playground.engines._loading import Loaded
from playground.training.loop import expected_tokens

TRIES = 7
LENGTH = 128
"""Tokens in the cache while a pass is timed."""

LARGEST_K = 8


@torch.inference_mode()
def costs(target: Loaded, head: Eagle3Head) -> dict[str, Any]:
    """Seconds of a target pass over 1 to `LARGEST_K` + 1 tokens, and of one draft token."""
    device, longest = target.model.device, min(LENGTH, target.model.max_positions // 2)
    session = ModelSession(target.model, target.vocab_size)
    session.feed(torch.zeros(longest, dtype=torch.long, device=device), keep=1)
    passes = []
    for count in range(1, LARGEST_K + 2):
        ids = torch.zeros(count, dtype=torch.long, device=device)

        def step(ids: torch.Tensor = ids, count: int = count) -> float:
            value = float(session.feed(ids, keep=count)[0, 0])
            session.rewind(longest)
            return value

        passes.append(_seconds(step))
    drafts = Eagle3Session(head)
    dtype = head.fc.weight.dtype
    drafts.feed(
        torch.zeros(longest, dtype=torch.long, device=device),
        torch.zeros(longest, head.shape.hidden_size).to(device, dtype),
    )
    one, hidden = (
        torch.zeros(1, dtype=torch.long, device=device),
        torch.zeros(1, head.shape.hidden_size).to(device, dtype),
    )

    def draft() -> float:
        value = float(head.logits(drafts.feed(one, hidden)).argmax())
        drafts.rewind(longest)
        return value

    return {"target_pass_seconds": passes, "draft_token_seconds": _seconds(draft)}


def predictions(acceptance: tuple[float, ...], cost: dict[str, Any]) -> list[dict[str, float]]:
    """For each k: expected tokens per step, and the speed-up if a step costs what it cost here."""
    passes, draft = cost["target_pass_seconds"], cost["draft_token_seconds"]
    rows = []
    for k in range(1, LARGEST_K + 1):
        tokens = expected_tokens(acceptance, k)
        rows.append({"k": k, "tokens_per_step": tokens, "speedup": tokens * passes[0] / (passes[k] + k * draft)})
    return rows


def card(name: str, target: str, report: dict[str, Any]) -> str:
    """README.md beside the head: what it is, its figures, its recipe."""
    rows = "".join(
        f"| {row['k']:.0f} | {row['tokens_per_step']:.2f} | {row['speedup']:.2f} |\n" for row in report["predictions"]
    )
    recipe = "".join(f"- {key}: {_shown(key, value)}\n" for key, value in report["options"].items())
    positions = ", ".join(f"{share:.1%}" for share in report["acceptance"])
    return (
        f"# {name}\n\nAn EAGLE-3 draft head for {target}, trained by Draftboard on text that {target} wrote itself. It "
        f"loads in vLLM with `method: eagle3` and in Draftboard's embedded engine. The target's licence applies.\n\n"
        f"Held-out acceptance by position, given that the positions before were accepted: {positions}.\n\n"
        f"| k | tokens per step | speed-up predicted on {report['hardware']} |\n|---|---|---|\n{rows}\n"
        f"Trained on {report['answer_tokens']:,} answer tokens in {report['exchanges']:,} exchanges; the draft "
        f"vocabulary of {report['draft_vocab_size']:,} covers {report['coverage']:.2%} of them.\n\n"
        f"## Recipe\n\n{recipe}"
    )


def _shown(key: str, value: Any) -> Any:
    """A head is handed on: of files only the names, not where they lay."""
    if key == "data":
        return ", ".join(Path(file).name for file in value) or "none"
    return Path(value).name if key in ("prompts", "start_from") and value else value


def _seconds(call: Callable[[], float]) -> float:
    """Median time of a call that waits for the device; the first two do not count."""
    found = []
    for _ in range(TRIES + 2):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return statistics.median(found[2:])
