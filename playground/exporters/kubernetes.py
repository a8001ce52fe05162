"""Kubernetes: a plain Deployment with its Service and probes around one of the servers, or the values of a Helm chart
(vLLM production-stack, llm-d) around vLLM."""

from typing import Any, Literal

import yaml
from pydantic import Field

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exporters import Export, Loss
from playground.exporters._container import ContainerOptions, devices, inside
from playground.exporters._kubernetes import llm_d, plain, production_stack
from playground.exporters._ledger import is_path
from playground.exporters._server import Server, head
from playground.exporters._yaml import WIDE, to_yaml
from playground.sentence import Sentence, joined

TITLE = "Kubernetes"

Flavour = Literal["plain", "production-stack", "llm-d"]
VERSIONS = {
    "plain": Sentence("Kubernetes 1.27 and later"),
    "production-stack": Sentence("production-stack chart 0.1.12"),
    "llm-d": Sentence("llm-d-modelservice chart of April 2026"),
}
_SIZES = Loss(
    "target",
    "needs-input",
    Sentence("requests of CPU, memory and disk are guesses: size them to the model and to your nodes"),
)
_HUB = Loss(
    "target", "needs-input", Sentence("the chart fetches hf:// from the hub: name a hub id, or write a pvc:// uri")
)


class Options(ContainerOptions):
    """Choices of this export."""

    flavour: Flavour = Field(
        "plain", title="Flavour", description="A plain Deployment, or the values of a Helm chart (vLLM only)."
    )


def export(preset: Preset, options: Options | None = None) -> Export:
    """See `Exporter`. Raises PlaygroundError where the server inside cannot run the preset, or a chart cannot."""
    options = options or Options()
    if options.flavour != "plain" and options.program != "vllm":
        raise PlaygroundError(
            f"The chart {options.flavour} runs vLLM only.",
            "Choose program vllm, or flavour plain.",
            code="not_expressible",
        )
    server = inside(preset, options)
    losses, count = list(server.losses), devices(server, options)
    documents: list[dict[str, Any]]
    match options.flavour:
        case "plain":
            documents, file = plain(preset, server, count), f"{preset.name}.k8s.yaml"
            command = f"kubectl apply -f {file}"
        case "production-stack":
            documents, file = [production_stack(preset, server, count)], f"{preset.name}.values.yaml"
            losses.append(_SIZES)
            command = f"helm install {preset.name} vllm/vllm-stack -f {file}"
        case _:
            documents, file = [llm_d(preset, server, count)], f"{preset.name}.values.yaml"
            if "{{" in preset.config.target:
                raise PlaygroundError("A chart would take {{ for a template.", "Rename the model.", code="bad_config")
            losses += [_SIZES] if not is_path(preset.config.target) else [_SIZES, _HUB]
            command = f"helm install {preset.name} llm-d-modelservice/llm-d-modelservice -f {file}"
    if server.install:
        losses.append(_image(server))
    versions = joined((VERSIONS[options.flavour], server.versions))
    text = head(preset, versions, losses) + "---\n".join(to_yaml(document, width=WIDE) for document in documents)
    assert list(yaml.safe_load_all(text)) == documents, "the file says something else"
    files = {file: text, f"{preset.name}.request.json": server.request}
    return Export(files, command, tuple(losses), versions, server.checked_by, server.written)


def _image(server: Server) -> Loss:
    reason = Sentence(
        "build an image with {package} (the Docker export has its Dockerfile) and name it here", package=server.install
    )
    return Loss("speculation.method", "needs-input", reason)
