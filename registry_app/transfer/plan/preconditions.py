"""What a plan rests on beside the zone: where it is sent, and how its owners write and behave.

It is part of what is reviewed. What moved since voids the approval: nothing more is sent.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from registry_app.mirror.owner_registry import OwnerRegistry, fetch_owner_registry
from registry_app.mirror.place import identify_secret, name_place
from registry_app.mirror.profiles import fetch_txt_profiles
from registry_app.models import Owner, Provider, Transfer
from registry_app.queries.declared import find_declared_version
from registry_app.queries.instance import WITH_PROFILES, InstanceFacts, fetch_instances
from registry_app.transfer.plan.claim_caches import describe_caches
from registry_app.transfer.plan.describe_stores import describe_stores
from registry_app.transfer.plan.refusals import find_target_refusals

Preconditions = dict[str, Any]
# An undo writes the stored bytes, whatever its owner's settings are now.
KINDS_THAT_FORMAT = (Transfer.Kind.TRANSFER, Transfer.Kind.ADOPT, Transfer.Kind.REFORMAT)


def build_preconditions(
    provider: Provider,
    kind: str,
    owners: Collection[Owner],
    stores: Collection[str] = (),
    former: Collection[str] = (),
) -> Preconditions:
    """JSON of the addresses of the provider and of the registry stores the plan touches (`stores`: their
    profiles' primary keys), of how many record sets the provider takes at once, and of each owner what its
    instances say and, where claims are made anew, registry settings; without secrets. Of the `former`
    owners' instances only those count that act on claims they read before. Raises SecretUnavailable where a
    key cannot be had.
    """
    known = fetch_instances([owner.owner_id for owner in owners])
    described = {
        owner.owner_id: _describe_instances(known.get(owner.owner_id, ()), provider) for owner in owners
    }
    if kind in KINDS_THAT_FORMAT:
        profiles = fetch_txt_profiles(provider)
        for owner in owners:
            described[owner.owner_id].update(
                _describe_registry(fetch_owner_registry(owner, provider, profiles))
            )
    if kind in (*KINDS_THAT_FORMAT, Transfer.Kind.UNDO):
        for owner in owners:
            described[owner.owner_id]["declared set"] = find_declared_version(owner, provider)
    preconditions: Preconditions = {
        "url": name_place(provider),
        "protocol": provider.protocol,
        "batch size": provider.effective_batch_size,
        "owners": described,
    }
    if former:
        preconditions["former owners"] = _describe_former(provider, former)
    if stores:
        preconditions["stores"] = describe_stores(provider, stores)
    return preconditions


def find_changed_url(transfer: Transfer, provider: Provider) -> str:
    """Why nothing may be sent to, or read from, where the provider is now; empty if it may.

    Another address is another server: what stands there proves nothing about what was sent.
    Raises SecretUnavailable.
    """
    if not provider.is_enabled:
        return f"{provider.name} was disabled after this was reviewed."
    if transfer.preconditions.get("url") != name_place(provider):
        return f"{provider.name} has another address now than the one this was reviewed for."
    if transfer.preconditions.get("protocol") != provider.protocol:
        return f"{provider.name} speaks another protocol now than the one this was reviewed for."
    reviewed: Mapping[str, Any] = transfer.preconditions.get("stores", {})
    now = describe_stores(provider, reviewed) if reviewed else {}
    for reference, was in reviewed.items():
        if reference not in now:
            return f"The registry profile {was['name']} is gone, or does not name {provider.name} any more."
        for key, value in was.items():
            if key != "name" and now[reference].get(key) != value:
                return f"The {key} of the registry profile {was['name']} changed after this was reviewed."
    return ""


def find_changed_precondition(transfer: Transfer, provider: Provider) -> str:
    """Which settings of the provider or the owners moved since the review, in words; empty if none did.

    Raises SecretUnavailable.
    """
    was_size, size = transfer.preconditions.get("batch size", 0), provider.effective_batch_size
    if was_size > size:  # batches are cut once; smaller ones than could be sent do no harm
        fewer = f"{provider.name} takes fewer record sets at a time now ({size})"
        return f"{fewer} than when this was reviewed ({was_size})."
    caching: Mapping[str, Any] = transfer.preconditions.get("former owners", {})
    if _describe_former(provider, list(caching)) != caching:
        return "How long a former owner uses cached claims changed after this was reviewed."
    reviewed: Mapping[str, Any] = transfer.preconditions.get("owners", {})
    owners = list(Owner.objects.prefetch_related(WITH_PROFILES).filter(owner_id__in=list(reviewed)))
    if len(owners) < len(reviewed):
        return "An owner of this plan is not known any more."
    now: Mapping[str, Any] = build_preconditions(provider, transfer.kind, owners)["owners"]
    for owner in owners:
        if transfer.kind in KINDS_THAT_FORMAT:
            for refusal in find_target_refusals(owner, provider):
                return refusal.happened
        for key, was in reviewed[owner.owner_id].items():
            if now[owner.owner_id].get(key) != was:
                return f"The {key} of {owner.owner_id} changed after this was reviewed."
    return ""


def _describe_former(provider: Provider, owner_ids: Collection[str]) -> dict[str, dict[str, int]]:
    known = fetch_instances(owner_ids) if owner_ids else {}
    return {owner_id: describe_caches(known.get(owner_id, ()), provider.pk) for owner_id in sorted(owner_ids)}


def _describe_instances(instances: Iterable[InstanceFacts], provider: Provider) -> dict[str, Any]:
    """What verdicts rest on. Which of a loop's settings matter, its declared set says."""
    here = [each for each in instances if not each.is_loop and each.writes_at(provider.pk)]
    here.sort(key=lambda each: each.name)
    return {
        "policy": {each.name: each.policy for each in here},
        "cluster": {each.name: each.cluster for each in here},
        "domain filter": {each.name: [list(each.domain_include), list(each.domain_exclude)] for each in here},
        "managed types": {each.name: list(each.managed_types) for each in here},
        "claim cache": {each.name: each.claim_cache_seconds for each in here},
    }


def _describe_registry(registry: OwnerRegistry) -> dict[str, Any]:
    profile = registry.txt
    return {
        "registry profile": registry.store or profile.reference,
        "registry store": registry.store,
        "claim naming": [profile.prefix, profile.suffix, profile.wildcard_replacement],
        "encryption key": identify_secret(profile.encryption_key or b""),
    }
