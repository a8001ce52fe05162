"""The token panes and the inspector in a real browser, fed with values as a run would send them."""

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from playground.events import Candidate, Loading, Queued, RunFinished, RunStarted, Step, Token

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

NASTY = (
    "<b>",
    "</span><script>window.pwned=1</script>",
    "${window.pwned=1}",
    "{{x}}",
    "**bold**",
    "```",
    " again",
    " again",
)
NASTY += ("   ", "\n", "\t", "`${1+1}`", '<img src=x onerror="window.pwned=1">', "&amp;")

Values = Iterator[tuple[Any, Any]]
SCENARIOS: dict[str, Callable[[], Values]] = {}


def scenario(function: Callable[[], Values]) -> Callable[[], Values]:
    """Values for (baseline pane, speculative pane), sent when the page asks for the function's name."""
    SCENARIOS[function.__name__] = function
    return function


def fresh(name: str) -> Any:
    from playground.ui.token_pane import Feed

    return Feed(f"{name}-{os.urandom(4).hex()}")


def tokens(*texts: str, origin: Any = "accepted") -> tuple[Token, ...]:
    return tuple(Token(i, text, origin, 0.5, 0.25) for i, text in enumerate(texts))


def spec_step(
    index: int, texts: list[str], rejected: tuple[str, ...] = (), last: Any = "recovered", **more: Any
) -> Step:
    *accepted, end = texts
    return Step(
        index,
        0.1 * index,
        (*tokens(*accepted), Token(99, end, last, 0.62, None)),
        tuple(Token(50 + i, text, "rejected", None if i else 0.03, 0.4) for i, text in enumerate(rejected)),
        num_draft_tokens=len(accepted) + len(rejected),
        num_accepted_tokens=len(accepted),
        draft_seconds=0.003,
        verify_seconds=0.02,
        **more,
    )


WORDS = [f" word{i}" if i % 12 else "\nLine" for i in range(120)]


def baseline_of(words: list[str]) -> Any:
    feed = fresh("baseline")
    feed.add(RunStarted((1, 2)))
    for i, word in enumerate(words):
        feed.add(Step(i, 0.05 * i, tokens(word, origin="target")))
    feed.add(RunFinished("length", 6.0, "".join(words)))
    return feed


def speculative_of(words: list[str], rejected: tuple[str, ...] = (" bad", " worse")) -> Any:
    feed = fresh("speculative")
    feed.add(RunStarted((1, 2)))
    feed.add(Step(0, 0.1, tokens(words[0], origin="target")))
    for i in range(1, len(words), 3):
        feed.add(spec_step(1 + i // 3, words[i : i + 3], rejected))
    feed.add(RunFinished("length", 3.0, "".join(words)))
    return feed


@scenario
def both() -> Values:
    yield baseline_of(WORDS).value(), speculative_of(WORDS).value()


@scenario
def both_long() -> Values:
    words = [f" word{i}" if i % 12 else f"\nLine{i}" for i in range(480)]
    yield baseline_of(words).value(), speculative_of(words).value()


@scenario
def nasty() -> Values:
    yield baseline_of(list(NASTY)).value(), speculative_of(list(NASTY), NASTY[:3]).value()


@scenario
def split_characters() -> Values:
    """An emoji of four tokens over two steps, a flag, a combining accent, Chinese."""
    feed = fresh("split")
    feed.add(Step(0, 0.1, tokens("A", origin="target")))
    feed.add(spec_step(1, ["", "", ""]))
    feed.add(spec_step(2, ["👩‍👩‍👧", "e", "\u0301"]))
    feed.add(spec_step(3, ["", "🏳️‍🌈", "模型"]))
    feed.add(RunFinished("length", 1.0, "A👩‍👩‍👧e\u0301🏳️‍🌈模型"))
    yield None, feed.value()


@scenario
def with_a_gap() -> Values:
    feed = fresh("gap")
    feed.add(Step(0, 0.1, tokens("one", origin="target")))
    yield None, feed.value()
    feed.add(spec_step(1, [" two", " three"], (" no",)))
    feed.value()  # lost on its way
    feed.add(spec_step(2, [" four", " five"]))
    yield None, feed.value()


@scenario
def forgotten() -> Values:
    from playground.ui import token_pane

    feed = fresh("forgotten")
    feed.add(Step(0, 0.1, tokens("one", origin="target")))
    yield None, feed.value()
    feed.add(spec_step(1, [" two", " three"]))
    feed.value()
    feed.add(spec_step(2, [" four", " five"]))
    token_pane._feeds.pop(feed.run_id)
    yield None, feed.value()


@scenario
def stopped_by_a_string() -> Values:
    feed = fresh("stop")
    feed.add(Step(0, 0.1, tokens("keep", origin="target")))
    feed.add(spec_step(1, [" this EN", "D of it"], (" never",), truncated="stop"))
    yield None, feed.value()
    feed.add(RunFinished("stop", 1.0, "keep this "))
    yield None, feed.value()


@scenario
def long_paragraph() -> Values:
    feed = fresh("long")
    for i in range(1500):
        feed.add(Step(i, 0.01 * i, tokens(f" w{i}", origin="target")))
        if i % 50 == 0:
            yield None, feed.value()
    feed.add(RunFinished("length", 15.0, "".join(f" w{i}" for i in range(1500))))
    yield None, feed.value()


@scenario
def states() -> Values:
    from playground.ui.token_pane import pane_state

    feed = fresh("states")
    for event in (Loading("weights", "SmolLM2", 0.4, 3.0), Queued(2, 9.0), RunStarted((1,))):
        feed.add(event)
        yield pane_state("waiting", feed.run_id + "w"), feed.value()
    feed.add(spec_step(1, [" some", " text"]))
    feed.add(RunFinished("error", 1.0, error="The <b>engine</b> ended.", hint="Start it again.", code="engine_died"))
    yield None, feed.value()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A page with two panes, an inspector, and a verdict full of foreign text."""
    import gradio as gr

    from playground.metrics import RunResult
    from playground.ui import i18n, theme, verdict
    from playground.ui.inspector import StepInspector, set_step_source, step_payload
    from playground.ui.token_pane import TokenPane

    def play(name: str) -> Iterator[tuple[Any, Any]]:
        for pair in SCENARIOS[name]():
            yield tuple(gr.skip() if value is None else value for value in pair)

    best = tuple(Candidate(i, text, 0.6 / (i + 1), 9.0) for i, text in enumerate(NASTY[:5]))
    set_step_source(
        lambda asked: step_payload(
            spec_step(asked[1], [NASTY[1], NASTY[2]], NASTY[:2], target_candidates=(best, best, best)),
            "".join(NASTY),
            greedy=True,
        )
    )
    with gr.Blocks() as blocks:
        name = gr.Textbox(elem_id="name")
        go = gr.Button("go", elem_id="go")
        gr.HTML(verdict.run_strip(RunResult(environment={"warnings": list(NASTY)})), elem_id="strip")
        with gr.Row():
            left, right = TokenPane("baseline", elem_id="left"), TokenPane("speculative", elem_id="right")
        with gr.Tabs():
            with gr.Tab("other", id="other"):
                gr.Markdown("nothing")
            with gr.Tab("inspector", id="inspector", render_children=True):
                StepInspector(elem_id="inspector")
        go.click(play, name, [left, right], show_progress="hidden")
    _, url, _ = blocks.queue().launch(
        prevent_thread_lock=True,
        quiet=True,
        server_name="127.0.0.1",
        theme=theme.theme(),
        head=theme.HEAD,
        i18n=i18n.gradio_i18n(),
    )
    yield url
    blocks.close()


@pytest.fixture
def play(page: "Page", address: str) -> Callable[..., None]:
    """Plays a scenario and waits until the speculative pane shows `last`."""
    page.goto(address)
    page.wait_for_selector("#right .db-pane-box")

    def run(name: str, last: str = "") -> None:
        page.fill("#name textarea", name)
        page.click("#go")
        if last:
            page.wait_for_function(
                "last => document.querySelector('#right .db-pane-box').textContent.includes(last)", arg=last
            )

    return run


def spans(page: "Page", side: str = "right") -> "Locator":
    return page.locator(f"#{side} .db-pane-box span")


def output(page: "Page", side: str = "right") -> str:
    """What the pane shows without its rejected drafts."""
    return page.evaluate(
        "side => [...document.querySelectorAll(`#${side} .db-pane-box span`)].filter(s => !s.matches('.x, .u, .n'))"
        ".map(s => s.textContent).join('')",
        side,
    )


def test_foreign_text_is_text_and_is_coloured_once(page: "Page", play: Any) -> None:
    """CASES 27, in both panes, the tooltip and the inspector."""
    play("nasty", "&amp;")
    for side in ("left", "right"):
        assert output(page, side) == "".join(NASTY)
        assert page.locator(f"#{side} .db-pane-box :is(b, img, script, strong, code)").count() == 0
    kinds = page.evaluate(
        "[...document.querySelectorAll('#right .db-pane-box span')].map(s => s.className.split(' ')[0])"
    )
    assert sum(kind in "tarb" for kind in kinds) >= len(NASTY)
    assert kinds.count("x") == kinds.count("r")
    spans(page).nth(1).hover()
    page.locator("#right .db-tip.on").wait_for()
    spans(page).nth(1).click()
    page.locator("#inspector .db-insp-grid").wait_for()
    assert page.locator("#inspector :is(img, script)").count() == 0
    assert "<script>" in page.locator("#inspector .db-bars.target").first.inner_text()
    assert "<script>" in page.locator("#strip .db-hint").last.text_content()
    assert "${window.pwned=1}" in page.locator("#strip .db-hint").last.text_content()
    assert page.evaluate("window.pwned") is None


def test_split_characters_arrive_whole(page: "Page", play: Any) -> None:
    """CASES 14."""
    play("split_characters", "模型")
    text = output(page)
    assert text == "A👩‍👩‍👧e\u0301🏳️‍🌈模型"
    assert "\ufffd" not in text
    assert spans(page).count() == 10


def test_a_lost_value_is_healed(page: "Page", play: Any) -> None:
    play("with_a_gap", " five")
    assert output(page) == "one two three four five"
    assert page.evaluate("draftboard.heals") == 1


def test_what_cannot_be_healed_is_said(page: "Page", play: Any) -> None:
    play("forgotten", " five")
    assert "no longer available" in page.locator("#right .db-gap").inner_text()


def test_a_stop_string_is_taken_back(page: "Page", play: Any) -> None:
    """CASES 12."""
    play("stopped_by_a_string", "keep")
    page.wait_for_function("document.querySelector('#right .db-pane').dataset.state === 'done'")
    assert page.locator("#right .db-pane-box").inner_text().strip() == "keep this"
    assert "never" not in page.locator("#right .db-pane-box").text_content()


def test_copying_gives_the_plain_output(page: "Page", play: Any) -> None:
    play("both", "word119")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(
        """() => { const range = document.createRange();
        range.selectNodeContents(document.querySelector('#right .db-pane-box'));
        getSelection().removeAllRanges(); getSelection().addRange(range); document.execCommand('copy'); }"""
    )
    assert page.evaluate("navigator.clipboard.readText()") == "".join(WORDS)
    page.evaluate("getSelection().removeAllRanges()")
    page.evaluate("navigator.clipboard.writeText('')")
    page.locator("#right .db-copy").click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()) !== ''")
    assert page.evaluate("navigator.clipboard.readText()") == "".join(WORDS)


def test_rejected_drafts_can_be_hidden(page: "Page", play: Any) -> None:
    play("both", "word119")
    assert page.locator("#right .x").first.is_visible()
    page.locator("#right .db-switch").click()
    assert page.locator("#right .x:visible").count() == 0
    assert " bad" not in page.locator("#right .db-pane-box").inner_text()


def lit(page: "Page", side: str) -> list[str]:
    return page.locator(f"#{side} .lit").all_text_contents()


def test_hovering_lights_the_step_in_both_panes(page: "Page", play: Any) -> None:
    play("both", "word119")
    page.locator("#right .db-pane-box span", has_text="word118").hover()
    page.wait_for_selector("#right .lit")
    assert lit(page, "right") == [" word118", " bad", " worse", " word119"]
    delivered = [text for text in lit(page, "right") if text not in (" bad", " worse")]
    assert lit(page, "left") == delivered
    tip = page.locator("#right .db-tip").inner_text()
    assert "50.0 %" in tip
    assert "25.0 %" in tip
    page.locator("#left .db-pane-box span", has_text="word117").hover()
    page.wait_for_selector("#left .db-tip.on")
    assert "word117" in "".join(lit(page, "right"))
    page.mouse.move(0, 0)
    page.wait_for_function("!document.querySelector('.lit')")


def test_what_was_not_reported_is_not_available(page: "Page", play: Any) -> None:
    play("both", "word119")
    page.locator("#right .db-pane-box .u").last.hover()
    page.wait_for_selector("#right .db-tip.on")
    assert "an earlier draft failed" in page.locator("#right .db-tip").inner_text()


def test_the_keyboard_walks_tokens_and_steps(page: "Page", play: Any) -> None:
    play("both", "word119")
    page.locator("#right .db-pane-box").focus()
    focused = "[document.activeElement.dbToken?.step, document.activeElement.textContent]"
    seen = []
    for key in (
        "ArrowRight",
        "ArrowRight",
        "Shift+ArrowRight",
        "Shift+ArrowRight",
        "Shift+ArrowLeft",
        "ArrowLeft",
        "End",
    ):
        page.keyboard.press(key)
        seen.append(page.evaluate(focused))
    assert [step for step, _ in seen] == [0, 1, 2, 3, 2, 1, 40]
    assert page.locator("#right .db-pane-box [tabindex='0']").count() == 1
    page.locator("#right .db-tip.on").wait_for()
    page.keyboard.press("Enter")
    page.locator("#inspector .db-insp-grid").wait_for()
    assert "Step 40" in page.locator("#inspector .db-insp-head").inner_text()
    page.locator("#inspector [data-by='-1']").click()
    page.locator("#inspector strong", has_text="Step 39").wait_for()
    assert lit(page, "right")


def test_states_do_not_move_the_layout(page: "Page", play: Any) -> None:
    boxes = (
        "['left', 'right'].map(id => document.querySelector(`#${id} .db-pane-body`).getBoundingClientRect())"
        ".map(r => [r.top, r.height])"
    )
    before = page.evaluate(boxes)
    page.evaluate(
        f"() => {{ window.moves = []; new MutationObserver(() => moves.push({boxes}))"
        ".observe(document.querySelector('#right .db-pane'), {attributes: true, attributeFilter: ['data-state']}); }"
    )
    play("states")
    page.locator("#right .db-pane[data-state=failed]").wait_for()
    assert page.evaluate("moves.length") >= 1
    assert all(found == before for found in page.evaluate("moves"))
    panel = page.locator("#right .db-pane-state")
    assert "The <b>engine</b> ended." in panel.inner_text()
    assert "Start it again." in panel.inner_text()
    assert " some text" in output(page)


def test_a_long_paragraph_stays_one_paragraph(page: "Page", play: Any) -> None:
    """Without a newline the pane still keeps its blocks short, and nobody sees where they part."""
    play("long_paragraph", "w1499")
    assert output(page) == "".join(f" w{i}" for i in range(1500))
    assert page.locator("#right .db-pane-box > div").count() > 2
    # Each block but the last is full: its last line reaches as far right as lines do.
    short = page.evaluate(
        """() => { const box = document.querySelector('#right .db-pane-box');
        const right = box.getBoundingClientRect().right - 14;
        return [...box.children].slice(0, -1).filter(block => {
          const rects = block.lastElementChild.getClientRects();
          return right - rects[rects.length - 1].right > 70; }).length; }"""
    )
    assert short == 0


BELOW = """side => { const box = document.querySelector(`#${side} .db-pane-box`);
    return box.scrollHeight - box.clientHeight - box.scrollTop; }"""
"""How much of a pane is below its view."""


def test_the_end_stays_in_view_while_text_arrives(page: "Page", play: Any) -> None:
    """Also where more text arrives between two frames than the pane would call its end; a reader's move lets go."""
    play("long_paragraph", "w1499")
    page.wait_for_timeout(300)
    assert page.evaluate(BELOW, "right") < 2
    page.locator("#right .db-pane-box").hover()
    page.mouse.wheel(0, -200)
    page.wait_for_function(f"({BELOW})('right') > 100")
    page.wait_for_timeout(300)
    assert page.evaluate(BELOW, "right") > 100


def test_tokens_at_rest_are_no_layers(page: "Page", play: Any) -> None:
    """Thousands of positioned tokens made each frame and each move of the mouse walk them all."""
    play("both", "word119")
    resting = (
        "[...document.querySelectorAll('.db-pane-box span:not(.lit)')]"
        ".filter(span => getComputedStyle(span).position !== 'static').length"
    )
    assert page.evaluate(resting) == 0
    page.locator("#right .db-pane-box span", has_text="word118").hover()
    page.wait_for_selector("#right .now")
    assert page.evaluate(resting) == 0
    assert page.locator("#right .now").evaluate("span => getComputedStyle(span).position") == "relative"


def test_both_languages_at_once(page: "Page", play: Any) -> None:
    play("both", "word119")
    assert page.locator("#right .db-pane-title").inner_text() == "With speculation"
    page.evaluate("draftboard.setLanguage('zh-CN')")
    page.wait_for_function("document.querySelector('#right .db-pane-title').textContent === '使用推测解码'")
    assert page.locator("#strip .tr > [lang=en]:visible").count() == 0
    assert page.locator("#strip .tr > [lang='zh-CN']:visible").count() > 0
    assert output(page) == "".join(WORDS)
    page.evaluate("draftboard.setLanguage('en')")
    page.wait_for_function("document.querySelector('#right .db-pane-title').textContent === 'With speculation'")


TOP = """side => {
    const box = document.querySelector(`#${side} .db-pane-box`), top = box.getBoundingClientRect().top + 12;
    const below = span => span.getBoundingClientRect().bottom > top;
    return [...box.querySelectorAll('span:not(.x, .u, .n)')].find(below).textContent; }"""
"""The first token of the output in a pane's view."""


def test_a_pane_shows_where_the_other_one_is(page: "Page", play: Any) -> None:
    """Both at their ends first; then by tokens, not by pixels, and neither moves the one that moved it."""
    play("both_long", "word479")
    for side in ("left", "right"):
        page.wait_for_function(f"({BELOW})('{side}') < 2")
    page.wait_for_timeout(300)
    place = page.evaluate(
        """() => { const box = document.querySelector('#right .db-pane-box');
        return (box.scrollTop = box.querySelectorAll('.r')[60].offsetTop - 2); }"""
    )
    page.wait_for_timeout(500)
    assert abs(page.evaluate("document.querySelector('#right .db-pane-box').scrollTop") - place) < 2
    assert page.evaluate(TOP, "left") == page.evaluate(TOP, "right")


def test_panes_scroll_together(page: "Page", play: Any) -> None:
    play("both", "word119")
    page.wait_for_function("document.querySelector('#right .db-pane-box').scrollTop > 0")
    page.wait_for_timeout(300)
    page.evaluate("document.querySelector('#right .db-pane-box').scrollTop = 0")
    page.wait_for_function("document.querySelector('#left .db-pane-box').scrollTop === 0")
    page.locator("#left .db-switch").click()
    page.wait_for_timeout(300)
    page.evaluate("document.querySelector('#right .db-pane-box').scrollTop = 9999")
    page.wait_for_timeout(300)
    assert page.evaluate("document.querySelector('#left .db-pane-box').scrollTop") == 0
