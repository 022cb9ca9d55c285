"""Looser approval policies that wait for confirmation, and who may confirm them."""

from django.contrib.auth import get_user_model
from django.db.models import Prefetch

from providers.http.address import parse_provider_url
from registry_app.actor import Actor
from registry_app.models import PROVIDER_SECRETS, ApprovalChange, AuditEntry, Provider
from registry_app.queries.access import may_administer
from registry_app.queries.actor import fetch_account_makers, is_account_settled, people_of
from registry_app.queries.approval_policy import is_looser, pick_strictest
from registry_app.queries.provider import compute_place, find_namesakes

_OTHER = Provider.ApprovalPolicy.OTHER_PERSON
# Rows come with what is pending of them as `pending_approval_changes`, a list of none or one.
PENDING_APPROVAL_CHANGES = Prefetch(
    "approval_changes",
    queryset=ApprovalChange.objects.filter(status=ApprovalChange.Status.PENDING),
    to_attr="pending_approval_changes",
)


def find_pending_change(provider_id: int) -> ApprovalChange | None:
    """The looser policy of a provider that waits for confirmation."""
    rows = ApprovalChange.objects.select_related("provider").defer(*PROVIDER_SECRETS)
    return rows.filter(provider=provider_id, status=ApprovalChange.Status.PENDING).first()


def has_other_administrator(actor: Actor) -> bool:
    """Whether there is an administrator beside the people behind `actor` who could confirm."""
    others = get_user_model().objects.filter(is_superuser=True, is_active=True).exclude(pk__in=actor.people)
    return others.exists()


def find_reason_not_to_confirm(actor: Actor, change: ApprovalChange) -> str:
    """Why `actor` cannot be the second administrator, in one sentence; empty if they can."""
    askers = people_of(change.asked_by_id, change.asked_by_issuer_id)
    if not may_administer(actor) or actor.user_id is None or not actor.people:
        return f"{actor.name or 'Nobody'} is no administrator."
    if not askers.isdisjoint(actor.people):
        return "You asked for this looser approval policy, so another administrator must confirm it."
    if not all(is_account_settled(person) for person in actor.people):
        return "Somebody else created or changed your account a short while ago and could use it."
    if not fetch_account_makers(askers).isdisjoint(actor.people):
        return "You created the account that asked for it, or set its password, a short while ago."
    return ""


def find_stricter_namesake(url: str, policy: str, *, besides: int | None = None) -> tuple[str, str] | None:
    """The provider at this very address that asks, or asked before it was deleted, for more than `policy`,
    and its policy; None if there is none. A deleted one asked for another person at least."""
    for other in find_namesakes(url, besides=besides):
        if is_looser(other.approval_policy, policy):
            return other.name, other.approval_policy
    deleted = _list_deleted_namesakes(url, besides)
    policies = dict(Provider.with_deleted.filter(pk__in=list(deleted)).values_list("pk", "approval_policy"))
    for pk, name in deleted.items():
        asked = pick_strictest(_OTHER, policies.get(pk, _OTHER))
        if is_looser(asked, policy):
            return name, asked
    return None


def _list_deleted_namesakes(url: str, besides: int | None) -> dict[int, str]:
    """By primary key, what the audit trail calls those that were at this address."""
    entries = AuditEntry.objects.filter(
        action__in=("provider.registered", "provider.changed"), after__url__startswith=_begin_of(url)
    ).exclude(object_id=str(besides or ""))
    place = compute_place(url)
    labels = {
        int(object_id): str(label)
        for object_id, label, spelled in entries.values_list("object_id", "object_label", "after__url")
        if object_id.isdigit() and compute_place(str(spelled)) == place
    }
    existing = set(Provider.objects.filter(pk__in=list(labels)[:1000]).values_list("pk", flat=True))
    return {pk: label for pk, label in list(labels.items())[:1000] if pk not in existing}


def _begin_of(url: str) -> str:
    """What every spelling of an address begins with, as it is stored."""
    address = parse_provider_url(url)
    return f"{address.scheme}://{address.host.removesuffix('.')}"
