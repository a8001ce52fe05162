"""The draft models that a list offers for a target, and why it leaves the others out. Draws what the catalogue says."""

from markupsafe import Markup

from playground.catalogue import Candidate, drafts_for
from playground.settings import Settings
from playground.ui.i18n import tr
from playground.ui.pair_words import finding_html
from playground.ui.render import esc


def draft_names(settings: Settings, target: str, method: str) -> list[str]:
    """Those that can work, the smallest first, the target itself last."""
    return [c.model.name for c in drafts_for(target, method, settings) if c.usable]


def refused_html(settings: Settings, target: str, method: str) -> Markup:
    """A folded list of those that cannot, each with its reason; empty where there are none."""
    refused = [c for c in drafts_for(target, method, settings) if not c.usable]
    if not refused:
        return Markup("")
    lines = Markup("").join(_line(candidate) for candidate in refused)
    summary = tr("pairs.cannot.one") if len(refused) == 1 else tr("pairs.cannot", n=len(refused))
    return Markup('<details class="pair-refused"><summary>{}</summary><ul>{}</ul></details>').format(summary, lines)


def _line(candidate: Candidate) -> Markup:
    why = finding_html(candidate.why) if candidate.why else Markup("")
    return Markup("<li><b>{}</b> {}</li>").format(esc(candidate.model.name), why)
