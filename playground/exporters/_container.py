"""What the container exporters share: which server goes inside, and how many devices one copy needs."""

from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from playground.config import Preset
from playground.errors import PlaygroundError
from playground.exporters import llama_cpp, sglang, tensorrt_llm, vllm
from playground.exporters._server import Server
from playground.sentence import Sentence

Inside = Literal["vllm", "tensorrt_llm", "sglang", "llama_cpp"]

_SERVERS = {
    "vllm": vllm.server,
    "tensorrt_llm": tensorrt_llm.server,
    "sglang": sglang.server,
    "llama_cpp": llama_cpp.server,
}

FOLDER = "/config"
"""Where a config file is mounted, read-only."""


class ContainerOptions(BaseModel):
    """Choices of every container export."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    program: Inside = Field("vllm", title="Program", description="What runs in the container.")
    devices: int | None = Field(
        None, ge=1, le=64, title="GPUs", description="Reserved for one copy; empty: as many as the parallel sizes need."
    )


def inside(preset: Preset, options: ContainerOptions) -> Server:
    """Raises PlaygroundError where the server cannot run the preset, or gets fewer devices than it needs."""
    server = _SERVERS[options.program](preset)
    if options.devices is not None and options.devices < server.devices:
        raise PlaygroundError(
            Sentence(
                "The server needs {needed} GPUs and would get {given}.", needed=server.devices, given=options.devices
            ),
            Sentence("Reserve as many as the parallel sizes need, or lower those."),
            code="bad_config",
        )
    if options.devices is not None and options.devices > server.devices:
        idle = Sentence(
            "{given} GPUs are reserved, and the parallel sizes use {needed}: the others stay idle.",
            given=options.devices,
            needed=server.devices,
        )
        return replace(server, notes=(*server.notes, idle))
    return server


def devices(server: Server, options: ContainerOptions) -> int:
    return options.devices or server.devices


def command(server: Server) -> list[str]:
    """The container's whole command line, listening for others, its config where it is mounted."""
    words = [f"{FOLDER}/{word}" if server.config and word == server.config[0] else word for word in server.words]
    return [*(server.in_image or server.program), *words, "--host", "0.0.0.0", "--port", str(server.port)]


def dockerfile(server: Server) -> str:
    """What makes an image with the package that the server's own lacks."""
    return f"FROM {server.image}\nRUN python3 -m pip install --no-cache-dir '{server.install}'\n"


def models(preset: Preset, server: Server) -> dict[str, str]:
    """Field -> the model it names, of target and draft; a draft only where the server is told of it."""
    spec = preset.config.speculation
    draft = {"speculation.model": spec.model} if spec and spec.model and "speculation.model" in server.written else {}
    return {"target": preset.config.target, **draft}


def dns_name(name: str) -> str:
    """A preset's name as Kubernetes and compose take names; a Service's begins with a letter (RFC 1035)."""
    label = name.replace(".", "-").replace("_", "-").strip("-")
    if not label[:1].isalpha():
        label = f"preset-{label}"
    return label[:50].strip("-")
