"""What the importers of servers share: keys in one spelling, values checked with their lines, a preset at the end.

`Reading` holds one file on its way: what was read, what was said about it. Knows no dialect.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from playground.config import Preset, RunConfig, SamplingParams
from playground.errors import PlaygroundError
from playground.importers import Imported
from playground.importers._text import in_words, name_from
from playground.importers._values import (
    refuse_absurd,
    refuse_variable,
    switch_of,
    text_of,
    underscored,
    without_value,
)
from playground.importers._yaml import MAX_NUMBER, Located, checked_document, line_of, parse_json
from playground.sentence import Sentence

Values = dict[str, Any]

NEUTRAL: Values = {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
"""What a server does where neither its file nor the request says anything; penalties are neutral in ours too."""

NO_SAMPLING = Sentence("It sets no sampling: neutral values are taken, temperature 1.")

FREE_TEXT = {
    "reverse_prompt", "SYSTEM", "system_prompt", "sampling_params", "preferred_sampling_params", "stop",
    "chat_template",
}  # fmt: skip
"""Keys whose text is a person's, where a dollar is a dollar."""

DTYPES = {"half": "float16", "float": "float32", "bf16": "bfloat16", "fp16": "float16"}

_CHAIN = {"draft_sample_method", "draft_p_min"}
EMBEDDED = {
    "draft_model": _CHAIN,
    "eagle3": _CHAIN,
    "ngram": {"prompt_lookup_min", "prompt_lookup_max", "match"},
    "suffix": {
        "suffix_decoding_max_tree_depth", "suffix_decoding_max_spec_factor", "suffix_decoding_min_token_prob",
    },
}  # fmt: skip
"""Methods of the embedded engine that a server has too, each with its options."""

EARLIEST = Sentence("prompt lookup there takes the earliest match")


_NAMED, _LONGEST = 16, 60
"""How many keys a description names, and characters of each."""


class Reading:
    """One file: its keys with underscores in `values` (taken out as they are used), the sentences in `said`."""

    def __init__(self, name: str, raw: Mapping[str, Any], *, keep_lossy: bool = False) -> None:
        self.name, self.raw, self.keep_lossy = name, raw, keep_lossy
        self.said: list[Sentence] = []
        self.gone: list[str] = []
        """Keys that no preset holds, for its description."""
        self.values: Values = underscored(raw, self.place)

    def rename(self, names: Mapping[str, str], why: Sentence | None = None) -> None:
        """Old spellings to the one of today; said where `why` gives the reason."""
        for old, new in names.items():
            if old not in self.values:
                continue
            value = self.values.pop(old)
            if new in self.values and str(self.values[new]) != str(value):
                raise PlaygroundError(
                    Sentence(
                        "{place}: is {value}, but {other} is {held}.",
                        place=self.place(old),
                        value=f"{value!r:.60}",
                        other=new,
                        held=f"{self.values[new]!r:.60}",
                    ),
                    Sentence("Keep one of them."),
                    code="bad_config",
                )
            self.values[new] = value
            if why:
                self.said.append(Sentence("{old} is now {new} ({why}).", old=shown(old), new=shown(new), why=why))

    def drop(self, reasons: Mapping[str, Sentence]) -> None:
        for key, why in reasons.items():
            if self.values.pop(key, None) is not None:
                self.leave(key, why)

    def leave(self, key: str, why: Sentence) -> None:
        """Says that a key is left out, here and in the description."""
        self.said.append(Sentence("{key} is left out: {why}.", key=shown(key), why=why))
        self.gone.append(key)

    def lossy(self, key: str, what: Sentence) -> bool:
        """A setting that changes the output. Refused, unless the user keeps it knowingly."""
        refuse_lossy(self.place(key), what, keep=self.keep_lossy)
        self.said.append(kept_knowingly(key, what))
        return True

    def lossy_left_out(self, key: str, what: Sentence) -> None:
        """The same for a setting that no preset holds: it is left out even where the user would keep it."""
        refuse_lossy(self.place(key), what, keep=self.keep_lossy)
        self.values.pop(key, None)
        self.leave(key, what)

    def text(self, key: str) -> str | None:
        """Raises PlaygroundError where it is no text, as a flag without its value is not."""
        value = self.values.pop(key, None)
        return text_of(value, self.place(key))

    def switch(self, key: str) -> bool | None:
        """A yes or no in any spelling, None where it is not given. Raises PlaygroundError where it is neither."""
        return switch_of(self.values.pop(key, None), self.place(key))

    def filled(self, server: Iterable[str]) -> None:
        """Raises PlaygroundError where a value, other than the server's own, still waits for a shell to fill it in."""
        others = set(server) | FREE_TEXT
        for key, value in self.values.items():
            if key not in others:
                refuse_variable(value, self.place(key))

    def take(self, names: Mapping[str, str]) -> Values:
        """The values under some keys, by our names for them."""
        return {ours: self.values.pop(theirs) for theirs, ours in names.items() if theirs in self.values}

    def whole(self, key: str, value: Any, *, least: int | None = None) -> int:
        """A whole number, which a command line gives as text; `least`: smaller ones are refused."""
        if value is True:
            raise without_value(self.place(key))
        try:
            number = int(str(value)[:MAX_NUMBER])
        except ValueError:
            raise PlaygroundError(
                Sentence("{place}: {value} is no whole number.", place=self.place(key), value=f"{value!r:.40}"),
                Sentence("Correct it."),
                code="bad_config",
            ) from None
        if least is not None and number < least:
            raise PlaygroundError(
                Sentence("{place}: {number} is less than {least}.", place=self.place(key), number=number, least=least),
                Sentence("Correct it, or leave it out."),
                code="bad_config",
            )
        return number

    def inside(self, key: str) -> Values:
        """A mapping inside, its keys with underscores; JSON text is read."""
        value = self.values.pop(key, None)
        if value is None:
            return {}
        if value is True:
            raise without_value(self.place(key))
        if isinstance(value, str):
            value = parse_json(f"{self.name}, {key}", value)
        if not isinstance(value, dict):
            raise PlaygroundError(
                Sentence("{place}: must be a mapping of keys to values.", place=self.place(key)),
                Sentence("Write it as nested YAML."),
                code="bad_config",
            )
        found = Located(underscored(value, lambda inner: place(self.name, value, inner)))
        found.lines = {inner.replace("-", "_"): line for inner, line in getattr(value, "lines", {}).items()}
        return found

    def left_out(self, server: Iterable[str], known: Iterable[str]) -> None:
        """The keys nobody took: named, and refused where one looks like a slip of the pen."""
        servers, ours = set(server), set(known)
        for key in self.values:
            close = difflib.get_close_matches(key, ours, n=1, cutoff=0.85) if key not in servers else []
            if close and key not in ours:
                raise PlaygroundError(
                    Sentence("{place}: is not a known key.", place=self.place(key)),
                    Sentence("Did you mean {close}?", close=close[0]),
                    code="bad_config",
                )
        mine = sorted(key for key in self.values if key in servers)
        strange = sorted(key for key in self.values if key not in servers)
        if mine:
            self.said.append(servers_own(mine))
        if strange:
            self.said.append(not_known(strange))
        self.gone += [*mine, *strange]

    def left_out_of(self, what: str, keys: Iterable[str]) -> None:
        """Keys of a part that have no place in a preset."""
        names = list(keys)
        self.said.append(left_out_of(what, names))
        self.gone += names

    def place(self, key: str) -> str:
        return place(self.name, self.raw, key)

    def checked(self, model: Any, data: Values, *sources: Any) -> Any:
        return checked_as(model, data, self.name, self.raw, *sources)

    def finish(self, title: str, config: Values, *, more: str = "") -> Imported:
        """The preset, `more` in its description. Raises PlaygroundError for values that no preset can hold."""
        preset = {
            "name": name_from(self.name),
            "description": described(self.name, title, self.gone, more),
            "config": config,
        }
        refuse_absurd(self.name, config)
        checked_document(RunConfig, config, self.name)
        return Imported(checked_document(Preset, preset, self.name), (*self.said, *_not_of_the_file(title, config)))


def shown(key: str) -> str:
    return key[:60].replace("_", "-") if "_" in key and key.startswith(("spec_", "speculative_n")) else key[:60]


def described(name: str, title: str, gone: Iterable[str], more: str = "") -> str:
    """What a preset says of itself, and later exports of it: where it came from, and what of that it does not hold."""
    names = ["".join(c if c.isprintable() else "·" for c in key[:_LONGEST]) for key in dict.fromkeys(gone)]
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    left_out = f"Left out: {', '.join(names[:_NAMED])}{rest}." if names else ""
    return " ".join(part for part in (f"Imported from {in_words(name)} ({title}).", more, left_out) if part)


def kept_knowingly(key: str, what: Sentence) -> Sentence:
    return Sentence("{key} is kept knowingly: {what}.", key=shown(key), what=what)


def models_own(key: str) -> Sentence:
    """`key` would keep a server from its model's own sampling, and is not given."""
    return Sentence(
        "Without `{key}` the model's own generation_config.json fills what is open; a preset leaves nothing open, so "
        "an export of it writes neutral values in place of the model's own.",
        key=key,
    )


def servers_own(keys: Iterable[str]) -> Sentence:
    return Sentence("Left out, they belong to the server and not to a preset: {keys}.", keys=", ".join(keys))


def not_known(keys: Iterable[str]) -> Sentence:
    return Sentence("Left out, not known here: {keys}.", keys=", ".join(key[:60] for key in keys))


def left_out_of(what: str, keys: Iterable[str]) -> Sentence:
    return Sentence("Left out of {what}: {keys}.", what=what, keys=", ".join(key[:60] for key in keys))


def pinned_defaults(system: str, values: str) -> Sentence:
    return Sentence("Not given, so {system}'s own defaults are written out: {values}.", system=system, values=values)


def other_name(key: str, value: str, name: str) -> Sentence:
    return Sentence("{key} {value} is another name of {name}.", key=key, value=value, name=name)


def refuse_lossy(place: str, what: str, *, keep: bool) -> None:
    """Raises PlaygroundError unless `keep`."""
    if not keep:
        raise PlaygroundError(
            Sentence("{place}: {what}, which changes the output.", place=place, what=what),
            Sentence("Remove it, or import it knowingly (--keep-lossy)."),
            code="changes_output",
        )


def engine_for(engine_options: Values, speculation: Values | None) -> str:
    """The engine here that can run it: our own where that suffices, else vLLM."""
    return "vllm" if _lacking(engine_options, speculation) else "embedded"


def _lacking(engine_options: Values, speculation: Values | None) -> list[str]:
    """What of it our own engine has not."""
    lacking = [key for key in engine_options if key != "max_model_len"]
    if speculation is None:
        return lacking
    method = str(speculation["method"])
    if method not in EMBEDDED:
        return [*lacking, method]
    return lacking + [key for key in speculation["options"] if key not in EMBEDDED[method]]


def _not_of_the_file(system: str, config: Values) -> list[Sentence]:
    """What the preset says and the file does not, or otherwise than there."""
    said: list[Sentence] = []
    engine, speculation = config["engine"], config["speculation"]
    lacking = _lacking(config.get("engine_options", {}), speculation)
    if engine == "vllm":
        said.append(
            Sentence(
                "It will run here on the engine {engine}, not on {system}: the embedded engine has no {what}.",
                engine=engine,
                system=system,
                what=", ".join(key[:60] for key in lacking),
            )
        )
        if speculation and speculation["options"].get("match") == "most_recent":
            said.append(
                Sentence(
                    "match most_recent is kept for such a server; vLLM takes the earliest match: leave it out to run "
                    "the preset here."
                )
            )
    else:
        said.append(
            Sentence(
                "It will run here on the engine {engine}, not on {system}: that engine has all that the file asks for.",
                engine=engine,
                system=system,
            )
        )
    if "max_tokens" not in config["sampling"]:
        said.append(no_length())
    return said


def no_length() -> Sentence:
    default = SamplingParams.model_fields["max_tokens"].default
    return Sentence("max_tokens is not given: {n}, the default of a preset, is taken.", n=default)


def penalty_window(tokens: object) -> Sentence:
    return Sentence("Penalties looked back {n} tokens there; here they look at everything.", n=tokens)


def taken(key: str, value: object, why: Sentence) -> Sentence:
    return Sentence("{key} {value} is taken: {why}.", key=key, value=value, why=why)


def dtype(reading: Reading) -> str:
    value = reading.text("dtype") or "auto"
    if value in DTYPES:
        reading.said.append(other_name("dtype", value, DTYPES[value]))
    return DTYPES.get(value, value)


def checked_as(model: Any, data: Values, name: str, *sources: Any) -> Any:
    """`data` as `model`, numbers in quotes allowed (a command line has no others); errors name the sources' lines.

    True, as a flag without its value is, is no number: pydantic alone would take it for 1.
    """
    known = {spelled: field for key, field in model.model_fields.items() for spelled in (key, field.alias or key)}
    for key, value in data.items():
        if value is True and key in known and "bool" not in str(known[key].annotation):
            raise without_value(place(name, next((s for s in sources if _has(s, key)), {}), key))
    return checked_document(model, located(data, *sources), name, strict=False)


def _has(source: Any, key: str) -> bool:
    return isinstance(source, Mapping) and any(spelled.replace("-", "_") == key.replace("-", "_") for spelled in source)


def not_along(file: str) -> Sentence:
    return Sentence("The command names the file {file}, which did not come along: what it says is missing.", file=file)


def located(data: Values, *sources: Any) -> Located:
    """`data` with the lines of the keys that `sources` really hold, by any spelling of them."""
    found = Located(data)
    for read in sources:
        lines = {key.replace("-", "_"): line for key, line in getattr(read, "lines", {}).items()}
        held = {key: lines[plain] for key in data if (plain := key.replace("-", "_")) in lines}
        found.lines = held | found.lines  # the first source is the nearest
    return found


def place(name: str, raw: Mapping[str, Any], key: str) -> str:
    """Where a key stands, by either spelling of it: file, line where known, key."""
    if key not in raw:
        plain = key.replace("-", "_")
        key = next((spelled for spelled in raw if spelled.replace("-", "_") == plain), key)
    line = line_of(raw, [key])
    if line:
        return Sentence("{name}, line {line}, {key}", name=name, line=line, key=key[:60])
    return Sentence("{name}, {key}", name=name, key=key[:60])
