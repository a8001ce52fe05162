"""The one error a user ever sees: a sentence and its fix.

Raised anywhere below a boundary; translated once per boundary (page, command line, HTTP). It knows no boundary.
"""


class PlaygroundError(Exception):
    """A problem a person can understand and act on.

    Args:
        message: one clear sentence saying what is wrong.
        hint: one sentence saying what to do about it.
        code: a short stable name for programs ("bad_config", "engine_died", "out_of_memory", ...).
    """

    def __init__(self, message: str, hint: str = "", *, code: str = "error") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross the pipe from an engine's child process, keyword argument included.
        return (_rebuild, (type(self), self.message, self.hint, self.code))

    def as_dict(self) -> dict[str, str]:
        """{"error", "hint", "code"}: the shape every `--json` and HTTP answer uses for a failure."""
        return {"error": self.message, "hint": self.hint, "code": self.code}


def _rebuild(cls: type[PlaygroundError], message: str, hint: str, code: str) -> PlaygroundError:
    return cls(message, hint, code=code)
