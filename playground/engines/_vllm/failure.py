"""Why vLLM did not load, as a sentence and its fix: from its exception and from what its processes wrote.

Knows vLLM's words, imports nothing of it.
"""

import re
from dataclasses import dataclass

from playground.errors import PlaygroundError
from playground.sentence import Sentence


def load_failure(error: BaseException, text: str) -> PlaygroundError:
    """The reason. `text`: the end of vLLM's own output, where its other processes say what happened to them."""
    if isinstance(error, PlaygroundError):
        return error
    said = f"{text}\n{error}"
    for shortage in _SHORTAGES:
        if found := shortage.pattern.search(said):
            known = _completed(found.groupdict())
            what, hint = shortage.what.filled(**known), shortage.hint.filled(**known)
            return PlaygroundError(Sentence("vLLM ran out of memory: {what}", what=what), hint, code="out_of_memory")
    return _known(said) or _other(error, text)


@dataclass(frozen=True, slots=True)
class _Shortage:
    """A way to run out of memory: the pattern's groups say how much was free, `hint` which knob to turn."""

    pattern: re.Pattern[str]
    what: Sentence
    hint: Sentence


def _shortage(pattern: str, what: Sentence, hint: Sentence) -> _Shortage:
    return _Shortage(re.compile(pattern, re.DOTALL), what, hint)


_SHORTAGES = (
    _shortage(
        r"Free memory on device (?P<device>\S+) \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup is less than "
        r"[^(]*\((?P<share>[\d.]+), (?P<wanted>[\d.]+) GiB\)",
        Sentence(
            "{free} of {total} GiB are free on {device}, and gpu_memory_utilization {share} asks for {wanted} GiB."
        ),
        Sentence("Lower gpu_memory_utilization to {lower} or less, or end what else uses the device."),
    ),
    _shortage(
        r"max seq len \((?P<length>\d+)\), \((?P<wanted>[\d.]+) GiB KV cache is needed, which is larger than the "
        r"available KV cache memory \((?P<free>[\d.]+) GiB\)"
        r"(?:.{0,80}estimated maximum model length is (?P<fits>\d+))?",
        Sentence("a context of {length} tokens needs {wanted} GiB of KV cache, and {free} GiB are free for it."),
        Sentence("{limit}, or raise gpu_memory_utilization (on a CPU: VLLM_CPU_KVCACHE_SPACE, in GiB)."),
    ),
    _shortage(
        r"No available memory for the cache blocks",
        Sentence("the weights leave nothing for the KV cache."),
        Sentence("Raise gpu_memory_utilization, choose a smaller or quantized model, or raise tensor_parallel_size."),
    ),
    _shortage(
        r"Available memory on node \d+ \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\)[^(]*"
        r"\((?:[\d.]+, )?(?P<wanted>[\d.]+)(?:/[\d.]+)? GiB\)",
        Sentence("{free} of {total} GiB of the machine's memory are free, and the KV cache asks for {wanted} GiB."),
        Sentence("Close other programs, or set VLLM_CPU_KVCACHE_SPACE (GiB) lower."),
    ),
    _shortage(
        r"Tried to allocate (?P<wanted>[\d.]+ [KMG]iB).{0,200}?of which (?P<free>[\d.]+ [KMG]iB) is free",
        Sentence("{wanted} more were needed, and {free} were free."),
        Sentence(
            "Lower gpu_memory_utilization or max_num_seqs, choose a smaller or quantized model, or raise "
            "tensor_parallel_size."
        ),
    ),
    _shortage(
        r"CUDA out of memory|OutOfMemoryError|Cannot allocate memory|DefaultCPUAllocator: can't allocate",
        Sentence("the device has no more to give."),
        Sentence("Choose a smaller or quantized model, or lower max_model_len."),
    ),
)
"""First match wins."""


def _completed(found: dict[str, str | None]) -> dict[str, str | None]:
    """With what the hints derive from the numbers found."""
    fits, free, total = found.get("fits"), found.get("free"), found.get("total")
    found["limit"] = (
        Sentence("Set max_model_len to {tokens} or less", tokens=fits) if fits else Sentence("Lower max_model_len")
    )
    if free and total and float(total):
        found["lower"] = (
            f"{max(int(100 * float(free) / float(total)) - 3, 1) / 100:g}"  # some is needed beside the share
        )
    return found


def _known(said: str) -> PlaygroundError | None:
    if re.search(r"arctic[_ -]inference", said, re.IGNORECASE):
        return PlaygroundError(
            Sentence("Suffix decoding needs the package arctic-inference, which is not installed."),
            Sentence("Install it: pip install --no-deps --no-build-isolation arctic-inference==0.1.1"),
            code="missing_package",
        )
    if "trust_remote_code" in said and "custom code" in said:
        return PlaygroundError(
            Sentence("The model wants to run Python of its own, which is not allowed."),
            Sentence(
                "Choose another model; an operator who has read its code may set DRAFTBOARD_TRUST_REMOTE_CODE=true."
            ),
            code="remote_code",
        )
    return None


_RAISED = re.compile(r"^(?:\(.*?\)\s*)?(?:\w+ [\d-]+ [\d:]+ \[[^\]]+\]\s*)?(\w+(?:Error|Exception): .+)$", re.MULTILINE)
"""The last line of a traceback, perhaps behind a process's name and a log line's head."""

_NOISE = ("For further information", "See stack trace")


def _other(error: BaseException, text: str) -> PlaygroundError:
    """vLLM's own words: its exception's, or those of the process that the exception only points at."""
    cause = str(error).strip()
    if not cause or "root cause above" in cause:
        raised = [line for line in _RAISED.findall(text) if "root cause above" not in line]
        cause = raised[-1] if raised else cause or type(error).__name__
    lines = [line.strip() for line in cause.splitlines() if line.strip() and not line.strip().startswith(_NOISE)]
    # pydantic: "1 validation error for X", then the sentence with its type and input in brackets.
    sentence = lines[-1] if "validation error" in lines[0] else lines[0]
    sentence = re.sub(r"\s*\[type=\w+, input_value=.*$", "", sentence.removeprefix("Value error, ")).rstrip(".")
    return PlaygroundError(
        Sentence("vLLM cannot load this: {why}.", why=sentence[:400]),
        Sentence("Change the setting it names and run again."),
        code="load",
    )
