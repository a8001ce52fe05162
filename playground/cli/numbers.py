"""Numbers on the command line, with their bounds: a flag out of range is refused by name, never bent into it."""

import argparse
import math
from collections.abc import Callable


def whole(least: int, most: int = 10**9) -> Callable[[str], int]:
    """What reads a whole number from `least` to `most`; argparse names the flag of what is none."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"“{text[:40]}” is no whole number") from None
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text[:40]} is not between {least} and {most}")
        return number

    return read


def real(least: float, most: float = 1e9) -> Callable[[str], float]:
    """The same for a number with a fraction; what is not finite is none."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise argparse.ArgumentTypeError(f"“{text[:40]}” is no number")
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text[:40]} is not between {least:g} and {most:g}")
        return number

    return read
