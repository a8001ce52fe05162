"""How each kind of server wants to be asked: the body of one streamed request. Knows no network.

Every setting is sent, also the neutral ones: servers have defaults of their own. What a server would not apply is
refused by name. TensorRT-LLM rejects fields it does not know, so that each kind gets its own only.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from playground.config import RunConfig, SamplingParams
from playground.engines._remote.options import Kind
from playground.errors import PlaygroundError
from playground.sentence import Sentence

_ALWAYS = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "max_tokens")
_OWN = ("top_k", "min_p", "repetition_penalty", "min_tokens", "ignore_eos")


@dataclass(frozen=True, slots=True)
class Dialect:
    """One kind of server.

    Attributes:
        names: our sampling field -> the server's name for it; what is missing the server does not take.
        all_tokens: its `top_k` that keeps every token.
        passes: whether each message of its stream is one pass of the target.
        counts: whether usage so far may be asked for in every message.
        extra, chat_extra, raw_extra: further fields of every request, of chats, of raw prompts.
    """

    title: str
    names: Mapping[str, str]
    all_tokens: int = 0
    passes: bool = False
    counts: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    chat_extra: Mapping[str, Any] = field(default_factory=dict)
    raw_extra: Mapping[str, Any] = field(default_factory=dict)


_SAME = {name: name for name in _OWN}

DIALECTS: dict[Kind, Dialect] = {
    "vllm": Dialect("vLLM", _SAME, passes=True, counts=True, extra={"return_token_ids": True}),
    "sglang": Dialect(
        "SGLang",
        _SAME,
        all_tokens=-1,
        passes=True,
        counts=True,
        extra={"return_spec_tokens_details": True},
        raw_extra={"return_token_ids": True},  # refused in streamed chats
    ),
    "tensorrt_llm": Dialect("TensorRT-LLM", _SAME, passes=True, counts=True),
    "llama_server": Dialect(
        "llama-server",
        {name: name for name in _OWN if name != "min_tokens"} | {"repetition_penalty": "repeat_penalty"},
        extra={"timings_per_token": True, "cache_prompt": False, "repeat_last_n": -1},
    ),
    "other": Dialect("an OpenAI-compatible server", {}),
}


def dialect(kind: Kind) -> Dialect:
    return DIALECTS[kind]


def request(
    kind: Kind, model: str, config: RunConfig, prompt: str, *, seed: int, candidates: int = 0
) -> tuple[str, dict[str, Any]]:
    """(path, body) of a run.

    Raises:
        PlaygroundError: a setting that this kind of server does not take, by name.
    """
    server = DIALECTS[kind]
    options: dict[str, Any] = {"include_usage": True}
    if server.counts:
        options["continuous_usage_stats"] = True
    body = {"model": model, "stream": True, "stream_options": options, **_sampling(server, config.sampling, seed)}
    body |= server.extra
    if kind == "vllm":
        body["cache_salt"] = secrets.token_hex(16)  # the second of two equal prompts must not be quicker
    if config.chat:
        body |= {"messages": _messages(config, prompt), **server.chat_extra}
        if candidates:
            body |= {"logprobs": True, "top_logprobs": candidates}
        return "/v1/chat/completions", body
    text = "\n\n".join([*(message.content for message in config.history), prompt])
    body |= {"prompt": text, **server.raw_extra}
    if candidates:
        body["logprobs"] = candidates
    return "/v1/completions", body


def _messages(config: RunConfig, prompt: str) -> list[dict[str, str]]:
    system = [{"role": "system", "content": config.system_prompt}] if config.system_prompt else []
    history = [{"role": str(message.role), "content": message.content} for message in config.history]
    return [*system, *history, {"role": "user", "content": prompt}]


def _sampling(server: Dialect, sampling: SamplingParams, seed: int) -> dict[str, Any]:
    body: dict[str, Any] = {name: getattr(sampling, name) for name in _ALWAYS}
    if not sampling.greedy:
        body["seed"] = seed
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    for name in _OWN:
        value = getattr(sampling, name)
        if name in server.names:
            body[server.names[name]] = server.all_tokens if name == "top_k" and value == 0 else value
        elif value != SamplingParams.model_fields[name].default:
            raise PlaygroundError(
                Sentence("{name} cannot be asked of {server}.", name=name, server=server.title),
                Sentence(
                    "Set {name} to {default}, or name the kind of server if it is one that takes it.",
                    name=name,
                    default=SamplingParams.model_fields[name].default,
                ),
                code="not_supported",
            )
    return body
