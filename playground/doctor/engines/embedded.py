"""The embedded engine (PyTorch): what this installation loads and can rewind."""

import importlib.util

from playground import drafters
from playground.doctor.engines import Pair
from playground.doctor.engines._common import broken, first_difference, head
from playground.doctor.facts import Facts
from playground.doctor.findings import Fit
from playground.registry import names

TITLE = "Embedded (PyTorch)"
BASIS = "this installation"

PACKAGES = {
    "awq": "gptqmodel", "gptq": "gptqmodel", "bitsandbytes": "bitsandbytes", "compressed-tensors": "compressed_tensors",
    "quanto": "optimum", "torchao": "torchao", "hqq": "hqq", "aqlm": "aqlm", "eetq": "eetq",
}  # fmt: skip
"""Quantization method -> the package transformers reads it with."""


def fit(pair: Pair) -> Fit:
    found = broken("embedded", pair) or _unfit(pair)
    return found or Fit("embedded", "works", "as_head" if head(pair) else "runs", basis=BASIS)


def _unfit(pair: Pair) -> Fit | None:
    if (kind := head(pair)) and pair.draft.role not in names(drafters.PACKAGE):
        return _no("no_such_method", kind=kind)
    for model in (pair.target, pair.draft):
        if model.stateful:
            return _no("stateful", model=model.name)
        if model.remote_code and not pair.trust_remote_code and not _known(model):
            return _no("remote_code", model=model.name)
        if packed := _package(model):
            return packed
    vocabulary = pair.vocabulary
    if vocabulary is not None and not vocabulary.same_tokens:
        difference = first_difference(vocabulary)
        return _no("vocabulary", n=difference["n"], id=difference["id"])
    if vocabulary is None and head(pair) is None:
        return Fit("embedded", "unknown", "vocabulary_unknown", basis=BASIS)
    return None


def _package(model: Facts) -> Fit | None:
    """What its packed weights need that is not installed; GGUF files are unpacked by transformers itself."""
    if model.quantization is None or model.kind == "gguf":
        return None
    method = model.quantization.split(" ")[0].lower()
    package = PACKAGES.get(method)
    if package is None:
        return Fit("embedded", "unknown", "unknown_quantization", {"model": model.name, "method": method}, basis=BASIS)
    if importlib.util.find_spec(package) is None:
        return _no("needs_package", model=model.name, method=method, package=package.replace("_", "-"))
    return None


def _known(model: Facts) -> bool:
    """Whether transformers has this architecture itself, so that the folder's own Python is not needed."""
    return bool(model.family) and importlib.util.find_spec("transformers") is not None and _has_family(model.family)


def _has_family(family: str | None) -> bool:
    root = importlib.util.find_spec("transformers")
    places = root.submodule_search_locations if root else None
    if not places or not family or not family.replace("_", "").replace("-", "").isalnum():
        return False
    from pathlib import Path

    return any((Path(place) / "models" / family.replace("-", "_")).is_dir() for place in places)


def _no(code: str, **params: object) -> Fit:
    return Fit("embedded", "no", code, dict(params), basis=BASIS)
