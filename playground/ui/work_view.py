"""How far long work is: a bar, counts, the time left. Pure; shared by the Benchmark and the Tune tab."""

from markupsafe import Markup

from playground.errors import PlaygroundError
from playground.ui.i18n import tr
from playground.ui.render import fill, three
from playground.ui.sentences import said_html


def progress_html(done: int, total: int, seconds_left: float | None, now: str) -> str:
    left = tr("bench.left", left=spoken(seconds_left)) if seconds_left is not None else Markup("")
    said = fill('<span class="b-soft">{}</span>', tr("bench.now", now=said_html(now))) if now else Markup("")
    bar = fill('<progress max="{}" value="{}"></progress>', max(total, 1), done)
    words = fill("<p><span>{}</span><span>{}</span>{}</p>", tr("bench.progress", done=done, total=total), left, said)
    return str(fill('<div class="db-work">{}{}</div>', bar, words))


def starting_html() -> str:
    return str(fill('<div class="db-work"><progress></progress><p>{}</p></div>', tr("bench.starting")))


def ended_html(status: str, error: PlaygroundError | None = None) -> str:
    """How it ended, in a sentence; with an error its words."""
    words = tr(f"bench.ended.{status}")
    why = fill('<p role="alert">{}</p>', said_html(error.message, error.hint)) if error else Markup("")
    return str(fill('<div class="db-work"><p role="status">{}</p>{}</div>', words, why))


def spoken(seconds: float) -> str:
    """A duration; units read alike in both languages."""
    if seconds < 90:
        return f"{three(seconds)} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
