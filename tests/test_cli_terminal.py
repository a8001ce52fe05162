"""Streams in a terminal: every fate told by shape, and no word of a model able to touch the terminal."""

import io
import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from playground.cli.card import agreement, comparison_card, print_card, run_card, why
from playground.comparison import Comparison
from playground.config import RunConfig
from playground.events import Loading, Queued, RunFinished, RunStarted, Step, Token
from playground.results import Collector, percent, rate, seconds, three, times
from playground.terminal import STYLES, Progress, TokenPrinter, console_for, in_one_line, sanitised

HOSTILE = "\x1b[31mred\x1b]8;;http://evil\x1b\\link\x07\x9b2J\u202etxet\u2066\x00\r\x7f\u200b"
STEP = Step(
    1,
    0.2,
    (Token(1, " one", "accepted"), Token(2, " two\n", "recovered")),
    (Token(3, " no\n", "rejected"), Token(-1, "", "rejected")),
    3,
    1,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return console_for(Terminal())


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_hostile_text_is_shown_and_not_obeyed() -> None:
    """CASES 27, in a terminal: escapes, links, bells, directions."""
    clean = sanitised(HOSTILE)
    assert "␛[31mred" in clean
    assert "‹U+202E›" in clean
    assert "␍" in clean
    assert not any(unicodedata.category(c) in ("Cc", "Cf") for c in clean)


@given(st.text())
def test_nothing_hidden_survives(text: str) -> None:
    clean = sanitised(text)
    kept = clean.replace("\n", "").replace("\t", "").replace("\u200d", "").replace("\u200c", "")
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for c in kept)
    clean.encode()


@pytest.mark.parametrize("text", ["plain", "Grüße\n\tnaïve", "中文", "👩‍👩‍👧 é 🏳️‍🌈", "क्‍ष", "a\r\nb"])
def test_honest_text_stays_as_it_is(text: str) -> None:
    assert sanitised(text) == text.replace("\r\n", "\n")


def test_a_name_starts_no_line_of_its_own() -> None:
    """A line that a file's name or a model's name begins would be read as one of ours."""
    shown = in_one_line("a\nnote: all is well\r\n\tb\u202e\u2028c")
    assert shown == "a␊note: all is well␊␉b‹U+202E›‹U+2028›c"
    assert in_one_line("Grüße 中文") == "Grüße 中文"


def test_every_fate_has_a_shape_of_its_own() -> None:
    """Never by colour alone: without the colours the styles still differ."""
    colours = {"cyan", "yellow", "magenta", "red", "green", "blue"}
    shapes = {frozenset(style.split()) - colours for style in STYLES.values()}
    assert len(shapes) == len(STYLES)


def test_a_terminal_gets_styles_and_the_legend(monkeypatch: pytest.MonkeyPatch) -> None:
    console = terminal(monkeypatch)
    printer = TokenPrinter(console)
    printer.legend()
    printer.step(STEP)
    printer.end()
    text = written(console)
    assert "rejected (struck through)" in text
    assert text.index(" one") < text.index(" no↵") < text.index("□") < text.index(" two"), "in the order of reading"
    assert "\x1b[2;9m no↵" in text
    assert "\x1b[1;36m one" in text
    assert text.endswith(" two\x1b[0m\n")


@pytest.mark.parametrize("why_plain", ["no terminal", "NO_COLOR", "TERM=dumb"])
def test_elsewhere_the_text_alone(why_plain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb" if why_plain == "TERM=dumb" else "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if why_plain == "NO_COLOR":
        monkeypatch.setenv("NO_COLOR", "1")
    console = console_for(io.StringIO() if why_plain == "no terminal" else Terminal())
    printer = TokenPrinter(console)
    printer.legend()
    printer.step(STEP)
    printer.end()
    assert written(console) == " one two\n"


def test_rejected_drafts_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    console = terminal(monkeypatch)
    printer = TokenPrinter(console, rejected=False)
    printer.legend()
    printer.step(STEP)
    assert "no↵" not in written(console)
    assert "rejected" not in written(console)


def test_markup_in_model_text_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    console = terminal(monkeypatch)
    TokenPrinter(console).step(Step(1, 0.1, (Token(1, "[bold red]x[/] :smile: \x1b[2J", "accepted"),), (), 1, 1))
    assert "[bold red]x[/] :smile: ␛[2J" in written(console)


def test_long_streams_are_not_wrapped_or_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    console = terminal(monkeypatch)
    printer = TokenPrinter(console)
    for i in range(500):
        printer.step(Step(i, 0.0, (Token(1, f" word{i}", "target"),)))
    assert written(console) == "".join(f" word{i}" for i in range(500))


def test_progress_is_one_line_on_a_terminal_and_a_line_a_stage_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        Queued(1),
        Loading("weights", "Loading \x1b[31mweights", 0.1),
        Loading("weights", "Loading \x1b[31mweights", 0.9),
    ]
    console = terminal(monkeypatch)
    progress = Progress(console)
    for event in events:
        progress.add(event)
    progress.add(Step(0, 0.1, ()))
    assert "\n" not in written(console)
    assert written(console).endswith("\r\x1b[2K")
    assert "␛[31mweights 90%" in written(console)
    plain = console_for(io.StringIO())
    progress = Progress(plain)
    for event in events:
        progress.add(event)
    assert written(plain) == "Waiting: 1 before this one\nLoading ␛[31mweights 10%\n"


def collector(*, k: int = 2, same: bool = True) -> Collector:
    made = Collector(RunConfig(), "hi", {"baseline": "b", "speculative": "s"}, "c")
    made.add("baseline", RunStarted((1,), "", {"dtype": "float32"}))
    made.add("speculative", RunStarted((1,), "", {"dtype": "float32", "warnings": ["beware\x1b[2J"]}))
    for i in range(7):
        made.add("baseline", Step(i, 0.1 * (i + 1), (Token(i, f" {i}", "target"),), verify_seconds=0.1))
    made.add("speculative", Step(0, 0.1, (Token(0, " 0", "target"),)))
    for i in range(2):
        tokens = [Token(n if same else 99, f" {n}", "accepted") for n in range(1 + 3 * i, 4 + 3 * i)]
        made.add("speculative", Step(i + 1, 0.3 + 0.2 * i, tuple(tokens), (), k, k, None, 0.05, 0.15, (1.0,) * 3))
    for arm in ("baseline", "speculative"):
        made.add(arm, RunFinished("length", 0.7))
    return made


def test_the_card_leads_with_one_number_and_says_what_it_rests_on() -> None:
    console = console_for(io.StringIO())
    print_card(console, comparison_card(collector().comparison()))
    text = written(console)
    assert text.strip().startswith("1.50× faster")
    assert "100 % (4 of 4)" in text
    assert "Outputs identical, token for token." in text
    assert "Predicted from the parts: 1.50×." in text
    assert "! beware␛[2J" in text
    run = console_for(io.StringIO())
    print_card(run, run_card(collector().run("speculative")))
    assert written(run).strip().startswith("15.0 tok/s")


def test_a_divergence_is_told_with_both_words() -> None:
    verdict = collector(same=False).comparison().verdict
    assert "Outputs differ from token 1 on: “ 1” without, “ 1” with (" in agreement(verdict)


def test_an_empty_comparison_claims_nothing() -> None:
    assert why(Comparison()) == ""
    made = Collector(RunConfig(), "hi", {"baseline": "b", "speculative": "s"})
    console = console_for(io.StringIO())
    print_card(console, comparison_card(made.comparison()))
    assert "speed-up n/a" in written(console)
    assert "Outputs not compared: not finished." in written(console)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.001234, "0.00123"), (0.9999, "1.00"), (12.345, "12.3"), (123.4, "123"), (1234.5, "1234"), (0, "0")],
)
def test_three_digits(value: float, text: str) -> None:
    assert three(value) == text


def test_words_for_numbers() -> None:
    """CASES 23: a slow-down is shown as one; n/a is never 0."""
    assert [times(x) for x in (1.87, 0.8, 1.001, None)] == [
        "1.87× faster",
        "0.800× (slower)",
        "1.00×, no gain",
        "speed-up n/a",
    ]
    assert (percent(None), rate(None), seconds(None), three(math.nan)) == ("n/a", "n/a tok/s", "n/a", "n/a")
    assert (seconds(0.0208), seconds(12.0), percent(0.713)) == ("20.8 ms", "12.0 s", "71.3 %")
