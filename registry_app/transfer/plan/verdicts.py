"""What the next sync of an owner's instances does to a record set. Pure.

Several instances may sign with one owner id: each is judged by itself, and the worst verdict counts. Of an
owner that dnsadmin runs itself the desired set is known: the declared endpoints of its loop decide. So is
that of an instance that posted it through the guard a moment ago. Of all others the stored policy decides,
and what a person states that the owner wants; the reason says which.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from providers.planning.planned_changes import DEFAULT_MANAGED_TYPES
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.models import InstancePolicy, Transfer, TransferItem
from registry_app.queries.desired_set import DesiredFacts
from registry_app.queries.instance import InstanceFacts, leave_out_loop_settings
from registry_app.queries.kept_by_guard import NOTHING_KEPT, KeptByGuard
from registry_app.queries.loop import DeclaredSet
from registry_app.transfer.plan.verdicts_by_facts import (
    Verdict,
    compute_declared_verdict,
    compute_desired_verdict,
    describe_verdicts,
)

_VERDICT = TransferItem.Verdict
_INTENT = Transfer.TargetIntent
_POLICY = InstancePolicy
# The worst first.
_RANK: Final = (
    _VERDICT.DELETE,
    _VERDICT.NOT_REPLACED,
    _VERDICT.UNKNOWN,
    _VERDICT.RETARGET,
    _VERDICT.KEPT,
    _VERDICT.NO_OP,
)
_NEVER_DELETE = (InstancePolicy.UPSERT_ONLY, InstancePolicy.CREATE_ONLY)
_MOST_NAMED = 5


def compute_verdict(owner_id: str, policy: str, intent: str, stated_by: str, instance: str = "") -> Verdict:
    """The verdict for record sets that `owner_id` owns from now on.

    `policy` is the --policy of its `instance` (its name; empty where none is known), `intent` what a person
    stated that the owner wants, `stated_by` the name of that person.
    """
    statement = f"{stated_by} says that {owner_id}"
    who = f"the instance {instance} of {owner_id}" if instance else owner_id
    runs = f"{who} runs with policy {policy}"
    if policy == _POLICY.CREATE_ONLY:
        return Verdict(_VERDICT.NO_OP, _begin(f"{runs}, which never changes what exists."))
    if intent == _INTENT.SAME:
        return Verdict(_VERDICT.NO_OP, f"{statement} wants the record set with the same targets.")
    if intent == _INTENT.OTHER:
        return Verdict(_VERDICT.RETARGET, f"{statement} wants other targets: traffic moves at its next sync.")
    if intent == _INTENT.NOT_WANTED:
        return _compute_unwanted(statement, runs, who, policy)
    if policy == _POLICY.UPSERT_ONLY:
        reason = f"{runs}, which never deletes. It is not known whether it wants other targets."
        return Verdict(_VERDICT.UNKNOWN, _begin(reason))
    known = runs if policy == _POLICY.SYNC else f"the policy of {who} is not known"
    reason = (
        f"It is not known what {owner_id} wants, and {known}: it may delete record sets that it does not "
        "want."
    )
    return Verdict(_VERDICT.UNKNOWN, reason)


def compute_verdict_without_change(reason: str) -> Verdict:
    """The verdict if no instance can do more than before."""
    return Verdict(_VERDICT.NO_OP, reason)


def compute_verdict_of_unregistered(owner_id: str) -> Verdict:
    """The verdict for an orphan of an owner that is not registered: its claims may use an unknown prefix."""
    return Verdict(
        _VERDICT.UNKNOWN,
        f"{owner_id} is not registered, so it is not known how it writes its claims: with another "
        "prefix or suffix, this claim may belong to an existing record set.",
    )


def _compute_unwanted(statement: str, runs: str, who: str, policy: str) -> Verdict:
    if policy == _POLICY.UPSERT_ONLY:
        return Verdict(_VERDICT.NO_OP, f"{statement} does not want it, but {runs}, which never deletes.")
    if policy == _POLICY.SYNC:
        return Verdict(
            _VERDICT.DELETE, f"{statement} does not want it, and {runs}: its next sync deletes it."
        )
    reason = (
        f"{statement} does not want it, and the policy of {who} is not known: with policy sync it is deleted."
    )
    return Verdict(_VERDICT.DELETE, reason)


def _begin(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:] if sentence.startswith("the instance ") else sentence


NOTHING_KNOWN: Final[Mapping[str, DesiredFacts]] = MappingProxyType({})


class NewOwner(NamedTuple):
    """The owner of an item afterwards, and what is known of those of its instances that act on the item:
    whether one of them may delete, which types they manage, and what a loop declares."""

    owner_id: str
    may_delete: bool
    managed_types: frozenset[str] = DEFAULT_MANAGED_TYPES
    declared: DeclaredSet | None = None


def _choose_worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst value, with the reasons of all, the worst first; at most five of them."""
    ordered = sorted(dict.fromkeys(verdicts), key=lambda each: _RANK.index(_VERDICT(each.value)))
    reasons = [each.reason for each in ordered[:_MOST_NAMED]]
    if len(ordered) > _MOST_NAMED:
        reasons.append(f"It has {len(ordered)} instances; only {_MOST_NAMED} are listed here.")
    return Verdict(ordered[0].value, " ".join(reasons))


class _Around(NamedTuple):
    """What is known about one record set: its name, why each instance does not act on it, and the verdicts by
    facts, of the owner's loop and by name of its other instances."""

    name: str
    why_not: tuple[str, ...]
    of_loop: Verdict | None = None
    by_facts: Mapping[str, Verdict] = MappingProxyType({})


class InstanceVerdicts:
    """What the instances of the new owner do to record sets at one provider, by what a person stated.

    `declared` is what a loop of the owner keeps there, `desired` what its instances posted through the guard,
    by their name; a stale one is not used. What is `kept` by the guard stays, whatever they want. Record sets
    of which nothing is known but what the same instances act on share one verdict: it is made once for all
    of them.
    """

    def __init__(
        self,
        owner_id: str,
        instances: Iterable[InstanceFacts],
        provider_id: int,
        *,
        intent: str,
        stated_by: str,
        declared: DeclaredSet | None = None,
        desired: Mapping[str, DesiredFacts] = NOTHING_KNOWN,
        kept: KeptByGuard = NOTHING_KEPT,
    ) -> None:
        self._owner_id = owner_id
        self._instances = leave_out_loop_settings(instances, provider_id)
        self._provider_id = provider_id
        self._intent = intent
        self._stated_by = stated_by
        self._declared = declared
        self._desired = {name: facts for name, facts in desired.items() if not facts.is_stale}
        self._kept = kept
        self._made: dict[tuple[tuple[str, ...], str], Verdict] = {}

    def judge_record(self, key: EndpointKey, current: Endpoint | None) -> Verdict:
        """The verdict for one record set; `current` is what it is now, None if it does not exist."""
        if current is None or (self._declared is None and not self._desired):
            return self.judge(key)
        beside = self._list_beside()
        of_loop = None
        if self._declared is not None:
            of_loop = compute_declared_verdict(self._owner_id, current, self._declared)
        by_facts = {
            each.name: compute_desired_verdict(each, current, self._desired[each.name])
            for each in beside
            if each.name in self._desired
        }
        return self._judge_all(beside, _Around(key.name, self._find_why_not(beside, key), of_loop, by_facts))

    def judge(self, key: EndpointKey) -> Verdict:
        """The verdict for one record set of which nobody knows whether it is wanted."""
        beside = self._list_beside()
        why_not = self._find_why_not(beside, key)
        place = why_not, self._kept.stops.find(key.name) if self._kept.instances else ""
        found = self._made.get(place)
        if found is None:
            found = self._made[place] = self._judge_all(beside, _Around(key.name, why_not))
        return found

    def describe_desired(self, records: Collection[Endpoint]) -> dict[str, str]:
        """For each instance whose desired set is known a text that changes with its verdicts."""
        return {
            each.name: describe_verdicts(each, records, self._desired[each.name])
            for each in self._list_beside()
            if each.name in self._desired
        }

    def _list_beside(self) -> tuple[InstanceFacts, ...]:
        return tuple(each for each in self._instances if not each.is_loop)

    def _find_why_not(self, instances: Iterable[InstanceFacts], key: EndpointKey) -> tuple[str, ...]:
        return tuple(_find_reason_not_to_act(each, key, self._provider_id) for each in instances)

    def build_new_owner(self, key: EndpointKey) -> NewOwner:
        """What is known of the instances that act on one record set."""
        acting = [
            each for each in self._instances if not _find_reason_not_to_act(each, key, self._provider_id)
        ]
        is_known = any(not each.is_loop for each in self._instances)
        # Of instances that are not known, anything may be true.
        may_delete = not is_known or any(each.policy not in _NEVER_DELETE for each in acting)
        types = frozenset(kind for each in acting for kind in each.managed_types or DEFAULT_MANAGED_TYPES)
        return NewOwner(self._owner_id, may_delete, types or DEFAULT_MANAGED_TYPES, self._declared)

    def _judge_all(self, instances: Sequence[InstanceFacts], around: _Around) -> Verdict:
        acting = [each for each, why in zip(instances, around.why_not, strict=True) if not why]
        verdicts = [Verdict(_VERDICT.NO_OP, why) for why in around.why_not if why]
        if around.of_loop is not None:
            verdicts.append(around.of_loop)
        is_shared = around.of_loop is not None or _are_several(acting)
        for each in acting:
            verdict = around.by_facts.get(each.name) or self._judge_one(each, is_shared=is_shared)
            verdicts.append(self._judge_kept(each, around.name, verdict))
        if not verdicts:
            return compute_verdict(self._owner_id, InstancePolicy.UNKNOWN, self._intent, self._stated_by)
        worst = _choose_worst(verdicts)
        late = [_describe_late(each) for each in acting if each.claim_cache_seconds]
        return Verdict(worst.value, " ".join([worst.reason, *late[:_MOST_NAMED]]))

    def _judge_kept(self, instance: InstanceFacts, name: str, verdict: Verdict) -> Verdict:
        """The verdict, unless the guard keeps the name from the instance."""
        kept = self._kept.find(instance.name, name)
        if not kept or verdict.value == _VERDICT.NO_OP:
            return verdict
        reason = f"The guard keeps it from the instance {instance.name} of {instance.owner_id}: {kept}"
        return Verdict(_VERDICT.KEPT, f"{reason} When that is over: {verdict.reason}")

    def _judge_one(self, instance: InstanceFacts, *, is_shared: bool) -> Verdict:
        is_bound = instance.policy in _NEVER_DELETE
        is_said_of_one = self._intent in (_INTENT.SAME, _INTENT.OTHER)
        if not (is_shared and is_said_of_one) or is_bound:
            return compute_verdict(
                self._owner_id, instance.policy, self._intent, self._stated_by, instance.name
            )
        policy = instance.policy
        known = "its policy is not known" if policy == InstancePolicy.UNKNOWN else f"its policy is {policy}"
        return Verdict(
            _VERDICT.UNKNOWN,
            f"{self._stated_by} says what {self._owner_id} wants, but it has several instances: the "
            f"instance {instance.name} of {self._owner_id} may delete what it does not want ({known}).",
        )


def _describe_late(instance: InstanceFacts) -> str:
    return (
        f"The instance {instance.name} of {instance.owner_id} may not see the new claim for up to "
        f"{instance.claim_cache_seconds} s (--txt-cache-interval), and leaves the record set alone "
        "until then."
    )


def _are_several(acting: Sequence[InstanceFacts]) -> bool:
    """Whether these may want different things."""
    return any(not acting[0].is_replica_of(other) for other in acting[1:])


def _find_reason_not_to_act(instance: InstanceFacts, key: EndpointKey, provider_id: int) -> str:
    """Why an instance does not act on a record set; empty if it does, or may."""
    who = f"The instance {instance.name} of {instance.owner_id}"
    if not instance.writes_at(provider_id):
        return f"{who} writes through another provider."
    if not instance.manages(key.record_type):
        return f"{who} does not manage {key.record_type} record sets."
    if not instance.matches(key.name):
        return f"{who} does not act on this name: its domain filter leaves it out."
    return ""


class FormerOwners:
    """The instances of the former owners of a plan's record sets, by owner id."""

    def __init__(self, instances: Mapping[str, tuple[InstanceFacts, ...]], provider_id: int) -> None:
        self._caching = {
            owner_id: [each for each in found if each.claim_cache_seconds]
            for owner_id, found in instances.items()
        }
        self._provider_id = provider_id

    def describe(self, owner_ids: Iterable[str], key: EndpointKey) -> str:
        """Which of them may still act on a record set, and for how long; empty if none is known to."""
        acting = [
            each
            for owner_id in owner_ids
            for each in self._caching.get(owner_id, ())
            if not _find_reason_not_to_act(each, key, self._provider_id)
        ]
        sentences = [
            f"The instance {each.name} of {each.owner_id} may still change or delete it for up to "
            f"{each.claim_cache_seconds} s after this is sent, or until it is restarted: it uses "
            "cached claims (--txt-cache-interval)."
            for each in acting[:_MOST_NAMED]
        ]
        return " ".join(sentences)
