"""Explain a name: what is there, whose it is and why, who wants it, what holds it, what happened to it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Model

from registry_app.management.dnsadmin_command import DnsadminCommand, ExitCode, actor_named, read_moment
from registry_app.models import Claim, RecordEvent
from registry_app.queries.explain_name import ExplainedName, NameAtProvider, explain_name
from registry_app.queries.record_set import RecordSetPage

_MOST_EVENTS = 10
_Row = Mapping[str, Any]


class Command(DnsadminCommand):
    help = (
        "Explain a name at every provider: its record sets, whose they are and why, who wants them, what "
        "holds them, and what happened to them. Reads only. Exit code: 0 done, 1 error."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Such as www.example.org.")
        parser.add_argument("--at", metavar="MOMENT", help="Also what was there then: 2026-11-22T10:00Z.")
        parser.add_argument("--as", dest="person", required=True, metavar="USER", help="Whose rights apply.")

    def run(self, options: dict[str, Any]) -> ExitCode:
        at = read_moment(options["at"], "--at") if options["at"] else None
        found = explain_name(actor_named(options["person"]), options["name"], at=at)
        self.report(options, _build_document(found), _format(found))
        return ExitCode.OK


def _format(found: ExplainedName) -> Iterator[str]:
    yield found.name
    if not found.providers:
        yield "  No provider has or had anything there."
    for each in found.providers:
        yield f"at {each.provider.name}:"
        yield from _format_provider(each)
    for wish in found.wanted:
        owner = wish.guard_endpoint.instance.owner.owner_id
        yield f"wanted by {owner} ({wish.guard_endpoint.slug}): {wish.record_type} {' '.join(wish.targets)}"
    for contention in found.contention:
        yield f"contention at {contention.provider.name}: {contention.get_kind_display().lower()}"
    for held in found.held_deletes:
        yield f"delete asked for by {held.guard_endpoint.slug}: {held.get_status_display().lower()}"
    for decision in found.decisions:
        yield f"the guard, for {decision.guard_endpoint.slug}: {decision.get_outcome_display().lower()}"


def _format_provider(each: NameAtProvider) -> Iterator[str]:
    for page in each.record_sets:
        yield from (f"  {line}" for line in _format_record_set(page))
    yield from (f"  no record set has the claim {_format_claim(claim)}" for claim in each.claims_alone)
    yield from (f"  {sentence}" for sentence in each.freezes)
    yield from (f"  gone: {_format_event(event)}" for event in each.former[:_MOST_EVENTS])
    if each.past_unknown:
        yield f"  then: not known. {each.past_unknown}"
    for past in each.past or ():
        targets, owner = " ".join(past.values["targets"]), past.values["owner"] or past.values["state"]
        yield f"  then: {past.key.record_type} {targets}, {owner}"
    if each.past is not None and not each.past:
        yield "  then: nothing was there"


def _format_record_set(page: RecordSetPage) -> Iterator[str]:
    row = page.record_set
    identifier = f" ({row.set_identifier})" if row.set_identifier else ""
    yield f"{row.record_type}{identifier} {' '.join(row.targets)}"
    yield f"  {page.why}"
    yield from (f"  claim {_format_claim(claim)}" for claim in page.claims)
    yield from (f"  finding: {finding.get_kind_display()}" for finding in page.findings)
    yield from (
        f"  transfer {item.transfer.pk}: {item.transfer.get_status_display()}" for item in page.transfers
    )
    yield from (f"  {_format_event(event)}" for event in page.events[:_MOST_EVENTS])


def _format_claim(claim: Claim) -> str:
    owner = claim.owner.owner_id if claim.owner else "nobody"
    return f"{claim.txt_name or 'outside the zone'}: {owner} ({claim.get_verdict_display().lower()})"


def _format_event(event: RecordEvent) -> str:
    by = event.guard_endpoint or event.writer
    what = f"{event.record_type} {event.get_kind_display().lower()}"
    return f"{event.at.isoformat(timespec='seconds')} {what}{f' by {by}' if by else ''}"


def _build_document(found: ExplainedName) -> _Row:
    return {
        "name": found.name,
        "providers": [_build_provider(each) for each in found.providers],
        "wanted": [
            {
                "owner": wish.guard_endpoint.instance.owner.owner_id,
                "guard_endpoint": wish.guard_endpoint.slug,
                **_pick(wish, "record_type", "set_identifier", "targets", "changed_at"),
            }
            for wish in found.wanted
        ],
        "contention": [
            {"provider": each.provider.name, **_pick(each, "kind", "set_identifier", "record_types", "since")}
            for each in found.contention
        ],
        "held_deletes": _build_guarded(found.held_deletes, "status", "record_types", "reason", "asked_at"),
        "decisions": _build_guarded(found.decisions, "rule", "outcome", "reason", "count", "last_at"),
    }


def _build_provider(each: NameAtProvider) -> _Row:
    past = None if each.past is None else [{**one.key._asdict(), **one.values} for one in each.past]
    return {
        "provider": each.provider.name,
        "record_sets": [_build_record_set(page) for page in each.record_sets],
        "claims_alone": [_build_claim(claim) for claim in each.claims_alone],
        "freezes": each.freezes,
        "former": [_build_event(event) for event in each.former],
        "then": past,
        "then_unknown": each.past_unknown,
    }


def _build_record_set(page: RecordSetPage) -> _Row:
    row = page.record_set
    return {
        **_pick(row, "id", "record_type", "set_identifier", "targets", "ttl", "state", "missing_since"),
        "owner": row.owner.owner_id if row.owner else None,
        "why": page.why,
        "warnings": page.warnings,
        "claims": [_build_claim(claim) for claim in page.claims],
        "findings": [_pick(finding, "id", "kind", "state") for finding in page.findings],
        "transfers": [{"id": item.transfer.pk, "status": item.transfer.status} for item in page.transfers],
        "history": [_build_event(event) for event in page.events],
    }


def _build_claim(claim: Claim) -> _Row:
    owner = claim.owner.owner_id if claim.owner else None
    return {**_pick(claim, "txt_name", "record_type", "raw", "verdict", "problem"), "owner": owner}


def _build_event(event: RecordEvent) -> _Row:
    return _pick(
        event, "at", "record_type", "set_identifier", "kind", "before", "after", "writer", "guard_endpoint"
    )


def _build_guarded(rows: Iterable[Any], *names: str) -> list[_Row]:
    return [{"guard_endpoint": row.guard_endpoint.slug, **_pick(row, *names)} for row in rows]


def _pick(row: Model, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
