"""Kubernetes: a plain Deployment with its Service and probes around one of the servers, or the values of a Helm chart
(vLLM production-stack, llm-d) around vLLM."""

from typing import Any, Literal

import yaml
from pydantic import Field

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exporters import Export, Loss
from playground.exporters._container import ContainerOptions, devices, dns_name, dockerfile, inside, models
from playground.exporters._kubernetes import DISK, REGISTRY, fetches, llm_d, own_image, plain, production_stack
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
    "engine",
    "needs-input",
    Sentence("requests of CPU, memory and disk are guesses: size them to the model and to your nodes"),
)
_HUB = Loss(
    "target", "needs-input", Sentence("the chart fetches hf:// from the hub: name a hub id, or write a pvc:// uri")
)
_MOUNT = Sentence("no volume of this file holds it: mount one at this path")

_SECRET = "The token for a gated model is read from a secret: kubectl create secret generic huggingface "
_PLAIN_SECRET = _SECRET + "--from-literal=token=..."
_STACK_SECRET = f"{_PLAIN_SECRET}, and beside modelURL hf_token: {{secretName: huggingface, secretKey: token}}"
_LLM_D_SECRET = _SECRET + "--from-literal=HF_TOKEN=..."
_CLAIM = (
    f"Models are kept on a claim of {DISK} (a guess) of the cluster's default storage class, so that a new pod does "
    "not fetch them again. Where there is no such class, write emptyDir: {} for persistentVolumeClaim: then each new "
    "pod fetches them."
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
            Sentence("The chart {chart} runs vLLM only.", chart=options.flavour),
            Sentence("Choose program vllm, or flavour plain."),
            code="not_expressible",
        )
    server = inside(preset, options)
    losses, count = list(server.losses), devices(server, options)
    documents: list[dict[str, Any]]
    match options.flavour:
        case "plain":
            documents, file = plain(preset, server, count), f"{preset.name}.k8s.yaml"
            command = f"kubectl apply -f {file}"
            paths = [name for name, model in models(preset, server).items() if is_path(model)]
            losses += [Loss(name, "needs-input", _MOUNT) for name in paths]
            notes = [_PLAIN_SECRET]
            notes += [_CLAIM] if fetches(preset, server) else []
            notes += [_installed(server)] if server.install else []
        case "production-stack":
            _must_be_no_template(preset)
            documents, file = [production_stack(preset, server, count)], f"{preset.name}.values.yaml"
            losses.append(_SIZES)
            notes = [_STACK_SECRET]
            command = f"helm install {dns_name(preset.name)} vllm/vllm-stack -f {file}"
        case _:
            _must_be_no_template(preset)
            documents, file = [llm_d(preset, server, count)], f"{preset.name}.values.yaml"
            losses += [_SIZES] if not is_path(preset.config.target) else [_SIZES, _HUB]
            notes = [_LLM_D_SECRET]
            command = f"helm install {dns_name(preset.name)} llm-d-modelservice/llm-d-modelservice -f {file}"
    files = {}
    if server.install and options.flavour != "plain":
        losses.append(_image(server))
        image = ":".join(own_image(preset, server))
        command = f"docker build -t {image} . && docker push {image} && {command}"
        files["Dockerfile"] = head(preset, server.versions, server.losses) + dockerfile(server)
    versions = joined((VERSIONS[options.flavour], server.versions))
    text = head(preset, versions, losses, notes=[*server.notes, *notes]) + "---\n".join(
        to_yaml(document, width=WIDE) for document in documents
    )
    assert list(yaml.safe_load_all(text)) == documents, "the file says something else"
    files = {file: text, f"{preset.name}.request.json": server.request, **files}
    return Export(files, command, tuple(losses), versions, server.checked_by, server.written, server.notes)


def _must_be_no_template(preset: Preset) -> None:
    """Charts fill in templates anywhere in their values."""
    spec = preset.config.speculation
    if any("{{" in name for name in (preset.config.target, (spec.model if spec else None) or "")):
        raise PlaygroundError(
            Sentence("A chart would take {{ for a template."), Sentence("Rename the model."), code="bad_config"
        )


def _image(server: Server) -> Loss:
    reason = Sentence(
        "the server's own image lacks {package}: build one with the Dockerfile beside, push it, and put your registry "
        "for {placeholder}",
        package=server.install,
        placeholder=REGISTRY,
    )
    return Loss("speculation.method", "needs-input", reason)


def _installed(server: Server) -> str:
    return (
        f"The server's own image lacks {server.install}: an init container installs it for each new pod, which takes "
        "minutes and a network. For more than a trial build an image with it, as the Docker export does."
    )
