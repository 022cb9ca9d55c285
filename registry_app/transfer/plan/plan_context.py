"""What a plan of one provider is made from, besides its subjects."""

from collections.abc import Mapping
from dataclasses import dataclass

from providers.registries.claim import TxtProfile
from registry_app.mirror.owner_registry import OwnerRegistry
from registry_app.transfer.plan.claim_key import ClaimKey
from registry_app.transfer.plan.verdicts import FormerOwners, InstanceVerdicts
from registry_app.transfer.plan.verdicts_by_facts import Verdict


@dataclass(frozen=True)
class PlanContext:
    """All that a plan of one provider depends on, besides its subjects.

    `verdict` is for kinds without a new owner; with one, `instances` compute it. `registries` gives the
    registry of an owner id; `owner_id` is the target's, empty for kinds that keep or remove the owner.
    `profiles` are the TXT profiles by reference. `taken` are places of TXT records that are no
    claims. `former` are the instances of
    those who lose a record set.
    """

    kind: str
    owner_id: str
    verdict: Verdict
    registries: Mapping[str, OwnerRegistry]
    profiles: Mapping[str, TxtProfile]
    contents: Mapping[ClaimKey, tuple[str, ...]]
    taken: frozenset[ClaimKey] = frozenset()
    instances: InstanceVerdicts | None = None
    former: FormerOwners | None = None
