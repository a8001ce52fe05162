"""The field's terms, one line each, in both languages: the page's glossary. Words are vLLM's own."""

from markupsafe import Markup

from playground.ui.i18n import tr

TERMS = (
    "target_model",
    "draft_model",
    "draft_token",
    "step",
    "prefill",
    "accepted",
    "rejected",
    "recovered",
    "bonus",
    "num_speculative_tokens",
    "acceptance_rate",
    "mean_acceptance_length",
    "tokens_per_step",
    "survival",
    "conditional_acceptance",
    "ttft",
    "tpot",
    "ngram",
    "speculative_sampling",
    "numeric_tie",
)


def glossary() -> str:
    """The glossary as an HTML definition list, one `id="term-..."` each for links."""
    items = Markup("").join(
        Markup('<div id="term-{}"><dt>{}</dt><dd>{}</dd></div>').format(
            name, tr(f"term.{name}"), tr(f"term.{name}.text")
        )
        for name in TERMS
    )
    return str(Markup('<dl class="db-glossary">{}</dl>').format(items))


def term(name: str) -> str:
    """One term with its explanation on hover and focus; `name` is one of `TERMS`."""
    return str(
        Markup('<span class="db-term"><span class="db-number" tabindex="0">{}</span>{}</span>').format(
            tr(f"term.{name}"),
            Markup('<span class="db-hint" role="tooltip"><span>{}</span></span>').format(tr(f"term.{name}.text")),
        )
    )
