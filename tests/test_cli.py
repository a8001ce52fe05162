"""The command line through the real runner and store, on canned streams: results, errors, exit codes, JSON."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from playground import cli
from playground.cli.flags import Parser, add_config_flags, config_from
from playground.config import RunConfig, SamplingParams
from playground.errors import PlaygroundError
from playground.metrics import METRICS
from playground.settings import Settings
from storage import Store

ROOT = Path(__file__).resolve().parent.parent
SCRIPTED = ("--engine", "scripted", "--no-pace", "--load-seconds", "0", "--max-tokens", "24")
COMMANDS = ("serve", "run", "compare", "runs", "replay", "export", "import", "models", "presets", "bench", "tune")


class Shell:
    """`python -m playground` in this process, on a data folder of its own."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data, self.capsys = data, capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """(exit code, stdout, stderr)."""
        code = cli.main(words)
        out, err = self.capsys.readouterr()
        return code, out, err

    def json(self, *words: str, code: int = 0) -> dict[str, Any]:
        """The one JSON object of a command, which must be all of stdout."""
        got, out, err = self(*words, "--json")
        assert got == code, err
        assert len(out.strip().splitlines()) == 1, out
        data = json.loads(out)
        assert isinstance(data, dict)
        return data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def shell(data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.setenv("DRAFTBOARD_DATA", str(data))
    return Shell(data, capsys)


@pytest.fixture(scope="module")
def pair(data: Path) -> dict[str, Any]:
    """One stored comparison, made by a real process whose stdout is checked to the byte."""
    env = os.environ | {"DRAFTBOARD_DATA": str(data)}
    command = [sys.executable, "-m", "playground", "compare", *SCRIPTED, "--prompt", "Tell me\x1b[2J", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("}\n")
    assert done.stdout.count("\n") == 1, "nothing else may reach stdout"
    assert "\x1b" not in done.stdout
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


# -- run and compare


def test_compare_as_json_has_the_promised_names(pair: dict[str, Any]) -> None:
    assert {
        "run_ids", "comparison_id", "speedup", "outputs_identical", "first_divergence", "predicted_speedup", "baseline",
        "speculative", "config", "environment",
    } <= pair.keys()  # fmt: skip
    metrics = set(METRICS) - {"speedup", "speedup_end_to_end", "predicted_speedup"}
    for arm in ("baseline", "speculative"):
        assert metrics | {"text", "survival", "num_draft_tokens"} <= pair[arm].keys()
    assert pair["outputs_identical"] is True
    assert pair["speedup"] == pytest.approx(pair["baseline"]["tpot"] / pair["speculative"]["tpot"])
    assert pair["baseline"]["draft_acceptance_rate"] is None, "0/0 is null, not 0"
    assert pair["baseline"]["text"] == pair["speculative"]["text"] != ""
    assert RunConfig.model_validate(pair["config"]).sampling.max_tokens == 24


def test_compare_for_people(shell: Shell) -> None:
    code, out, err = shell("compare", *SCRIPTED, "--prompt", "hi")
    assert code == 0
    assert "Without speculation" in out
    assert "With speculation" in out
    assert "× faster" in out
    assert "Outputs identical" in out
    assert "\x1b" not in out + err, "no terminal, no styles"
    assert "weights" in err, "loading is told on stderr"


def test_run_prints_the_answer_alone_into_a_pipe(shell: Shell) -> None:
    code, out, err = shell("run", *SCRIPTED, "--method", "none", "--prompt", "hi")
    assert code == 0
    assert len(out.splitlines()) == 1
    assert "decode speed" in err
    assert "acceptance" not in err, "a baseline has none"


def test_a_failed_run_is_one_sentence_and_exit_code_2(shell: Shell) -> None:
    code, out, err = shell("run", *SCRIPTED, "--fail", "load", "--prompt", "hi")
    assert code == 2
    assert "error: The model smollm2-135m cannot be loaded." in err
    assert "choose no failure" in err
    assert "Traceback" not in out + err
    failed = shell.json("compare", *SCRIPTED, "--fail", "load", "--prompt", "hi", code=2)
    assert failed["error"] == "The model smollm2-135m cannot be loaded."
    assert failed["hint"]
    assert failed["code"] == "load"
    assert failed["run_ids"].keys() == {"baseline", "speculative"}


def test_prompts_come_from_text_file_or_stdin(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CASES 32 for prompt files: Windows line ends and a BOM are no part of the prompt."""
    file = tmp_path / "prompt.txt"
    file.write_bytes(b"\xef\xbb\xbfline 1\r\nline 2\r\n")
    found = shell.json("run", *SCRIPTED, "--prompt-file", str(file))
    assert found["prompt"] == "line 1\r\nline 2"
    for words in (("--prompt", "-"), ("--prompt-file", "-")):
        read, write = os.pipe()
        os.write(write, "von stdin: ü\n".encode())
        os.close(write)
        with os.fdopen(read) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            assert shell.json("run", *SCRIPTED, *words)["prompt"] == "von stdin: ü"


def test_flags_override_the_preset(shell: Shell) -> None:
    found = shell.json(
        "run", *SCRIPTED, "--preset", "sampling-chat", "--top-p", "0.5", "--stop", "a", "--stop", "b", "--prompt", "x",
        "--prompt-lookup-max", "9", "--seed", "none", "--no-chat", "--engine-option", "tokens-per-second=55",
    )  # fmt: skip
    config = RunConfig.model_validate(found["config"])
    assert config.sampling.temperature == 0.7, "the preset's own"
    assert (config.sampling.top_p, config.sampling.stop, config.sampling.seed) == (0.5, ("a", "b"), None)
    assert not config.chat
    assert config.speculation is not None
    assert config.speculation.options["prompt_lookup_max"] == 9
    assert config.engine_options["tokens_per_second"] == 55.0, "stored with its type"


# -- errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "COMMAND"),
        (("dance",), "invalid choice: 'dance'"),
        (("run", "--prompt", "x", "--temprature", "1"), "Unrecognized arguments: --temprature"),
        (("run", "--prompt", "x", "--temperature", "hot"), "sampling.temperature: input should be a valid number"),
        (("run", "--prompt", "x", "--temperature", "nan"), "sampling.temperature: input should be"),
        (("run", "--prompt", "x", "--num-speculative-tokens", "99"), "num_speculative_tokens: input should be less"),
        (("run", "--prompt", "x", "--preset", "nope"), "There is no preset called “nope”"),
        (("run", "--prompt", "x", "--engine", "nope"), "There is no engine called “nope”"),
        (("run", "--prompt", "x", "--method", "nope"), "no drafting method called “nope”"),
        (("run", "--prompt", "x", "--method", "draft_model"), "needs a draft model"),
        (
            ("run", "--prompt", "x", "--method", "draft_model", "--match", "earliest"),
            "match is an option of method",
        ),
        (("run", "--prompt", "x", "--method-option", "match"), "“match” is no KEY=VALUE"),
        (("run", "--prompt", "x", "--method-option", "foo=1"), "foo: is not a known key"),
        (("compare", "--prompt", "x", "--method", "none"), "nothing to compare"),
        (("run",), "No prompt was given"),
        (("run", "--prompt", "x", "--prompt-file", "y"), "Two prompts were given"),
        (("run", "--prompt-file", "/nowhere"), "/nowhere cannot be read"),
        (("run", "--prompt-file", "/dev/zero"), "no ordinary file"),
        (("replay", "nope"), "There is no run “nope”"),
        (("runs", "show", "nope"), "There is no run “nope”"),
        (("runs", "--sort", "nope"), "cannot be sorted by “nope”"),
        (("export", "--preset", "default", "--to", "nope"), "no export target called “nope”"),
        (("export", "--preset", "default", "--option", "x=1"), "x: is not a known key"),
        (("export",), "One of the arguments --run --preset is required"),
        (("export", "--run", "nope"), "There is no run “nope”"),
        (("import", "/nowhere.yaml"), "cannot be read"),
        (("presets", "delete", "default"), "no preset of your own"),
    ],
)
def test_bad_input_is_one_sentence_in_terminal_and_json(words: tuple[str, ...], message: str, shell: Shell) -> None:
    code, out, err = shell(*words)
    assert (code, out) == (2, "")
    assert message in err.replace("\n", " ")
    assert err.startswith("error: ")
    assert len(err.splitlines()) >= 2, "and its fix"
    assert "Traceback" not in err
    failed = shell.json(*words, code=2)
    assert failed.keys() == {"error", "hint", "code"}
    assert message in failed["error"]
    assert failed["hint"]


def test_a_bad_preset_file_names_file_line_and_key(shell: Shell, tmp_path: Path) -> None:
    """CASES 32, in terminal and JSON."""
    file = tmp_path / "bad.yaml"
    file.write_bytes(b"\xef\xbb\xbfconfig:\r\n  sampling:\r\n    temprature: 1\r\n")
    expected = f"{file}, line 3, config.sampling.temprature: is not a known key."
    code, _, err = shell("run", "--preset", str(file), "--prompt", "x")
    assert code == 2
    assert expected in err.replace("\n", "")
    assert shell.json("import", str(file), code=2)["error"] == expected


def test_an_unwritable_data_folder_is_said_at_start(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 34."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("DRAFTBOARD_DATA", str(blocked / "data"))
    for words in (("run", "--prompt", "x"), ("runs",), ("serve",)):
        code, _, err = shell(*words)
        assert code == 2
        assert "cannot be written" in err
        assert "DRAFTBOARD_DATA" in err
        assert shell.json(*words, code=2)["code"] == "unwritable"


def test_a_presets_folder_that_cannot_be_written_is_said(
    shell: Shell, pair: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CASES 34: read-only presets."""
    run, lines = pair["run_ids"]["speculative"], tmp_path / "run.jsonl"
    shell.json("runs", "export", run, "--out", str(lines))
    config = tmp_path / "vllm.yaml"
    config.write_text("model: a/b\n")
    monkeypatch.setenv("DRAFTBOARD_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "presets").write_text("a file in its place")
    failed = shell.json("import", str(config), "--save", "x", code=2)
    assert failed["code"] == "unwritable"
    assert "DRAFTBOARD_DATA" in failed["hint"]
    assert shell.json("runs", "import", str(lines), code=2)["code"] == "unwritable"
    code, _, err = shell("import", str(config), "--save", "x")
    assert (code, "cannot be written" in err) == (2, True)


def test_a_taken_port_is_said_at_start(shell: Shell) -> None:
    """CASES 34."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, _, err = shell("serve", "--port", port)
        assert code == 2
        assert f"Port {port} on 127.0.0.1 cannot be used" in err
        assert shell.json("serve", "--port", port, code=2)["code"] == "port_in_use"


def test_a_wrong_setting_is_said(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """CASES 34."""
    monkeypatch.setenv("DRAFTBOARD_PORT", "http")
    assert shell.json("runs", code=2)["error"].startswith("DRAFTBOARD_PORT: input should be a valid integer")
    monkeypatch.setenv("DRAFTBOARD_PORT", "")
    assert shell("runs")[0] == 0, "an empty one is none"
    for name, value in (
        ("MODEL_FOLDERS", "/a"),
        ("REMOTE_SERVERS", "http://a:1"),
        ("REMOTE_KEYS", '{"http://a:1": "K'),
    ):
        monkeypatch.setenv(f"DRAFTBOARD_{name}", value)
        said = shell.json("runs", code=2)
        assert f"DRAFTBOARD_{name} is no JSON" in said["error"]
        assert value not in said["error"]
        monkeypatch.delenv(f"DRAFTBOARD_{name}")
    monkeypatch.setenv("DRAFTBOARD_HOST", "0.0.0.0")
    assert "no auth is set" in shell.json("serve", code=2)["error"]


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "--limit", "0"), ("runs", "--limit", "-3"), ("runs", "--offset", "-1"), ("runs", "--limit", "x"),
        ("replay", "x", "--speed", "-1"), ("replay", "x", "--speed", "nan"), ("bench", "--repeats", "0"),
        ("bench", "--threshold", "inf"), ("doctor", "--target", "t", "--draft", "d", "--context", "0"),
    ],
)  # fmt: skip
def test_a_number_out_of_range_is_refused_by_its_flag(shell: Shell, words: tuple[str, ...]) -> None:
    assert words[-2] in shell.json(*words, code=2)["error"]


def test_a_runs_id_is_listed_whole(shell: Shell) -> None:
    """Also where a terminal is narrow: it is what `replay` and `export` take."""
    run = shell.json("run", *SCRIPTED, "--prompt", "a long prompt " * 20)["run_id"]
    assert run in shell("runs")[1]


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_an_empty_prompt_is_refused_as_on_the_page(shell: Shell, prompt: str) -> None:
    assert shell.json("run", "--prompt", prompt, code=2)["code"] == "no_prompt"


def test_a_database_of_another_program_is_left_alone(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "theirs.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("create table runs(id int)")
    monkeypatch.setenv("DRAFTBOARD_DATABASE", str(path))
    assert shell.json("runs", code=2)["code"] == "foreign_database"


def test_a_fault_of_ours_is_exit_code_1_and_still_json(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr("playground.cli.machine.catalogue", broken)
    assert shell.json("models", code=1)["code"] == "internal"
    code, out, err = shell("models")
    assert (code, out) == (1, "")
    assert "RuntimeError: no such luck" in err


# -- stopping


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_stores_the_run_as_cancelled(number: int, code: int, tmp_path: Path) -> None:
    env = os.environ | {"DRAFTBOARD_DATA": str(tmp_path)}
    words = ["--engine", "scripted", "--load-seconds", "0", "--length", "9000", "--max-tokens", "9000"]
    command = [sys.executable, "-m", "playground", "run", *words, "--prompt", "hi", "--json"]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for_steps(tmp_path / "runs.db", process)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code, err
    found = json.loads(out)
    assert found["status"] == "cancelled"
    assert 0 < found["num_delivered"] < 9000, "what there is comes along"
    store = Store(tmp_path / "runs.db")
    assert store.run(found["run_id"]).status == "cancelled"
    assert store.run(found["run_id"]).metrics["num_delivered"] == found["num_delivered"]
    store.close()


def wait_for_steps(path: Path, process: "subprocess.Popen[str]") -> None:
    for _ in range(600):
        assert process.poll() is None
        if path.exists():
            store = Store(path)
            rows = store.runs().rows
            delivered = any(True for row in rows for event in store.replay(row.run_id) if hasattr(event, "tokens"))
            store.close()
            if delivered:
                return
        time.sleep(0.1)
    raise AssertionError("no step was ever stored")


def test_whoever_reads_may_leave(data: Path, pair: dict[str, Any]) -> None:
    """As `| head -0` does: no traceback, no hanging."""
    env = os.environ | {"DRAFTBOARD_DATA": str(data)}
    command = [sys.executable, "-m", "playground", "runs", "export"]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert process.wait(60) in (0, 1)


# -- stored runs


def test_replay_gives_the_same_result_back(shell: Shell, pair: dict[str, Any]) -> None:
    assert shell.json("replay", pair["comparison_id"]) == pair
    run_id = pair["run_ids"]["speculative"]
    alone = shell.json("replay", run_id)
    assert {name: alone[name] for name in pair["speculative"]} == pair["speculative"]
    code, out, err = shell("replay", pair["comparison_id"], "--speed", "0")
    assert code == 0
    assert pair["baseline"]["text"] in out
    assert "RECORDED" in out + err


def test_runs_are_listed_searched_and_shown(shell: Shell, pair: dict[str, Any]) -> None:
    spec = pair["run_ids"]["speculative"]
    listed = shell.json("runs", "--comparison-id", pair["comparison_id"])
    assert {row["run_id"] for row in listed["runs"]} == set(pair["run_ids"].values())
    assert listed["total"] == 2
    best = shell.json("runs", "--comparison-id", pair["comparison_id"], "--sort", "speedup")["runs"][0]
    assert best["metrics"]["speedup"] == pytest.approx(pair["speedup"])
    assert shell.json("runs", "list", "--search", "nothing has this")["runs"] == []
    code, out, _ = shell("runs", "--comparison-id", pair["comparison_id"])
    assert code == 0
    assert spec in out
    assert "\x1b" not in out, "a prompt's escape sequence is shown, not obeyed"
    assert "␛[2J" in out
    shown = shell.json("runs", "show", spec)
    assert shown["output"] == pair["speculative"]["text"]
    assert shown["environment"] == pair["environment"]
    code, out, _ = shell("runs", "show", spec)
    assert (code, "\x1b" in out, pair["speculative"]["text"] in out) == (0, False, True)


def test_runs_are_noted_exported_deleted_and_imported(shell: Shell, tmp_path: Path) -> None:
    made = shell.json("run", *SCRIPTED, "--prompt", "keep me")["run_id"]
    assert shell.json("runs", "note", made, "a note")["note"] == "a note"
    assert shell.json("runs", "--search", "a note")["total"] == 1
    file = tmp_path / "runs.jsonl"
    assert shell.json("runs", "export", made, "--out", str(file))["runs"] == [made]
    assert shell.json("runs", "export", made, "--out", str(file), code=2)["code"] == "file_exists"
    code, csv, _ = shell("runs", "export", made, "--format", "csv")
    assert code == 0
    assert csv.splitlines()[0].startswith("run_id,")
    before = shell.json("replay", made)
    assert shell.json("runs", "delete", made) == {"deleted": 1}
    assert shell.json("runs", "delete", made, code=2)["code"] == "no_such_run"
    assert shell.json("runs", "import", str(file)) == {"runs": [made]}
    assert shell.json("replay", made) == before
    assert shell.json("runs", "import", str(tmp_path), code=2)["code"] == "bad_file"


# -- presets, exports, imports, models


def test_what_was_measured_is_exported_and_read_back(shell: Shell, pair: dict[str, Any], tmp_path: Path) -> None:
    spec = pair["run_ids"]["speculative"]
    done = shell.json("export", "--run", spec, "--to", "vllm", "--out", str(tmp_path))
    assert f"runs: {pair['run_ids']['baseline']}, {spec}" in next(iter(done["files"].values()))
    assert {Path(path).name for path in done["written"]} == done["files"].keys()
    assert {"field", "level", "reason"} == done["losses"][0].keys()
    assert done["checked_by"] == "our schema"
    assert shell.json("export", "--run", spec, "--out", str(tmp_path), code=2)["code"] == "file_exists"
    imported = shell.json("import", str(tmp_path / f"run-{spec}.vllm.yaml"), "--save", "from-server")
    assert imported["preset"]["config"]["speculation"]["num_speculative_tokens"] == 8
    assert Path(imported["saved"]).parent == Settings(data=shell.data).presets_folder
    code, out, err = shell("export", "--preset", "from-server", "--to", "vllm")
    assert code == 0
    assert "speculative-config:" in out
    assert "start with: vllm serve --config from-server.vllm.yaml" in err
    ours = shell.json("export", "--run", spec, "--to", "preset", "--out", str(tmp_path), "--name", "mine")
    again = shell.json("run", "--preset", ours["written"][0], "--prompt", "Tell me\x1b[2J")
    assert again["config"] == pair["config"], "import gives the same run back"


def test_presets_are_listed_saved_shown_and_deleted(shell: Shell, pair: dict[str, Any]) -> None:
    saved = shell.json("presets", "save", "kept", "--run", pair["comparison_id"], "--description", "so it is")
    assert saved["preset"]["evidence"]["metrics"]["speedup"] == pytest.approx(pair["speedup"])
    assert shell.json("presets", "save", "kept", "--run", pair["comparison_id"], code=2)["code"] == "name_taken"
    listed = {entry["name"]: entry for entry in shell.json("presets")["presets"]}
    assert listed["kept"]["own"]
    assert not listed["default"]["own"]
    code, out, _ = shell("presets", "show", "kept")
    assert code == 0
    assert "description: so it is" in out
    assert shell.json("presets", "delete", "kept") == {"deleted": "kept"}
    code, out, _ = shell("presets")
    assert code == 0
    assert "kept" not in out


def test_import_reads_stdin(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.write(write, b"vllm serve a/b --speculative-model [ngram] --num-speculative-tokens 3")
    os.close(write)
    with os.fdopen(read) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        found = shell.json("import", "-")
    assert found["preset"]["config"]["target"] == "a/b"
    assert any("speculative_config" in sentence for sentence in found["rewrites"])
    assert found["saved"] is None


def test_models_are_listed_and_prepared(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert shell.json("models")["models"][0]["name"] == "smollm2-135m"
    code, out, _ = shell("models", "list")
    assert (code, "smollm2-135m" in out) == (0, True)

    def prepare(settings: Settings, progress: Any) -> Path:
        progress("Downloading", 0.5)
        if settings.offline:
            return tmp_path
        raise PlaygroundError("It could not be downloaded.", "Check the network.", code="prepare_failed")

    monkeypatch.setattr("playground.cli.machine.prepare_default", prepare)
    assert shell.json("models", "prepare") == {"path": str(tmp_path)}
    monkeypatch.setenv("DRAFTBOARD_OFFLINE", "false")
    code, _, err = shell("models", "prepare")
    assert (code, "Check the network." in err) == (2, True)


# -- flags


def parse(*words: str) -> RunConfig:
    parser = Parser(prog="x")
    add_config_flags(parser)
    return config_from(parser.parse_args(words), Settings())


def test_every_field_has_its_flag() -> None:
    """Flags are made from the fields: a new field of the sampling, or of an engine's options, is a flag at once."""
    parser = Parser(prog="x")
    add_config_flags(parser)
    flags = {option for action in parser._actions for option in action.option_strings}
    wanted = {*SamplingParams.model_fields, "engine", "target", "method", "draft", "dtype", "chat", "system_prompt"}
    wanted |= {"num_speculative_tokens", "prompt_lookup_max", "draft_sample_method", "max_model_len"}
    assert {"--" + name.replace("_", "-") for name in wanted} <= flags
    assert {"--no-chat", "--preset", "--engine-option", "--method-option"} <= flags


def test_another_method_drops_what_was_said_of_the_old_one() -> None:
    config = parse("--method", "draft_model", "--draft", "small")
    assert config.speculation is not None
    assert config.speculation.model_dump() == {
        "method": "draft_model",
        "num_speculative_tokens": 5,
        "model": "small",
        "options": {},
    }
    implied = parse("--draft", "small").speculation
    assert implied is not None
    assert implied.method == "draft_model"
    assert parse("--method", "none").speculation is None
    kept = parse("--num-speculative-tokens", "3").speculation
    assert kept is not None
    assert (kept.method, kept.num_speculative_tokens) == ("ngram", 3)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    assert "usage: python -m playground" in capsys.readouterr().out


def test_help_loads_nothing_heavy() -> None:
    """The command line answers before torch could be imported, and opens no database for it."""
    code = (
        "import sys\nfrom playground import cli\n"
        "try: cli.main(['compare', '--help'])\nexcept SystemExit: pass\n"
        "print([n for n in ('torch', 'transformers', 'gradio', 'sqlite_utils', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip().splitlines()[-1] == "[]", done.stderr


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
