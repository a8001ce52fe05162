"""vLLM: its serve file, the same as a command line, an offline `LLM(...)` script, and a request with the rest.

Losses and evidence stand as comments in every file that can hold one. Knows vLLM's files; their words are
`_vllm_translate`'s and their rules `_vllm_schema`'s.
"""

import json
import shlex
from collections.abc import Sequence
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from playground.config import Preset, RunConfig, checked
from playground.exporters import Export, Loss
from playground.exporters._comments import evidence_block, losses_block
from playground.exporters._vllm_schema import VERSIONS, ServeConfig, written
from playground.exporters._vllm_translate import SAME_NAME, translate
from playground.exporters._yaml import comment, to_yaml

TITLE = "vLLM"


class Options(BaseModel):
    """Choices of this export."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cap_max_tokens: bool = Field(
        False, title="Cap max tokens", description="Write max_tokens as the server's hard cap on every request."
    )


def export(preset: Preset, options: Options | None = None) -> Export:
    """See `Exporter`. Raises PlaygroundError where vLLM cannot run the preset at all."""
    options = options or Options()
    translation = translate(preset, cap_max_tokens=options.cap_max_tokens)
    serve = written(translation.checked())
    stem, head = preset.name, _head(preset, translation.losses)
    offline = [loss for loss in translation.losses if not _is_request_matter(loss)]
    files = {
        f"{stem}.vllm.yaml": head + to_yaml(serve),
        f"{stem}.vllm.sh": "#!/bin/sh\n" + head + _command_line(serve),
        f"{stem}.vllm.py": _head(preset, offline) + _script(serve, preset.config),
        f"{stem}.request.json": json.dumps(_request(preset.config), indent=2) + "\n",
    }
    return Export(
        files=files,
        command=f"vllm serve --config {shlex.quote(f'{stem}.vllm.yaml')}",
        losses=tuple(translation.losses),
        versions=VERSIONS,
        checked_by=_check(files[f"{stem}.vllm.yaml"], serve),
    )


def _check(text: str, serve: dict[str, Any]) -> str:
    """Reads the file as vLLM will and holds it against the schema; the tier reached, in words."""
    again = checked(ServeConfig, yaml.safe_load(text), where="the vLLM file of this preset")
    assert written(again) == serve, "the written file does not say what was meant"
    return "our schema"


def _is_request_matter(loss: Loss) -> bool:
    """Whether the loss is only the server's: a script that sends the request itself says all of it."""
    request = loss.field.startswith("sampling.") or loss.field in ("chat", "system_prompt")
    return request and loss.field != "sampling.min_p"


def _head(preset: Preset, losses: Sequence[Loss]) -> str:
    title = f"{preset.name}, for {VERSIONS}. Exported by Draftboard."
    parts = [title, preset.description, *evidence_block(preset.evidence), *losses_block(losses)]
    return "".join(comment(part) for part in parts if part)


def _command_line(serve: dict[str, Any]) -> str:
    """`vllm serve` with every value as a flag, one a line."""
    lines = [f"vllm serve {_quoted(serve['model'])}"]
    for key, value in serve.items():
        if key == "model":
            continue
        if isinstance(value, bool):
            lines.append(f"--{key}" if value else f"--no-{key}")
        else:
            lines.append(f"--{key} {_quoted(value)}")
    return " \\\n  ".join(lines) + "\n"


def _quoted(value: Any) -> str:
    return shlex.quote(value if isinstance(value, str) else json.dumps(value))


def _script(serve: dict[str, Any], config: RunConfig) -> str:
    """Offline generation. Here the sampling is the request's own, so that nothing of it is lost."""
    engine = {k.replace("-", "_"): v for k, v in serve.items() if k != "override-generation-config"}
    request = [{"role": "system", "content": config.system_prompt}] if config.chat and config.system_prompt else []
    ask = (
        f"llm.chat({[*request, {'role': 'user', 'content': 'Hello'}]!r}, sampling)"
        if config.chat
        else "llm.generate(['Hello'], sampling)"
    )
    return (
        "from vllm import LLM, SamplingParams\n\n\n"
        "def main():\n"
        f"    llm = {_call('LLM', engine)}\n"
        f"    sampling = {_call('SamplingParams', _sampling(config))}\n"
        f"    print({ask}[0].outputs[0].text)\n\n\n"
        'if __name__ == "__main__":\n'
        "    main()\n"
    )


def _call(name: str, values: dict[str, Any]) -> str:
    return f"{name}(\n" + "".join(f"        {key}={value!r},\n" for key, value in values.items()) + "    )"


def _sampling(config: RunConfig) -> dict[str, Any]:
    """SamplingParams of vLLM: what is neutral is left out, but for what the preset tunes."""
    sampling = config.sampling
    values: dict[str, Any] = {name: getattr(sampling, name) for name in SAME_NAME}
    values["max_tokens"] = sampling.max_tokens
    rest = {"min_tokens": sampling.min_tokens, "seed": sampling.seed, "stop": list(sampling.stop)}
    values |= {name: value for name, value in rest.items() if value not in (0, None, [])}
    if sampling.seed is not None:
        values["seed"] = sampling.seed
    if sampling.ignore_eos:
        values["ignore_eos"] = True
    return values


def _request(config: RunConfig) -> dict[str, Any]:
    """A body for /v1/chat/completions, or /v1/completions for raw prompts: what the server cannot hold."""
    body: dict[str, Any] = {"model": config.target}
    if config.chat:
        system = [{"role": "system", "content": config.system_prompt}] if config.system_prompt else []
        body["messages"] = [*system, {"role": "user", "content": "Hello"}]
    else:
        body["prompt"] = "Hello"
    return body | _sampling(config)
