"""Every refusal that a page can show is a sentence with its Chinese, and stays one on its way to the page."""

import ast
import json
import pickle
from pathlib import Path

import gradio as gr
import pytest
from pydantic import ValidationError

from playground.config import SamplingParams, checked, config_error
from playground.engines._child import translated
from playground.errors import PlaygroundError
from playground.events import Loading, RunFinished, RunStarted
from playground.exchange import import_text
from playground.metrics import RunResult
from playground.models import catalogue, cause_and_fix, inspect
from playground.sentence import Sentence
from playground.settings import Settings
from playground.ui import bench_view, pair_view, train_view
from playground.ui.export_tab import refusal, shown_import
from playground.ui.pair_words import finding_html
from playground.ui.problems import told
from playground.ui.sentences import CHINESE, chinese, found_again, said_html, texts
from playground.ui.token_pane import Feed
from playground.ui.verdict import run_strip
from storage import rows
from tests.test_layering import modules
from tests.test_sentences import HAN, missing, places

TERMINAL = ("playground.cli", "playground.__main__", "playground.settings", "playground.bootstrap", "app")
"""What speaks on a terminal alone: the command line, and what is wrong before there is a page."""

DECODING = ("playground.decoding", "playground.validation")
"""Whose own errors are wrapped before anyone reads them."""

REFUSED = PlaygroundError(
    Sentence("The engine {engine} has no method “{method}”.", engine="embedded", method="magic"),
    Sentence("Choose one of: {known}.", known="ngram, eagle3"),
    code="bad_config",
)
IN_CHINESE = "引擎 embedded 没有方法“magic”。可选：ngram, eagle3。"


# -- what is said ---------------------------------------------------------------------------------------------


def spoken(tree: ast.Module) -> list[ast.expr]:
    """The arguments of a module's calls that a page shows: of errors and what makes them, of endings, of loading."""
    makers = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and isinstance(node.returns, ast.Name)
        and node.returns.id == "PlaygroundError"
    } | {"bad_head", "wrong"}
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        named = {word.arg: word.value for word in node.keywords}
        if name == "PlaygroundError":
            found += node.args
        elif name in makers:
            found += [argument for argument in node.args if not isinstance(argument, ast.Name)]
        elif name == "RunFinished":
            found += [named[word] for word in ("error", "hint") if word in named]
        elif name == "Loading":
            found += node.args[1:2]
        elif name in ("checked", "config_error"):
            found += [named["where"]] if "where" in named else node.args[1:2] if name == "config_error" else []
        elif name == "append" and isinstance(node.func, ast.Attribute):
            to = node.func.value
            if getattr(to, "id", getattr(to, "attr", "")).strip("_") in ("warnings", "notes", "problems"):
                found += node.args
    return found


def plain(node: ast.expr, known: dict[str, list[ast.expr]]) -> bool:
    """Whether it is, or may be, English text that is no Sentence."""
    match node:
        case ast.Constant(value=str(text)):
            return " " in text
        case ast.JoinedStr():
            return True
        case ast.IfExp(body=body, orelse=other):
            return plain(body, known) or plain(other, known)
        case ast.BoolOp(values=values):
            return any(plain(value, known) for value in values)
        case ast.BinOp(left=left, right=right):
            return plain(left, known) or plain(right, known)
        case ast.Name(id=name) if name in known:
            return any(plain(value, {}) for value in known[name])
        case ast.Call(func=ast.Attribute(value=ast.Name(id="i18n"))):
            return True
    return False


@pytest.mark.parametrize("name", sorted(modules()))
def test_every_refusal_and_remark_is_a_sentence(name: str) -> None:
    if name.startswith((*TERMINAL, *DECODING)):
        return
    tree = ast.parse(modules()[name].read_text(encoding="utf-8"))
    known: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known.setdefault(node.targets[0].id, []).append(node.value)
    wrong = [f"line {node.lineno}: {ast.unparse(node)}" for node in spoken(tree) if plain(node, known)]
    assert not wrong, f"{name}: say these as Sentences, with their Chinese in ui/sentences_*.py: {wrong}"


# -- how it arrives -------------------------------------------------------------------------------------------


def test_a_refusal_crosses_the_pipe_and_json() -> None:
    crossed = pickle.loads(pickle.dumps(REFUSED))  # noqa: S301 - as between our own processes
    assert not missing(crossed.message)
    assert not missing(crossed.hint)
    assert crossed.as_dict() == {
        "error": "The engine embedded has no method “magic”.",
        "hint": "Choose one of: ngram, eagle3.",
        "code": "bad_config",
    }
    assert json.loads(json.dumps(REFUSED.as_dict())) == REFUSED.as_dict()


def test_a_sentence_holds_no_strange_object() -> None:
    said = Sentence("The database {path} failed: {why}.", path=Path("/x"), why=OSError(13, "no"))
    assert pickle.loads(pickle.dumps(said)) == said  # noqa: S301
    assert said == "The database /x failed: [Errno 13] no."
    assert texts(said)["zh-CN"] == "数据库 /x 出错：[Errno 13] no。"


def test_what_an_engine_failed_with_is_said_around_its_own_words() -> None:
    error = translated(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"))
    assert chinese(error.message) == "引擎内存不足：CUDA out of memory. Tried to allocate 2 GiB。"
    assert chinese(error.hint).startswith("请选择更小的模型")


def test_what_was_stored_is_found_again() -> None:
    event = RunFinished("error", 1.0, error=REFUSED.message, hint=REFUSED.hint, code="x")
    stored = rows.finished_of(json.loads(json.dumps(rows.finished_row(event, ""))))
    assert type(stored.error) is str
    assert chinese(stored.error) + chinese(stored.hint) == IN_CHINESE
    assert chinese(f"{stored.error} {stored.hint}") == IN_CHINESE


@pytest.mark.parametrize("template", sorted(CHINESE))
def test_every_template_is_found_by_its_text(template: str) -> None:
    names = {name for name, _ in places(template)} if Sentence(template).template and '{"' not in template else set()
    numbers = {name for name, form in places(template) if form}
    said = Sentence(template, **{name: 7 if name in numbers else f"x{name}" for name in names})
    own = sum(c.isalpha() for c in said) - sum(len(str(value)) for value in said.params.values())
    if own < 12 or " " not in said:
        pytest.skip("too little of its own to be told from a program's words")
    assert found_again(str(said)) == said.reworded(CHINESE.get)


@pytest.mark.parametrize(
    "text", ["", "none", "model", "text", "a b", "CUDA error: no kernel image", "x" * 5000, "a. B " * 700]
)
def test_a_programs_own_words_stay(text: str) -> None:
    assert found_again(text) is None
    assert said_html(text) == text


# -- where it is shown ----------------------------------------------------------------------------------------


def test_toasts_are_in_the_readers_language() -> None:
    with pytest.raises(gr.Error) as caught, told():
        raise REFUSED
    assert IN_CHINESE in str(caught.value.message)
    assert '<span lang="zh-CN">' in str(caught.value.message)


@pytest.mark.parametrize(
    "html",
    [
        bench_view.problem_html(REFUSED.message, REFUSED.hint),
        bench_view.problem_html(str(REFUSED.message), str(REFUSED.hint)),
        pair_view.problem_html(REFUSED),
        train_view.problem_html(REFUSED),
    ],
)
def test_problems_of_the_tabs_are_in_both_languages(html: str) -> None:
    assert "引擎 embedded 没有方法“magic”。" in html
    assert "可选：ngram, eagle3。" in html
    assert "The engine embedded has no method “magic”." in html


@pytest.mark.parametrize("stored", [False, True])
def test_a_pane_says_why_it_failed_in_both_languages(stored: bool) -> None:
    feed = Feed("a-run")
    message, hint = (str(REFUSED.message), str(REFUSED.hint)) if stored else (REFUSED.message, REFUSED.hint)
    feed.add(Loading("start", Sentence("Starting the engine's process.")))
    assert json.loads(feed.value() or "")["state"]["detail"]["zh-CN"] == "正在启动引擎的进程。"
    feed.add(RunFinished("error", 0.0, error=message, hint=hint, code="bad_config"))
    state = json.loads(feed.value() or "")["state"]
    assert state["message"]["zh-CN"] + state["hint"]["zh-CN"] == IN_CHINESE
    assert state["message"]["en"] == "The engine embedded has no method “magic”."


def test_notes_of_a_run_are_in_both_languages() -> None:
    warning = "The context of 2,048 tokens leaves 48 for the answer, not 256."  # as the database has it
    note = Sentence("The server ended the answer with “{reason}”.", reason="tool")
    result = RunResult().add(RunStarted((1,), environment={"warnings": [warning]}))
    result = result.add(RunFinished("stop", 1.0, engine_counters={"notes": [note]}, usage_completion_tokens=3))
    html = run_strip(result)
    for said in (
        "2,048 个词元的上下文只给回答留下 48 个，而非 256 个。",
        "服务器以“tool”结束了回答。",
        "各步合计为 0 个",
    ):
        assert said in html


def test_what_is_wrong_with_a_value_is_said_in_both_languages() -> None:
    with pytest.raises(PlaygroundError) as caught:
        checked(
            SamplingParams, {"temperature": 9, "top_k": "many", "sed": 1, "stop": [""]}, where=Sentence("the preset")
        )
    assert caught.value.message.startswith("In the preset: temperature: input should be less than or equal to 5; ")
    assert chinese(caught.value.message) == (
        "预设：temperature：应小于或等于 5；top_k：应为整数；stop.0：文本至少应有 1 个字符；sed：不是已知的键。"
    )
    with pytest.raises(ValidationError) as crossed:
        SamplingParams(min_tokens=9, max_tokens=3)
    assert chinese(config_error(crossed.value).message) == "值：min_tokens（9）不得大于 max_tokens（3）。"


def test_a_models_problem_is_said_in_both_languages(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    problem = inspect("m", tmp_path).problem
    assert problem == "It has no *.safetensors file. Download its weights."
    assert chinese(problem) == chinese(str(problem)) == "没有 *.safetensors 文件。请下载其权重。"
    assert cause_and_fix(problem) == ("It has no *.safetensors file.", "Download its weights.")
    missing_ = catalogue(Settings(data=tmp_path / "data"))[0].problem
    assert chinese(missing_).startswith("尚未准备。请运行")


def test_a_sentence_inside_a_finding_is_in_the_readers_language() -> None:
    from playground.doctor.findings import finding

    why = Sentence("{what} {fix}", what=Sentence("It has no tokenizer."), fix=Sentence("Try again."))
    found = finding("unusable", "error", model="m", why=why)
    assert found.text == "m cannot be loaded. It has no tokenizer. Try again."
    assert chinese(found.text) == "无法加载 m。没有分词器。请再试。"
    html = finding_html(found)
    assert HAN.search(html)
    assert "没有分词器。请再试。" in html


def test_what_cannot_be_exported_or_imported_is_said_in_both_languages() -> None:
    shown = refusal(REFUSED)
    assert shown["error"]["zh-CN"] + shown["hint"]["zh-CN"] == IN_CHINESE
    html, preset, _ = shown_import(lambda: import_text("x.yaml", "name: a\nconfig: {sampling: {temperature: hot}}\n"))
    assert preset is None
    assert "x.yaml，第 2 行，config.sampling.temperature：应为数字" in html
    assert "x.yaml, line 2, config.sampling.temperature: input should be a valid number" in html
