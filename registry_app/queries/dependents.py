"""What still needs a row of configuration, and so keeps it from being deleted. Finished history does not."""

from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from registry_app.clock import fetch_now
from registry_app.models import (
    ApiToken,
    Claim,
    Cluster,
    GuardEndpoint,
    HandOver,
    Instance,
    Loop,
    LoopRun,
    Owner,
    Provider,
    RecordSet,
    RegistryProfile,
    Transfer,
)

_SHOWN = 5
Row = TypeVar("Row", bound=Model)


def find_provider_dependents(provider: Provider) -> list[str]:
    """One sentence for each thing that has to end, or change, before the provider can be deleted."""
    return [
        *_describe_transfers(Transfer.objects.filter(provider=provider)),
        *_describe_hand_overs(HandOver.objects.filter(provider=provider)),
        *_describe_runs(LoopRun.objects.filter(provider=provider)),
        *_describe("loop", Loop.objects.filter(provider=provider), "Delete it first."),
        *_describe("instance", provider.instances.all(), "Choose another provider there, or delete it."),
        *_describe("guard endpoint", provider.guard_endpoints.all(), "Delete it first."),
        *_describe(
            "registry profile", provider.registry_profiles.all(), "Name another provider there, or delete it."
        ),
    ]


def find_owner_dependents(owner: Owner) -> list[str]:
    """As `find_provider_dependents`. Record sets and claims in the mirror count: the next sync would discover
    the owner again."""
    tokens = ApiToken.objects.filter(owners=owner, revoked_at=None)
    alive = tokens.filter(Q(expires_at=None) | Q(expires_at__gt=fetch_now()))
    return [
        *_count("record set", RecordSet.objects.filter(owner=owner), "Transfer or release them first."),
        *_count("claim", Claim.objects.filter(owner=owner), "Transfer, release or clean them up first."),
        *_describe_transfers(Transfer.objects.filter(Q(source_owner=owner) | Q(target_owner=owner))),
        *_describe_hand_overs(HandOver.objects.filter(Q(from_owner=owner) | Q(to_owner=owner))),
        *_describe_runs(LoopRun.objects.filter(owner=owner)),
        *_describe("loop", Loop.objects.filter(owner=owner), "Delete it first."),
        *_describe("guard endpoint", GuardEndpoint.objects.filter(instance__owner=owner), "Delete it first."),
        *_describe("API token", alive, "It is restricted to this owner. Revoke it first."),
    ]


def find_profile_dependents(profile: RegistryProfile) -> list[str]:
    """As `find_provider_dependents`."""
    steps = Q(steps__registry_profile=profile)
    return [
        *_describe("instance", profile.instances.all(), "Choose another registry profile there."),
        *_count("claim", Claim.objects.filter(registry_profile=profile), "This profile reads them."),
        *_describe_rows(profile),
        *_describe_transfers(Transfer.objects.filter(steps).distinct()),
        *_describe_runs(LoopRun.objects.filter(steps).distinct()),
    ]


def find_cluster_dependents(cluster: Cluster) -> list[str]:
    """As `find_provider_dependents`."""
    return [
        *_describe("instance", cluster.instances.all(), "Choose another cluster there, or delete it."),
        *_describe(
            "registry profile", cluster.registry_profiles.all(), "Choose another cluster there, or delete it."
        ),
    ]


def find_instance_dependents(instance: Instance) -> list[str]:
    """As `find_provider_dependents`. Deleting it cancels approvals that depend on it, as any change does;
    what is being sent already is finished first."""
    sending = (Transfer.Status.SENDING, Transfer.Status.SENT, Transfer.Status.NEEDS_OPERATOR)
    transfers = Transfer.objects.filter(target_owner=instance.owner_id, status__in=sending)
    hand_overs = HandOver.objects.filter(Q(from_owner=instance.owner_id) | Q(to_owner=instance.owner_id))
    if instance.provider_id is not None:
        transfers = transfers.filter(provider=instance.provider_id)
        hand_overs = hand_overs.filter(provider=instance.provider_id)
    return [
        *_describe("guard endpoint", instance.guard_endpoints.all(), "Delete it first."),
        *_describe_transfers(transfers),
        *_describe_hand_overs(hand_overs),
    ]


def find_loop_dependents(loop: Loop) -> list[str]:
    """As `find_provider_dependents`."""
    return _describe_runs(LoopRun.objects.filter(loop=loop))


def find_guard_dependents(row: GuardEndpoint) -> list[str]:
    """As `find_provider_dependents`. What the guard learned ends with its endpoint."""
    owner = Q(from_owner=row.instance.owner_id) | Q(to_owner=row.instance.owner_id)
    profile = row.instance.registry_profile
    return [
        *_describe_hand_overs(HandOver.objects.filter(owner, provider=row.provider_id)),
        *(
            [f"Its guard keeps the claims of {row.instance}: choose another registry profile there."]
            if profile is not None and profile.registry.is_behind_guard
            else []
        ),
    ]


def _describe_rows(profile: RegistryProfile) -> list[str]:
    number = profile.database_claims.count()
    if not number:
        return []
    return [f"{number} of its claims are in the database: re-format, release or clean them up first."]


def _describe_transfers(transfers: "QuerySet[Transfer]") -> list[str]:
    unfinished = transfers.filter(status__in=Transfer.OPEN_STATUSES)
    return _describe("unfinished transfer", unfinished, "Finish or cancel it first.")


def _describe_hand_overs(hand_overs: "QuerySet[HandOver]") -> list[str]:
    unfinished = hand_overs.filter(status__in=HandOver.UNFINISHED_STATUSES)
    return _describe("unfinished hand-over", unfinished, "Cancel it first, or wait until it ends.")


def _describe_runs(runs: "QuerySet[LoopRun]") -> list[str]:
    running = runs.filter(status=LoopRun.Status.RUNNING)
    return _describe("unfinished loop run", running, "Wait until it ends.")


def _describe(noun: str, rows: "QuerySet[Row]", todo: str) -> list[str]:
    """A sentence that names the first few of `rows`, if there are any."""
    found = [str(row) for row in rows[: _SHOWN + 1]]
    if not found:
        return []
    plural = "s" if len(found) > 1 else ""
    more = " and more" if len(found) > _SHOWN else ""
    return [f"Used by the {noun}{plural} {', '.join(found[:_SHOWN])}{more}. {todo}"]


def _count(noun: str, rows: "QuerySet[RecordSet] | QuerySet[Claim]", todo: str) -> list[str]:
    number = rows.count()
    plural = "s" if number != 1 else ""
    return [f"Used by {number} {noun}{plural} in the mirror. {todo}"] if number else []
