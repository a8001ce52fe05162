"""What pydantic finds wrong with values, as our sentences. Knows its kinds of error, none of our settings."""

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from playground.sentence import SEMICOLON, Sentence, joined

MOST = 5
"""Faults told at once."""

_KNOWN: dict[str, Sentence] = {
    "extra_forbidden": Sentence("is not a known key"),
    "missing": Sentence("is missing"),
    "model_type": Sentence("must be a mapping of keys to values"),
    "greater_than": Sentence("input should be greater than {gt}"),
    "greater_than_equal": Sentence("input should be greater than or equal to {ge}"),
    "less_than": Sentence("input should be less than {lt}"),
    "less_than_equal": Sentence("input should be less than or equal to {le}"),
    "finite_number": Sentence("input should be a finite number"),
    "int_type": Sentence("input should be a valid integer"),
    "int_parsing": Sentence("input should be a valid integer"),
    "int_from_float": Sentence("input should be a valid integer, got a number with a fractional part"),
    "float_type": Sentence("input should be a valid number"),
    "float_parsing": Sentence("input should be a valid number"),
    "bool_type": Sentence("input should be a valid boolean"),
    "bool_parsing": Sentence("input should be a valid boolean"),
    "string_type": Sentence("input should be a valid string"),
    "string_too_short": Sentence("string should have at least {min_length} characters"),
    "string_too_long": Sentence("string should have at most {max_length} characters"),
    "string_pattern_mismatch": Sentence("string should match pattern '{pattern}'"),
    "literal_error": Sentence("input should be {expected}"),
    "dict_type": Sentence("input should be a valid dictionary"),
    "list_type": Sentence("input should be a valid list"),
    "tuple_type": Sentence("input should be a valid tuple"),
    "too_long": Sentence("at most {max_length} items are allowed, not {actual_length}"),
    "too_short": Sentence("at least {min_length} items are needed, not {actual_length}"),
}
"""Kind of error -> its sentence, with the parameters that pydantic gives; of other kinds its own words are told."""


def faults(error: ValidationError) -> str:
    """Every wrong key and what is wrong with it, without a full stop: "top_k: input should be ...; seed: ..."."""
    return joined([_fault(item) for item in error.errors()[:MOST]], SEMICOLON)


def said(error: ValueError) -> str:
    """A ValueError's words, as the Sentence it was raised with where it was."""
    words = error.args[0] if error.args else ""
    return words if isinstance(words, str) else str(error)


def _fault(item: ErrorDetails) -> Sentence:
    key = ".".join(map(str, item["loc"])) or Sentence("value")
    return Sentence("{key}: {fault}", key=key, fault=words(item))


def _plain(value: object) -> object:
    """A bound as pydantic itself says it: 5 for 5.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def words(item: ErrorDetails) -> str:
    """What is wrong with one value."""
    context = item.get("ctx", {})
    if item["type"] == "value_error" and isinstance(raised := context.get("error"), ValueError):
        own = said(raised)
        return own if isinstance(own, Sentence) else own[:1].lower() + own[1:]
    if (known := _KNOWN.get(item["type"])) is not None:
        return known.filled(**{name: _plain(value) for name, value in context.items()})

    return item["msg"][:1].lower() + item["msg"][1:]
