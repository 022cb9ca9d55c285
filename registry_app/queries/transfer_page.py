"""Transfers as their pages show them."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Case, IntegerField, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, Length, Substr

from registry_app.actor import Actor
from registry_app.models import PROVIDER_SECRETS, Transfer, TransferItem, TransferStep

# A change set may be megabytes, and a transfer may have hundreds: a page shows how each begins.
SHOWN_CHARACTERS = 4_000
_MOST_ADDED = 200
_NEEDS_EYES = (TransferStep.Status.NEEDS_OPERATOR, TransferStep.Status.UNKNOWN)


def transfers_for_display() -> QuerySet[Transfer]:
    """Transfers with what a line about them needs, and without anything secret loaded."""
    return Transfer.objects.select_related("provider", "source_owner", "target_owner", "undo_of").defer(
        *PROVIDER_SECRETS
    )


def find_already_requested(actor: Actor, fingerprints: Mapping[int, str]) -> list[Transfer]:
    """Open transfers of exactly these plans by this very person: what a second click asks for again."""
    if actor.user_id is None or not fingerprints:
        return []
    return list(
        transfers_for_display().filter(
            requested_by=actor.user_id,
            provider__in=fingerprints.keys(),
            plan_fingerprint__in=fingerprints.values(),
            status__in=Transfer.OPEN_STATUSES,
        )
    )


def find_added(transfers: Sequence[Transfer]) -> tuple[int, list[dict[str, Any]]]:
    """How many record sets went along with those that were picked, and the first of them."""
    added = TransferItem.objects.filter(transfer__in=[row.pk for row in transfers], is_added=True)
    columns = ("transfer__public_id", "name", "record_type", "set_identifier")
    return added.count(), list(added.order_by("transfer", "ordinal").values(*columns)[:_MOST_ADDED])


def steps_for_display(transfer: Transfer) -> QuerySet[TransferStep]:
    """The steps of a transfer, those that need eyes first, without their long texts: how these begin
    (`sent_start`, `read_back_start`) and how long they are (`sent_length`, `read_back_length`)."""
    first = Case(When(status__in=_NEEDS_EYES, then=Value(0)), default=Value(1), output_field=IntegerField())
    read_back = Cast("read_back", TextField())
    rows = transfer.steps.defer("change_set", "read_back").prefetch_related("registry_profile")
    return rows.annotate(
        sent_start=Substr("change_set", 1, SHOWN_CHARACTERS),
        sent_length=Length("change_set"),
        read_back_start=Substr(read_back, 1, SHOWN_CHARACTERS),
        read_back_length=Length(read_back),
    ).order_by(first, "id")
