"""llama-server's configuration in its three carriers, a command line, a preset file (INI) and environment variables, as
one mapping of long flag names with underscores. Nothing is run. What the names mean is `llama_cpp`'s.
"""

import re
from typing import Any

from playground.errors import PlaygroundError
from playground.importers import _command as command
from playground.importers._yaml import Located
from playground.sentence import Sentence

ALIASES = {
    "m": "model", "hf": "hf_repo", "hfr": "hf_repo", "hff": "hf_file", "c": "ctx_size", "np": "parallel",
    "n": "n_predict", "predict": "n_predict", "temperature": "temp", "s": "seed", "r": "reverse_prompt",
    "md": "spec_draft_model", "model_draft": "spec_draft_model", "hfd": "spec_draft_hf", "hfrd": "spec_draft_hf",
    "hf_repo_draft": "spec_draft_hf", "draft_p_min": "spec_draft_p_min", "draft_p_split": "spec_draft_p_split",
    "sampling_seq": "sampler_seq", "ngl": "n_gpu_layers", "gpu_layers": "n_gpu_layers", "a": "alias",
    "ngld": "spec_draft_ngl", "gpu_layers_draft": "spec_draft_ngl", "n_gpu_layers_draft": "spec_draft_ngl",
    "devd": "spec_draft_device", "device_draft": "spec_draft_device", "cd": "ctx_size_draft", "t": "threads",
    "ctk": "cache_type_k", "ctv": "cache_type_v", "ts": "tensor_split", "sm": "split_mode", "fa": "flash_attn",
    "b": "batch_size", "ub": "ubatch_size", "cb": "cont_batching", "kvu": "kv_unified", "dev": "device",
    "ctkd": "spec_draft_type_k", "ctvd": "spec_draft_type_v", "e": "escape", "l": "logit_bias", "mg": "main_gpu",
    "td": "spec_draft_threads", "u": "url", "mu": "model_url", "tb": "threads_batch", "fitt": "fit_target",
    "fitc": "fit_ctx", "cmoe": "cpu_moe", "ncmoe": "n_cpu_moe", "ot": "override_tensor", "kvo": "kv_offload",
    "cache_type_k_draft": "spec_draft_type_k", "cache_type_v_draft": "spec_draft_type_v", "hft": "hf_token",
    "threads_draft": "spec_draft_threads", "nkvo": "no_kv_offload", "nocb": "no_cont_batching", "to": "timeout",
    "lcs": "lookup_cache_static", "lcd": "lookup_cache_dynamic", "cram": "cache_ram", "mm": "mmproj",
    "embedding": "embeddings", "v": "verbose", "log_verbose": "verbose", "lv": "verbosity",
    "log_verbosity": "verbosity",
}  # fmt: skip
"""Short and second names -> the long flag of today; renamed ones are not here, the importer says those."""

_ENVIRONMENT = {
    "n_parallel": "parallel", "batch": "batch_size", "ubatch": "ubatch_size", "kv_split": "kv_unified",
    "hfd_repo": "spec_draft_hf", "spec_draft_hf_repo": "spec_draft_hf", "think": "reasoning_format",
    "spec_draft_cache_type_k": "spec_draft_type_k", "spec_draft_cache_type_v": "spec_draft_type_v",
    "endpoint_metrics": "metrics", "endpoint_props": "props", "endpoint_slots": "slots", "static_path": "path",
    "think_budget": "reasoning_budget", "think_budget_message": "reasoning_budget_message",
    "checkpoint_min_spacing_nt": "checkpoint_min_step", "rope_scaling_type": "rope_scaling",
    "log_verbosity": "verbosity",
}  # fmt: skip
"""LLAMA_ARG_ variables, old and new, that are not called as the long flag is -> that flag."""

_VARIABLE = "LLAMA_ARG_"
_SET = ("true", "1", "on", "enabled")
_REPEATED = {"reverse_prompt"}
_SECTION = re.compile(r"^[ \t]*\[([^\]\n]*)\][ \t\r]*$", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*[\w.-]+[ \t]*=", re.MULTILINE)
_PROGRAM = re.compile(r"(?:^|[\s/'\"])llama-server(?:\.exe)?(?=[\s'\"]|$)|llama\.cpp:(?:server|full)", re.MULTILINE)


def is_command(name: str, text: str) -> bool:
    return not name.lower().endswith((".ini", ".py")) and bool(_PROGRAM.search(command.uncommented(text)))


def is_ini(name: str, text: str) -> bool:
    return name.lower().endswith(".ini") or bool(
        _SECTION.search(text) and _LINE.search(text) and not text.lstrip().startswith(("{", "- "))
    )


def from_command(name: str, text: str) -> dict[str, Any]:
    """The flags of one `llama-server` command, variables set in front of it included.

    Raises:
        PlaygroundError: there is no such command, or a flag is given twice.
    """
    words = command.words(name, text)
    start = next((i + 1 for i, word in enumerate(words) if _PROGRAM.search(word)), None)
    if start is None:
        raise command.wrong(name, Sentence("holds no llama-server command"), Sentence("Paste the whole command."))
    found: dict[str, Any] = {}
    for word in words[:start]:
        variable, _, given = word.partition("=")
        if variable.startswith(_VARIABLE):
            # Of one that says no, it counts alone that it is there.
            key, setting = _switched(canonical(variable), given, anything=True)
            if found.setdefault(key, setting) != setting:
                raise command.wrong(name, Sentence("gives {flag} twice", flag=variable), Sentence("Keep one of them."))
    flagged: dict[str, Any] = {}
    for flag, value in command.flags(command.one_command(words, start), _is_flag):
        if not flag:
            raise command.wrong(
                name,
                Sentence("has {value} without a flag", value=repr(str(value)[:40])),
                Sentence("llama-server takes flags only."),
            )
        key, value = _switched(canonical(flag), value)
        if key in _REPEATED:
            items = value if isinstance(value, list) else [value]
            flagged[key] = [*flagged.get(key, []), *items]
        elif key in flagged and flagged[key] != value:
            raise command.wrong(name, Sentence("gives {flag} twice", flag=flag), Sentence("Keep one of them."))
        else:
            flagged[key] = value
    return found | flagged


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not re.match(r"-\.?\d", word)


def canonical(flag: str) -> str:
    """A flag, a key of a preset file or an environment variable as the long name with underscores."""
    if flag.startswith(_VARIABLE):
        flag = flag.removeprefix(_VARIABLE).lower()
        flag = _ENVIRONMENT.get(flag, flag)
    plain = flag.lstrip("-").replace("-", "_")
    return ALIASES.get(plain, plain)


def _switched(key: str, value: Any, *, anything: bool = False) -> tuple[str, Any]:
    """`no_x` that is on (or has `anything`) is x that is off."""
    if not key.startswith("no_") or not (anything or value is True or str(value).strip().lower() in _SET):
        return key, value
    positive = key.removeprefix("no_")
    return ALIASES.get(positive, positive), False


def from_ini(name: str, text: str) -> tuple[dict[str, Any], list[str]]:
    """The first model of a preset file with the globals of `[*]` beneath it, and the names of other models.

    A value ends at `;` or `#`.

    Raises:
        PlaygroundError: a line that is neither section, key nor comment; a key given twice; no model.
    """
    sections: dict[str, Located] = {}
    current = sections.setdefault("", Located())
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        body = re.split(r"[;#]", line, maxsplit=1)[0].strip()
        if not body:
            continue
        if body.startswith("[") and body.endswith("]"):
            title = body[1:-1].strip()
            if title in sections and title:
                raise _bad(
                    name,
                    number,
                    Sentence("the section {section} is given twice", section=body[:60]),
                    Sentence("Keep one of them."),
                )
            current = sections.setdefault(title, Located())
            continue
        key, equals, value = body.partition("=")
        if not equals or not key.strip():
            raise _bad(
                name,
                number,
                Sentence("{text} is no `key = value`", text=repr(body[:40])),
                Sentence("Correct the line."),
            )
        plain, setting = _switched(canonical(key.strip()), value.strip())
        if plain in current:
            raise _bad(
                name, number, Sentence("{key} is given twice", key=key.strip()[:60]), Sentence("Keep one of them.")
            )
        current[plain] = setting  # a text, whatever it looks like: a stop string may be "true"
        current.lines[plain] = number
    models = [title for title in sections if title not in ("", "*")]
    if not models:
        raise PlaygroundError(
            Sentence("{name}: names no model.", name=name), Sentence("Add a [section] for one."), code="bad_config"
        )
    chosen, shared = sections[models[0]], sections.get("*", Located())
    merged = Located(shared | chosen)
    merged.lines = shared.lines | chosen.lines
    if "model" not in merged and "hf_repo" not in merged and "/" in models[0]:
        merged["hf_repo"] = models[0]  # such a section is named after the repository itself
    if "reverse_prompt" in merged:
        merged["reverse_prompt"] = [merged["reverse_prompt"]]
    return merged, models[1:]


def _bad(name: str, line: int, problem: str, hint: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("{name}, line {line}: {problem}.", name=name, line=line, problem=problem), hint, code="bad_file"
    )
