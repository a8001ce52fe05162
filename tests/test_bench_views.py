"""Reports as the page and the HTML file show them: whole, in both languages, and with nothing in them that acts."""

import re
from html.parser import HTMLParser

import pytest

from playground.errors import PlaygroundError
from playground.tune.text import markdown as tuning_markdown
from playground.tune.ways import tried_options, ways
from playground.ui import bench_html
from playground.ui.bench_view import report_html
from playground.ui.i18n import STRINGS
from playground.ui.tune_tab import default_name
from playground.ui.tune_view import tuning_html
from playground.ui.work_view import ended_html, progress_html, spoken
from tests.bench_reports import HOSTILE, bench_report, config, tune_report


class Tags(HTMLParser):
    """Collects tags with their attributes, and checks that what is opened is closed."""

    VOID = ("meta", "br", "img", "hr", "input")

    def __init__(self):
        super().__init__()
        self.open, self.found = [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(html):
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags.found


def harmless(html):
    """No tag, attribute or template of a stranger's; a fragment is put into a gr.HTML."""
    tags = parsed(html)
    assert not [t for t, _ in tags if t in ("script", "img", "iframe", "object")]
    assert not [a for _, attrs in tags for a in attrs if a.startswith("on")]
    for character in ("${", "{{"):
        assert character not in html


def test_a_whole_benchmark():
    html = report_html(bench_report(levels=(1, 2)))
    assert len(re.findall("<svg", html)) == 3
    assert "b-verdict" in html
    assert "speculation stops paying" in html or "95 % interval over waves" in html
    assert html.count("<tr>") > 8
    harmless(html)


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({"acceptance": 0.98, "draft_cost": 0.0}, "b-pass"),
        ({"acceptance": 0.9, "draft_cost": 1.0}, "b-slower"),
        ({"acceptance": 0.5, "draft_cost": 0.05}, "b-fail"),
        ({"no_draft": 1.0}, "b-no-drafts"),
        ({"miscount": True}, "b-invalid"),
        ({"diverge_at": 5, "divergence": "mismatch"}, "b-invalid"),
    ],
)
def test_every_verdict_is_shown(options, verdict):
    """CASES 23 among them: slower is said as calmly as faster."""
    assert f'class="b-verdict {verdict}"' in report_html(bench_report(**options))


def test_too_few_prompts_and_nothing_at_all():
    assert "needs at least 6 prompts" in report_html(bench_report(3))
    assert "press Start" in report_html({"requests": []})
    assert "press Start" not in tuning_html(tune_report())


def test_strangers_words_do_nothing():
    """CASES 27."""
    harmless(report_html(bench_report(text=HOSTILE)))
    harmless(tuning_html(tune_report(text=HOSTILE)))
    assert "<script" not in tuning_markdown(tune_report(text=HOSTILE))


@pytest.mark.parametrize(("make", "report"), [(bench_html.page, bench_report), (bench_html.tuning_page, tune_report)])
def test_the_file_stands_alone(make, report):
    html = make(report(text=HOSTILE))
    tags = parsed(html)
    assert [t for t, _ in tags].count("script") == 1
    assert not [a for _, attrs in tags for a in attrs if a.startswith("on")]
    links = [v for _, attrs in tags for k, v in attrs.items() if k in ("src", "href") and v]
    assert all(link.startswith("data:text/csv") for link in links)
    assert "@import" not in html
    assert "script-src 'sha256-" in html
    assert html.count("zh-CN") > 20


def test_a_tuning():
    html = tuning_html(tune_report(acceptance=0.95, draft_cost=0.01))
    assert "b-pass" in html
    assert 'class="band"' in html
    assert "k = 8" in html
    assert "do not speculate" in tuning_html(tune_report(acceptance=0.9, draft_cost=1.0))


def test_each_rule_flag_and_reason_has_its_words():
    from playground.bench import flags
    from playground.bench.text import TRUST

    codes = ("pass", "fail", "slower", "inconclusive", "too_few", "no_drafts", "invalid")
    wanted = {f"bench.reason.{code}" for code in codes} | {f"bench.trust.{code}" for code in TRUST}
    wanted |= {f"bench.flag.{name}" for name in (*flags._CHECKS, "duplicate", "outlier")}
    wanted |= {
        f"tune.{part}.{code}"
        for part in ("title", "lead", "reason")
        for code in ("faster", "not_faster", "too_few", "nothing")
    }
    wanted |= {f"bench.ended.{s}" for s in ("planned", "running", "done", "cancelled", "interrupted", "error")}
    assert wanted <= set(STRINGS)


def test_progress_and_endings():
    assert 'value="3"' in progress_html(3, 10, 125.0, "<b>")
    assert "<b>" not in progress_html(3, 10, 125.0, "<b>")
    assert "Stopped" in ended_html("cancelled")
    assert [spoken(s) for s in (3.21, 45, 200, 7500)] == ["3.21 s", "45 s", "3 min", "2 h 5 min"]


def test_ways_of_drafting_from_the_form():
    base = config().model_copy(update={"engine": "embedded", "engine_options": {}})
    tried = tried_options(["prompt_lookup_max=3,5", "match=earliest,most_recent"])
    found = ways(base, ["ngram", "draft_model"], tried)
    assert [(s.method, s.model) for s in found] == [("ngram", None)] * 4 + [("draft_model", "d")]
    assert len(ways(base, [], {})) == 1
    with pytest.raises(PlaygroundError, match="no OPTION"):
        tried_options(["prompt_lookup_max"])
    with pytest.raises(PlaygroundError, match="none of these methods"):
        ways(base, [], tried)
    assert (
        default_name(tune_report(text="Org/My Model", acceptance=0.95, draft_cost=0.01))
        == "tuned-my-model-draft_model-k8"
    )
