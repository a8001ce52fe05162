"""Reading files from strangers: everything hostile is one clear error with file and line, and nothing is run."""

import contextlib
import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.errors import PlaygroundError
from playground.exchange import import_file, import_text
from playground.importers._text import name_from, read_file
from playground.importers._yaml import MAX_DEPTH, line_of, parse_json, parse_yaml

BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [" + ",".join([f"*a{i - 1}"] * 9) + "]\n" for i in range(1, 10)
)
HOSTILE = {
    "billion laughs": (BOMB, "line 6: its aliases"),
    "billion laughs, merged": (
        BOMB.replace("a0: &a0 [x,x,x,x,x,x,x,x,x]", "a0: &a0 {x: 1}")
        .replace("[*", "{<<: [*")
        .replace("]\n", "]}\n")
        .replace("]}", "], y: *a0}"),
        "line 6: its aliases",
    ),
    "quadratic laughs": ("a: &a " + "x" * 9_000 + "\nb: [" + ", ".join(["*a"] * 100) + "]\n", "line 2: its aliases"),
    "aliases without end": ("a: &a 1\nb: [" + ", ".join(["*a"] * 300) + "]\n", "line 2: its aliases"),
    "an alias to itself": ("a: &a\n  b: *a\n", "line 2: the alias “*a” stands inside"),
    "a merge with itself": ("a: &a\n  <<: *a\n", "line 2: the alias “*a” stands inside"),
    "an alias to what comes later": ("a: *b\nb: &b 1\n", "line 1: the alias “*b” has no anchor"),
    "an alias to another document": ("a: &a 1\n---\nb: *a\n", "line 3: the alias “*a” has no anchor"),
    "depth by aliases": (
        "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{x: *a{i - 1}}}\n" for i in range(1, 60)),
        "nested deeper",
    ),
    "a merge of no mapping": ("a: &a [1]\nb:\n  <<: *a\n", "line 3: “<<” merges mappings alone"),
    "a merge given twice": ("a: &a {b: 1}\nc:\n  <<: *a\n  <<: *a\n", "line 4: “<<” is given twice (first in line 3)"),
    "a python tag": ("a: 1\nb: !!python/object/apply:os.system ['true']\n", "line 2: the tag"),
    "a local tag": ("a: !x 1\n", "line 1: the tag"),
    "a binary tag": ("a: !!binary aGk=\n", "line 1: the tag"),
    "a key given twice": ("a: 1\nb: 2\na: 3\n", "line 3: “a” is given twice (first in line 1)"),
    "a key given twice, spelled otherwise": ('a: 1\n"a": 2\n', "line 2: “a” is given twice"),
    "brackets without end": ("[" * 100_000, "nest"),
    "mappings without end": ("{a: " * 5_000, "nested deeper"),
    "dashes without end": ("- " * 100_000, "nested deeper"),
    "complex keys": ("? [a, b]\n: 1\n", "line 1: the key"),
    "a fraction as key": ("a: 1\n2.5: x\n", "line 2: the key “2.5” is not text"),
    "yes as key": ("yes: x\n", "line 1: the key “yes” is not text"),
    "not a number": ("a: .nan\n", "line 1: “.nan” is no finite number"),
    "infinity": ("a: 1\nb: -.inf\n", "line 2: “-.inf” is no finite number"),
    "a number of 5,000 digits": ("a: " + "9" * 5_000, "line 1: “999"),
    "a sexagesimal number without end": ("a: 1" + ":00" * 50_000, "line 1: “1:00"),
    "a NUL byte": ("a: 1\nb: \0\n", "line 2: holds a NUL byte"),
    "an escape sequence": ("a: \x1b[31m\n", "control characters are not allowed"),
    "half a file": ("a: {b: 1", "line 1: the YAML ends too early"),
    "a tab as indentation": ("a:\n\t- 1\n", "line 2: "),
    "two documents": ("a: 1\n---\nb: 2\n", "more than one"),
    "nothing": ("", "no YAML document"),
    "only a comment": ("# x\n", "no YAML document"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_yaml_is_one_error(name: str) -> None:
    """CASES 32, and the bombs."""
    text, message = HOSTILE[name]
    with pytest.raises(PlaygroundError) as caught:
        parse_yaml("x.yaml", text)
    assert message in caught.value.message
    assert caught.value.message.startswith("x.yaml, line ")
    assert caught.value.hint
    assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "given twice"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2), "nested deeper"),
        ('{"a": NaN}', "NaN is no number"),
        ('{"a": ' + "9" * 5_000 + "}", "thousands of digits"),
        ('{\n"a": }', "line 2: expecting value"),
        ('{"a": "\0"}', "NUL byte"),
    ],
)
def test_hostile_json_is_one_error(text: str, message: str) -> None:
    with pytest.raises(PlaygroundError, match=message):
        parse_json("x.json", text)


@pytest.mark.parametrize(
    "content",
    [b"a: 1\r\nb: [x]\r\n", b"\xef\xbb\xbfa: 1\nb: [x]\n", "a: 1\nb: [x]\n".encode("utf-16"), b"a: 1\rb: [x]\r"],
    ids=["Windows line ends", "UTF-8 BOM", "UTF-16 BOM", "old Mac line ends"],
)
def test_honest_files_of_other_systems_are_read(content: bytes) -> None:
    """CASES 32."""
    assert parse_yaml("x.yaml", content) == {"a": 1, "b": ["x"]}


def test_other_encodings_are_named() -> None:
    with pytest.raises(PlaygroundError, match="line 2: not UTF-8 text"):
        parse_yaml("x.yaml", "a: 1\nb: Müller\n".encode("latin-1"))


def test_lines_are_remembered() -> None:
    data = parse_yaml("x.yaml", "a: 1\nb:\n  c: {d: 2}\n  e: [{f: 3}]\n")
    assert line_of(data, ["b", "c", "d"]) == 3
    assert line_of(data, ["b", "e", 0, "f"]) == 4
    assert line_of(data, ["b", "missing"]) == 2
    assert line_of({"b": 1}, ["b"]) is None


@pytest.mark.parametrize(
    "text", ["a: 2026-11-29", "a: 12:30:00", "a: <<", "a: =", 'a: "yes"', '"<<": {b: 1}', "a: 1e-3", "a: ~", "a: 0x1F"]
)
def test_plain_scalars_stay_plain(text: str) -> None:
    """Only null, true, false and numbers are not text; no dates, and a `<<` in quotes is a key as any."""
    data = parse_yaml("x.yaml", text)
    assert isinstance(data, dict)
    for value in data.values():
        assert value is None or isinstance(value, (str, int, dict))


def test_anchors_aliases_and_merges_are_read_as_compose_reads_them() -> None:
    data = parse_yaml(
        "x.yaml",
        "x-one: &one {a: 1, b: 1, in: &in {c: [1]}}\nx-two: &two\n  b: 2\n  d: 2\nmerged:\n  b: 3\n  <<: [*one, *two]\n"
        "chain: &chain {<<: *two, e: 5}\nlast: {<<: *chain}\nlist: [*in, *in]\ninline: {<<: {f: 6}, f: 7}\n",
    )
    assert isinstance(data, dict)
    assert data["merged"] == {"b": 3, "a": 1, "in": {"c": [1]}, "d": 2}
    assert data["last"] == {"b": 2, "d": 2, "e": 5}
    assert data["list"] == [{"c": [1]}, {"c": [1]}]
    assert data["inline"] == {"f": 7}
    assert line_of(data, ["merged", "d"]) == 4
    assert line_of(data, ["merged", "b"]) == 6


ANCHORED = """\
x-gpu: &gpu
  deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}
x-env: &env {HF_HOME: /models}
services:
  vllm:
    <<: *gpu
    image: vllm/vllm-openai:v0.6.3
    environment: {<<: *env, HF_TOKEN: x}
    command: --model a/b --speculative-model c/d --num-speculative-tokens 4
"""


def test_a_compose_file_with_anchors_is_imported() -> None:
    config = import_text("compose.yaml", ANCHORED).preset.config
    assert config.target == "a/b"
    assert config.speculation is not None
    assert config.speculation.model == "c/d"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80) | st.text("ab:-[]{}&*<!?|>'\"#%@`\n\t ,0.", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Never another exception, and what is read is plain JSON data."""
    try:
        data = parse_yaml("x.yaml", text)
    except PlaygroundError:
        return
    assert json.loads(json.dumps(data)) == data


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["x.yaml", "x.json", "x.py", "x.sh", "x"]))
def test_any_bytes_are_read_or_refused(content: bytes, name: str) -> None:
    with pytest.raises(PlaygroundError):
        import_text(name, content)


def test_fifty_megabytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    """CASES 32."""
    large = tmp_path / "large.yaml"
    with large.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(PlaygroundError, match="larger than 1 MB") as caught:
        import_file(large)
    assert caught.value.code == "too_large"


@pytest.mark.parametrize(
    "text", ["\n", "\t\n", "a=1\n", "a=1 ", "FROM x\n", "[a]\n", "'", "\\", "LLM(", "python3 ", "x " * 40 + "\n", "- "]
)
def test_long_files_are_looked_at_once(text: str) -> None:
    """A pattern that runs over line ends would look at the whole file from each of its lines: minutes, not seconds."""
    start = time.monotonic()
    with pytest.raises(PlaygroundError):
        import_text("pasted", text * (400_000 // len(text)))
    assert time.monotonic() - start < 60


def test_pasted_megabytes_are_refused_as_files_are() -> None:
    with pytest.raises(PlaygroundError, match="larger than 1 MB"):
        import_text("pasted", "a" * 50_000_000)


@pytest.mark.parametrize("whole", ["model: a/b\nspeculative-config: {method: ngram, num_speculative_tokens: 3}\n"])
def test_half_a_file_and_wrong_types_are_one_error(whole: str) -> None:
    """Cut anywhere, it is refused or says what its beginning says; never another exception."""
    for end in range(len(whole)):
        with contextlib.suppress(PlaygroundError):
            assert import_text("x.yaml", whole[:end]).preset.config.target
    for wrong in ("model: [a]", "model: {a: b}", "model: 3", "model: a/b\nspeculative-config: 3",
                  "model: a/b\nspeculative-config: [ngram]", "model: a/b\nmax-model-len: {a: 1}",
                  "model: a/b\nspeculative-config: {method: [ngram], num_speculative_tokens: 3}",
                  "model: a/b\nspeculative-config: {method: suffix, suffix_decoding_max_tree_depth: deep}",
                  "model: a/b\noverride-generation-config: {temperature: hot}"):  # fmt: skip
        with pytest.raises(PlaygroundError):
            import_text("x.yaml", wrong)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.yaml", "model: a\nspec: {b: 1,\n\n\n", 2),
        ("x.yaml", 'model: "a\n', 1),
        ("x.json", '{"a": 1,\n"b":\n\n', 2),
    ],
)
def test_no_line_past_the_end_is_named(name: str, text: str, line: int) -> None:
    """Half a file: parsers name the line after the last one, where nobody finds anything."""
    with pytest.raises(PlaygroundError, match=f"{name}, line {line}: the (YAML|JSON) ends too early"):
        import_text(name, text)


@pytest.mark.parametrize("name", ["x.yaml", "x.json", "x.sh", "x.py", "x.ini", "Modelfile", "x"])
@pytest.mark.parametrize("text", ["", " \n\t\n", "\ufeff"])
def test_an_empty_file_is_called_so(name: str, text: str) -> None:
    with pytest.raises(PlaygroundError, match=f"{name} is empty"):
        import_text(name, text)


def test_why_a_file_cannot_be_read_has_its_own_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, file = tmp_path / "loop", tmp_path / "x.yaml"
    loop.symlink_to(loop)
    file.write_text("model: a/b")
    for path, hint in ((loop, "circle"), (file / "y", "is a file"), (tmp_path / ("x" * 300), "name")):
        with pytest.raises(PlaygroundError) as caught:
            read_file(path)
        assert hint in caught.value.hint

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PlaygroundError) as caught:
        read_file(file)
    assert "permission denied" in caught.value.message
    assert "chmod" in caught.value.hint


def test_a_file_s_name_hides_nothing_in_what_is_made_of_it() -> None:
    found = import_text("a\n\u202eb.yaml", "model: a/b")
    assert found.preset.description == "Imported from a··b.yaml (vLLM)."
    assert import_text("a\n\u202eb.sh", "llama-server -m x").preset.description == "Imported from a··b.sh (llama.cpp)."


def test_what_is_no_ordinary_file_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    start = time.monotonic()
    for path, message in (
        (pipe, "no ordinary file"),
        (tmp_path, "is a folder"),
        (tmp_path / "none.yaml", "cannot be read"),
        (Path("/dev/zero"), "no ordinary file"),
        (Path("a\0b"), "not valid"),
    ):
        with pytest.raises(PlaygroundError, match=message):
            read_file(path)
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("My Config (1).yaml", "my-config-1"),
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\Fast.YML", "fast"),
        ("Ünïcode.yaml", "n-code"),
        ("---", "imported"),
        ("x" * 200 + ".yaml", "x" * 64),
    ],
)
def test_names_from_files(file: str, name: str) -> None:
    assert name_from(file) == name
