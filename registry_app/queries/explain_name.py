"""Everything that is known of one name, at every provider: what is there and why it is whose it is, what
claims it, who wants it, what holds it, and what happened to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.errors import InvalidRequest
from registry_app.models import (
    Claim,
    Contention,
    DesiredEndpoint,
    GuardDecision,
    HeldDelete,
    Provider,
    RecordEvent,
    RecordSet,
)
from registry_app.queries.contention import list_contention
from registry_app.queries.freeze import Stops, fetch_active_freezes
from registry_app.queries.guard_decision import list_guard_decisions, list_held_deletes
from registry_app.queries.guard_endpoint import list_desired_endpoints
from registry_app.queries.named_row import read_name
from registry_app.queries.past_record_set import PastFilter, PastRecordSet, iterate_record_sets_at
from registry_app.queries.readable import readable
from registry_app.queries.record_set import RecordSetPage, fetch_record_set_page

# A name has few record sets, even with set identifiers; the lists have the rest.
MOST_RECORD_SETS = 20
MOST_ROWS = 50


@dataclass(frozen=True)
class NameAtProvider:
    """What one provider has at a name: its record sets, claims that belong to none of them, freezes and pins
    in one sentence each, and the history of what is there no more. `past` is what it had at the moment that
    was asked for, None where none was; `past_unknown` says why that is not known."""

    provider: Provider
    record_sets: Sequence[RecordSetPage]
    claims_alone: Sequence[Claim]
    freezes: Sequence[str]
    former: Sequence[RecordEvent]
    past: Sequence[PastRecordSet] | None = None
    past_unknown: str = ""


@dataclass(frozen=True)
class ExplainedName:
    """`name` is canonical. `providers` are those that have, or had, anything at it. Each list is bounded."""

    name: str
    providers: Sequence[NameAtProvider]
    wanted: Sequence[DesiredEndpoint]
    contention: Sequence[Contention]
    held_deletes: Sequence[HeldDelete]
    decisions: Sequence[GuardDecision]


def explain_name(actor: Actor, text: str, *, at: datetime | None = None) -> ExplainedName:
    """All of it, in a number of statements that depends on the number of providers with this name alone.
    Raises InvalidRequest. Database reads."""
    name = read_name(text)
    if not name or "\0" in name or len(name) > 253:
        raise InvalidRequest(
            "That is no DNS name.", now="Nothing was read.", fields={"name": ["Such as www.example.org."]}
        )
    return ExplainedName(
        name,
        [_explain_at(actor, provider, name, at) for provider in _find_providers(actor, name)],
        wanted=list(readable(actor, list_desired_endpoints()).filter(name=name)[:MOST_ROWS]),
        contention=list(readable(actor, list_contention()).filter(name=name)[:MOST_ROWS]),
        held_deletes=list(readable(actor, list_held_deletes()).filter(name=name)[:MOST_ROWS]),
        decisions=list(readable(actor, list_guard_decisions()).filter(name=name)[:MOST_ROWS]),
    )


def _find_providers(actor: Actor, name: str) -> list[Provider]:
    """Those that have or had anything at a name, in order of their names."""
    every = {row.pk: row for row in readable(actor, Provider.objects.all()).order_by("name")}
    # With the provider in front, as the indexes have it.
    sources = (
        readable(actor, RecordSet.objects.filter(provider__in=every, name=name)),
        readable(actor, Claim.objects.filter(provider__in=every, record_name=name)),
        readable(actor, RecordEvent.objects.filter(provider__in=every, name=name)),
    )
    found = {pk for rows in sources for pk in rows.order_by().values_list("provider", flat=True).distinct()}
    return [row for pk, row in every.items() if pk in found][:MOST_ROWS]


def _explain_at(actor: Actor, provider: Provider, name: str, at: datetime | None) -> NameAtProvider:
    rows = readable(actor, RecordSet.objects.filter(provider=provider, name=name)).select_related("owner")
    pages = [
        fetch_record_set_page(row)
        for row in rows.order_by("record_type", "set_identifier")[:MOST_RECORD_SETS]
    ]
    shown = {claim.pk for page in pages for claim in page.claims}
    claims = readable(actor, Claim.objects.filter(provider=provider, record_name=name))
    known = {(page.record_set.record_type, page.record_set.set_identifier) for page in pages}
    events = readable(actor, RecordEvent.objects.filter(provider=provider, name=name))[: MOST_ROWS * 2]
    now = fetch_now()
    past, past_unknown = _read_past(provider, name, at)
    return NameAtProvider(
        provider,
        pages,
        claims_alone=list(claims.exclude(pk__in=shown).select_related("owner")[:MOST_ROWS]),
        freezes=Stops(tuple(fetch_active_freezes(provider, now)), now).find_all(name),
        former=[each for each in events if (each.record_type, each.set_identifier) not in known],
        past=past,
        past_unknown=past_unknown,
    )


def _read_past(
    provider: Provider, name: str, at: datetime | None
) -> tuple[Sequence[PastRecordSet] | None, str]:
    if at is None:
        return None, ""
    try:
        return list(iterate_record_sets_at(provider, at, PastFilter(name=name))), ""
    except InvalidRequest as error:
        return None, error.happened
