"""Losslessness on the default model over our own suite: greedy float32 gives the baseline's ids, whatever drafts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from playground import models
from playground.engines import EngineContext
from tests.benchmarks import arms, lossless, report

TOKENS = 12
PROMPTS = report.prompts(report.SUITE, 8)

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture(scope="module")
def engines(default_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[arms.Engines]:
    weak = lossless.weaken(default_model, tmp_path_factory.mktemp("weak"))
    paths = {models.DEFAULT: str(default_model), "weak-draft": str(weak)}
    loaded = arms.Engines(EngineContext(device="cpu", model_paths=paths, offline=True))
    yield loaded
    loaded.close()


@pytest.mark.parametrize("number", range(len(PROMPTS)), ids=[name for name, _ in PROMPTS])
def test_every_drafter_is_lossless(engines: arms.Engines, number: int) -> None:
    """One k per prompt, so that the suite covers 1 to 8; `make bench` tries every k on every prompt."""
    ks = (1 + number % 8,)
    counts: dict[str, lossless.Counts] = {}
    assert lossless.compare(engines, PROMPTS[number][1], TOKENS, ks, counts) == []
    assert all(count.exact == len(ks) for count in counts.values())
    itself = counts["draft_model (itself)"]
    assert itself.accepted == itself.draft_tokens


def test_the_suite_covers_every_k() -> None:
    assert len(PROMPTS) >= 8
