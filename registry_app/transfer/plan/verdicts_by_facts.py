"""What the next sync or run does to a record set, where it is known what is wanted. Pure.

The loops of dnsadmin have declared endpoints; other instances post what they want through the guard. What a
person states does not count beside that.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from providers.planning.equal_values import is_as_wanted
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from registry_app.models import InstancePolicy, TransferItem
from registry_app.models.loop import LoopPolicy
from registry_app.queries.desired_set import DesiredFacts
from registry_app.queries.instance import InstanceFacts
from registry_app.queries.loop import DeclaredSet

_VERDICT = TransferItem.Verdict
_LONGEST_TARGETS = 100


class Verdict(NamedTuple):
    """A TransferItem.Verdict value and the sentence with its reason."""

    value: str
    reason: str


def compute_desired_verdict(instance: InstanceFacts, current: Endpoint, desired: DesiredFacts) -> Verdict:
    """The verdict for a record set that the owner of an instance has from now on.

    An instance whose policy is not known counts as one with ExternalDNS's default, sync.
    """
    key = endpoint_key(current)
    who = f"The instance {instance.name} of {instance.owner_id}"
    wanted = desired.endpoints.get(key)
    if wanted is not None and is_as_wanted(current, wanted):
        return Verdict(_VERDICT.NO_OP, f"{who} wants it with the same values.")
    if instance.policy == InstancePolicy.CREATE_ONLY:
        return Verdict(_VERDICT.NO_OP, f"{who} runs with policy create-only, which changes nothing.")
    if wanted is not None:
        before, after = (", ".join(each.targets)[:_LONGEST_TARGETS] for each in (current, wanted))
        what = f"it from {before} to {after}" if before != after else "its TTL or its properties"
        return Verdict(_VERDICT.RETARGET, f"{who} wants other values: its next sync changes {what}.")
    if instance.policy == InstancePolicy.UPSERT_ONLY:
        return Verdict(_VERDICT.NO_OP, f"{who} does not want it, and never deletes (upsert-only).")
    others = sorted(kind for kind in desired.list_types_at(key) if instance.manages(kind))
    if others:
        reason = f"{who} wants {' and '.join(others)} at this name: its next sync replaces the record set."
        return Verdict(_VERDICT.RETARGET, reason)
    return Verdict(_VERDICT.DELETE, f"{who} does not want it: its next sync deletes it.")


def compute_declared_verdict(owner_id: str, current: Endpoint, declared: DeclaredSet) -> Verdict:
    """The verdict for a record set that goes to an owner whose loop runs here, whatever a person stated."""
    key = endpoint_key(current)
    wanted = declared.endpoints.get(key)
    loop = f"the loop of {owner_id}"
    begin = f"The loop of {owner_id}"
    if key.record_type not in declared.managed_types:
        return Verdict(_VERDICT.NO_OP, f"{begin} does not manage {key.record_type} record sets.")
    if wanted is not None and is_as_wanted(current, wanted):
        return Verdict(_VERDICT.NO_OP, f"{begin} declares it with the same values.")
    if declared.policy == LoopPolicy.CREATE_ONLY:
        return Verdict(_VERDICT.NO_OP, f"{begin} only creates record sets.")
    if wanted is not None:
        targets = ", ".join(wanted.targets)[:_LONGEST_TARGETS]
        reason = f"is declared with other values ({targets}): the next run of {loop} changes it"
        unless = ", unless the provider says that its properties mean the same"
        is_theirs = declared.provider_compares and _differs_in_properties_alone(current, wanted)
        return Verdict(_VERDICT.RETARGET, f"It {reason}{unless if is_theirs else ''}.")
    if declared.policy == LoopPolicy.UPSERT_ONLY:
        return Verdict(_VERDICT.NO_OP, f"{begin} does not declare it, and never deletes.")
    reason = f"It is not declared: the next run of {loop} deletes it. Declare it first."
    return Verdict(_VERDICT.DELETE, reason)


def _differs_in_properties_alone(current: Endpoint, wanted: Endpoint) -> bool:
    properties = wanted.provider_specific
    return is_as_wanted(msgspec.structs.replace(current, provider_specific=properties), wanted)


def describe_verdicts(instance: InstanceFacts, records: Iterable[Endpoint], desired: DesiredFacts) -> str:
    """A text that is the same as long as the instance does the same to each of these record sets."""
    lines = sorted(
        f"{' '.join(endpoint_key(each))} {compute_desired_verdict(instance, each, desired).value}"
        for each in records
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def build_reviewed_record(key: EndpointKey, before: Mapping[str, Any]) -> Endpoint:
    """A record set as a plan or an item has it."""
    return Endpoint(
        dns_name=key.name,
        targets=tuple(before["targets"]),
        record_type=key.record_type,
        set_identifier=key.set_identifier,
        record_ttl=before["ttl"],
        provider_specific=tuple(ProviderSpecificProperty(*pair) for pair in before["provider_specific"]),
    )
