"""Languages, numbers, escapes, the verdict strip and the glossary: pure functions from values to text."""

import re
import string
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from playground.comparison import Comparison, ComparisonFold, Divergence
from playground.config import RunConfig, SamplingParams, Speculation
from playground.engines._script import Script, ScriptedOptions
from playground.events import RunFinished, RunStarted
from playground.metrics import METRICS, RunResult
from playground.ui import i18n, theme
from playground.ui.glossary import TERMS, glossary, term
from playground.ui.render import esc, milliseconds, percent, three
from playground.ui.verdict import run_strip, verdict_strip

UI = Path(i18n.__file__).parent
NASTY = "</span><script>alert(1)</script><b>${x}{{x}}`'\""


class _Checker(HTMLParser):
    """Fails on tags that do not nest; collects what is between them."""

    VOID = frozenset({"br", "img", "input", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(fragment: str) -> str:
    """The fragment, if its tags nest and nothing in it would be evaluated by gr.HTML."""
    parser = _Checker()
    parser.feed(fragment)
    assert not parser.open
    assert "script" not in parser.tags
    assert not re.search(r"[{}`]|\$\{", fragment)
    return fragment


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def comparison(
    greedy: bool = True, finish: bool = True, warnings: list[str] | None = None, **options: Any
) -> Comparison:
    fold = ComparisonFold(greedy)
    for arm, speculation in (("baseline", None), ("speculative", Speculation(method="draft_model"))):
        config = RunConfig(speculation=speculation, sampling=SamplingParams(max_tokens=90))
        for _, event in Script(config, ScriptedOptions(**({"length": 60} | options)), "prompt"):
            if isinstance(event, RunStarted):
                event = replace(event, environment=event.environment | {"warnings": warnings or []})
            if finish or not isinstance(event, RunFinished):
                fold.add(arm, event)  # type: ignore[arg-type]
    return fold.result()


# ---------------------------------------------------------------- languages


@pytest.mark.parametrize("key", sorted(i18n.STRINGS))
def test_every_string_is_there_in_both_languages(key: str) -> None:
    texts = i18n.STRINGS[key]
    assert set(texts) == set(i18n.LANGS)
    assert bool(texts["en"]) == bool(texts["zh-CN"])
    assert fields(texts["en"]) == fields(texts["zh-CN"])


def test_every_key_that_is_used_exists() -> None:
    """Keys written out in the views' Python and JavaScript."""
    used: set[str] = set()
    for file in [*UI.glob("*.py"), *UI.glob("*.js")]:
        used |= set(
            re.findall(r"""["'`]((?:pane|inspector|origin|verdict|chart|why|term)\.[a-z_.-]+)["'`]""", file.read_text())
        )
    used = {key for key in used if not key.endswith((".", ".js", ".css"))}
    assert used - i18n.STRINGS.keys() == set()
    assert used


def test_labels_are_plain_text_for_gradio() -> None:
    """Gradio reads its labels as ICU messages: braces would be parameters, tags would be elements."""
    for messages in i18n.gradio_i18n().translations_dict.values():
        assert not [key for key, text in messages.items() if "{" in text]


def test_tr_holds_both_languages_and_escapes_its_parameters() -> None:
    fragment = checked(i18n.tr("pane.tokens", n=NASTY))
    assert 'lang="en"' in fragment
    assert 'lang="zh-CN"' in fragment
    assert "&lt;script&gt;" in fragment


def test_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        i18n.tr("no.such.key")


def test_metrics_have_formula_and_remark_in_both_languages() -> None:
    for name in METRICS:
        assert i18n.t(f"metric.{name}.formula", "zh-CN")
        assert i18n.t(f"metric.{name}") == METRICS[name].title


def test_the_language_script_knows_gradios_core() -> None:
    """It switches Gradio's own labels through a module whose name changes with each release."""
    script = i18n.language_script()
    assert re.search(r'const CORE="core-[^"]+\.js"', script)
    assert "</" not in script


def test_the_page_asks_no_other_machine() -> None:
    assert not re.findall(r"https?://(?!www\.w3\.org)", theme.HEAD)
    assert "fonts.googleapis" not in str(theme.theme()._font_css)


# ---------------------------------------------------------------- colours


def _variables(dark: bool) -> dict[str, str]:
    css = (UI / "style.css").read_text()
    light = dict(re.findall(r"(--[a-z-]+): (#[0-9a-f]{6})", css.split(":root {")[1].split("}")[0]))
    return (
        light | dict(re.findall(r"(--[a-z-]+): (#[0-9a-f]{6})", css.split("\n.dark {")[1].split("}")[0]))
        if dark
        else light
    )


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG 2's contrast ratio."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("ink", "surface"),
        ("ink", "sunken"),
        ("ink", "accent-soft"),
        ("soft", "surface"),
        ("soft", "sunken"),
        ("soft", "page"),
        ("verify-text", "page"),
        ("draft-text", "page"),
        ("accent", "surface"),
        ("accepted", "accepted-bg"),
        ("recovered", "recovered-bg"),
        ("bonus", "bonus-bg"),
        ("rejected", "surface"),
        ("verify-text", "surface"),
        ("draft-text", "surface"),
    ],
)
def test_text_has_aa_contrast_in_both_themes(text: str, ground: str, dark: bool) -> None:
    colours = _variables(dark)
    assert contrast(colours[f"--db-{text}"], colours[f"--db-{ground}"]) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "shape", ["verify", "draft", "accepted-line", "accent", "rejected-line", "focus", "bonus-line"]
)
def test_shapes_can_be_told_from_the_ground(shape: str, dark: bool) -> None:
    """WCAG 2.1, 1.4.11: 3 to 1 for what carries meaning without being text."""
    colours = _variables(dark)
    assert contrast(colours[f"--db-{shape}"], colours["--db-page"]) >= 3.0


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "n/a"),
        (float("nan"), "n/a"),
        (0, "0"),
        (1.867, "1.87"),
        (0.99996, "1.00"),
        (90.16, "90.2"),
        (1234.5, "1234"),
        (0.001234, "0.00123"),
        (-2.5, "-2.50"),
    ],
)
def test_three_significant_digits(value: float | None, text: str) -> None:
    assert three(value) == text


def test_shares_and_times() -> None:
    assert percent(None) == "n/a"
    assert percent(0.0) == "0 %"
    assert percent(0.714) == "71.4 %"
    assert milliseconds(0.0167) == "16.7 ms"
    assert milliseconds(12.3) == "12.3 s"
    assert milliseconds(1e-15) == "0 ms"


def test_esc_leaves_nothing_for_a_template() -> None:
    """CASES 27: gr.HTML evaluates `${...}` and `{{...}}`."""
    assert not re.search(r"[<>{}$`\"']", str(esc(NASTY)))


# ---------------------------------------------------------------- the verdict


def test_faster_is_said_in_words_and_by_an_arrow() -> None:
    strip = checked(verdict_strip(comparison()))
    assert "▲" in strip
    assert "faster with speculation" in strip
    assert "identical" in strip


def test_slower_is_said_as_calmly() -> None:
    """CASES 23: a draft as large as the target."""
    strip = checked(verdict_strip(comparison(draft_cost=2.0, acceptance=0.2)))
    assert "▼" in strip
    assert "slower with speculation" in strip
    assert re.search(r"<b>0\.\d+×</b>", strip)


def test_half_way_is_so_far_and_is_not_announced() -> None:
    strip = checked(verdict_strip(comparison(finish=False), live=True))
    assert "so far" in strip
    assert 'data-live="true"' in strip
    assert re.search(r'aria-live="polite"></p>', strip)


def test_the_final_verdict_is_announced() -> None:
    assert re.search(r'aria-live="polite"><span', verdict_strip(comparison()))


def test_before_the_first_run_nothing_is_claimed() -> None:
    strip = checked(verdict_strip(None))
    assert "<b>–</b>" in strip
    assert not re.search(r">0(\.0*)? ?%?<", strip)


def test_no_drafts_is_not_available_with_the_reason() -> None:
    """CASES 17: acceptance n/a, never 0 or 100 %."""
    strip = checked(verdict_strip(comparison(no_draft=1.0)))
    assert "n/a: nothing was drafted" in strip
    assert "0 %" not in strip


def test_sampled_outputs_are_not_compared() -> None:
    assert "Sampled: equal in law" in checked(verdict_strip(comparison(greedy=False)))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("numeric tie", "numeric tie at token 12"),
        ("real mismatch", "differ from token 12"),
        ("unknown", "cannot be told"),
    ],
)
def test_a_divergence_is_named(kind: Any, words: str) -> None:
    """CASES 4."""
    found = Divergence(12, 5, 6, NASTY, NASTY, 0.002, 0.001, kind)
    strip = checked(verdict_strip(replace(comparison(), outputs_identical=False, first_divergence=found)))
    assert words in strip


def test_counters_that_do_not_reconcile_make_it_invalid() -> None:
    strip = checked(verdict_strip(comparison(miscount=True)))
    assert "INVALID" in strip
    assert "The engine counted" in strip


def test_an_engines_warnings_are_text() -> None:
    """CASES 27: warnings name models and files that a user chose."""
    assert "&lt;script&gt;" in checked(verdict_strip(comparison(warnings=[NASTY])))


def test_every_number_shows_its_formula() -> None:
    strip = verdict_strip(comparison())
    for name in ("speedup", "draft_acceptance_rate", "tokens_per_step", "mean_acceptance_length", "ttft", "tpot"):
        assert str(esc(METRICS[name].formula)) in strip
    assert strip.count('tabindex="0"') >= 7


def test_a_single_run_has_its_own_strip() -> None:
    for result in (RunResult(), comparison().speculative, comparison().baseline, comparison(finish=False).baseline):
        checked(run_strip(result))
    assert "acceptance" not in run_strip(comparison().baseline)


# ---------------------------------------------------------------- glossary


def test_the_glossary_is_whole() -> None:
    page = checked(glossary())
    for name in TERMS:
        assert f'id="term-{name}"' in page
        checked(term(name))


def test_words_the_project_does_not_use() -> None:
    banned = re.compile(r"\b(gamma|assistant|verifier|small model|big model)\b", re.IGNORECASE)
    assert not [key for key, texts in i18n.STRINGS.items() if banned.search(texts["en"])]
