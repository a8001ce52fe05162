"""Run by the Python that has vLLM, not by ours: does vLLM's own parser take these files?

Reads a JSON list of cases, each a list of arguments of `vllm serve`, from stdin; writes one JSON list of
{"error": "" or why} with the version to stdout. Models are replaced by stub folders that hold nothing but a tiny
configuration, so that no weights and no network are needed. Imports nothing of ours.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from typing import Any

# A script's own folder comes first on the path, and ours holds files named after the programs.
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != os.path.dirname(os.path.abspath(__file__))]

os.environ.update(
    {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_LOGGING_LEVEL": "ERROR", "CUDA_VISIBLE_DEVICES": ""}
)

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "vocab_size": 256,
    "max_position_embeddings": 10_000_000,
    "rms_norm_eps": 1e-5,
    "torch_dtype": "float32",
    "bos_token_id": 1,
    "eos_token_id": 2,
}
BY_HAND = ("mtp", "medusa", "mlp_speculator", "dflash", "dspark")
"""Methods whose configuration depends on what the real models bring along: their keys are checked, no more."""


def main() -> None:
    cases, said = json.load(sys.stdin), sys.stdout
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        stub = os.path.join(folder, "stub")
        os.mkdir(stub)
        with open(os.path.join(stub, "config.json"), "w", encoding="utf-8") as file:
            json.dump(LLAMA, file)
        import vllm

        answer = {"version": vllm.__version__, "results": [_checked(arguments, stub) for arguments in cases]}
    json.dump(answer, said)


def _checked(arguments: list[str], stub: str) -> dict[str, str]:
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return {"error": ""} | _accept(arguments, stub)
    except SystemExit:
        lines = [line for line in errors.getvalue().splitlines() if "error" in line.lower()]
        return {"error": (lines or ["it stops"])[-1][-500:]}
    except BaseException as error:  # noqa: BLE001  whatever vLLM raises is the answer
        return {"error": f"{type(error).__name__}: {_first(error)}"}


def _accept(arguments: list[str], stub: str) -> dict[str, str]:
    """Raises whatever vLLM raises. What could not be looked at is a note, and what it is about."""
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    make, validate = _parser_parts()
    parser = FlexibleArgumentParser()
    serve = make(parser.add_subparsers(dest="subparser").add_parser("serve"))
    assert serve is not None
    parsed = parser.parse_args(["serve", *arguments])
    if getattr(parsed, "model_tag", None):
        parsed.model = parsed.model_tag
    validate(parsed)
    spec = dict(parsed.speculative_config or {})
    parsed.model, parsed.tokenizer, parsed.skip_tokenizer_init = stub, None, True
    note: dict[str, str] = {}
    if spec.get("method") in BY_HAND:
        _keys(spec)
        note = {"note": "real_models", "about": spec["method"]}
        spec = {}
    elif spec.get("model") and not str(spec.get("method", "")).startswith("ngram"):
        spec["model"] = stub
    parsed.speculative_config = spec or None
    if spec.get("method") == "suffix":
        _with_suffix()
    # Parallel sizes beyond this machine's devices are the server's, not the file's, business.
    AsyncEngineArgs.from_cli_args(parsed).create_engine_config()
    return note


def _parser_parts() -> tuple[Any, Any]:
    try:
        from vllm.entrypoints.launchers.cli_args import make_arg_parser, validate_parsed_serve_args
    except ImportError:  # before 0.32
        from vllm.entrypoints.openai.cli_args import make_arg_parser, validate_parsed_serve_args
    return make_arg_parser, validate_parsed_serve_args


def _keys(spec: dict[str, Any]) -> None:
    import dataclasses

    from vllm.config.speculative import SpeculativeConfig

    names = {field.name for field in dataclasses.fields(SpeculativeConfig)}
    strange = sorted(set(spec) - names)
    if strange:
        raise ValueError(f"unknown keys of speculative-config: {', '.join(strange)}")


def _with_suffix() -> None:
    """The package that suffix needs is looked for at start; here the file is the question."""
    import vllm.config.speculative as speculative

    if hasattr(speculative, "has_arctic_inference"):
        speculative.has_arctic_inference = lambda: True


def _first(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    useful = [line for line in lines if "validation error" not in line and not line.startswith("For further")]
    return " ".join(useful or lines)[:500]


if __name__ == "__main__":
    main()
