"""Run by the Python that has SGLang, not by ours: do SGLang's own parser and rules take these files?

Same conversation as `_vllm_child`: a JSON list of argument lists in, {"version", "results"} out. Runs on a CPU without
SGLang's kernels; models are replaced by a stub folder. Imports nothing of ours.
"""

import contextlib
import importlib.metadata
import io
import json
import logging
import os
import sys
import tempfile
import types
from typing import Any

# A script's own folder comes first on the path, and ours holds files named after the programs.
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != os.path.dirname(os.path.abspath(__file__))]

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
    "torch_dtype": "float32",
}
DEVICE_RULES = ("DFLASH", "DSPARK")
"""Algorithms that refuse a CPU before they look at anything else: their keys are parsed, no more."""


def main() -> None:
    cases, said = json.load(sys.stdin), sys.stdout
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        stub = os.path.join(folder, "stub")
        os.mkdir(stub)
        with open(os.path.join(stub, "config.json"), "w", encoding="utf-8") as file:
            json.dump(LLAMA, file)
        try:
            import torchvision  # noqa: F401
        except Exception:  # noqa: BLE001  not there, or built for another torch
            _without_pictures()
        import sglang.srt.server_args as server_args

        logging.disable(logging.CRITICAL)
        answer = {"version": _version(), "results": [_checked(server_args, arguments, stub) for arguments in cases]}
    json.dump(answer, said)


def _without_pictures() -> None:
    """SGLang imports torchvision for images; arguments need none."""
    import importlib.machinery

    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    with contextlib.suppress(Exception):
        from transformers import AutoProcessor  # noqa: F401  before the stand-in, which it would take for real
    for name in ("torchvision", "torchvision.transforms", "torchvision.transforms.functional", "torchvision.io"):
        module = types.ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        module.__getattr__ = _anything  # type: ignore[method-assign]
        sys.modules[name] = module


def _anything(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _Anything(name, (), {})


class _Anything(type):
    """A class with every attribute: what stands for torchvision's classes and enumerations."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return name


def _checked(server_args: Any, arguments: list[str], stub: str) -> dict[str, str]:
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            return {"error": ""} | _accept(server_args, arguments, stub)
    except SystemExit:
        lines = [line for line in errors.getvalue().splitlines() if "error" in line.lower()]
        return {"error": (lines or ["it stops"])[-1][-500:]}
    except BaseException as error:  # noqa: BLE001  whatever SGLang raises is the answer
        return {"error": f"{type(error).__name__}: {str(error)[:500] or 'an assertion'}"}


def _accept(server_args: Any, arguments: list[str], stub: str) -> dict[str, str]:
    server_args.prepare_server_args(arguments)  # the file as it is, devices of its own
    more = ["--device", "cpu", "--model-path", stub, "--tp-size", "1", "--pp-size", "1", "--dp-size", "1"]
    read = server_args.prepare_server_args([*arguments, *more])
    algorithm = str(getattr(read, "speculative_algorithm", "") or "").upper()
    if algorithm in DEVICE_RULES:
        return {"note": "needs_gpu", "about": algorithm}
    if read.speculative_use_block_verification:
        return {"note": "needs_gpu", "about": "block verification"}
    if read.speculative_draft_model_path:
        read = server_args.prepare_server_args([*arguments, *more, "--speculative-draft-model-path", stub])
    if hasattr(read, "resolve_once"):
        try:
            read.resolve_once()
            read.resolved_dict()
        except ImportError as error:
            return {"note": "parsed_only", "about": str(error.name or error)}
    return {}


def _version() -> str:
    try:
        return importlib.metadata.version("sglang")
    except importlib.metadata.PackageNotFoundError:
        import sglang

        return str(getattr(sglang, "__version__", "unknown"))


if __name__ == "__main__":
    main()
