"""Kubernetes: containers of manifests, and the values of two Helm charts (vLLM production-stack, llm-d), as presets."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from playground.errors import PlaygroundError
from playground.importers import Imported
from playground.importers._inside import read_command, told, words_of
from playground.importers._launch import Started, of_image
from playground.importers._values import switch_of
from playground.sentence import Sentence

TITLE = "Kubernetes"

_CHART = {
    "dtype": "--dtype", "tensorParallelSize": "--tensor-parallel-size", "maxNumSeqs": "--max-num-seqs",
    "maxModelLen": "--max-model-len", "gpuMemoryUtilization": "--gpu-memory-utilization",
}  # fmt: skip
_KSERVE = {"id": "--model", "name": "--served-model-name"}
MAX_NODES = 10_000


def recognises(name: str, data: object) -> bool:
    if isinstance(data, list):
        return bool(data) and all(isinstance(item, dict) and "kind" in item for item in data)
    if not isinstance(data, dict):
        return False
    return ("apiVersion" in data and "kind" in data) or "servingEngineSpec" in data or "modelArtifacts" in data


def read(name: str, data: object, *, keep_lossy: bool = False) -> Imported:
    """See `Importer`; `data` is one manifest, a list of them, or the values of a chart."""
    chart = data if isinstance(data, dict) else {}
    if "servingEngineSpec" in chart:
        return _production_stack(name, chart, keep_lossy)
    if "modelArtifacts" in chart:
        return _llm_d(name, chart, keep_lossy)
    found: list[tuple[str, Started]] = []
    for container in _containers(data):
        where = f"{name}: the command of container {str(container.get('name', '?'))[:60]}"
        started = _started(container, where)
        if started.commands:
            found.append((str(container.get("name", "?"))[:60], started))
    if found:
        title, started = found[0]
        said = [Sentence("Read from container {name}; the pod around it is left out.", name=title)]
        if others := ", ".join(other[:40] for other, _ in found[1:]):
            said.append(Sentence("Only this container is read; left out: {names}.", names=others))
        return told(read_command(name, started.text, _files(data) | started.files, keep_lossy=keep_lossy), *said)
    raise PlaygroundError(
        Sentence("{name}: no container runs a server we know.", name=name),
        Sentence("Known are vLLM, SGLang, TensorRT-LLM and llama.cpp."),
    )


def _started(container: dict[str, Any], where: str) -> Started:
    environment = _environment(container)
    entry, given = (
        [_filled(word, environment) for word in words_of(container.get(key), where)] for key in ("command", "args")
    )
    return of_image(where, str(container.get("image", "")), entry, given, environment)


def _walk(data: object) -> Iterator[dict[str, Any]]:
    """Every mapping inside, outermost first, without recursion."""
    waiting, seen = [data], 0
    while waiting and seen < MAX_NODES:
        value, seen = waiting.pop(0), seen + 1
        if isinstance(value, dict):
            yield value
            waiting += [item for item in value.values() if isinstance(item, (dict, list))]
        elif isinstance(value, list):
            waiting += [item for item in value if isinstance(item, (dict, list))]


def _containers(data: object) -> Iterator[dict[str, Any]]:
    """Containers of pods; KServe's `predictor.model` is one too."""
    for mapping in _walk(data):
        if isinstance(items := mapping.get("containers"), list):
            yield from (item for item in items if isinstance(item, dict))
        model = mapping.get("model")
        if isinstance(model, dict) and isinstance(model.get("args"), list):
            yield {"image": "vllm-openai", "name": "predictor"} | model | {"args": _of_kserve(model["args"])}


def _of_kserve(args: list[Any]) -> list[Any]:
    """The flags of KServe's own server under vLLM's names; the others are vLLM's already."""
    return [re.sub(r"^--model[_-](id|name)(?==|$)", lambda found: _KSERVE[found[1]], str(word)) for word in args]


def _environment(container: dict[str, Any]) -> dict[str, str]:
    items = container.get("env")
    pairs = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return {str(p["name"]): _plain(str(p["value"])) for p in pairs if "name" in p and "value" in p}


def _files(data: object) -> dict[str, str]:
    """Texts of the ConfigMaps beside."""
    found: dict[str, str] = {}
    for mapping in _walk(data):
        if mapping.get("kind") == "ConfigMap" and isinstance(mapping.get("data"), dict):
            found |= {key: text for key, text in mapping["data"].items() if isinstance(text, str)}
    return found


def _production_stack(name: str, chart: dict[str, Any], keep_lossy: bool) -> Imported:
    serving = chart["servingEngineSpec"]
    models = serving.get("modelSpec") if isinstance(serving, dict) else None
    first = models[0] if isinstance(models, list) and models and isinstance(models[0], dict) else {}
    url = first.get("modelURL")
    if not isinstance(url, str) or not url:
        raise PlaygroundError(
            Sentence("{name}: servingEngineSpec.modelSpec names no modelURL.", name=name),
            Sentence("Add it."),
            code="bad_config",
        )
    config = first.get("vllmConfig")
    config = config if isinstance(config, dict) else {}
    words = ["vllm", "serve", url]
    for key, flag in _CHART.items():
        if key in config:
            words += [flag, str(config[key])]
    where = Sentence("{name}, {key}", name=name, key="enablePrefixCaching")
    if switch_of(config.get("enablePrefixCaching"), where) is False:
        words.append("--no-enable-prefix-caching")
    words += words_of(config.get("extraArgs"), f"{name}: extraArgs")
    imported = read_command(name, shlex.join(words), {}, keep_lossy=keep_lossy)
    said = [Sentence("Read from the values of production-stack; what the chart adds is left out.")]
    if len(models or ()) > 1:
        said.append(Sentence("Of {n} models only the first is read.", n=len(models or ())))
    return told(imported, *said)


def _llm_d(name: str, chart: dict[str, Any], keep_lossy: bool) -> Imported:
    artifacts, decode = chart["modelArtifacts"], chart.get("decode")
    target = artifacts.get("name") if isinstance(artifacts, dict) else None
    if not isinstance(target, str) or not target:
        raise PlaygroundError(
            Sentence("{name}: modelArtifacts names no model.", name=name), Sentence("Add its name."), code="bad_config"
        )
    decode = decode if isinstance(decode, dict) else {}
    flags: list[str] = []
    sizes = decode.get("parallelism")
    for key, flag in (("tensor", "--tensor-parallel-size"), ("data", "--data-parallel-size")):
        size = sizes.get(key) if isinstance(sizes, dict) else None
        if size is not None and (key == "tensor" or size != 1):
            flags += [flag, str(size)]
    containers = decode.get("containers")
    first = containers[0] if isinstance(containers, list) and containers and isinstance(containers[0], dict) else {}
    if first.get("command") or first.get("modelCommand") not in (None, "vllmServe", "imageDefault"):
        return _of_own_command(name, first, keep_lossy)
    words = ["vllm", "serve", target, *flags, *words_of(first.get("args"), f"{name}: args of decode")]
    imported = read_command(name, shlex.join(words), {}, keep_lossy=keep_lossy)
    return told(imported, Sentence("Read from the decode values of llm-d; what the chart adds is left out."))


def _of_own_command(name: str, container: dict[str, Any], keep_lossy: bool) -> Imported:
    """`modelCommand: custom`: the chart adds nothing, and the container says all."""
    started = _started(container, f"{name}: the command of decode")
    imported = read_command(name, started.text, started.files, keep_lossy=keep_lossy)
    return told(imported, Sentence("Read from the decode values of llm-d; what the chart adds is left out."))


def _filled(text: str, environment: Mapping[str, str]) -> str:
    """`$(NAME)` as the container's own `env` has it, as a pod fills it in; `$$` is one dollar."""
    return re.sub(
        r"\$\$|\$\(([\w.-]+)\)",
        lambda match: "$" if match[0] == "$$" else environment.get(match[1], match[0]),
        text,
    )


def _plain(text: str) -> str:
    return text.replace("$$", "$")
