"""How results show themselves in a notebook: each token with its fate, every word of a model escaped. Pure.

Inline styles only, since a notebook strips the rest; shape carries what colour says, as on the page.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from playground.events import Step

_STYLES = {
    "accepted": "background:#009e7340;border-radius:2px",
    "recovered": "text-decoration:underline solid #e69f00 2px",
    "bonus": "text-decoration:underline dotted #0072b2 2px",
    "rejected": "text-decoration:line-through;opacity:.55",
}
_BOX = "white-space:pre-wrap;overflow-wrap:anywhere;font-family:ui-monospace,monospace;line-height:1.6"
_NOTE = "font-size:85%;opacity:.8"

Arm = tuple[str, Sequence[Step], str, str]
"""(title, steps, text, one line of figures)."""


def run_html(steps: Sequence[Step], text: str, summary: str) -> str:
    return f'<div>{_figures(summary)}{_legend()}<div dir="auto" style="{_BOX}">{tokens_html(steps, text)}</div></div>'


def comparison_html(arms: Iterable[Arm], verdict: str) -> str:
    """Both texts side by side under one verdict."""
    panes = "".join(
        f'<div style="flex:1 1 20em;min-width:0"><b>{escape(title)}</b>{_figures(summary)}'
        f'<div dir="auto" style="{_BOX}">{tokens_html(steps, text)}</div></div>'
        for title, steps, text, summary in arms
    )
    return (
        f"<div><div><b>{escape(verdict)}</b></div>{_legend()}"
        f'<div style="display:flex;flex-wrap:wrap;gap:1.5em">{panes}</div></div>'
    )


def tokens_html(steps: Sequence[Step], text: str) -> str:
    """The delivered tokens with their fates, a title on each; rejected drafts where they were refused.

    Without steps (a run that broke off early) the text as it is.
    """
    if not steps:
        return escape(text)
    parts: list[str] = []
    for step in steps:
        for token in step.in_order:
            title = f"step {step.index}, {token.origin}{_prob(token.target_prob)}"
            if token.origin == "rejected":
                parts.append(_token(token.text.replace("\n", "↵") or "□", "rejected", title))
            elif token.text:
                parts.append(_token(token.text, token.origin, title))
    return "".join(parts)


def _token(text: str, origin: str, title: str) -> str:
    style = _STYLES.get(origin, "")
    style += ";user-select:none" if origin == "rejected" else ""
    return f'<span title="{escape(title)}" style="{style}">{escape(text)}</span>'


def _prob(value: float | None) -> str:
    return "" if value is None else f", target probability {value:.3g}"


def _figures(summary: str) -> str:
    return f'<div style="{_NOTE}">{escape(summary)}</div>'


def _legend() -> str:
    words = " ".join(f'<span style="{style}">{name}</span>' for name, style in _STYLES.items())
    return f'<div style="{_NOTE}">{words}</div>'


def runs_html(rows: Iterable[Any], summary: str) -> str:
    """Stored runs as a table."""
    names = ("run", "when (UTC)", "status", "target", "method", "tok/s", "acceptance", "prompt")
    head = "".join(f"<th>{name}</th>" for name in names)
    lines = []
    for row in rows:
        speed, accepted = row.metrics.get("tokens_per_second"), row.metrics.get("draft_acceptance_rate")
        cells = (
            row.run_id,
            row.started_at[:16].replace("T", " "),
            row.status,
            row.target,
            row.method or "none",
            "n/a" if speed is None else f"{speed:.3g}",
            "n/a" if accepted is None else f"{accepted:.1%}",
            row.prompt[:80],
        )
        lines.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    return f"<div>{_figures(summary)}<table><tr>{head}</tr>{''.join(lines)}</table></div>"


def export_html(
    files: Mapping[str, str], losses: Iterable[tuple[str, str, str]], command: str, notes: Iterable[str] = ()
) -> str:
    """An export's files, folded away but for the first, under what they could not say.

    Args:
        losses: (level, fields, reason) each. notes: what to know before all else.
    """
    known = "".join(f"<div>{escape(note)}</div>" for note in notes)
    said = "".join(f"<li>{escape(field)} ({escape(level)}): {escape(reason)}</li>" for level, field, reason in losses)
    parts = [
        f"<details{' open' if i == 0 else ''}><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"
        for i, (name, text) in enumerate(files.items())
    ]
    return f"<div>{known}<code>{escape(command)}</code><ul>{said}</ul>{''.join(parts)}</div>"
