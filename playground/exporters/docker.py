"""Docker: a compose file with a GPU reservation around one of the servers, and a Dockerfile where its image lacks a
package.

Everything the server is told stands in the compose file itself. Tokens come from an env file, never from here.
"""

from typing import Any

import yaml

from playground.config import Preset
from playground.exporters import Export
from playground.exporters._container import (
    FOLDER,
    ContainerOptions,
    command,
    devices,
    dns_name,
    dockerfile,
    inside,
    models,
)
from playground.exporters._server import Server, head
from playground.exporters._yaml import WIDE, to_yaml
from playground.sentence import Sentence, joined

TITLE = "Docker"

VERSIONS = Sentence("Docker Compose 2.24 and later")

_TOKEN = "The token for a gated model goes into a file .env beside this one: HF_TOKEN=..."


class Options(ContainerOptions):
    """Choices of this export."""


def export(preset: Preset, options: Options | None = None) -> Export:
    """See `Exporter`. Raises PlaygroundError where the server inside cannot run the preset."""
    options = options or Options()
    server = inside(preset, options)
    versions = joined((VERSIONS, server.versions))
    opening = head(preset, versions, server.losses, notes=[*server.notes, _TOKEN])
    compose = _compose(preset, server, devices(server, options))
    text = opening + to_yaml(compose, width=WIDE)
    assert yaml.safe_load(text) == compose, "the file says something else"
    files = {"compose.yaml": text, f"{preset.name}.request.json": server.request}
    if server.install:
        files["Dockerfile"] = head(preset, versions, server.losses) + dockerfile(server)
    return Export(files, "docker compose up", server.losses, versions, server.checked_by, server.written, server.notes)


def _compose(preset: Preset, server: Server, count: int) -> dict[str, Any]:
    name = dns_name(preset.name)
    built = {"build": ".", "image": f"{name}:local"} if server.install else {"image": server.image}
    first, *rest = command(server)
    service: dict[str, Any] = {
        **built,
        "entrypoint": [_kept(first)],
        "command": [_kept(word) for word in rest],
        "ports": [f"{server.port}:{server.port}"],
        "ipc": "host",  # workers of one model share memory
        "volumes": [f"huggingface:{server.cache}", *map(_bound, _folders(preset, server))],
        "env_file": [{"path": ".env", "required": False}],  # HF_TOKEN=...
        "deploy": {
            "resources": {"reservations": {"devices": [{"driver": "nvidia", "count": count, "capabilities": ["gpu"]}]}}
        },
        "healthcheck": {
            "test": ["CMD-SHELL", f"curl -fsS http://localhost:{server.port}{server.health} || exit 1"],
            "interval": "10s",
            "start_period": "20m",
        },
        "restart": "unless-stopped",
    }
    compose: dict[str, Any] = {"services": {name: service}, "volumes": {"huggingface": {}}}
    if server.config:
        file, content = server.config
        service["configs"] = [{"source": "server", "target": f"{FOLDER}/{file}"}]
        compose["configs"] = {"server": {"content": _kept(content)}}
    return compose


def _folders(preset: Preset, server: Server) -> list[str]:
    """Models that are files or folders of the machine it starts on."""
    return list(dict.fromkeys(model for model in models(preset, server).values() if model.startswith("/")))


def _bound(folder: str) -> dict[str, Any]:
    """The same path inside. What is not there is an error, and not, as by default, an empty folder made for it."""
    path = _kept(folder)
    return {
        "type": "bind",
        "source": path,
        "target": path,
        "read_only": True,
        "bind": {"create_host_path": False},
    }


def _kept(text: str) -> str:
    """Compose fills in `$NAME`; `$$` is one dollar."""
    return text.replace("$", "$$")
