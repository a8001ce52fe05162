"""What the Pairs tab and the draft list draw: every verdict, in both languages, with strangers' words made harmless."""

import re
from pathlib import Path

import pytest

from playground.doctor.agreement import Agreement, Point
from playground.doctor.examine import examine
from playground.doctor.trial import Progress
from playground.errors import PlaygroundError
from playground.settings import Settings
from playground.ui.column import Column
from playground.ui.draft_list import draft_names, refused_html
from playground.ui.pair_catalogue import catalogue_html
from playground.ui.pair_trial_view import trial_html, waiting_html
from playground.ui.pair_view import nothing_html, problem_html, report_html
from playground.ui.pairs_tab import context_of
from storage import Store
from tests.pair_folders import WORDS, gguf, head, model, swapped

HOSTILE = "</td><script>alert(1)</script>${x}{{y}}"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "no-hub"))
    models = tmp_path / "models"
    model(models, "target", numbers=90_000)
    model(models, "small")
    model(models, "swapped", words=swapped(7, 9))
    head(models, "head")
    gguf(models / "quant.gguf")
    return Settings(data=tmp_path, device="cpu")


def plain(html: str, lang: str = "en") -> str:
    """The text of one language, as a reader sees it."""
    other = "zh-CN" if lang == "en" else "en"
    html = re.sub(rf'<(span|text)[^>]*lang="{other}"[^>]*>.*?</\1>', "", html, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def shown(home: Settings, draft: str) -> str:
    paths = {name: str(home.models_folder / name) for name in ("target", "small", "swapped", "head")}
    paths["quant"] = str(home.models_folder / "quant.gguf")
    return report_html(examine("target", draft, paths, device="cpu"))


def test_a_report_says_verdict_engines_and_memory(home: Settings) -> None:
    said = plain(shown(home, "small"))
    for words in (
        "This pair works",
        "Same vocabulary: 100 tokens.",
        "free on cpu",
        "llama.cpp",
        "spec-type: draft-simple",
    ):
        assert words in said
    assert "这对模型可用" in plain(shown(home, "small"), "zh-CN")


def test_a_refused_pair_says_why_first(home: Settings) -> None:
    said = plain(shown(home, "swapped"))
    assert said.index("This pair does not work") < said.index("the first is 7: target “w7”, draft “w9”")
    assert "use_heterogeneous_vocab: true" in said


@pytest.mark.parametrize("draft", ["small", "swapped", "head", "quant"])
def test_no_report_leaks_markup_or_templates(home: Settings, draft: str) -> None:
    html = shown(home, draft)
    assert html.count("<section") == html.count("</section>")
    assert "${" not in html
    assert "{{" not in html


def test_strangers_words_are_harmless(tmp_path: Path) -> None:
    """CASES 27: tokens, names and templates of a model folder are text."""
    words = {**{k: v for k, v in WORDS.items() if v != 7}, HOSTILE: 7}
    target = model(
        tmp_path, "t", bos="<s>", words=words, config={"architectures": ["X<b>CausalLM"], "model_type": HOSTILE[:40]}
    )
    draft = model(tmp_path, "d${x}<i>")
    html = report_html(examine(target, draft, {}, device="cpu"))
    for bad in ("<script", "${x}", "{{y}}", "<i>CausalLM", "X<b>"):
        assert bad not in html
    assert "&lt;script&gt;" in html


def test_the_list_offers_what_can_work_and_says_why_not(home: Settings) -> None:
    assert draft_names(home, "target", "draft_model") == ["small", "quant", "target"]
    said = plain(str(refused_html(home, "target", "draft_model")))
    assert "2 models here cannot draft for it" in said
    assert "head An EAGLE-3 head: it drafts by the method eagle3." in said
    assert "swapped 2 token ids mean different strings" in said
    assert draft_names(home, "target", "eagle3") == ["head"]


def test_compare_offers_the_same_list(home: Settings) -> None:
    column = Column.__new__(Column)
    column.settings = home
    assert column.drafts("embedded", "target", "draft_model") == ["small", "quant", "target"]
    assert column.drafts("embedded", "target", "ngram") == []
    assert "cannot draft for it" in plain(column.check("embedded", "target", "draft_model", None))
    said = plain(column.check("embedded", "target", "draft_model", "small"))
    assert "Same vocabulary" in said
    assert "Same chat template" not in said  # a narrow place shows what decides


def test_the_catalogue_shows_groups_and_untested_pairs(home: Settings) -> None:
    store = Store(home.database_path)
    try:
        said = plain(catalogue_html(home, store))
    finally:
        store.close()
    assert "target" in said
    assert "no tokenizer of their own" in said
    assert said.count("untested") >= 20
    assert "measured here:" not in said


def test_a_wrong_file_of_pairs_is_named_and_the_rest_is_shown(home: Settings) -> None:
    """CASES 32."""
    folder = home.presets_folder / "pairs"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("pairs: 3\n")
    store = Store(home.database_path)
    try:
        said = plain(catalogue_html(home, store))
    finally:
        store.close()
    assert "mine.yaml" in said
    assert "by tokenizer" in said


def test_a_trial_shows_its_progress_and_then_its_verdict() -> None:
    curve = tuple(
        Point(k, 1 + 0.6 * k, 1 + 0.5 * k, 0.01 * k, 0.1, 1 + 0.1 * k, 1.2 if k == 2 else None, k % 2)
        for k in range(1, 6)
    )
    found = Agreement((0.8, 0.7, 0.6, 0.5, 0.4), (300,) * 5, (0.7, 0.8), 120, 0.8, curve, 0.1, 3, 3, 4, 3)
    running = plain(trial_html(Progress(5, 8, "Loading <b>", found)))
    assert "5 of 8 runs" in running
    assert "Loading &lt;b&gt;" in running
    assert "Worth it" not in running  # no verdict before the end
    done = plain(trial_html(Progress(8, 8, "", found, finished=True)))
    for words in (
        "Worth it",
        "Predicted 1.50× at k = 5",
        "agree on 60 %",
        "below the 75 %",
        "0.70 to 0.80",
        "10 % of a target",
    ):
        assert words in done
    assert "值得" in plain(trial_html(Progress(8, 8, "", found, finished=True)), "zh-CN")


def test_a_trial_of_nothing_yet_has_no_charts() -> None:
    html = trial_html(Progress(0, 8, "", Agreement(of=4)))
    assert "<svg" not in html
    assert "0 of 8 runs" in plain(html)
    assert plain(nothing_html())
    assert plain(waiting_html())


def test_a_problem_is_text() -> None:
    html = problem_html(PlaygroundError(HOSTILE, "${fix}"))
    assert "<script" not in html
    assert "${" not in html


@pytest.mark.parametrize(("typed", "means"), [("", None), (" ", None), (None, None), ("4,096", 4096), ("8_192", 8192)])
def test_the_context_is_a_number_of_tokens(typed: str | None, means: int | None) -> None:
    assert context_of(typed) == means


@pytest.mark.parametrize("typed", ["0", "-1", "1e9", "９", "x", "9" * 40, "99999999"])
def test_what_is_no_context_is_refused(typed: str) -> None:
    with pytest.raises(PlaygroundError, match="no number of tokens"):
        context_of(typed)
