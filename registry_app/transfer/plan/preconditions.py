"""What a plan rests on beside the zone: addresses, and settings of owners. `ended_rights` has the rights.

It is part of what is reviewed. If any of it changed since, nothing more is sent.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from providers.registries.claim import TxtProfile
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.mirror.open_stores import describe_stores
from registry_app.mirror.owner_registry import OwnerRegistry, fetch_owner_registry
from registry_app.mirror.place import identify_secret, name_place
from registry_app.mirror.registries import fetch_txt_profiles
from registry_app.models import Owner, Provider, Transfer
from registry_app.queries.desired_set import fetch_desired_facts
from registry_app.queries.instance import WITH_PROFILES, InstanceFacts, fetch_instances
from registry_app.queries.kept_by_guard import fetch_kept_by_guard
from registry_app.queries.loop import find_declared_version
from registry_app.transfer.plan.provider_plan import PlannedItem
from registry_app.transfer.plan.refusals import find_target_refusals
from registry_app.transfer.plan.verdicts import InstanceVerdicts
from registry_app.transfer.plan.verdicts_by_facts import build_reviewed_record

Preconditions = dict[str, Any]
_KEPT = "kept by the guard"
# An undo writes the stored bytes, whatever its owner's settings are now.
KINDS_THAT_FORMAT = (Transfer.Kind.TRANSFER, Transfer.Kind.ADOPT, Transfer.Kind.REFORMAT)
_KINDS_WITH_A_NEW_OWNER = (Transfer.Kind.TRANSFER, Transfer.Kind.ADOPT, Transfer.Kind.UNDO)


def build_preconditions(
    provider: Provider,
    kind: str,
    owners: Collection[Owner],
    stores: Collection[str] = (),
    former: Collection[str] = (),
) -> Preconditions:
    """JSON, without secrets: addresses of the provider and of the plan's registry stores (`stores`: primary
    keys of their profiles), the provider's batch size, the instances of each owner and, where new claims are
    written, its registry settings; of the `former` owners the instances that cache claims.

    Raises SecretUnavailable if a key is not available.
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


def add_desired(
    preconditions: Preconditions, provider: Provider, target: Owner | None, items: Iterable[PlannedItem]
) -> Preconditions:
    """The preconditions, with what the instances of the new owner do to the record sets of these items, by
    what they posted through the guard, and what of them the guard keeps. Database read."""
    if target is None or not preconditions:
        return preconditions
    records = [
        build_reviewed_record(each.key, each.record_before)
        for each in items
        if each.record_before and not each.problem
    ]
    found = {
        "desired": _describe_desired(provider, target, records),
        _KEPT: _describe_kept(provider, target, records),
    }
    return {**preconditions, **{name: said for name, said in found.items() if said}}


def _describe_kept(provider: Provider, target: Owner, records: Iterable[Endpoint]) -> str:
    return fetch_kept_by_guard(target.owner_id, provider).describe(each.dns_name for each in records)


def _describe_desired(provider: Provider, target: Owner, records: Collection[Endpoint]) -> dict[str, str]:
    facts = fetch_desired_facts(target.owner_id, provider.pk, {each.dns_name for each in records})
    if not facts:
        return {}
    instances = fetch_instances([target.owner_id]).get(target.owner_id, ())
    found = InstanceVerdicts(target.owner_id, instances, provider.pk, intent="", stated_by="", desired=facts)
    return found.describe_desired(records)


def _find_changed_desire(transfer: Transfer, provider: Provider) -> str:
    """Which instance of the new owner does something else now than when it was reviewed; empty if none. One
    that has not posted for a while counts as before."""
    if transfer.target_owner is None or transfer.kind not in _KINDS_WITH_A_NEW_OWNER:
        return ""
    rows = transfer.items.order_by().values_list("name", "record_type", "set_identifier", "record_before")
    records = [
        build_reviewed_record(EndpointKey(*key), before)
        for *key, before in rows.iterator(chunk_size=2_000)
        if before
    ]
    reviewed: Mapping[str, str] = transfer.preconditions.get("desired", {})
    for name, digest in _describe_desired(provider, transfer.target_owner, records).items():
        if reviewed.get(name) != digest:
            return (
                f"What the instance {name} of {transfer.target_owner} wants changed after this was reviewed."
            )
    if transfer.preconditions.get(_KEPT, "") != _describe_kept(provider, transfer.target_owner, records):
        return "Which of its names the guard keeps, frozen or pinned, changed after this was reviewed."
    return ""


def find_changed_url(transfer: Transfer, provider: Provider) -> str:
    """Why nothing may be sent to, or read from, where the provider is now; empty if it may.

    Another address is another server: what it shows proves nothing about what was sent.
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
    """Which settings of the provider or the owners changed since the review, as a sentence; empty if none.

    Raises SecretUnavailable.
    """
    was_size, size = transfer.preconditions.get("batch size", 0), provider.effective_batch_size
    if was_size > size:  # batches were built at the request; smaller ones than allowed do no harm
        fewer = f"{provider.name} takes fewer record sets at a time now ({size})"
        return f"{fewer} than when this was reviewed ({was_size})."
    changed = _find_changed_desire(transfer, provider)
    if changed:
        return changed
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
    return {
        owner_id: _describe_caches(known.get(owner_id, ()), provider.pk) for owner_id in sorted(owner_ids)
    }


def _describe_instances(instances: Iterable[InstanceFacts], provider: Provider) -> dict[str, Any]:
    """What verdicts rest on. For a loop that is its declared set, which has a version of its own."""
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
        **({"TXT copies": _describe_copies(registry.copies)} if registry.copies else {}),
    }


def _describe_copies(profile: TxtProfile) -> list[str]:
    key = identify_secret(profile.encryption_key or b"")
    return [profile.prefix, profile.suffix, profile.wildcard_replacement, key]


def _describe_caches(instances: Iterable[InstanceFacts], provider_id: int) -> dict[str, int]:
    """For how many seconds each instance that may write at a provider uses cached claims, by its name."""
    here = (each for each in instances if each.writes_at(provider_id) and each.claim_cache_seconds)
    return {each.name: each.claim_cache_seconds or 0 for each in here}
