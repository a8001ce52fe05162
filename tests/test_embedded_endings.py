"""How a run ends: EOS, stop strings, max_tokens, the context's end; each exactly, wherever in a block it falls."""

import pytest

from playground.config import SamplingParams
from tests import tiny
from tests.scripted_model import PROMPT, TOKENIZER, FixedDrafter, Outcome, generate, loaded

SCRIPT = tiny.random_ids(40, seed=3)


def ids_of(text: str) -> list[int]:
    return list(TOKENIZER(text)["input_ids"])


@pytest.mark.parametrize("k", range(1, 9))
def test_eos_accepted_inside_a_block_ends_there(k: int) -> None:
    """CASES 9: for every offset of EOS within a block of accepted drafts."""
    for offset in range(k + 1):
        script = [*SCRIPT[: 1 + offset], tiny.EOS_ID, *SCRIPT[1 + offset :]]
        out = generate(loaded(script), FixedDrafter(script), k)
        assert out.ids == script[: 2 + offset]
        assert out.finished.reason == "stop"
        assert out.steps[-1].truncated == "eos"
        assert out.steps[-1].tokens[-1].text == ""
        assert out.finished.usage_completion_tokens == len(out.ids)
        assert out.steps[-1].num_accepted_tokens >= len(out.steps[-1].tokens) - 1
        assert out.result.reconciled is True


def test_eos_drafted_but_rejected_continues() -> None:
    """CASES 10."""
    wrong = [*SCRIPT[:3], tiny.EOS_ID, *SCRIPT[4:]]
    baseline = generate(loaded(SCRIPT), sampling=SamplingParams(max_tokens=20))
    out = generate(loaded(SCRIPT), FixedDrafter(wrong), 5, sampling=SamplingParams(max_tokens=20))
    assert out.ids == baseline.ids
    assert tiny.EOS_ID in [t.id for s in out.steps for t in s.rejected]


def test_ignore_eos_goes_on_and_shows_nothing_of_it() -> None:
    script = [*SCRIPT[:2], tiny.EOS_ID, *SCRIPT[2:20]]
    out = generate(loaded(script), FixedDrafter(script), 4, sampling=SamplingParams(max_tokens=10, ignore_eos=True))
    assert out.ids == script[:10]
    assert out.finished.reason == "length"


def test_min_tokens_holds_eos_back() -> None:
    """CASES 22, the min_tokens part: as the baseline with the same setting."""
    script = [SCRIPT[0], tiny.EOS_ID, *SCRIPT[1:20]]
    sampling = SamplingParams(max_tokens=12, min_tokens=6)
    baseline = generate(loaded(script), sampling=sampling)
    assert tiny.EOS_ID not in baseline.ids[:6]
    for k in range(1, 9):
        assert generate(loaded(script), FixedDrafter(script), k, sampling=sampling).ids == baseline.ids


@pytest.mark.parametrize("max_tokens", range(1, 13))
def test_max_tokens_is_exact(max_tokens: int) -> None:
    """CASES 11: max_tokens 1..12 x k 1..8, drafts right and wrong."""
    for k in range(1, 9):
        for right in (SCRIPT, [i if n % 3 else None for n, i in enumerate(SCRIPT)]):
            out = generate(loaded(SCRIPT), FixedDrafter(right), k, sampling=SamplingParams(max_tokens=max_tokens))
            assert out.ids == SCRIPT[:max_tokens]
            assert out.finished.usage_completion_tokens == max_tokens == out.result.num_delivered
            assert out.finished.reason == "length"
            assert out.steps[-1].truncated == "length"
            assert out.result.reconciled is True


def block(text: str, stop: str, *, k: int = 8, first: str = "the") -> tuple[Outcome, list[int]]:
    """A run in which `first` comes from the prefill and `text` as one accepted block."""
    script = [*ids_of(first), *ids_of(text)]
    out = generate(loaded(script), FixedDrafter(script), k, sampling=SamplingParams(max_tokens=60, stop=(stop,)))
    return out, script


def test_stop_string_of_two_tokens_inside_an_accepted_block() -> None:
    """CASES 12: cut at the stop string, the token that completes it delivered and counted, nothing after it."""
    tokens = ids_of(" fox jumps over the lazy dog")
    assert len(tokens) >= 8
    pair = TOKENIZER.decode(tokens[:2])
    out, script = block(" fox jumps over the lazy dog", pair, first="t")
    assert out.ids == script[:3]
    assert out.steps[1].num_accepted_tokens == 8
    assert out.steps[1].truncated == "stop"
    assert out.finished.reason == "stop"
    assert out.finished.text == "t" == out.shown
    assert out.finished.usage_completion_tokens == 3 == out.result.num_delivered
    assert out.steps[1].rejected == ()
    assert out.result.reconciled is True


def test_half_a_stop_string_is_never_shown() -> None:
    """CASES 12: a stop string split over two steps leaves nothing of itself in the first."""
    script = ids_of("ab STOP more")
    out = generate(loaded(script), sampling=SamplingParams(max_tokens=60, stop=("STOP",)))
    assert out.shown == "ab " == out.finished.text
    for step in out.steps:
        assert "S" not in "".join(t.text for t in step.tokens)


def test_what_only_began_like_a_stop_string_is_shown_in_the_end() -> None:
    script = ids_of("ab STOLEN")
    out = generate(loaded(script), sampling=SamplingParams(max_tokens=60, stop=("STOP",)))
    assert out.shown == "ab STOLEN" == out.finished.text
    short = generate(loaded(ids_of("ab STO")), sampling=SamplingParams(max_tokens=60, stop=("STOP",)))
    assert short.shown == "ab STO" == short.finished.text


def test_stop_string_at_the_very_cap_counts_as_stop() -> None:
    """CASES 13: a stop inside the budget beats the cap."""
    script = ids_of("one two three")
    out = generate(
        loaded(script), FixedDrafter(script), 4, sampling=SamplingParams(max_tokens=len(script), stop=("three",))
    )
    assert out.finished.reason == "stop"
    assert out.finished.text == "one two "


def test_eos_at_the_very_cap_counts_as_stop() -> None:
    out = generate(loaded([*SCRIPT[:4], tiny.EOS_ID]), sampling=SamplingParams(max_tokens=5))
    assert (out.finished.reason, out.ids[-1]) == ("stop", tiny.EOS_ID)


def test_one_word_reply_keeps_every_ratio_between_0_and_1() -> None:
    """CASES 24: k = 7, a reply of one word."""
    script = [*ids_of("fox"), tiny.EOS_ID]
    out = generate(loaded(script), FixedDrafter([*script, *SCRIPT]), 7)
    values = out.result.metrics()
    for name in ("draft_acceptance_rate", "draft_share_of_output", "wasted_draft_fraction"):
        assert values[name] is None or 0 <= values[name] <= 1
    assert out.result.reconciled is True
    assert out.finished.text == "fox"


def test_eos_as_the_first_token() -> None:
    out = generate(loaded([tiny.EOS_ID]), FixedDrafter([]), 4)
    assert (out.ids, out.finished.text, out.finished.reason) == ([tiny.EOS_ID], "", "stop")
    assert out.result.draft_acceptance_rate is None


def test_full_acceptance_is_k_plus_1_tokens_a_step() -> None:
    out = generate(loaded(SCRIPT), FixedDrafter(SCRIPT), 4, sampling=SamplingParams(max_tokens=1 + 5 * 5))
    assert [len(s.tokens) for s in out.steps[1:]] == [5] * 5
    assert [t.origin for t in out.steps[1].tokens] == ["accepted"] * 4 + ["bonus"]


def test_origins_and_rejected_tokens() -> None:
    right = [SCRIPT[0], SCRIPT[1], None, SCRIPT[3], *SCRIPT[4:]]
    step = generate(loaded(SCRIPT), FixedDrafter(right), 3, sampling=SamplingParams(max_tokens=20)).steps[1]
    assert [t.origin for t in step.tokens] == ["accepted", "recovered"]
    assert [t.id for t in step.rejected] == [9, SCRIPT[3]]
    judged, unjudged = step.rejected
    assert judged.target_prob is not None
    assert unjudged.target_prob is None
    assert (step.num_draft_tokens, step.num_accepted_tokens) == (3, 1)
    assert len(step.logit_gaps) == len(step.target_candidates) == 2
    assert step.logit_gaps[0] == pytest.approx(5.0)
    assert step.draft_candidates == ()


def test_abort_is_honoured_within_one_step() -> None:
    """CASES 26, the engine's part."""
    polls = iter([False] * 6 + [True])
    out = generate(loaded(SCRIPT), FixedDrafter(SCRIPT), 2, aborted=lambda: next(polls))
    assert out.finished.reason == "cancelled"
    assert out.finished.text == TOKENIZER.decode(out.ids, skip_special_tokens=True).rstrip("\ufffd")
    assert out.finished.reconciled is True


def test_abort_works_between_chunks_of_a_long_prompt() -> None:
    polls = iter([False, False, True])
    target = loaded(SCRIPT, prompt_length=200)
    out = generate(target, prompt=[5] * 200, aborted=lambda: next(polls))
    assert (out.finished.reason, out.steps) == ("cancelled", [])
    assert sum(target.model.module.fed) < 200


def test_characters_split_over_tokens_and_steps() -> None:
    """CASES 14: emoji, ZWJ flag, e + U+0301, CJK: no U+FFFD, nothing doubled, joined text = one-shot text."""
    text = "a👩‍🚀b 🇫🇷 e\u0301 你好，世界 🙂"
    script = [i for byte in text for i in ids_of(byte)]  # character by character: more tokens than the words need
    for k in (0, 1, 3, 8):
        drafter = FixedDrafter([i if n % 4 else None for n, i in enumerate(script)]) if k else None
        out = generate(loaded(script), drafter, k, sampling=SamplingParams(max_tokens=len(script)))
        assert out.shown == text == out.finished.text
        assert not any("\ufffd" in t for t in out.texts)
        assert len(out.texts) == len(script)
        assert "\ufffd" not in "".join(c.text for s in out.steps for row in s.target_candidates for c in row)


def test_a_character_cut_off_by_max_tokens_is_not_shown() -> None:
    """CASES 14."""
    script = ids_of("a") + [TOKENIZER.convert_tokens_to_ids(c) for c in "ðŁ"]
    out = generate(loaded(script), sampling=SamplingParams(max_tokens=3))
    assert (out.shown, out.finished.text, out.result.reconciled) == ("a", "a", True)


def test_model_text_passes_through_raw() -> None:
    """CASES 27, the engine's part: nothing is escaped, dropped or merged here."""
    text = "<b>x</b></span><script>${x} {{x}} **m** ```c``` the the the  \n\n\t "
    script = [*ids_of(text), tiny.EOS_ID]
    out = generate(loaded(script), FixedDrafter(script), 5, sampling=SamplingParams(max_tokens=200))
    assert out.shown == text == out.finished.text


def test_ids_past_the_tokenizer_are_never_emitted() -> None:
    """CASES 1: a padding row with the best logit does not win."""
    padded = loaded([tiny.VOCAB + 5, *SCRIPT[1:]], rows=tiny.VOCAB + 64)
    out = generate(padded, sampling=SamplingParams(max_tokens=5))
    assert all(i < tiny.VOCAB for i in out.ids)
    assert out.ids[1:] == SCRIPT[1:5]
    assert all(c.id < tiny.VOCAB for s in out.steps for row in s.target_candidates for c in row)


def test_prompt_is_read_in_chunks() -> None:
    target = loaded(SCRIPT, prompt_length=40)
    generate(target, prompt=[5] * 40, sampling=SamplingParams(max_tokens=1))
    assert target.model.module.fed == [16, 16, 8]
    assert len(PROMPT) < 16
