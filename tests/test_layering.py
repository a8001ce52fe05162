"""The import rules of the design, read from the source: who may import whom, and what must stay light."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

LAYERS: tuple[str, ...] = (
    "playground playground.errors playground.sentence playground.faults playground.registry playground.config"
    " playground.events",
    "playground.metrics playground.comparison playground.gpu playground.devices playground.turns playground.settings"
    " playground.processor_wait playground.detokenise playground.decoding playground.drafters playground.engines"
    " playground.exporters playground.importers",
    "playground.process playground.models playground.pairs playground.presets playground.evidence playground.exchange"
    " playground.exportfiles"
    " playground.validation playground.modelfiles playground.headfiles playground.headweights playground.doctor"
    " playground.catalogue"
    " playground.overrides playground.suites storage playground.drafters.* playground.engines.* playground.exporters.*"
    " playground.importers.*",
    "playground.doctor.trial playground.runner playground.stored_baseline playground.live playground.jobs"
    " playground.together playground.work playground.bench playground.tune playground.training playground.replay",
    "playground.bench.text playground.tune.text playground.reports playground.api playground.cli"
    " playground.notebook playground.results playground.terminal playground.ui playground.__main__ app",
)
"""Lowest first; a module may import from its own layer and those below. `name.*` are the files of a package, whose
`__init__` (the protocol) may lie lower; a plain package name stands for all of its files."""

OWNERS = {
    "gradio": ("playground.ui",),
    "sqlite_utils": ("storage",),
    "sqlite3": ("storage",),
    "pynvml": ("playground.gpu",),
    "vllm": ("playground.engines.vllm", "playground.engines._vllm", "playground.validation._vllm_child"),
}
"""Library -> the only modules that may import it."""

MAY_KNOW = {
    "playground.decoding": ("playground.errors", "playground.drafters"),
    "playground.drafters": ("playground.errors", "playground.sentence", "playground.decoding"),
    "playground.exporters": ("playground.errors", "playground.sentence", "playground.config", "playground.registry"),
    "playground.importers": (
        "playground.errors",
        "playground.sentence",
        "playground.faults",
        "playground.config",
        "playground.registry",
        "playground.exporters",
    ),
    "storage": (
        "playground.errors",
        "playground.sentence",
        "playground.faults",
        "playground.config",
        "playground.events",
        "playground.metrics",
    ),
}
"""Package -> all that it may import of ours, itself apart: the mathematics knows no config and no events, and so on."""

HEAVY = ("torch", "transformers", "vllm", "accelerate", "gguf", "gradio")
"""What discovery must not pull into a process that never touches the device."""


@functools.cache
def modules() -> dict[str, Path]:
    """Dotted name -> file, of everything shipped."""
    files = [ROOT / "app.py", *(ROOT / "playground").rglob("*.py"), *(ROOT / "storage").glob("*.py")]
    return {_dotted(file): file for file in files if file.exists()}


def _dotted(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def imports(name: str, file: Path, *, at_runtime: bool = False) -> tuple[str, ...]:
    """Dotted names a file imports, also inside functions; `at_runtime` leaves out TYPE_CHECKING blocks."""
    known, found = modules(), list[str]()
    tree = ast.parse(file.read_text(), str(file))
    blocks = [block for block in ast.walk(tree) if at_runtime and _is_type_checking(block)]
    skipped = {id(node) for block in blocks for node in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} uses a relative import; name modules in full"
            base = node.module or ""
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.append(full if full in known else base)
    return tuple(found)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def layer(name: str) -> int:
    """Rank of a module; the longest matching entry wins."""
    best, rank = -1, -1
    for number, entries in enumerate(LAYERS):
        for entry in entries.split():
            stem = entry.removesuffix(".*")
            inside = name.startswith(f"{stem}.") and name != stem
            if (name == entry or (inside and entry != "playground")) and len(entry) > best:
                best, rank = len(entry), number
    assert rank >= 0, f"{name} has no layer: add it to LAYERS here and to the picture in README.md"
    return rank


def _within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_point_down(name: str) -> None:
    if name == "playground.bootstrap":
        pytest.skip("runs before anything is installed; see below")
    for imported in imports(name, modules()[name], at_runtime=True):
        if imported in modules() and imported != name:
            assert layer(imported) <= layer(name), f"{name} must not import {imported}"


@pytest.mark.parametrize("library", sorted(OWNERS))
def test_each_library_has_one_owner(library: str) -> None:
    for name, file in modules().items():
        for imported in imports(name, file):
            if imported.split(".")[0] == library:
                assert _within(name, OWNERS[library]), f"{name} imports {library}; only {OWNERS[library]} may"


@pytest.mark.parametrize("package", sorted(MAY_KNOW))
def test_packages_that_know_little(package: str) -> None:
    for name, file in modules().items():
        if _within(name, (package,)):
            ours = {
                i for i in imports(name, file, at_runtime=True) if i.split(".")[0] in ("playground", "storage", "app")
            }
            outside = {i for i in ours if not _within(i, (package, *MAY_KNOW[package]))}
            assert not outside, f"{name} imports {sorted(outside)}"


def test_bootstrap_needs_nothing_installed() -> None:
    found = set(imports("playground.bootstrap", ROOT / "playground" / "bootstrap.py"))
    assert {i.split(".")[0] for i in found} <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("package", ["engines", "drafters", "exporters", "importers"])
def test_discovery_is_light(package: str) -> None:
    """Listing the extensions, their options and methods loads no heavy library, so that the page starts quickly."""
    code = (
        "import sys\n"
        "from playground import registry\n"
        f"found = registry.discover('playground.{package}')\n"
        "engines = [m.Engine for m in found.values() if hasattr(m, 'Engine')]\n"
        "[(e.Options.model_json_schema(), e.methods()) for e in engines]\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_the_parent_never_touches_the_device() -> None:
    """Whatever the page and the command line import in the parent, CUDA is not initialised by it."""
    code = (
        "import importlib.util as u, sys\n"
        "names = [n for n in ('app', 'playground.api', 'playground.__main__', 'playground.ui') if u.find_spec(n)]\n"
        "[__import__(n) for n in names]\n"
        "torch = sys.modules.get('torch')\n"
        "print(bool(torch) and torch.cuda.is_initialized())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "False"
