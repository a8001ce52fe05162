"""Shell commands as words and flags. Nothing is run; which flags there are is each importer's."""

import re
from collections.abc import Callable, Container, Iterator

from playground.importers._shell import MAX_CODE, wrong
from playground.importers._values import refuse_variable, variable_in
from playground.importers._variables import Marked, Operator, script
from playground.sentence import Sentence

__all__ = [
    "MANY", "MAX_CODE", "Flag", "flags", "is_flag", "most_values", "one_command", "only_first", "plain",
    "put_positional", "uncommented", "words", "wrong",
]  # fmt: skip

Flag = tuple[str, str | list[str] | bool]


def uncommented(text: str) -> str:
    """Without the lines that are comments: what a file says about itself is not what it is."""
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("#", ";")))


def words(name: str, text: str) -> list[str]:
    """The words of a shell text, quotes and comments taken away; what ends a command is an `Operator`.

    `$NAME` and its like are filled in where the text sets NAME before, or gives a default; the others stay.

    Raises:
        PlaygroundError: too long; quotes or brackets that do not match; a line that only seems to go on.
    """
    return script(name, text).words


def one_command(found: list[str], start: int) -> list[str]:
    """The words from `start` to where the shell begins another command.

    Raises:
        PlaygroundError: one of them hangs on the way a script takes, or the next line seems to be the command's rest.
    """
    end = next((i for i in range(start, len(found)) if isinstance(found[i], Operator)), len(found))
    for word in found[start : end + 1]:
        if isinstance(word, Marked) and word.refusal is not None:
            raise word.refusal
    return found[start:end]


MANY = 1_000_000
_ALONE = ("enable_", "disable_", "no_", "skip_", "use_")
_REST = ("$@", "$*", "${@}", "${*}")


def plain(flag: str) -> str:
    """A flag as the key it sets, with underscores."""
    return flag.lstrip("-").replace("-", "_")


def is_flag(word: str) -> bool:
    """Whether a word is one; -1 is a number."""
    return bool(re.match(r"--?[A-Za-z]", word))


def most_values(
    known: Container[str], *, alone: Container[str] = (), several: Container[str] = ()
) -> Callable[[str], int]:
    """How many values a flag takes at most: none, one if it is `known`, else any number (nobody says how many)."""

    def most(flag: str) -> int:
        key = plain(flag)
        if key in alone or key == "trust_remote_code" or key.startswith(_ALONE):
            return 0
        return 1 if key in known and key not in several else MANY

    return most


def flags(
    found: list[str], is_flag: Callable[[str], bool] = is_flag, most: Callable[[str], int] = lambda flag: MANY
) -> Iterator[Flag]:
    """(flag or "", value) in order: True for a flag alone, a list for several values; "" for a word without a flag.

    A flag takes as many of the words behind it as `most` says; one that takes none still takes a "true" or "false".
    A variable among several is none of them: without quotes it may hold flags.
    """
    position = 0
    while position < len(found):
        word = found[position]
        position += 1
        if not is_flag(word):
            yield "", word
            continue
        key, equals, value = word.partition("=")
        values = [value] if equals else []
        limit = most(key)
        while not equals and position < len(found) and not is_flag(found[position]):
            if len(values) >= limit and (limit or values or found[position].lower() not in ("true", "false")):
                break
            if values and variable_in(found[position]) == found[position]:
                break
            values.append(found[position])
            position += 1
        yield key, values[0] if len(values) == 1 else values or True


def put_positional(name: str, found: dict[str, object], key: str, word: str) -> None:
    """A word without a flag: the model, once. What the caller of a script adds is kept as a key of its own, to be said.

    Raises:
        PlaygroundError: a second one, or a variable that may stand for anything.
    """
    if word in _REST:
        found[word] = True
        return
    if variable_in(word) == word:
        refuse_variable(word, name)
    if key in found and found[key] != word:
        raise wrong(
            name,
            Sentence("names two models, {first} and {second}", first=f"{found[key]!s:.60}", second=word[:60]),
            Sentence("Keep one of them."),
        )
    found[key] = word


_SERVERS = ("llama-server", "trtllm-serve", "sglang.launch_server", "vllm.entrypoints.openai.api_server")


def only_first(name: str, text: str) -> list[Sentence]:
    """What to say where a text starts several servers: only the first is read."""
    found = [word.rsplit("/", 1)[-1] for word in words(name, text)]
    count = sum(word in _SERVERS for word in found)
    count += sum(found[i : i + 2] in (["vllm", "serve"], ["sglang", "serve"]) for i in range(len(found)))
    return [Sentence("Of {n} commands only the first is read.", n=count)] if count > 1 else []
