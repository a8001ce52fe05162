"""Findings about a pair as safe HTML in both languages. Knows codes and parameters; judges nothing."""

from markupsafe import Markup

from playground.doctor.findings import Finding, Fit, shown
from playground.ui.i18n import tr


def finding_html(found: Finding) -> Markup:
    return tr(f"pair.{found.code}", **{name: shown(value) for name, value in found.params.items()})


def reason_html(fit: Fit) -> Markup:
    """Why an engine can or cannot."""
    return tr(f"fit.{fit.code}", **{name: shown(value) for name, value in fit.params.items()})


def fix_html(fit: Fit) -> Markup:
    """What to do; empty where there is nothing to do."""
    if not fit.fix:
        return Markup("")
    return tr(f"fit.{fit.code}.fix", **{name: shown(value) for name, value in fit.params.items()})
