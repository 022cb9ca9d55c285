"""What transfers wrote at a provider. What a failed transfer sent may arrive late, so it is watched for a
day."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from providers.wire.endpoint import EndpointKey
from registry_app.clock import fetch_now
from registry_app.models import RecordSet, Transfer, TransferItem

_SENT = (
    Transfer.Status.SENDING,
    Transfer.Status.SENT,
    Transfer.Status.VERIFIED,
    Transfer.Status.FAILED,
    Transfer.Status.ROLLED_BACK,
    Transfer.Status.NEEDS_OPERATOR,
)
# An undo that is over, or waits for an operator, has given back what was verified of it.
_GAVE_BACK = (Transfer.Status.VERIFIED, Transfer.Status.FAILED, Transfer.Status.NEEDS_OPERATOR)
_RUNNING = (Transfer.Status.SENDING, Transfer.Status.SENT)
WATCHED_FOR = timedelta(hours=24)
_MOST_DUE = 500


@dataclass(frozen=True)
class VerifiedItem:
    """One record set that a transfer moved, and its new owner id ("" where the transfer set none)."""

    key: EndpointKey
    transfer_id: int
    source_owner_id: str
    target_owner_id: str


def touched_since(provider_id: int, since: datetime | None) -> dict[EndpointKey, int]:
    """The record sets that transfers may have written since then, with the last transfer of each."""
    rows = (
        _items_sent_since(provider_id, since)
        .order_by("transfer_id", "pk")
        .values_list("name", "record_type", "set_identifier", "transfer_id")
    )
    return {EndpointKey(name, kind, identifier): pk for name, kind, identifier, pk in rows.iterator()}


def count_claims_removed_since(provider_id: int, since: datetime | None) -> int:
    """How many claims transfers may have removed or rewritten since then: the targets at their places that
    were not to stay."""
    rows = _items_sent_since(provider_id, since).order_by().values_list("before", "after")
    return sum(len(_targets(before) - _targets(after)) for before, after in rows.iterator())


def verified_since(provider_id: int, since: datetime) -> list[VerifiedItem]:
    """The last verified item of each record set since then.

    A transfer that syncs before it ends counts as the last of all: what it just wrote is wanted, and
    must not become a finding about the transfer before it.
    """
    is_running = Q(transfer__finished_at__isnull=True, transfer__status__in=_RUNNING)
    rows = (
        TransferItem.objects.filter(is_running | Q(transfer__finished_at__gte=since))
        .filter(transfer__provider_id=provider_id, status=TransferItem.Status.VERIFIED)
        # The two databases sort NULL differently.
        .order_by(F("transfer__finished_at").asc(nulls_last=True), "pk")
        .values_list(
            "name",
            "record_type",
            "set_identifier",
            "transfer_id",
            "owner_before",
            "transfer__target_owner__owner_id",
        )
    )
    latest: dict[EndpointKey, VerifiedItem] = {}
    for name, kind, identifier, transfer_id, source, target in rows.iterator():
        key = EndpointKey(name, kind, identifier)
        latest[key] = VerifiedItem(key, transfer_id, source, target or "")
    return list(latest.values())


def find_left_to_undo(original: Transfer) -> QuerySet[TransferItem]:
    """What a transfer wrote and no undo of it has given back yet."""
    verified = original.items.filter(status=TransferItem.Status.VERIFIED)
    undos = list(
        Transfer.objects.filter(undo_of=original, status__in=_GAVE_BACK).values_list("pk", flat=True)
    )
    if not undos:
        return verified  # the usual case: nothing has to be looked up for each of them
    given_back = TransferItem.objects.filter(
        transfer__in=undos,
        status=TransferItem.Status.VERIFIED,
        name=OuterRef("name"),
        record_type=OuterRef("record_type"),
        set_identifier=OuterRef("set_identifier"),
    )
    return verified.filter(~Exists(given_back))


def is_given_back(original: Transfer) -> bool:
    """Whether nothing of a transfer is left to undo. Record sets that are gone do not count."""
    left = find_left_to_undo(original)
    if original.kind == Transfer.Kind.CLEAN_UP:
        return not left.exists()
    present = RecordSet.objects.filter(
        provider=original.provider_id,
        missing_since__isnull=True,
        name=OuterRef("name"),
        record_type=OuterRef("record_type"),
        set_identifier=OuterRef("set_identifier"),
    )
    return not left.filter(Exists(present)).exists()


def _items_sent_since(provider_id: int, since: datetime | None) -> QuerySet[TransferItem]:
    transfers = Q(transfer__provider_id=provider_id, transfer__status__in=_SENT)
    transfers &= Q(transfer__started_at__isnull=False)
    if since is not None:
        # Finished after, or not finished: what was read in between may or may not show it.
        is_recent = Q(transfer__finished_at__isnull=True) | Q(transfer__finished_at__gte=since)
        # What a failed one sent may still arrive, and is not somebody else's change then.
        transfers &= is_recent | Q(
            transfer__status=Transfer.Status.FAILED, transfer__watch_until__gt=fetch_now()
        )
    return TransferItem.objects.filter(transfers)


def _targets(endpoints: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {
        (str(each.get("store", "")), str(each["dnsName"]), str(each.get("setIdentifier", "")), target)
        for each in endpoints
        for target in each["targets"]
    }


def find_watched(now: datetime) -> QuerySet[Transfer]:
    """Failed transfers whose provider had a good sync since they were last checked for late arrivals."""
    watched = Transfer.objects.filter(status=Transfer.Status.FAILED, watch_until__gt=now)
    due = watched.filter(
        provider__is_enabled=True, provider__accepted_at__gt=Coalesce(F("watched_at"), F("finished_at"))
    )
    return due.select_related("provider", "source_owner", "target_owner")


def providers_with_late_arrivals(now: datetime) -> list[int]:
    """The providers whose failed transfers are due for a check for late arrivals."""
    return list(find_watched(now).order_by().values_list("provider_id", flat=True).distinct()[:_MOST_DUE])


def compute_watch_until(transfer: Transfer, now: datetime) -> datetime:
    """Until when a transfer that fails now is checked for late arrivals, counted from its first failure."""
    return transfer.watch_until or now + WATCHED_FOR
