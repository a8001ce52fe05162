"""The books of one export: what a server's file says, and where every single field of the preset went.

A field is written, or it is lost with a reason; whatever an exporter does not speak of is lost by `settle`, so that
nothing is ever dropped silently. Knows presets, no server.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from playground.config import Preset, RunConfig, SamplingParams, Speculation
from playground.errors import PlaygroundError
from playground.exporters import Loss, LossLevel
from playground.exporters._served import Served, is_named
from playground.sentence import Sentence

ONLY_REQUESTS = Sentence("it can only be sent with each request, as the request file does")
NO_DEFAULT = Sentence("a server has no default for it: {only}", only=ONLY_REQUESTS)

PENALTIES = ("repetition_penalty", "presence_penalty", "frequency_penalty")

NEUTRAL: dict[str, Any] = {
    "sampling.temperature": 1.0,
    "sampling.top_p": 1.0,
    "sampling.top_k": 0,
    "sampling.min_p": 0.0,
    "sampling.repetition_penalty": 1.0,
    "sampling.presence_penalty": 0.0,
    "sampling.frequency_penalty": 0.0,
    "sampling.min_tokens": 0,
    "sampling.seed": None,
    "sampling.stop": (),
    "sampling.ignore_eos": False,
    "system_prompt": "",
    "history": (),
    "chat": True,
    "speculation.options.draft_p_min": 0.0,
    "speculation.options.draft_sample_method": "greedy",
}
"""Fields that a server has nothing to do for while they have this value: it is what a bare request gets."""

MEASURING = (
    "mode", "candidates", "max_num_speculative_tokens", "attn_implementation", "prefill_chunk",
)  # fmt: skip
"""Engine options that are about measuring, not about serving."""


class Ledger:
    """`values`: what the file says. `written`: preset field -> where its value went. `losses`: what has no place."""

    def __init__(self, preset: Preset, system: str, relatives: Mapping[str, str] | None = None) -> None:
        """`relatives`: last part of a field's name -> settings of the system that are about the same thing, and that
        a reader who misses the field should look at."""
        self.preset, self.config, self.system = preset, preset.config, system
        self.relatives = relatives or {}
        self.values: dict[str, Any] = {}
        self.written: dict[str, str] = {}
        self.losses: list[Loss] = []

    def put(self, name: str, value: Any, key: str) -> None:
        """`value` of the preset's field `name` under `key` of the file; dots in `key` go inside."""
        target = self.values
        *path, last = key.split(".")
        for part in path:
            target = target.setdefault(part, {})
        target[last] = value
        self.written[name] = key

    def say(self, name: str, where: str) -> None:
        """The field is served without a key of its own."""
        self.written[name] = where

    def lose(self, name: str, level: LossLevel, reason: Sentence) -> None:
        self.losses.append(Loss(name, level, reason))

    def named(self, name: str) -> bool:
        """Whether the model of this field is called as the server calls it."""
        return is_named(self.preset, name)

    def lost(self, name: str) -> bool:
        return any(loss.field == name for loss in self.losses)

    def option(self, name: str) -> Any:
        """An engine option of the preset; None where it is left open."""
        return self.config.engine_options.get(name)

    def draft_option(self, name: str) -> Any:
        """An option of the drafting method; None where it is left open."""
        return self.config.speculation.options.get(name) if self.config.speculation else None

    def take(self, names: Iterable[tuple[str, str]], prefix: str = "engine_options.") -> None:
        """Engine options (or the method's own) as they are: pairs of option and key; open ones are skipped."""
        get = self.option if prefix == "engine_options." else self.draft_option
        for name, key in names:
            if (value := get(name)) is not None:
                self.put(f"{prefix}{name}", value, key)

    def settle(self) -> None:
        """Every field that nobody spoke of is lost, or not used where it is neutral."""
        if isinstance(self.preset, Served) and self.preset.lookup:
            self._halved(self.preset)
        for name in fields(self.config):
            if name in self.written or self.lost(name):
                continue
            if self.neutral(name):
                self.say(name, "not used")
            else:
                self.lose(name, "dropped", self._why(name))

    def neutral(self, name: str) -> bool:
        """Whether a server has nothing to do for this field: what is open or off, or what it does by itself."""
        value = value_of(self.config, name)
        if name == "speculation.options.rejection_sample_method" and self.config.sampling.greedy:
            return value in ("standard", "block")  # how a draft is judged by its law; at temperature 0 it has none
        off = value is False and name.startswith("speculation.options.")
        return value is None or off or (name in NEUTRAL and bool(value == NEUTRAL[name]))

    def _halved(self, preset: Served) -> None:
        self.lose(
            "speculation.method",
            "approximated",
            Sentence(
                "the preset's method is hybrid, which looks up first ({lookup}) and drafts by its model where nothing "
                "is found; only the model's half is written: that changes the speed, not the output",
                lookup=preset.lookup,
            ),
        )
        for name in preset.left_out:
            if name == "speculation.options.draft_max_tokens":
                self.say(name, "as num_speculative_tokens")
            else:
                self.lose(name, "dropped", Sentence("it belongs to the lookup, which is left out"))

    def _why(self, name: str) -> Sentence:
        if name == "chat":
            return Sentence("raw prompts: send requests to the server's completions endpoint, as the request file does")
        if name.startswith("sampling.") or name in ("system_prompt", "history"):
            return NO_DEFAULT
        if name.removeprefix("engine_options.") in MEASURING:
            return Sentence("a setting of the measurement, not of a server")
        if relative := self.relatives.get(name.rpartition(".")[2]):
            return Sentence(
                "{system} has no setting that means the same; nearest is {relative}",
                system=self.system,
                relative=relative,
            )
        return Sentence("{system} has no such setting", system=self.system)


def fields(config: RunConfig) -> Iterator[str]:
    """The dotted name of every single value of a config: what `written` and `losses` speak of."""
    for name in RunConfig.model_fields:
        value = getattr(config, name)
        if name == "engine_options":
            yield from (f"engine_options.{key}" for key in value)
        elif isinstance(value, SamplingParams):
            yield from (f"sampling.{key}" for key in SamplingParams.model_fields)
        elif isinstance(value, Speculation):
            yield from ("speculation.method", "speculation.num_speculative_tokens", "speculation.model")
            yield from (f"speculation.options.{key}" for key in value.options)
        else:
            yield name


def value_of(config: RunConfig, name: str) -> Any:
    """The value of a field by the name that `fields` gives it."""
    value: Any = config
    depth = 2 if name.startswith("speculation.options.") else 1
    for part in name.split(".", depth):
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    return value


def measured_dtype(preset: Preset) -> str:
    """The dtype it ran in, where the evidence says what "auto" came to: a server's "auto" may choose another."""
    measured = preset.evidence.hardware.get("dtype") if preset.evidence else None
    known = ("bfloat16", "float16", "float32")
    return str(measured) if preset.config.dtype == "auto" and measured in known else preset.config.dtype


def put_engine(books: Ledger, own: str = "") -> None:
    """The engine it is for; `own` is the engine that is this server."""
    if books.config.engine == own:
        books.say("engine", "the server itself")
        return
    books.lose(
        "engine",
        "approximated",
        Sentence(
            "the preset is for the {engine} engine; {system}'s own kernels and scheduler have other speeds, and may "
            "decide a near-tie between two tokens otherwise",
            engine=books.config.engine,
            system=books.system,
        ),
    )


def put_model(books: Ledger, name: str, reference: str, key: str, gguf: Sentence) -> None:
    """A model's name; whoever runs the server must change what only this machine understands, unless they named it.

    `gguf` says what to do where the server wants no GGUF file.

    Raises:
        PlaygroundError: the name would be taken for a flag.
    """
    no_flag(reference)
    books.put(name, reference, key)
    if is_gguf(reference):
        books.lose(name, "needs-input", gguf)
    elif books.named(name):
        return
    elif is_path(reference):
        books.lose(name, "needs-input", Sentence("this folder may not be there on the server: name the server's own"))
    elif reference.count("/") != 1:
        books.lose(
            name,
            "needs-input",
            Sentence(
                "“{model}” is only a name here: name the model's folder or hub id on the server",
                model=reference,
            ),
        )


def is_gguf(reference: str) -> bool:
    """Whether the name is a GGUF's: a file's ending, a repository called so, or one with a tag of a number format,
    which only those have (org/model-GGUF:Q4_K_M)."""
    name = reference.lower()
    if is_path(reference):
        return name.endswith(".gguf")
    repository, _, tag = name.partition(":")
    called_so = re.search(r"(^|[^a-z])gguf([^a-z]|$)", repository)
    return name.endswith(".gguf") or bool(called_so) or ("/" in repository and bool(tag))


def no_flag(reference: str) -> None:
    if reference.startswith("-"):
        raise PlaygroundError(
            Sentence("A model called “{name}” would be taken for a flag.", name=reference[:60]),
            Sentence("Name its folder."),
            code="not_expressible",
        )


def is_path(reference: str) -> bool:
    return reference.startswith(("/", ".", "~")) or "\\" in reference


def method_of(spec: Speculation) -> str:
    """The method, a parallel draft model by its own name, "pard", whichever way it is said."""
    parallel = spec.method == "draft_model" and spec.options.get("parallel_drafting") is True
    return "pard" if parallel else spec.method


def no_such_method(system: str, method: str, has: Iterable[str]) -> PlaygroundError:
    return PlaygroundError(
        Sentence("{system} has no drafting method like {method}.", system=system, method=method),
        Sentence("Choose one it has: {known}.", known=", ".join(has)),
        code="not_expressible",
    )


def needs_draft(method: str) -> PlaygroundError:
    return PlaygroundError(
        Sentence("Method {method} needs a draft model.", method=method),
        Sentence("Name one (--draft)."),
        code="not_expressible",
    )
