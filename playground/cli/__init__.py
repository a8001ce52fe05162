"""The command line: the same functions as the page. One file a group of commands; this file is their table.

Every command ends in one exit code: 0, 2 for bad input or a failed run (one sentence and its fix), 130 for Ctrl-C, 1
for a fault of ours. With --json it prints one JSON object as stdout's last line, also where it fails.
"""

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from playground.cli import bench, doctor, machine, running, sharing, stored, train, tune
from playground.cli.flags import Parser
from playground.cli.numbers import real
from playground.cli.output import (
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    TERMINATED,
    Output,
    Terminated,
    only_json_on_stdout,
    terminable,
)
from playground.errors import PlaygroundError

Command = Callable[[argparse.Namespace, Output], int]

_EXAMPLES = """
examples:
  python -m playground serve
  python -m playground compare --prompt "Count from 1 to 30." --max-tokens 64
  python -m playground run --method none --prompt-file question.txt --json
  python -m playground bench --sample 12 --max-tokens 64 --out report.html
  python -m playground export --run ID --to vllm --out server/
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; the process's exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in words
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    with terminable(), only_json_on_stdout(as_json) as stdout:
        out = Output(as_json, stdout, sys.stderr)
        try:
            return _run(words, out)
        except PlaygroundError as error:
            return _refused(error, out)
        except KeyboardInterrupt as stop:
            code = TERMINATED if isinstance(stop, Terminated) else INTERRUPTED
            return _refused(PlaygroundError("Stopped.", code="cancelled"), out, code)
        except BrokenPipeError:
            # Whoever read our output has gone, as `| head` does; Python must not complain while it exits.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        except Exception as error:  # noqa: BLE001 - every fault of ours still ends as one sentence, or as JSON
            traceback.print_exc(file=sys.stderr)
            problem = f"Draftboard itself failed: {type(error).__name__}: {error}."
            return _refused(PlaygroundError(problem, "Please report the lines above.", code="internal"), out, FAILED)


def parser() -> Parser:
    """All commands with their flags."""
    top = Parser(prog="python -m playground", description="A playground for speculative decoding.", epilog=_EXAMPLES)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    serving = _command(commands, "serve", machine.serve, "the page, in a browser")
    serving.add_argument("--host", help="address to listen on (default: DRAFTBOARD_HOST)")
    serving.add_argument("--port", help="port (default: DRAFTBOARD_PORT)")
    serving.add_argument("--device", help="auto, cpu, cuda, cuda:N or mps")
    for name, command, text in (
        ("run", running.run, "one run of a prompt"),
        ("compare", running.compare, "a prompt without and with speculation"),
    ):
        made = _command(commands, name, command, text)
        made.usage = f"python -m playground {name} (--prompt TEXT | --prompt-file FILE) [--preset NAME] [flags]"
        running.add_run_flags(made)
    measured = _command(commands, "bench", bench.bench, "a suite of prompts with and without speculation: the verdict")
    measured.usage = "python -m playground bench [--suite NAME|FILE] [--preset NAME] [flags]"
    bench.add_bench_flags(measured)
    tuned = _command(commands, "tune", tune.tune, "which k, method and options are fastest here")
    tuned.usage = "python -m playground tune [--suite NAME|FILE] [--preset NAME] [--ks 1-8] [flags]"
    tune.add_tune_flags(tuned)
    doctor.add_doctor_flags(_command(commands, "doctor", doctor.doctor, "does a draft fit a target, and does it pay"))
    _add_runs(commands)
    again = _command(commands, "replay", running.replay, "a stored run or comparison again, with its own timing")
    again.add_argument("id", metavar="ID")
    again.add_argument("--speed", type=real(0), metavar="X", help="2 is twice as fast, 0 does not wait (default: 1)")
    again.add_argument("--rejected", action=argparse.BooleanOptionalAction, default=True, help="show rejected drafts")
    sharing.add_export_flags(_command(commands, "export", sharing.export, "a run or preset for a server"))
    sharing.add_import_flags(_command(commands, "import", sharing.import_, "a server's configuration as a preset"))
    train.add_train_flags(_command(commands, "train", train.train, "an EAGLE-3 draft head for a target"))
    _add_models(commands)
    _add_presets(commands)
    return top


def _add_runs(commands: Any) -> None:
    group = commands.add_parser("runs", help="stored runs: list, show, delete, note, export, import").add_subparsers(
        metavar="ACTION", required=True
    )
    stored.add_list_flags(_command(group, "list", stored.list_runs, "list or search (what `runs` alone does)"))
    _command(group, "show", stored.show_run, "one run whole").add_argument("id", metavar="ID")
    _command(group, "delete", stored.delete_runs, "delete runs").add_argument("ids", metavar="ID", nargs="+")
    note = _command(group, "note", stored.note_run, "set a run's note; empty text removes it")
    note.add_argument("id", metavar="ID")
    note.add_argument("text", metavar="TEXT")
    export = _command(group, "export", stored.export_runs, "runs as JSON lines or CSV; all without an ID")
    export.add_argument("ids", metavar="ID", nargs="*")
    export.add_argument("--format", choices=("jsonl", "csv"), default="jsonl")
    export.add_argument("--out", metavar="FILE", help="file to write (default: stdout)")
    export.add_argument("--overwrite", action="store_true", help="replace a file that is there")
    _command(group, "import", stored.import_runs, "exported JSON lines").add_argument("file", metavar="FILE")


def _add_models(commands: Any) -> None:
    group = commands.add_parser("models", help="models on this machine: list, prepare").add_subparsers(
        metavar="ACTION", required=True
    )
    _command(group, "list", machine.models_list, "models on this machine (what `models` alone does)")
    _command(group, "prepare", machine.models_prepare, "download and convert the default model, once")


def _add_presets(commands: Any) -> None:
    group = commands.add_parser("presets", help="presets: list, show, save, delete").add_subparsers(
        metavar="ACTION", required=True
    )
    _command(group, "list", sharing.presets_list, "presets (what `presets` alone does)")
    _command(group, "show", sharing.presets_show, "one preset as YAML").add_argument("name", metavar="NAME")
    save = _command(group, "save", sharing.presets_save, "what was measured in a run, as a preset of your own")
    save.add_argument("name", metavar="NAME")
    save.add_argument("--run", metavar="ID", required=True)
    save.add_argument("--description", default="", metavar="TEXT")
    save.add_argument("--overwrite", action="store_true", help="replace a preset of that name")
    _command(group, "delete", sharing.presets_delete, "delete one of your own").add_argument("name", metavar="NAME")


def _command(group: Any, name: str, command: Command, text: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = group.add_parser(name, help=text, description=text[:1].upper() + text[1:] + ".")
    made.add_argument("--json", action="store_true", help="print one JSON object as the last line of stdout")
    made.set_defaults(command=command)
    return made


def _run(words: list[str], out: Output) -> int:
    args = parser().parse_args(_with_action(words))
    code: int = args.command(args, out)
    return code


def _with_action(words: list[str]) -> list[str]:
    """`runs`, `models` and `presets` alone, or with flags only, mean their `list`."""
    if words and words[0] in ("runs", "models", "presets"):
        rest = words[1:]
        if (not rest or rest[0].startswith("-")) and not {"-h", "--help"} & set(rest):
            return [words[0], "list", *rest]
    return words


def _refused(error: PlaygroundError, out: Output, code: int = BAD_INPUT) -> int:
    if out.as_json:
        out.result(error.as_dict())
    else:
        running.say_error(out, error.message, error.hint)
    return code
