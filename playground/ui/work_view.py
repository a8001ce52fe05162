"""How far long work is: a bar, counts, the time left. Pure; shared by the Benchmark and the Tune tab."""

from markupsafe import Markup

from playground.errors import PlaygroundError
from playground.ui.i18n import tr
from playground.ui.render import three


def progress_html(done: int, total: int, seconds_left: float | None, now: str) -> str:
    left = tr("bench.left", left=spoken(seconds_left)) if seconds_left is not None else Markup("")
    said = Markup('<span class="b-soft">{}</span>').format(tr("bench.now", now=now)) if now else Markup("")
    bar = Markup('<progress max="{}" value="{}"></progress>').format(max(total, 1), done)
    words = Markup("<p><span>{}</span><span>{}</span>{}</p>").format(
        tr("bench.progress", done=done, total=total), left, said
    )
    return str(Markup('<div class="db-work">{}{}</div>').format(bar, words))


def starting_html() -> str:
    return str(Markup('<div class="db-work"><progress></progress><p>{}</p></div>').format(tr("bench.starting")))


def ended_html(status: str, error: PlaygroundError | None = None) -> str:
    """How it ended, in a sentence; with an error its words."""
    words = tr(f"bench.ended.{status}")
    why = Markup('<p role="alert">{} {}</p>').format(error.message, error.hint) if error else Markup("")
    return str(Markup('<div class="db-work"><p role="status">{}</p>{}</div>').format(words, why))


def spoken(seconds: float) -> str:
    """A duration; units read alike in both languages."""
    if seconds < 90:
        return f"{three(seconds)} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
