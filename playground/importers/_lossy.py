"""What makes a server accept other tokens than the target's own: options of any system, and variables around it.

Knows their names and why; whoever reads them refuses them, or keeps them knowingly.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from playground.importers._values import switch_of
from playground.sentence import Sentence

SYNTHETIC = Sentence("synthetic acceptance writes text that is wrong on purpose, to time a server")
RELAXED = Sentence("relaxed acceptance takes tokens that are not the target's")

RELAXING = "use_relaxed_acceptance_for_thinking"
THRESHOLDS = ("speculative_accept_threshold_single", "speculative_accept_threshold_acc")
"""Of SGLang: below 1 they accept more than the target's own tokens."""

FORCING = ("SGLANG_SIMULATE_ACC_LEN", "TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS")
"""Variables of the environment that say how many drafted tokens are accepted, whatever the target says of them."""

_ACCEPTANCE = ("acceptance_method", "spec_decoding_acceptance_method")
_SET = re.compile(rf"(?:^|=)({'|'.join(FORCING)})=(.*)", re.DOTALL)


def threshold(value: float) -> Sentence:
    return Sentence("a threshold of {threshold:g} accepts tokens that the target would not choose", threshold=value)


def lossy_options(options: Mapping[str, Any], where: Callable[[str], str]) -> dict[str, Sentence]:
    """The options of a drafting method that change the output, each with what it does; in any spelling.

    Raises:
        PlaygroundError: one that is on or off is neither; `where(key)` opens the error.
    """
    found: dict[str, Sentence] = {}
    for key, value in options.items():
        plain = key.replace("-", "_").casefold()
        said = str(value).casefold()
        if value is None:
            continue
        if plain.startswith("synthetic") or (plain == "rejection_sample_method" and "synthetic" in said):
            found[key] = SYNTHETIC
        elif plain == RELAXING and switch_of(value, where(key)):
            found[key] = RELAXED
        elif plain in THRESHOLDS and not (number := _number(value)) >= 1:
            found[key] = threshold(number)
        elif plain in _ACCEPTANCE and "typical" in said:
            found[key] = Sentence(
                "{key} {value} accepted tokens that the target would not choose", key=key[:60], value=f"{value!s:.40}"
            )
    return found


def forced(words: Iterable[str]) -> list[str]:
    """The variables that force acceptance and are set among the words of a command: `NAME=3`, `--env=NAME=3`."""
    found = [match for word in words if (match := _SET.search(word))]
    return list(dict.fromkeys(match[1] for match in found if match[2] and not _number(match[2]) <= 0))


def _number(value: Any) -> float:
    """Not a number where it is none: what is not understood is not taken for harmless."""
    try:
        return float(str(value))
    except ValueError:
        return float("nan")
