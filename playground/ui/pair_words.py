"""Findings about a pair as safe HTML in both languages. Knows codes and parameters; judges nothing."""

from typing import Any

from markupsafe import Markup

from playground.doctor.findings import Finding, Fit, shown
from playground.ui.i18n import tr
from playground.ui.sentences import said_html


def finding_html(found: Finding) -> Markup:
    return tr(f"pair.{found.code}", **_shown(found.params))


def reason_html(fit: Fit) -> Markup:
    """Why an engine can or cannot."""
    return tr(f"fit.{fit.code}", **_shown(fit.params))


def fix_html(fit: Fit) -> Markup:
    """What to do; empty where there is nothing to do."""
    if not fit.fix:
        return Markup("")
    return tr(f"fit.{fit.code}.fix", **_shown(fit.params))


def _shown(params: dict[str, Any]) -> dict[str, str | Markup]:
    """Parameters as text; what is a sentence itself, in both languages."""
    return {name: said_html(shown(value)) if " " in shown(value) else shown(value) for name, value in params.items()}
