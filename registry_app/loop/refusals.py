"""What speaks against running a loop, before anything is read or sent."""

from registry_app.errors import RefusedBySafety
from registry_app.loop.loop_request import LoopRequest
from registry_app.mirror.owner_registry import describe_disagreement, list_registry_profiles
from registry_app.mirror.registries import STORE_KINDS
from registry_app.models import Owner, Provider, RegistryProfile
from registry_app.queries.instance import find_cluster_instance, list_instances_at
from registry_app.queries.send_gate import find_send_stops


def raise_if_unplannable(request: LoopRequest) -> None:
    """Raise RefusedBySafety where not even a plan can be made. `request` holds the rows as they are now."""
    for refusal in (_find_owner_refusal(request), _find_provider_refusal(request.provider)):
        if refusal is not None:
            raise refusal


def find_sending_refusals(request: LoopRequest) -> list[RefusedBySafety]:
    """Why the plan may be shown, and not sent: somebody else's instance, a freeze, a restore."""
    found: list[RefusedBySafety] = []
    instance = find_cluster_instance(request.owner, request.provider)
    if instance is not None:
        found.append(
            RefusedBySafety(
                f"{request.owner.owner_id} runs in the cluster {instance.cluster}: its own instance "
                "there and dnsadmin would undo each other's changes.",
                now="Nothing was sent.",
                todo="Use an owner id that no other instance uses, or delete the instance in that cluster "
                "once it no longer runs.",
                code="owner_runs_in_a_cluster",
            )
        )
    return [*found, *find_stop_refusals(request.provider)]


def find_stop_refusals(provider: Provider) -> list[RefusedBySafety]:
    """One for each reason why nothing may be sent to the provider at this moment."""
    return [
        RefusedBySafety(stop.happened, now="Nothing more is sent.", todo=stop.todo, code=stop.code)
        for stop in find_send_stops(provider)
    ]


def _find_owner_refusal(request: LoopRequest) -> RefusedBySafety | None:
    owner, provider = request.owner, request.provider
    if owner.status != Owner.Status.REGISTERED:
        return RefusedBySafety(
            f"{owner.owner_id} is not registered.",
            todo="Register the owner first.",
            code="owner_not_registered",
        )
    disagreement = describe_disagreement(owner, provider, list_instances_at(owner, provider))
    if disagreement:
        return RefusedBySafety(
            disagreement, todo="Give them the same registry profile.", code="instances_disagree"
        )
    for profile in list_registry_profiles(owner, provider):
        if not _is_read_at(profile, provider):
            return RefusedBySafety(
                f"{owner.owner_id} uses the registry profile {profile.name}, "
                f"which {provider.name} does not have.",
                todo=f"Its claims could not be read: add {provider.name} to the profile's providers.",
                code="profile_not_here",
            )
    return None


def _is_read_at(profile: RegistryProfile, provider: Provider) -> bool:
    named = set(profile.providers.values_list("pk", flat=True))
    needs_name = profile.kind in STORE_KINDS
    return provider.pk in named or not (named or needs_name)


def _find_provider_refusal(provider: Provider) -> RefusedBySafety | None:
    if not provider.is_enabled:
        return RefusedBySafety(
            f"{provider.name} is switched off.", todo="Turn on its sync first.", code="provider_disabled"
        )
    if provider.status == Provider.Status.HELD:
        return RefusedBySafety(
            f"A suspicious snapshot of {provider.name} is held for review.",
            todo="Look at the held snapshot and accept or reject it first.",
            code="snapshot_held",
        )
    if provider.accepted_at is None:
        return RefusedBySafety(
            f"{provider.name} was not synced yet, so its response cannot be checked.",
            todo="Sync it first.",
            code="not_visited",
        )
    return None
