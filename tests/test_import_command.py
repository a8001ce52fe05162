"""`import` on the command line: whatever it is given, one sentence, its fix, exit code 2; nothing of it is run."""

import contextlib
import os
import time
from pathlib import Path

import pytest

from playground.cli import main
from playground.errors import PlaygroundError
from playground.exchange import import_text
from playground.ui.export_tab import shown_import

BOMB = "a0: &a0 [x,x,x]\n" + "".join(f"a{i}: [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9))
ODD: dict[str, bytes] = {
    "empty.yaml": b"",
    "blank.json": b" \n",
    "bomb.yaml": BOMB.encode(),
    "tag.yaml": b"model: !!python/object/apply:os.system ['touch ran']\n",
    "twice.yaml": b"model: a\nmodel: b\n",
    "nul.yaml": b"model: a\0b\n",
    "utf16.yaml": "model: 3\n".encode("utf-16"),
    "utf16-no-bom.yaml": "model: a\n".encode("utf-16-le"),
    "latin.yaml": "model: Müller".encode("latin-1"),
    "bom.yaml": b"\xef\xbb\xbfconfig:\r\n  targte: a\r\n",
    "half.yaml": b"model: a/b\nspeculative-config: {method: ngram,\n",
    "half.json": b'{"model": "a/b",\n"x": \n',
    "half.py": b"from vllm import LLM\nLLM(model='a/b',\n",
    "list.yaml": b"- 1\n- 2\n",
    "type.yaml": b"model: [a]\n",
    "number.yaml": b"config: 3\n",
    "unknown.yaml": b"hello: there\n",
    "archive.zip": b"PK\x03\x04abc",
    "picture.png": b"\x89PNG\r\n\x1a\n",
    "brackets.json": b"[" * 100_000,
    "brackets.yaml": b"[" * 100_000,
    "brackets.py": b"LLM(" + b"(" * 5_000,
    "shell.sh": b'vllm serve "$(touch ran)"\n',
    "file.sh": b"trtllm-serve a/b --config pipe\n",
    "large.sh": b"trtllm-serve a/b --config large.yaml\n",
    "code.py": b"open('ran', 'w')\nfrom vllm import LLM\nLLM(model=open('ran').read())\n",
    "a\nerror: gone.yaml": b"x: 1\n",
    "rtl\u202egnp.yaml": b"x: 1\n",
    "esc\x1b[31m.yaml": b"x: 1\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRAFTBOARD_DATA", str(tmp_path / "data"))
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    with Path("large.yaml").open("wb") as file:
        file.truncate(50_000_000)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    start = time.monotonic()
    code = main(["import", *words])
    out, err = capsys.readouterr()
    assert code == 2, (words, out, err)
    assert time.monotonic() - start < 30, words
    lines = err.splitlines()
    assert len(lines) == 2, err
    assert lines[0].startswith("error: ")
    assert all(line.isprintable() for line in lines)
    assert "\u202e" not in err
    assert not out
    return err


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_odd_files_end_in_one_sentence_and_its_fix(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CASES 32."""
    (folder / name).write_bytes(ODD[name])
    refused(capsys, name)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("name", ["", ".", "pipe", "loop", "none.yaml", "/dev/zero", "large.yaml", "x" * 300])
def test_what_is_no_file_ends_in_one_sentence_and_its_fix(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(capsys, name)


@pytest.mark.parametrize("name", ["Bad Name!", "", "../x", "x" * 80])
def test_a_bad_name_is_told_what_is_allowed(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ok.yaml").write_text("model: a/b\n")
    told = refused(capsys, "ok.yaml", "--save", name)
    assert "up to 64 of a-z, 0-9, dot, dash and underscore" in told
    assert "^[" not in told


def test_the_page_shows_hidden_characters_too() -> None:
    """A direction mark in a file's name or a model's would turn around the sentence it stands in."""
    told, preset, _ = shown_import(lambda: import_text("a\u202eb.yaml", "x: 1"))
    assert "a‹U+202E›b.yaml" in told
    assert preset is None
    told, preset, _ = shown_import(lambda: import_text("x.yaml", 'model: "a\\u202eb"\n"c\\u202e": 3\n'))
    assert preset is not None
    assert preset["config"]["target"] == "a\u202eb"
    assert "\u202e" not in told


def test_notes_keep_to_their_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.yaml").write_text('model: a/b\n"x\\nnote: all is well\\u202e": 3\n')
    assert main(["import", "x.yaml"]) == 0
    told = capsys.readouterr().err
    assert "not known here: x␊note: all is well‹U+202E›." in told
    assert "\nnote: all is well" not in told


# -- what a shell makes of a command ----------------------------------------------------------------------------------


HEREDOC = """SPEC=$(cat <<'EOF'
{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4}
EOF
)
vllm serve m/L --speculative-config "$SPEC" --seed 3"""
LISTED = 'A=(--seed 3)\n{}vllm serve m/L "${{A[@]}}"'
SEEDED = {
    "appended to a list": 'A=(m/L)\nA+=(--seed 3)\nvllm serve "${A[@]}"',
    "appended to a text": 'A="m/L"\nA+=" --seed 3"\nvllm serve $A',
    "appended letters": "K=; K+=3\nvllm serve m/L --seed $K",
    "set where it is not": ": ${K:=3}\nvllm serve m/L --seed $K",
    "set again": "K=4; K=3\nvllm serve m/L --seed $K",
    "on the same way": 'if x; then A=(--seed 3); vllm serve m/L "${A[@]}"; fi',
    "in a chain": "cd x && K=3 && vllm serve m/L --seed $K",
    "the same on every way": LISTED.format("if x; then A=(--seed 3); else A=(--seed 3); fi\n"),
    "lost with its subshell": LISTED.format("(A+=(--tp 9))\n"),
    "the shell's own words": 'set -- m/L\nset -- "$@" --seed 3\nexec vllm serve "$@"',
    "where it is set": 'A=(--seed 3)\nvllm serve m/L ${A[@]+"${A[@]}"} ${B:-}',
    "a line's end behind a digit": "while true; do vllm serve m/L --seed 3; done",
    "another process behind it": "vllm serve m/L --seed 3& sleep 9",
    "a pipe behind it": "vllm serve m/L --seed 3|tee log",
    "behind redirects": "vllm serve m/L >log 2>&1 --seed 3",
    "no word for nothing": "vllm serve m/L ${EXTRA_ARGS:-} --seed 3",
    "a substitution is one word": "vllm serve m/L --port $(x | y) --seed 3",
    "a text in lines": HEREDOC,
    "C's escapes": "vllm serve m/L --seed 3 --speculative-config "
    '$\'{"method": "ngram",\\n"num_speculative_tokens": 3, "prompt_lookup_max": 4}\'',
    "between fences": "```bash\nvllm serve m/L --seed 3\n```",
    "of Windows": "vllm.exe serve m/L ^\n  --seed 3 ^",
    "of PowerShell": "vllm.exe serve m/L `\n  --seed 3",
    "sudo": "sudo docker run --gpus all vllm/vllm-openai:latest --model m/L --seed 3",
    "nerdctl": "nerdctl run -it -d -p80:80 -e TOKEN=x vllm/vllm-openai:latest --model m/L --seed 3",
    "podman": "podman --log-level info run --rm vllm/vllm-openai:latest m/L --seed=3",
    "a volume": "docker run -v /data/vllm-openai-cache:/root vllm/vllm-openai:latest --model m/L --seed 3",
    "an entrypoint": "docker run --entrypoint vllm vllm/vllm-openai serve m/L --seed 3",
    "a shell as entrypoint": "docker run --entrypoint=/bin/bash vllm/vllm-openai -xec 'vllm serve m/L --seed 3'",
    "a shell": 'bash -c "vllm serve m/L --seed 3"',
    "a shell and its words": "bash -euo pipefail -c 'exec vllm serve \"$@\"' -- m/L --seed 3",
    "a shell and its environment": "M=m/L bash -c 'vllm serve $M --seed 3'",
    "docker exec": "docker exec -it c bash -lc 'vllm serve m/L --seed 3'",
    "ssh": "ssh -p 22 h 'vllm serve m/L --seed 3'",
    "tmux": "tmux new -d -s x 'vllm serve m/L --seed 3'",
    "another user": "sudo -u vllm -E nohup vllm serve m/L --seed 3",
}


@pytest.mark.parametrize("case", SEEDED)
def test_a_command_is_read_as_a_shell_reads_it(case: str) -> None:
    config = import_text("x.sh", SEEDED[case]).preset.config
    assert (config.target, config.engine_options.get("seed")) == ("m/L", 3)


@pytest.mark.parametrize(
    "change",
    [
        "if x; then A+=(--tp 9); fi\n",
        "if x; then A=(); else A=(--tp 9); fi\n",
        "case $1 in a) A+=(--tp 9);; esac\n",
        "for i in 1 2; do A+=(--tp 9); done\n",
        "while x; do A+=(--tp 9); done\n",
        "x && A+=(--tp 9)\n",
        "x || A+=(--tp 9)\n",
        "f() { A+=(--tp 9); }\n",
        "function f {\n  A+=(--tp 9)\n}\n",
        "A[1]=4\n",
        "x && B=4\nA+=(--tp $B)\n",
        "if x; then unset A; fi\n",
    ],
)
def test_what_a_script_may_or_may_not_set_is_refused(change: str) -> None:
    """Nobody knows which of the two commands ran."""
    for program in ("vllm serve", "docker run vllm/vllm-openai"):
        with pytest.raises(PlaygroundError, match="is set in more than one way") as error:
            import_text("x.sh", LISTED.format(change).replace("vllm serve", program))
        assert error.value.hint == "Put its value there."


def test_a_gate_holds_for_what_is_appended_and_what_stands_behind_a_redirect() -> None:
    lossy = "--speculative-algorithm EAGLE3 --speculative-accept-threshold-single 0.3"
    for text in (f'A=(--tp 2)\nA+=({lossy})\nsglang serve m "${{A[@]}}"', f"sglang serve m --tp 2 > log {lossy}"):
        with pytest.raises(PlaygroundError) as error:
            import_text("x.sh", text)
        assert error.value.code == "changes_output"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm serve m/L --seed 3 \\\n\n  --max-model-len 99", "ends before --max-model-len"),
        ("vllm serve m/L --seed 3 \\\n  # rest\n  --max-model-len 99", "ends before --max-model-len"),
        ("docker run vllm/vllm-openai --model m/L\n -tp 2", "ends before -tp"),
        ("--model m/L\n--seed 3", "ends before --seed"),
        ('vllm serve m/L --speculative-config "$(cat spec.json)"', r"the variable \$\(cat spec.json\)"),
        ('vllm serve m/L --speculative-config "{\\"num_speculative_tokens\\": $K}"', r"the variable \$\{?K"),
        ("vllm serve m/L --served-model-name x $EXTRA", r"the variable \$\{EXTRA\}"),
        ("K=3\nread K\nvllm serve m/L --seed $K", r"the variable \$\{K\}"),
        ("K=3\n((K+=1))\nvllm serve m/L --seed $K", r"the variable \$\{K\}"),
        ("M=m/L\nbash -c 'vllm serve $M'", r"the variable \$\{M\}"),
        ("vllm serve $(cat model", "no closing bracket"),
        ("llama-server.exe -m %MODEL% ^\n -c 3", r"the variable \$\{MODEL\}"),
    ],
)
def test_what_a_shell_alone_can_tell_is_refused(text: str, words: str) -> None:
    with pytest.raises(PlaygroundError, match=words) as error:
        import_text("x.sh", text)
    assert error.value.hint


def test_a_digit_before_a_semicolon_is_a_word() -> None:
    assert import_text("x.sh", "llama-server -m m.gguf -r 3;").preset.config.sampling.stop == ("3",)


def test_folders_of_windows_stay_whole() -> None:
    text = "C:\\llama\\llama-server.exe -m 'C:\\my models\\m.gguf' ^\n  -c 512"
    assert import_text("x.cmd", text).preset.config.target == "C:\\my models\\m.gguf"


def test_a_file_that_the_text_itself_writes_is_read() -> None:
    file = "cat > /etc/extra.yml <<EOF\nmax_batch_size: 3\nEOF\n"
    command = "trtllm-serve m/L --extra_llm_api_options /etc/extra.yml"
    for text in (file + command, file.replace("cat >", "sudo tee") + command, f'bash -c "{file}{command}"'):
        assert import_text("x.sh", text).preset.config.engine_options == {"max_num_seqs": 3}
    with pytest.raises(PlaygroundError, match="that is not here"):
        import_text("x.sh", file + command.replace("extra.yml", "other.yml"))


def test_odd_shell_texts_end_soon() -> None:
    start = time.monotonic()
    odd = ("(", "((", "$(", "${A:-", '"$(', "`", "A=(", "A+=(x) ", "a&&", "if ", "{ ", "<<E\n", "sudo ", "bash -c ",
           "docker run ", "x && A=1\n", "<(", "f() { ")  # fmt: skip
    for text in odd:
        with contextlib.suppress(PlaygroundError):
            import_text("x.sh", text * (80_000 // len(text)) + "\nvllm serve m/L")
    assert time.monotonic() - start < 60
