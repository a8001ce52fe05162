"""Docker compose files: the first service that runs a server we know, as a preset."""

import re
from typing import Any

from playground.errors import PlaygroundError
from playground.importers import Imported
from playground.importers._inside import read_command, told, words_of
from playground.importers._launch import Started, of_image
from playground.importers._values import refuse_variable
from playground.sentence import Sentence

TITLE = "Docker Compose"


def recognises(name: str, data: object) -> bool:
    return isinstance(data, dict) and isinstance(data.get("services"), dict)


def read(name: str, data: object, *, keep_lossy: bool = False) -> Imported:
    """See `Importer`."""
    services = data.get("services") if isinstance(data, dict) else None
    found: list[tuple[str, Started]] = []
    for title, service in services.items() if isinstance(services, dict) else ():
        if isinstance(service, dict) and (started := _started(service, _where(name, title))).commands:
            found.append((title, started))
    if not isinstance(services, dict) or not found:
        held = ", ".join(title[:40] for title in list(services)[:8]) if isinstance(services, dict) else ""
        names = held or Sentence("no service")
        raise PlaygroundError(
            Sentence("{name}: no service runs a server we know; it has {names}.", name=name, names=names),
            Sentence("Known are vLLM, SGLang, TensorRT-LLM and llama.cpp."),
        )
    title, started = found[0]
    if not any(services[title].get(key) for key in ("command", "entrypoint", "environment")):
        raise PlaygroundError(
            Sentence(
                "{name}: service {service} has no command, so nothing says what its server is to run.",
                name=name,
                service=title[:60],
            ),
            Sentence("Add `command:` with the server's flags."),
            code="bad_config",
        )
    imported = read_command(name, started.text, _files(data) | started.files, keep_lossy=keep_lossy)
    said = [Sentence("Read from the command of service {name}; its container is left out.", name=title[:60])]
    if others := ", ".join(other[:40] for other, _ in found[1:]):
        said.append(Sentence("Only this service is read; left out: {names}.", names=others))
    if services[title].get("extends"):
        said.append(Sentence("The service extends another, which is not read: what that one says is missing."))
    if services[title].get("env_file") and "llama-server" in started.text:
        said.append(Sentence("The service's env_file is not read: LLAMA_ARG_ variables there are missing."))
    return told(imported, *said)


def _where(name: str, title: str) -> Sentence:
    return Sentence("{name}: the command of service {service}", name=name, service=title[:60])


def _started(service: dict[str, Any], where: str) -> Started:
    entry, given = words_of(service.get("entrypoint"), where), words_of(service.get("command"), where)
    environment = _environment(service.get("environment"))
    for variable in {match[1] or match[2] for word in [*entry, *given] for match in _HOST.finditer(word)} - {None}:
        # Compose puts it in before the container's own shell sees the command, so the container's value is not meant.
        if any(f"{variable}=" in word for word in [*entry, *given]):
            refuse_variable(f"${{{variable}}}", where)
        environment.pop(variable, None)
    return of_image(
        where,
        str(service.get("image", "")),
        [_plain(word) for word in entry],
        [_plain(word) for word in given],
        environment,
    )


def _environment(value: object) -> dict[str, str]:
    if isinstance(value, dict):
        return {key: _plain(str(item)) for key, item in value.items() if item is not None}
    pairs = [str(item).partition("=") for item in value] if isinstance(value, list) else []
    return {key: _plain(item) for key, equals, item in pairs if equals}


def _files(data: Any) -> dict[str, str]:
    """Texts of `configs`, by the names services mount them under and by their own."""
    configs = data.get("configs") if isinstance(data, dict) else None
    texts = {
        key: _plain(config["content"])
        for key, config in (configs.items() if isinstance(configs, dict) else ())
        if isinstance(config, dict) and isinstance(config.get("content"), str)
    }
    found = dict(texts)
    for service in data["services"].values():
        mounts = service.get("configs") if isinstance(service, dict) else None
        for mount in mounts if isinstance(mounts, list) else ():
            source, target = (mount.get("source"), mount.get("target")) if isinstance(mount, dict) else (None, None)
            if isinstance(source, str) and source in texts and isinstance(target, str):
                found[target.rsplit("/", 1)[-1]] = texts[source]
    return found


_HOST = re.compile(r"\$\$|\$(?:([A-Za-z_]\w*)|\{(\w+)(?::?[^-}:][^}]*)?\})")
"""`$NAME` and `${NAME}`, which compose fills in from where it runs; with a default it is that."""


def _plain(text: str) -> str:
    """`$$` is one dollar; `${NAME:-default}` is its default, other variables stay, `$NAME` with its braces."""

    def filled(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        return f"${{{match[1]}}}" if match[1] else match[2]

    return re.sub(r"\$\$|\$([A-Za-z_]\w*)|\$\{\w+:?-([^}$]*)\}", filled, text)
