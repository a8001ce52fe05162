"""Suites: every dialect read, every mistake named by file, line and key (CASES 32), choices that repeat."""

import builtins
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import PlaygroundError
from playground.suites import Prompt, Suite, _files
from playground.suites._library import DEFAULT, chosen, list_suites, load_suite, named_suite, read_suite
from tests.conftest import ROOT

MT_BENCH = {"question_id": 81, "category": "writing", "turns": ["Write a post.", "Rewrite it."], "reference": ["x"]}
HUMANEVAL = {"task_id": "HumanEval/0", "prompt": "def f():\n", "entry_point": "f", "test": "assert f()"}
ARTICLE = {"id": "a1", "article": "The mayor spoke.", "highlights": "Mayor speaks."}
SHAREGPT = {
    "id": "s1",
    "conversations": [
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "Yes?"},
        {"from": "human", "value": "Go"},
    ],
}
OPENAI = {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}]}


def written(path, rows, opener=open):
    with opener(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


def only(path):
    (prompt,) = read_suite(path).prompts
    return prompt


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (MT_BENCH, Prompt(id="81", category="writing", turns=("Write a post.", "Rewrite it."))),
        (HUMANEVAL, Prompt(id="HumanEval/0", category="code", turns=("def f():\n",))),
        (SHAREGPT, Prompt(id="s1", turns=("Hi", "Go"))),
        (OPENAI, Prompt(id="1", turns=("Hello",))),
        ({"id": "x", "category": "chat", "prompt": "Hi"}, Prompt(id="x", category="chat", turns=("Hi",))),
        ({"instruction": "Shorten.", "input": "A long text."}, Prompt(id="1", turns=("Shorten.\n\nA long text.",))),
        ("Just a text", Prompt(id="1", turns=("Just a text",))),
    ],
)
def test_each_dialect(tmp_path, row, expected):
    assert only(written(tmp_path / "rows.jsonl", [row])) == expected


def test_an_article_is_asked_to_be_summarised(tmp_path):
    prompt = only(written(tmp_path / "cnn.jsonl", [ARTICLE]))
    assert prompt.category == "summarise"
    assert prompt.turns[0].startswith("Summarise")
    assert prompt.turns[0].endswith("The mayor spoke.")


def test_gzipped_humaneval(tmp_path):
    assert only(written(tmp_path / "HumanEval.jsonl.gz", [HUMANEVAL], gzip.open)).turns == ("def f():\n",)


def test_csv_tsv_text_and_json(tmp_path):
    (tmp_path / "a.csv").write_text('id,article\n1,"One, two\nthree"\n', encoding="utf-8")
    assert only(tmp_path / "a.csv").turns[0].endswith("One, two\nthree")
    (tmp_path / "a.tsv").write_text("prompt\tcategory\nHello, you\tchat\n", encoding="utf-8")
    assert only(tmp_path / "a.tsv") == Prompt(id="2", category="chat", turns=("Hello, you",))
    (tmp_path / "a.txt").write_text("First\n\nSecond\n", encoding="utf-8")
    assert [p.turns[0] for p in read_suite(tmp_path / "a.txt").prompts] == ["First", "Second"]
    (tmp_path / "a.json").write_text(json.dumps({"rows": [{"prompt": "Hi"}]}), encoding="utf-8")
    assert only(tmp_path / "a.json").turns == ("Hi",)


def test_parquet_articles(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"article": ["The mayor spoke."], "id": ["a1"]}), tmp_path / "cnn.parquet")
    assert only(tmp_path / "cnn.parquet").turns[0].endswith("The mayor spoke.")


def test_parquet_without_its_library_says_what_to_install(tmp_path, monkeypatch):
    real = builtins.__import__
    without = lambda name, *a: (_ for _ in ()).throw(ImportError(name)) if "pyarrow" in name else real(name, *a)  # noqa: E731
    monkeypatch.setattr(builtins, "__import__", without)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(PlaygroundError, match="pip install pyarrow"):
        read_suite(tmp_path / "a.parquet")


def test_windows_line_ends_and_a_bom(tmp_path):
    """CASES 32."""
    (tmp_path / "w.jsonl").write_bytes(b'\xef\xbb\xbf{"prompt": "One"}\r\n{"prompt": "Two"}\r\n')
    assert [p.turns[0] for p in read_suite(tmp_path / "w.jsonl").prompts] == ["One", "Two"]
    (tmp_path / "w.csv").write_bytes(b"\xef\xbb\xbfprompt\r\nOne\r\n")
    assert only(tmp_path / "w.csv").turns == ("One",)


def test_line_separators_inside_a_text_end_no_row(tmp_path):
    written(tmp_path / "u.jsonl", [{"prompt": "a\u2028b"}])
    assert only(tmp_path / "u.jsonl").turns == ("a\u2028b",)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"promt": "Hi"}', "line 2: no prompt in it; its keys are promt"),
        ('{"prompt": 7}', "line 2: prompt: must be text, is a number"),
        ('{"prompt": " "}', "line 2: prompt: is empty"),
        ('{"turns": "Hi"}', "line 2: turns: must be a list of texts, is text"),
        ('{"turns": ["Hi", null]}', r"line 2: turns\[1\]: must be text, is missing"),
        ('{"turns": []}', "line 2: turns: must be a list of texts, is empty"),
        ('{"prompt": "Hi", "category": ["a"]}', "line 2: category: must be text or a number, is a list"),
        ('{"article": null}', "line 2: article: must be text, is missing"),
        ('{"messages": [{"role": "user"}]}', r"line 2: messages\[0\].value: must be text, is missing"),
        ('{"messages": [{"role": "assistant", "content": "x"}]}', "line 2: messages: no message of a user"),
        ('{"prompt": "Hi"', "line 2: is not JSON"),
        ("[1, 2]", "line 2: must be an object or a text, is a list"),
        ("[" * 200_000, "line 2: is not JSON"),
    ],
)
def test_mistakes_name_file_line_and_key(tmp_path, line, says):
    """CASES 32."""
    path = tmp_path / "bad.jsonl"
    path.write_text('{"prompt": "fine"}\n' + line + "\n", encoding="utf-8")
    with pytest.raises(PlaygroundError, match=f"bad.jsonl, {says}"):
        read_suite(path)


def test_a_huge_file_is_refused_unread(tmp_path, monkeypatch):
    """CASES 32: 50 MB, also where they are hidden in a small gzip file."""
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(PlaygroundError, match=r"huge.jsonl is larger than 32 MB"):
        read_suite(path)
    with gzip.open(tmp_path / "bomb.jsonl.gz", "wb", compresslevel=1) as bomb:
        for _ in range(50):
            bomb.write(b" " * 1_000_000)
    with pytest.raises(PlaygroundError, match=r"bomb.jsonl.gz is larger than 32 MB"):
        read_suite(tmp_path / "bomb.jsonl.gz")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("e.jsonl", b"", "holds no prompt"),
        ("n.jsonl", b'{"prompt": "a\0b"}\n', "line 1: holds a NUL byte"),
        ("l.txt", b"caf\xe9\n", "line 1: not UTF-8"),
        ("g.jsonl.gz", b"\x1f\x8bnonsense", "no whole gzip file"),
        ("c.csv", b'prompt\n"a\n', "is not CSV"),
        ("c.csv", b"prompt\na,b\n", "line 2: has more cells"),
    ],
)
def test_broken_files(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PlaygroundError, match=says):
        read_suite(tmp_path / name)


def test_names_and_paths(settings, tmp_path):
    assert list_suites(settings)[0].name == DEFAULT
    own = settings.presets_folder / "suites"
    own.mkdir(parents=True)
    written(own / "mine.jsonl", [{"prompt": "Hi"}])
    assert named_suite("mine", settings).prompts[0].turns == ("Hi",)
    written(own / "general.jsonl", [{"prompt": "Mine"}])
    assert named_suite("general", settings).prompts[0].turns == ("Mine",)
    assert load_suite(str(own / "mine.jsonl"), settings).name == "mine.jsonl"
    with pytest.raises(PlaygroundError, match="no suite called"):
        named_suite("../../etc/passwd", settings)


def test_ids_are_made_distinct(tmp_path):
    suite = read_suite(written(tmp_path / "t.jsonl", [{"id": "a", "prompt": "1"}, {"id": "a", "prompt": "2"}]))
    assert [p.id for p in suite.prompts] == ["a", "a (2)"]


def many(counts):
    prompts = [Prompt(id=f"{c}{i}", category=c, turns=("x",)) for c, n in counts.items() for i in range(n)]
    return Suite(name="s", prompts=tuple(prompts))


@given(st.integers(1, 40), st.integers(0, 5))
def test_samples_are_even_and_repeat(count, seed):
    suite = many({"a": 20, "b": 3, "c": 9})
    taken = chosen(suite, sample=count, seed=seed)
    assert taken == chosen(suite, sample=count, seed=seed)
    assert len(taken.prompts) == min(count, 32)
    assert [p for p in suite.prompts if p in taken.prompts] == list(taken.prompts)
    if count >= 3:
        assert set(taken.categories) == {"a", "b", "c"}
    if count == 9:
        assert sorted(sum(p.category == c for p in taken.prompts) for c in "abc") == [3, 3, 3]


def test_choices():
    suite = many({"a": 4, "b": 4})
    assert [p.id for p in chosen(suite, categories=["b"], limit=2).prompts] == ["b0", "b1"]
    assert chosen(suite, sample=4, seed=1) != chosen(suite, sample=4, seed=2)
    with pytest.raises(PlaygroundError, match="no category"):
        chosen(suite, categories=["z"])
    with pytest.raises(PlaygroundError, match="No prompt is left"):
        chosen(suite, limit=0)


def test_the_shipped_suite():
    """Forty prompts of ours over eight kinds, some of them conversations."""
    suite = read_suite(ROOT / "presets" / "suites" / "general.jsonl")
    assert len(suite.prompts) == 40
    kinds = {"chat", "code", "code edit", "summarise", "extract", "translate", "maths", "chinese"}
    assert set(suite.categories) == kinds
    assert all(sum(p.category == kind for p in suite.prompts) >= 4 for kind in kinds)
    assert sum(len(p.turns) > 1 for p in suite.prompts) >= 3


def test_limits_are_ours():
    assert _files.MAX_BYTES < 50_000_000
