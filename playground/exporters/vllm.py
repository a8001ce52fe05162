"""vLLM: its serve file, the same as a command line, an offline `LLM(...)` script, and a request with the rest.

Losses and evidence stand as comments in every file that can hold one. Knows vLLM's files; their words are
`_vllm_translate`'s and their rules `_vllm_schema`'s.
"""

import shlex
from dataclasses import replace
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from playground.config import Preset, RunConfig, checked
from playground.exporters import Export, Loss
from playground.exporters._server import Server, flags, head, messages, request, sampling_values, server_export, shell
from playground.exporters._vllm_schema import CACHED_REQUESTS, VERSIONS, ServeConfig, written
from playground.exporters._vllm_translate import SUFFIX_PACKAGE, checked_serve, translate
from playground.exporters._yaml import to_yaml
from playground.sentence import Sentence

TITLE = "vLLM"

IMAGE = "vllm/vllm-openai:v0.32.0"


_ALONE = Sentence(
    "suffix_decoding_max_cached_requests is 0, as in the preset, so that every answer is drafted from itself alone; "
    "a server gains by drafting from earlier answers too: vLLM's own default keeps {n} of them.",
    n=CACHED_REQUESTS,
)


class Options(BaseModel):
    """Choices of this export."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cap_max_tokens: bool = Field(
        False, title="Cap max tokens", description="Write max_tokens as the server's hard cap on every request."
    )


def export(preset: Preset, options: Options | None = None) -> Export:
    """See `Exporter`. Raises PlaygroundError where vLLM cannot run the preset at all."""
    server, serve = _server(preset, options)
    if server.install:
        server = replace(server, losses=(*server.losses, _package(server.install)))
    stem, opening = preset.name, head(preset, VERSIONS, server.losses, notes=server.notes)
    offline = [loss for loss in server.losses if not _is_request_matter(loss)]
    text = opening + to_yaml(serve)
    _check(text, serve)
    files = {
        f"{stem}.vllm.yaml": text,
        f"{stem}.vllm.sh": shell(("vllm", "serve", serve["model"]), server.arguments[1:], opening),
        f"{stem}.vllm.py": head(preset, VERSIONS, offline, notes=server.notes) + _script(serve, preset.config),
        f"{stem}.request.json": server.request,
    }
    return server_export(preset, server, files, f"vllm serve --config {shlex.quote(f'{stem}.vllm.yaml')}")


def server(preset: Preset) -> Server:
    """What container exports wrap: everything as flags, so that one file holds it. They see to `install` themselves."""
    return _server(preset, None)[0]


def _server(preset: Preset, options: Options | None) -> tuple[Server, dict[str, Any]]:
    translation = translate(preset, cap_max_tokens=(options or Options()).cap_max_tokens)
    serve = written(checked_serve(translation))
    spec = serve.get("speculative-config", {})
    sizes = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")
    devices = 1
    for key in sizes:
        devices *= serve.get(key, 1)
    made = Server(
        program=("vllm", "serve"),
        arguments=((serve["model"],), *flags({key: value for key, value in serve.items() if key != "model"})),
        image=IMAGE,
        versions=VERSIONS,
        devices=devices,
        install=SUFFIX_PACKAGE if spec.get("method") == "suffix" else "",
        losses=tuple(translation.losses),
        notes=(_ALONE,) if spec.get("suffix_decoding_max_cached_requests") == 0 else (),
        written=translation.written,
        request=request(preset.config),
    )
    return made, serve


def _package(name: str) -> Loss:
    reason = Sentence("the server needs one more package: pip install {package}", package=name)
    return Loss("speculation.method", "needs-input", reason)


def _check(text: str, serve: dict[str, Any]) -> None:
    """Reads the file as vLLM will and holds it against the schema."""
    again = checked(ServeConfig, yaml.safe_load(text), where=Sentence("the vLLM file of this preset"))
    assert written(again) == serve, "the written file does not say what was meant"


def _is_request_matter(loss: Loss) -> bool:
    """Whether the loss is only the server's: a script that sends the request itself says all of it."""
    request = loss.field.startswith("sampling.") or loss.field in ("chat", "system_prompt", "history")
    return request and loss.field != "sampling.min_p"


def _script(serve: dict[str, Any], config: RunConfig) -> str:
    """Offline generation. Here the sampling is the request's own, so that nothing of it is lost."""
    engine = {k.replace("-", "_"): v for k, v in serve.items() if k != "override-generation-config"}
    ask = f"llm.chat({messages(config)!r}, sampling)" if config.chat else "llm.generate(['Hello'], sampling)"
    return (
        "from vllm import LLM, SamplingParams\n\n\n"
        "def main():\n"
        f"    llm = {_call('LLM', engine)}\n"
        f"    sampling = {_call('SamplingParams', sampling_values(config))}\n"
        f"    print({ask}[0].outputs[0].text)\n\n\n"
        'if __name__ == "__main__":\n'
        "    main()\n"
    )


def _call(name: str, values: dict[str, Any]) -> str:
    return f"{name}(\n" + "".join(f"        {key}={value!r},\n" for key, value in values.items()) + "    )"
