"""What the instances of an owner would do to a record set: each by itself, and the worst of it counts. Pure.

An owner id may be signed with by several instances. What a person says the owner wants is then true of some
of them at most: another one with policy sync deletes what it does not want.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from providers.planning.planned_changes import DEFAULT_MANAGED_TYPES
from providers.wire.endpoint import EndpointKey
from registry_app.models import InstancePolicy, Transfer, TransferItem
from registry_app.queries.declared import DeclaredSet
from registry_app.queries.instance import InstanceFacts, leave_out_loop_settings
from registry_app.transfer.plan.verdicts import Verdict, compute_verdict
from registry_app.transfer.plan.whole_names import NewOwner

_VERDICT = TransferItem.Verdict
_INTENT = Transfer.TargetIntent
# The worst first.
_RANK: Final = (
    _VERDICT.DELETE,
    _VERDICT.NOT_REPLACED,
    _VERDICT.UNKNOWN,
    _VERDICT.RETARGET,
    _VERDICT.NO_OP,
)
_NEVER_DELETE = (InstancePolicy.UPSERT_ONLY, InstancePolicy.CREATE_ONLY)
_MOST_NAMED = 5


def choose_worst(verdicts: Sequence[Verdict]) -> Verdict:
    """The worst value, with the reasons of all, the worst first; at most five of them."""
    ordered = sorted(dict.fromkeys(verdicts), key=lambda each: _RANK.index(_VERDICT(each.value)))
    reasons = [each.reason for each in ordered[:_MOST_NAMED]]
    if len(ordered) > _MOST_NAMED:
        reasons.append(f"So much for {_MOST_NAMED} of its instances; it has {len(ordered)}.")
    return Verdict(ordered[0].value, " ".join(reasons))


class InstanceVerdicts:
    """What the instances of the new owner do to record sets at one provider, by what a person said of it.

    Record sets that the same instances act on share one verdict: it is made once for all of them.
    """

    def __init__(
        self,
        owner_id: str,
        instances: Iterable[InstanceFacts],
        provider_id: int,
        *,
        intent: str,
        said_by: str,
    ) -> None:
        self._owner_id = owner_id
        self._instances = leave_out_loop_settings(instances, provider_id)
        self._provider_id = provider_id
        self._intent = intent
        self._said_by = said_by
        self._made: dict[tuple[str, ...], Verdict] = {}

    def judge(self, key: EndpointKey, of_loop: Verdict | None = None) -> Verdict:
        """The verdict for one record set. `of_loop` is that of the owner's loop here, where one runs."""
        beside = tuple(each for each in self._instances if not each.is_loop)
        why_not = tuple(find_why_not(each, key, self._provider_id) for each in beside)
        found = self._made.get(why_not)
        if found is None or of_loop is not None:
            found = self._judge_all(beside, why_not, of_loop)
        if of_loop is None:
            self._made[why_not] = found
        return found

    def build_new_owner(self, key: EndpointKey, declared: DeclaredSet | None = None) -> NewOwner:
        """What is known of the instances that act on one record set, for what follows from the rest of its
        name."""
        acting = [each for each in self._instances if not find_why_not(each, key, self._provider_id)]
        is_known = any(not each.is_loop for each in self._instances)
        # Where nobody said anything, anything may be.
        may_delete = not is_known or any(each.policy not in _NEVER_DELETE for each in acting)
        types = frozenset(kind for each in acting for kind in each.managed_types or DEFAULT_MANAGED_TYPES)
        return NewOwner(self._owner_id, may_delete, types or DEFAULT_MANAGED_TYPES, declared)

    def _judge_all(
        self, instances: Sequence[InstanceFacts], why_not: Sequence[str], of_loop: Verdict | None
    ) -> Verdict:
        acting = [each for each, why in zip(instances, why_not, strict=True) if not why]
        verdicts = [Verdict(_VERDICT.NO_OP, why) for why in why_not if why]
        if of_loop is not None:
            verdicts.append(of_loop)
        is_shared = of_loop is not None or _are_several(acting)
        verdicts += [self._judge_one(each, is_shared=is_shared) for each in acting]
        if not verdicts:
            return compute_verdict(self._owner_id, InstancePolicy.UNKNOWN, self._intent, self._said_by)
        worst = choose_worst(verdicts)
        late = [_describe_late(each) for each in acting if each.claim_cache_seconds]
        return Verdict(worst.value, " ".join([worst.reason, *late[:_MOST_NAMED]]))

    def _judge_one(self, instance: InstanceFacts, *, is_shared: bool) -> Verdict:
        is_bound = instance.policy in _NEVER_DELETE
        is_said_of_one = self._intent in (_INTENT.SAME, _INTENT.OTHER)
        if not (is_shared and is_said_of_one) or is_bound:
            return compute_verdict(
                self._owner_id, instance.policy, self._intent, self._said_by, instance.name
            )
        policy = instance.policy
        known = "its policy is not known" if policy == InstancePolicy.UNKNOWN else f"its policy is {policy}"
        return Verdict(
            _VERDICT.UNKNOWN,
            f"{self._said_by} says what {self._owner_id} wants, but it has several instances: the "
            f"instance {instance.name} of {self._owner_id} may delete what it does not want ({known}).",
        )


def _describe_late(instance: InstanceFacts) -> str:
    return (
        f"The instance {instance.name} of {instance.owner_id} may not see the new claim for up to "
        f"{instance.claim_cache_seconds} s (--txt-cache-interval), and leaves the record set alone "
        "until then."
    )


def _are_several(acting: Sequence[InstanceFacts]) -> bool:
    """Whether these want different things, as far as anything shows it."""
    return any(not acting[0].is_replica_of(other) for other in acting[1:])


def find_why_not(instance: InstanceFacts, key: EndpointKey, provider_id: int) -> str:
    """Why an instance does not act on a record set; empty if it does, as far as anybody knows."""
    who = f"The instance {instance.name} of {instance.owner_id}"
    if not instance.writes_at(provider_id):
        return f"{who} writes through another provider."
    if not instance.manages(key.record_type):
        return f"{who} does not manage {key.record_type} record sets."
    if not instance.matches(key.name):
        return f"{who} does not act on this name: its domain filter leaves it out."
    return ""
