"""The parts of training a head: the unrolled steps against drafting itself, vocabularies, exchanges, states, files."""

import gzip
import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaForCausalLM

from playground.config import checked
from playground.decoding.eagle3 import Eagle3Session, Rotation
from playground.errors import PlaygroundError
from playground.training.checkpoints import Place, restore, save
from playground.training.exchanges import Exchange, append_exchanges, held_out, mend, read_exchanges
from playground.training.initial import initial_head, shape_for
from playground.training.loop import expected_tokens
from playground.training.options import TrainOptions
from playground.training.report import predictions
from playground.training.states import DiskStates, LiveStates
from playground.training.unroll import chain_mask, collated, unrolled
from playground.training.vocabulary import chosen_tokens, coverage
from tests import heads, tiny

torch.manual_seed(3)
MODEL = LlamaForCausalLM(tiny.make_config(max_position_embeddings=128)).eval()
HEAD = heads.random_head(MODEL)
SEQUENCES = [tuple(tiny.random_ids(n, seed=n)) for n in (12, 7, 9, 15)]
PROMPTS = [3, 2, 4, 5]


def live(sequences: list[tuple[int, ...]] = SEQUENCES) -> LiveStates:
    return LiveStates(MODEL, HEAD.shape.taps, sequences)


def test_an_unrolled_step_is_a_drafted_one() -> None:
    """At every index, after s steps, the head must have computed what it computes when drafting on from there."""
    steps, sequence = 4, SEQUENCES[3]
    rows = live([sequence]).rows([0])
    batch = collated([sequence], [2], rows, 32, torch.device("cpu"))
    seen: list[torch.Tensor] = []
    head = heads.random_head(MODEL)
    logits = head.logits
    head.logits = lambda hidden: seen.append(logits(hidden)) or seen[-1]  # type: ignore[method-assign,func-returns-value]
    with torch.no_grad():
        found = unrolled(
            head, MODEL.lm_head.weight[head.targets], batch, steps, Rotation(head.shape, head.device, torch.float32)
        )
        fused = HEAD.fuse(batch.hidden[0])
        for start in range(2, len(sequence) - 2 - steps):
            session = Eagle3Session(HEAD)
            output = session.feed(torch.tensor(sequence[1 : start + 2]), fused[: start + 1])[-1:]
            for step in range(steps):
                torch.testing.assert_close(
                    seen[step][start + step : start + step + 1], HEAD.logits(output), rtol=1e-3, atol=1e-4
                )
                output = session.feed(
                    torch.tensor(sequence[start + step + 2 : start + step + 3]), HEAD.following(output)
                )
    assert found.losses.shape == (steps,)


def test_hits_are_chains() -> None:
    """A position counts at step s only after s right guesses in a row before it; only answers are judged."""
    batch = collated(SEQUENCES, PROMPTS, live().rows(range(4)), 32, torch.device("cpu"))
    assert batch.judged.sum() == sum(len(s) - p for s, p in zip(SEQUENCES, PROMPTS, strict=True))
    with torch.no_grad():
        found = unrolled(
            HEAD, MODEL.lm_head.weight[HEAD.targets], batch, 3, Rotation(HEAD.shape, HEAD.device, torch.float32)
        )
    assert found.alive[0] == batch.judged.sum()
    assert all(hit <= alive for hit, alive in zip(found.hits.tolist(), found.alive.tolist(), strict=True))
    assert all(now <= before for now, before in zip(found.alive.tolist()[1:], found.hits.tolist(), strict=False))


@given(st.integers(1, 7), st.integers(0, 4))
def test_the_mask_shows_each_index_its_own_chain(count: int, step: int) -> None:
    mask = chain_mask(count, step, torch.device("cpu")).view(count, step + 1, count)
    for i in range(count):
        for kind in range(step + 1):
            for j in range(count):
                shown = j <= i - step if kind == 0 else j == i - step + kind
                assert bool(mask[i, kind, j]) == shown
        assert bool(mask[i].any())


def test_the_vocabulary_is_the_most_frequent() -> None:
    exchanges = [Exchange((9, 9, 4), (5, 5, 6, 2), 0.0), Exchange((4,), (5, 7, 900), 0.7)]
    tokens = chosen_tokens(exchanges, 4, 100, [1])
    assert tokens == [1, 4, 5, 9]
    assert coverage(exchanges, tokens) == pytest.approx(3 / 7)
    assert chosen_tokens(exchanges, 50, 100, [1])[:10] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_exchanges_survive_a_torn_line(tmp_path: Path) -> None:
    file = tmp_path / "exchanges.jsonl"
    whole = [Exchange((1, 2), (3, 4), 0.0), Exchange((5,), (6,), 0.7)]
    append_exchanges(file, whole)
    with file.open("a") as out:
        out.write('{"prompt_ids": [1, 2], "ids": [3')
    mend(file)
    assert read_exchanges(file, 10) == whole
    (tmp_path / "same.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert read_exchanges(tmp_path / "same.jsonl.gz", 10) == whole


@pytest.mark.parametrize(
    "row",
    [
        '{"prompt_ids": [1], "ids": [99], "temperature": 0}',
        "[]",
        '{"prompt_ids": [], "ids": [1], "temperature": 0}',
        "x",
    ],
)
def test_other_rows_are_refused_by_line(tmp_path: Path, row: str) -> None:
    """CASES 32."""
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"prompt_ids": [1], "ids": [2], "temperature": 0}) + "\n" + row + "\n")
    with pytest.raises(PlaygroundError, match=r"Line 2 of rows\.jsonl"):
        read_exchanges(file, 10)


def test_some_are_held_out() -> None:
    exchanges = [Exchange((1,), (2, 3), 0.0)] * 2000
    assert sum(held_out(exchanges, 96)) == pytest.approx(96, abs=1)
    assert sum(held_out(exchanges[:10], 96)) == 1


def test_states_on_disk_are_the_computed_ones_and_resume(tmp_path: Path) -> None:
    computed = live()
    disk = DiskStates(tmp_path / "states.bin", computed, [len(s) for s in SEQUENCES])
    disk.fill(lambda done: None, lambda: False)
    for one, two in zip(disk.rows([2, 0]), computed.rows([2, 0]), strict=True):
        torch.testing.assert_close(one, two)
    again = DiskStates(tmp_path / "states.bin", live([]), [len(s) for s in SEQUENCES])
    again.fill(lambda done: None, lambda: False)  # nothing left to compute, or the empty one would fail
    torch.testing.assert_close(again.rows([3])[0], computed.rows([3])[0])


def test_the_head_begins_as_the_targets_last_layer() -> None:
    shape = shape_for(MODEL, 50, ())
    assert shape.taps == (0, 1)
    head = initial_head(MODEL, shape, list(range(50)), 0)
    last = MODEL.model.layers[-1]
    torch.testing.assert_close(head.down_proj.weight, last.mlp.down_proj.weight)
    torch.testing.assert_close(head.qkv_proj.weight[:32, 32:], last.self_attn.q_proj.weight)
    torch.testing.assert_close(head.lm_head.weight, MODEL.lm_head.weight[:50])
    with pytest.raises(PlaygroundError, match="of 2 layers"):
        shape_for(MODEL, 50, (1, 2))


def test_a_checkpoint_gives_back_head_and_optimiser(tmp_path: Path) -> None:
    def made() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(1)
        module = torch.nn.Linear(3, 2)
        return module, torch.optim.AdamW(module.parameters(), lr=0.1)

    def step(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        module(torch.ones(1, 3)).pow(2).sum().backward()
        optimizer.step()

    module, optimizer = made()
    for _ in range(3):
        step(module, optimizer)
    save(tmp_path, module, optimizer, Place(step=3, best=1.5), [{"step": 3}])
    step(module, optimizer)
    other, its_optimizer = made()
    assert restore(tmp_path, other, its_optimizer) == (Place(step=3, best=1.5), [{"step": 3}])
    step(other, its_optimizer)
    torch.testing.assert_close(other.state_dict(), module.state_dict())
    for number in (4, 5, 6):
        save(tmp_path, module, optimizer, Place(step=number), [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000005", "step-00000006"]


def test_expected_tokens_and_the_speedup_they_imply() -> None:
    assert expected_tokens((0.5, 0.5), 1) == 1.5
    assert expected_tokens((0.5, 0.4), 3) == pytest.approx(1 + 0.5 + 0.2 + 0.08)
    cost = {"target_pass_seconds": [1.0, *[1.1] * 8], "draft_token_seconds": 0.1}
    assert predictions((0.5, 0.5), cost)[0] == {"k": 1, "tokens_per_step": 1.5, "speedup": pytest.approx(1.5 / 1.2)}


def test_options_are_refused_by_name() -> None:
    with pytest.raises(PlaygroundError, match="temperatures"):
        checked(TrainOptions, {"temperatures": ["hot"]}, where="the training's options")
