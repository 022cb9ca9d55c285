"""What is wrong with the instances behind the guard at a provider, as findings beside the snapshots."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet

from providers.wire.endpoint import EndpointKey
from registry_app.clock import fetch_now
from registry_app.models import (
    CLAIM_OF_ANOTHER,
    NO_OWNER,
    ContentionCheck,
    Finding,
    GuardDecision,
    GuardEndpoint,
    GuardRule,
    Owner,
    Provider,
    RecordEvent,
)
from registry_app.queries.guard_endpoint import fetch_covered_owners
from registry_app.reconcile.findings.draft import FindingDraft, Kind
from registry_app.reconcile.findings.guarded import (
    Overlap,
    draft_changed_outside,
    draft_duplicate_owner,
    draft_foreign_claim,
    find_outside_owner,
)
from registry_app.reconcile.store_findings import open_finding, resolve_findings

# ExternalDNS asks again in each loop: what it did not ask for a day is over.
_CLAIMS_SINCE = timedelta(days=1)
# What changed outside is told of for so long, and looked for so far back.
_TOLD_FOR = timedelta(days=7)
_LOOKED_BACK = timedelta(days=1)
_MOST_EVENTS = 1_000
_PASSING = (GuardEndpoint.Mode.OBSERVE, GuardEndpoint.Mode.ENFORCE)
_REFUSED = GuardDecision.Outcome.REFUSED


def note_instances(provider_id: int) -> None:
    """Open and resolve the findings about guard endpoints of a provider. Called any number of times."""
    provider = Provider.objects.filter(pk=provider_id).first()
    if provider is None:
        return
    now = fetch_now()
    _note(provider, Kind.FOREIGN_CLAIM, _draft_foreign_claims(provider, now), now)
    _note_changes_outside(provider, now)


def note_duplicate_owners(provider: Provider, overlaps: Mapping[str, Overlap]) -> None:
    """The owner ids whose instances want different things at the same names; all others are resolved."""
    drafts = (draft_duplicate_owner(owner_id, provider.name, each) for owner_id, each in overlaps.items())
    _note(provider, Kind.DUPLICATE_OWNER, drafts, fetch_now())


def _draft_foreign_claims(provider: Provider, now: datetime) -> Iterable[FindingDraft]:
    rows = GuardDecision.objects.filter(
        guard_endpoint__provider=provider,
        rule=GuardRule.CLAIM,
        reason__startswith=f"{CLAIM_OF_ANOTHER} ",
        last_at__gte=now - _CLAIMS_SINCE,
    ).exclude(reason__startswith=f"{CLAIM_OF_ANOTHER} {NO_OWNER},")
    found: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    fields = (
        "guard_endpoint__slug",
        "guard_endpoint__instance__owner__owner_id",
        "name",
        "reason",
        "outcome",
    )
    for slug, owner_id, *decision in rows.order_by("-last_at", "pk").values_list(*fields):
        found.setdefault((slug, owner_id), []).append((decision[0], decision[1], decision[2]))
    for (slug, owner_id), decisions in found.items():
        reasons = [(name, reason) for name, reason, _ in decisions]
        is_refused = decisions[0][2] == _REFUSED
        yield draft_foreign_claim(slug, owner_id, reasons, len(decisions), is_refused=is_refused)


def _note_changes_outside(provider: Provider, now: datetime) -> None:
    ContentionCheck.objects.get_or_create(provider=provider)
    covered = fetch_covered_owners(provider, _PASSING)
    check = ContentionCheck.objects.get(pk=provider.pk)
    events = _select_new_events(provider, check.events_seen, now)
    last = events.aggregate(last=Max("pk"))["last"]
    outside = _list_outside(events) if covered else []
    if len(outside) == _MOST_EVENTS:
        last = outside[-1][0]  # the rest is for the next time
    for _, at, kind, before, after, *key in outside:
        owner_id = find_outside_owner(kind, before, after, covered, at)
        if owner_id:
            _open(provider, draft_changed_outside(EndpointKey(*key), kind, owner_id, provider.name, at), now)
    if last:
        ContentionCheck.objects.filter(pk=provider.pk).update(events_seen=last)
    _resolve_told(provider, now, is_guarded=provider.guard_endpoints.exists())


def _select_new_events(provider: Provider, seen: int, now: datetime) -> QuerySet[RecordEvent]:
    seen_at = RecordEvent.objects.filter(pk=seen).values_list("at", flat=True).first()
    since = max(filter(None, (seen_at, now - _LOOKED_BACK)))
    return RecordEvent.objects.filter(provider=provider, at__gte=since, pk__gt=seen)


def _list_outside(events: QuerySet[RecordEvent]) -> list[Any]:
    rows = events.filter(guard_endpoint="", transfer_id__isnull=True, loop_run_id__isnull=True)
    rows = rows.exclude(kind=RecordEvent.Kind.PURGED).order_by("pk")
    fields = ("pk", "at", "kind", "before", "after", "name", "record_type", "set_identifier")
    return list(rows.values_list(*fields)[:_MOST_EVENTS])


def _resolve_told(provider: Provider, now: datetime, *, is_guarded: bool) -> None:
    rows = _unresolved(provider, Kind.CHANGED_OUTSIDE)
    if is_guarded:
        rows = rows.filter(last_seen_at__lt=now - _TOLD_FOR)
    with transaction.atomic():
        resolve_findings(list(rows.values_list("pk", flat=True)), now)


def _note(provider: Provider, kind: Kind, drafts: Iterable[FindingDraft], now: datetime) -> None:
    """Make the unresolved findings of a kind these, and touch nothing where they are."""
    wanted = {draft.fingerprint(provider.pk): draft for draft in drafts}
    rows = _unresolved(provider, kind).values_list("pk", "fingerprint", "explanation")
    known = {bytes(fingerprint): (pk, explanation) for pk, fingerprint, explanation in rows}
    with transaction.atomic():
        resolve_findings([pk for fingerprint, (pk, _) in known.items() if fingerprint not in wanted], now)
    for fingerprint, draft in wanted.items():
        if known.get(fingerprint, (0, ""))[1] != draft.explanation:
            _open(provider, draft, now)


def _open(provider: Provider, draft: FindingDraft, now: datetime) -> None:
    owner = Owner.objects.filter(owner_id=draft.owner_id).values_list("owner_id", "pk")
    try:
        with transaction.atomic():
            open_finding(provider.pk, draft, now, dict(owner))
    except IntegrityError:
        return  # somebody else opened it at this moment


def _unresolved(provider: Provider, kind: Kind) -> QuerySet[Finding]:
    rows = Finding.objects.filter(provider=provider, kind=kind)
    return rows.exclude(state=Finding.State.RESOLVED).order_by("pk")
