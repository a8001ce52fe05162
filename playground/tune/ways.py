"""Ways of drafting from what people type: methods by name, options by NAME=A,B,C; for page and terminal alike."""

from collections.abc import Iterable, Mapping, Sequence

from playground import drafters
from playground.config import RunConfig, Speculation
from playground.errors import PlaygroundError
from playground.live import engine_class
from playground.overrides import readable
from playground.registry import discover
from playground.sentence import Sentence
from playground.tune.space import variants_of


def ways(config: RunConfig, methods: Sequence[str], tried: Mapping[str, Sequence[str]]) -> tuple[Speculation, ...]:
    """Each method with every combination of those of the options that it has.

    Args:
        methods: none means the configuration's own; a draft model is taken from there.
        tried: option -> values as text.

    Raises:
        PlaygroundError: no method at all, one the engine lacks, or an option that none of them has.
    """
    base = config.speculation
    if base is None and not methods:
        raise PlaygroundError(
            Sentence("There is nothing to tune: no drafting method is chosen."),
            Sentence("Choose one."),
            code="bad_config",
        )
    known = engine_class(config.engine).methods()
    found: list[Speculation] = []
    used: set[str] = set()
    for method in methods or [base.method if base else ""]:
        if method not in known:
            raise PlaygroundError(
                Sentence(
                    "The engine {engine} has no drafting method called “{method}”.",
                    engine=config.engine,
                    method=method[:60],
                ),
                Sentence("Choose of: {known}.", known=", ".join(known)),
                code="unknown_method",
            )
        fields = known[method].model_fields
        mine = {n: [readable(fields[n].annotation, v) for v in values] for n, values in tried.items() if n in fields}
        used |= mine.keys()
        same = base is not None and base.method == method
        model = base.model if base is not None and _takes_model(method) else None
        found += variants_of(base if same and base is not None else Speculation(method=method, model=model), mine)
    if strangers := tried.keys() - used:
        raise PlaygroundError(
            Sentence("{option} is an option of none of these methods.", option=sorted(strangers)[0][:60]),
            Sentence("Check its spelling."),
            code="bad_config",
        )
    return tuple(found)


def tried_options(lines: Iterable[str]) -> dict[str, list[str]]:
    """ "prompt_lookup_max=3,5" a line.

    Raises:
        PlaygroundError: a line is something else.
    """
    found: dict[str, list[str]] = {}
    for line in filter(None, map(str.strip, lines)):
        name, equals, values = line.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise PlaygroundError(
                Sentence("“{text}” is no OPTION=A,B.", text=line[:60]),
                Sentence("Write prompt_lookup_max=3,5,8."),
                code="bad_config",
            )
        found[name.strip().replace("-", "_")] = [value.strip() for value in values.split(",")]
    return found


def _takes_model(method: str) -> bool:
    module = discover(drafters.PACKAGE).get(method)
    return module is None or bool(module.Drafter.NEEDS_MODEL)
