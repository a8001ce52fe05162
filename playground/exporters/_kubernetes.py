"""The shapes of a model server on Kubernetes: a plain Deployment with its Service, and the values of two Helm charts.

Plain data in, plain data out; read from production-stack 0.1.12 and llm-d-modelservice's values and templates.
"""

from typing import Any

from playground.config import Preset
from playground.exporters._container import FOLDER, command, dns_name, models
from playground.exporters._ledger import is_path
from playground.exporters._server import Server

GPU = "nvidia.com/gpu"
DISK = "100Gi"
"""What a copy claims for the models it fetches: a guess, said in the file's comment."""

PACKAGES = "/packages"
"""Where a package comes that the image lacks."""


def plain(preset: Preset, server: Server, count: int) -> list[dict[str, Any]]:
    """Deployment, Service, a claim for the models it fetches, and a ConfigMap where the server reads a file."""
    name = dns_name(preset.name)
    labels = {"app": name}
    first, *rest = command(server)
    probe = {"httpGet": {"path": server.health, "port": "http"}, "periodSeconds": 10}
    container: dict[str, Any] = {
        "name": "server",
        "image": server.image,
        "command": [_kept(first)],
        "args": [_kept(word) for word in rest],
        "ports": [{"name": "http", "containerPort": server.port}],
        "env": [
            {
                "name": "HF_TOKEN",
                "valueFrom": {"secretKeyRef": {"name": "huggingface", "key": "token", "optional": True}},
            }
        ],
        "resources": {"limits": {GPU: count}},
        "startupProbe": probe | {"failureThreshold": 180},  # half an hour to fetch and load a model
        "readinessProbe": probe | {"failureThreshold": 3},
        "livenessProbe": probe | {"failureThreshold": 6},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    pod: dict[str, Any] = {
        # Else a Service named vllm sets VLLM_PORT in every pod, to an address, and vLLM takes it for its own setting.
        "enableServiceLinks": False,
        "containers": [container],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    }
    documents: list[dict[str, Any]] = []
    if fetches(preset, server):
        documents.append(_claim(name))
        container["volumeMounts"].append({"name": "models", "mountPath": server.cache})
        pod["volumes"].append({"name": "models", "persistentVolumeClaim": {"claimName": f"{name}-models"}})
    if server.install:
        _install(server, container, pod)
    if server.config:
        file, content = server.config
        documents.append(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-config"}, "data": {file: content}}
        )
        container["volumeMounts"].append({"name": "config", "mountPath": FOLDER, "readOnly": True})
        pod["volumes"].append({"name": "config", "configMap": {"name": f"{name}-config"}})
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 1,
            # A second copy would wait for devices that the first one holds.
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    }
    return [*documents, deployment, service]


def fetches(preset: Preset, server: Server) -> bool:
    """Whether any model comes from the hub."""
    return not all(is_path(model) for model in models(preset, server).values())


def _claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"{name}-models"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": DISK}}},
    }


def _install(server: Server, container: dict[str, Any], pod: dict[str, Any]) -> None:
    """The package the image lacks comes before the server starts, into a folder that its Python looks in.

    Without what it depends on: that is the image's own, which must not be hidden by others.
    """
    mount = {"name": "packages", "mountPath": PACKAGES}
    words = ["python3", "-m", "pip", "install", "--no-cache-dir", "--no-deps", "--target"]
    pod["initContainers"] = [
        {
            "name": "install",
            "image": server.image,
            "command": [*words, PACKAGES, server.install],
            "volumeMounts": [mount],
        }
    ]
    pod["volumes"].append({"name": "packages", "emptyDir": {}})
    container["volumeMounts"].append(mount)
    container["env"].append({"name": "PYTHONPATH", "value": PACKAGES})


REGISTRY = "REGISTRY"
"""Stands for the user's own registry. No image can be called so, so nothing starts before it is replaced."""


def own_image(preset: Preset, server: Server) -> tuple[str, str]:
    """(repository, tag) of the image a chart starts; of one yet to be built where its own lacks a package."""
    repository, _, tag = server.image.rpartition(":")
    return (f"{REGISTRY}/{dns_name(preset.name)}", tag) if server.install else (repository, tag)


LARGE = 1_000_000
"""Helm reads numbers as floating point and writes those from here on as 1e+06, which no flag takes."""

_CHART = {
    "dtype": "dtype",
    "tensor-parallel-size": "tensorParallelSize",
    "max-num-seqs": "maxNumSeqs",
    "max-model-len": "maxModelLen",
    "gpu-memory-utilization": "gpuMemoryUtilization",
}
"""Flags of vLLM that production-stack has values for; given there only, never twice."""


def production_stack(preset: Preset, server: Server, count: int) -> dict[str, Any]:
    """Values of the vLLM production-stack chart."""
    repository, tag = own_image(preset, server)
    flags = [words for words in server.arguments if words[0].startswith("--")]
    config: dict[str, Any] = {}
    # Unsaid, the chart switches it off; vLLM itself has it on.
    config["enablePrefixCaching"] = ("--no-enable-prefix-caching",) not in flags
    rest = []
    for flag, *value in flags:
        key = _CHART.get(flag.removeprefix("--"))
        number = _number(value[0]) if key else 0
        if key and (isinstance(number, str) or number < LARGE):
            config[key] = number
        elif not flag.endswith("enable-prefix-caching"):
            rest += [flag, *value]
    config["extraArgs"] = rest
    return {
        "servingEngineSpec": {
            "modelSpec": [
                {
                    "name": dns_name(preset.name),
                    "repository": repository,
                    "tag": tag,
                    "modelURL": preset.config.target,
                    "replicaCount": 1,
                    "requestCPU": 4,
                    "requestMemory": "16Gi",
                    "requestGPU": count,
                    "pvcStorage": DISK,
                    "vllmConfig": config,
                }
            ]
        }
    }


def llm_d(preset: Preset, server: Server, count: int) -> dict[str, Any]:
    """Values of the llm-d-modelservice chart, decode only. The sizes of parallelism stand in `parallelism` alone."""
    sizes = {"--tensor-parallel-size": 1, "--data-parallel-size": 1}
    rest: list[str] = []
    for flag, *value in server.arguments[1:]:
        if flag in sizes:
            sizes[flag] = int(value[0])
        else:
            rest += [flag, *value]
    container = {
        "name": "vllm",
        "image": ":".join(own_image(preset, server)),
        "modelCommand": "vllmServe",
        "args": rest,
        "ports": [{"name": "metrics", "containerPort": 8200}],
        "resources": {"limits": {GPU: str(count)}},
        "mountModelVolume": True,
    }
    return {
        "modelArtifacts": {
            "name": preset.config.target,
            "uri": f"hf://{preset.config.target}",
            "size": "200Gi",
            "authSecretName": "huggingface",
        },
        "accelerator": {"type": "nvidia"},
        "decode": {
            "create": True,
            "replicas": 1,
            "parallelism": {"tensor": sizes["--tensor-parallel-size"], "data": sizes["--data-parallel-size"]},
            "containers": [container],
        },
        "prefill": {"create": False},
    }


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _kept(text: str) -> str:
    """Kubernetes fills in `$(NAME)` in arguments; `$$` is one dollar."""
    return text.replace("$", "$$")
