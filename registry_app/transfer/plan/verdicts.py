"""What the next sync of the new owner would do to a record set. Pure.

Of an owner that dnsadmin runs itself the desired set is known: its loop's declared endpoints decide. Of all
others the stored policy and a person's word, and the reason says which of the two it was.
"""

from typing import NamedTuple

import msgspec

from providers.planning.equal_values import is_as_wanted
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint
from registry_app.models import InstancePolicy, Transfer, TransferItem
from registry_app.models.loop import LoopPolicy
from registry_app.queries.declared import DeclaredSet

_VERDICT = TransferItem.Verdict
_INTENT = Transfer.TargetIntent
_POLICY = InstancePolicy
_LONGEST_TARGETS = 100


class Verdict(NamedTuple):
    """A TransferItem.Verdict value and the sentence that says what it rests on."""

    value: str
    reason: str


def compute_verdict(owner_id: str, policy: str, intent: str, said_by: str, instance: str = "") -> Verdict:
    """The verdict for record sets that `owner_id` owns from now on.

    `policy` is the --policy of its `instance` (its name; empty where none is known), `intent` what a person
    said the owner wants, `said_by` who said so.
    """
    word = f"{said_by} says that {owner_id}"
    who = f"the instance {instance} of {owner_id}" if instance else owner_id
    runs = f"{who} runs with policy {policy}"
    if policy == _POLICY.CREATE_ONLY:
        return Verdict(_VERDICT.NO_OP, _begin(f"{runs}, which never changes what exists."))
    if intent == _INTENT.SAME:
        return Verdict(_VERDICT.NO_OP, f"{word} wants the record set with the same targets.")
    if intent == _INTENT.OTHER:
        return Verdict(_VERDICT.RETARGET, f"{word} wants other targets: traffic moves at its next sync.")
    if intent == _INTENT.NOT_WANTED:
        return _compute_unwanted(word, runs, who, policy)
    if policy == _POLICY.UPSERT_ONLY:
        reason = f"{runs}, which never deletes. It is not known whether it wants other targets."
        return Verdict(_VERDICT.UNKNOWN, _begin(reason))
    known = runs if policy == _POLICY.SYNC else f"the policy of {who} is not known"
    reason = (
        f"It is not known what {owner_id} wants, and {known}: it may delete record sets that it does not "
        "want."
    )
    return Verdict(_VERDICT.UNKNOWN, reason)


def compute_declared_verdict(owner_id: str, current: Endpoint, declared: DeclaredSet) -> Verdict:
    """The verdict for a record set that goes to an owner whose loop runs here: nobody's word counts."""
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


def compute_verdict_without_change(reason: str) -> Verdict:
    """No instance gets anything to decide that it did not have before."""
    return Verdict(_VERDICT.NO_OP, reason)


def compute_verdict_of_unvouched(owner_id: str) -> Verdict:
    """An orphan of an owner nobody registered: under a prefix we were not told of it would look the same."""
    return Verdict(
        _VERDICT.UNKNOWN,
        f"{owner_id} is not registered, so it is not known how it writes its claims: with another "
        "prefix or suffix, this claim may belong to an existing record set.",
    )


def _compute_unwanted(word: str, runs: str, who: str, policy: str) -> Verdict:
    if policy == _POLICY.UPSERT_ONLY:
        return Verdict(_VERDICT.NO_OP, f"{word} does not want it, but {runs}, which never deletes.")
    if policy == _POLICY.SYNC:
        return Verdict(_VERDICT.DELETE, f"{word} does not want it, and {runs}: its next sync deletes it.")
    reason = f"{word} does not want it, and the policy of {who} is not known: with policy sync it is deleted."
    return Verdict(_VERDICT.DELETE, reason)


def _begin(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:] if sentence.startswith("the instance ") else sentence
