"""The catalogue as HTML: this machine's models by tokenizer, and the public pairs with what is known of them here."""

from typing import TYPE_CHECKING

from markupsafe import Markup

from playground import catalogue
from playground.catalogue import Group, KnownPair
from playground.doctor.facts import Facts
from playground.doctor.findings import Size, shown
from playground.settings import Settings
from playground.ui.i18n import tr
from playground.ui.render import esc, three
from playground.ui.sentences import said_html

if TYPE_CHECKING:
    from storage.store import Store

RECENT = 200


def catalogue_html(settings: Settings, store: "Store") -> str:
    found = catalogue.all_models(settings)
    known, error = catalogue.checked_pairs(settings)
    groups = Markup("").join(_group(group) for group in catalogue.groups(found))
    problem = (
        Markup("")
        if error is None
        else Markup('<p class="p-hint" role="alert">{}</p>').format(said_html(error.message, error.hint))
    )
    measured = _measured(store)
    order = {pair.family: place for place, pair in reversed(list(enumerate(known)))}
    known = sorted(known, key=lambda pair: order[pair.family])
    families = {id(pair): tuple(p for p in known if p.family == pair.family) for pair in known}
    rows = Markup("").join(_known(pair, families[id(pair)], found, measured) for pair in known)
    parts = Markup('<section><h4>{}</h4><div class="p-groups">{}</div></section>').format(tr("pairs.groups"), groups)
    parts += Markup(
        '<section class="p-scroll"><h4>{}</h4><p class="p-hint">{}</p>{}'
        '<table class="p-known"><tbody>{}</tbody></table></section>'
    ).format(tr("pairs.known"), tr("pairs.known.help"), problem, rows)
    return str(Markup('<div class="db-pairs">{}</div>').format(parts))


def _group(group: Group) -> Markup:
    head = tr("pairs.group", tokens=shown(group.tokens)) if group.fingerprint else tr("pairs.group.none")
    mark = Markup("<code>{}</code>").format(group.fingerprint) if group.fingerprint else Markup("")
    members = Markup("").join(_member(member) for member in group.members)
    return Markup('<div class="p-group"><header>{} {}</header><ul>{}</ul></div>').format(head, mark, members)


def _member(model: Facts) -> Markup:
    about = " · ".join(filter(None, (model.precision, str(Size(model.size)) if model.size else "")))
    problem = (
        Markup('<small class="p-error">{}</small>').format(said_html(model.problem)) if model.problem else Markup("")
    )
    return Markup("<li><b>{}</b> <span>{}</span>{}</li>").format(esc(model.name), esc(about), problem)


def _measured(store: "Store") -> list[tuple[str, str, float]]:
    """(target, draft, speed-up) of recent comparisons with a draft model, the newest first."""
    rows = store.runs(arm="speculative", limit=RECENT).rows
    speedups = ((row, row.metrics.get("speedup")) for row in rows)
    return [(row.target, row.draft_model, s) for row, s in speedups if row.draft_model and s]


def _known(
    pair: KnownPair, family: tuple[KnownPair, ...], found: list[Facts], measured: list[tuple[str, str, float]]
) -> Markup:
    here = [catalogue.on_machine(name, found) for name in (pair.target, pair.draft) if name]
    speedup = next(
        (
            s
            for t, d, s in measured
            if pair.draft and catalogue.same_model(t, pair.target) and catalogue.same_model(d, pair.draft)
        ),
        None,
    )
    if speedup is not None:
        status = Markup('<span class="p-chip p-ok">{}</span>').format(
            tr("pairs.status.measured", speedup=three(speedup))
        )
    elif all(here):
        status = Markup('<span class="p-chip p-warning">{}</span>').format(tr("pairs.status.here"))
    else:
        status = Markup('<span class="p-chip p-note">{}</span>').format(tr("pairs.status.untested"))
    draft = esc(pair.draft) if pair.draft else tr("pairs.own_layers")
    note = Markup("<small>{}</small>").format(esc(pair.note)) if pair.note else Markup("")
    head = Markup("")
    if pair is family[0]:  # a family's name stands once, beside all of its pairs
        head = Markup('<th scope="rowgroup" rowspan="{}">{}</th>').format(len(family), esc(pair.family))
    return Markup("<tr>{}<td>{}</td><td>{}{}</td><td>{}</td><td>{}</td></tr>").format(
        head, esc(pair.target), draft, note, esc(pair.method), status
    )
