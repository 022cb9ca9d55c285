"""All that findings look at: one snapshot, and what is known beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from providers.registries.claim import DEFAULT_PROFILE, Claim, TxtProfile
from providers.wire.endpoint import EndpointKey
from registry_app.mirror.domain_filter import NegotiatedFilter
from registry_app.mirror.reading import OwnerFacts
from registry_app.mirror.snapshot import Snapshot
from registry_app.mirror.snapshot_facts import SnapshotFacts
from registry_app.models import Owner
from registry_app.queries.record_event import PastValue, fetch_recent_changes
from registry_app.queries.transfer_items import VerifiedItem, verified_since
from registry_app.reconcile.sync_context import SyncContext, SyncResult

FLAPPING_WINDOW = timedelta(hours=1)
FLAPPING_CHANGES = 3
TRANSFER_WATCH = timedelta(days=7)


@dataclass(frozen=True)
class Scene:
    """`owners` are those that people registered. `changing` counts the syncs of the last hour in
    which a record set had another value or owner, this one included. `histories` are the values that record
    sets had in that hour before this sync, where there were several. `facts` are those of the whole snapshot,
    also where `snapshot` and `verified` have only what is at some names."""

    provider_id: int
    provider_name: str
    snapshot: Snapshot
    facts: SnapshotFacts
    owners: Mapping[str, OwnerFacts]
    profiles: Mapping[str, TxtProfile]
    domain_filter: NegotiatedFilter | None
    changing: Mapping[EndpointKey, int]
    histories: Mapping[EndpointKey, tuple[PastValue, ...]]
    verified: tuple[VerifiedItem, ...]

    def is_registered(self, owner_id: str) -> bool:
        """Whether a person registered this owner, and did not decommission it."""
        facts = self.owners.get(owner_id)
        return facts is not None and facts.status == Owner.Status.REGISTERED

    def is_decommissioned(self, owner_id: str) -> bool:
        """Whether a person decommissioned this owner."""
        facts = self.owners.get(owner_id)
        return facts is not None and facts.status == Owner.Status.DECOMMISSIONED

    def manages(self, name: str) -> bool:
        """Whether the provider manages a canonical name, as far as it negotiated."""
        return self.domain_filter is None or self.domain_filter.matches(name)

    def is_written_as_registered(self, claim: Claim) -> bool:
        """Whether a claim stands where, and has the affixes, that an instance of its registered owner is
        registered with."""
        references = self.owners[claim.owner_id].profile_references
        if not claim.is_in_zone:
            return claim.profile.reference in references
        # Another one writes into a store, or under a profile this provider does not have.
        known = [each for each in references if not each or each in self.profiles]
        own = (self.profiles.get(each, DEFAULT_PROFILE) for each in known)
        return any(_affixes(each) == _affixes(claim.profile) for each in own)


def _affixes(profile: TxtProfile) -> tuple[str, ...]:
    return (profile.prefix.lower(), profile.suffix.lower(), profile.wildcard_replacement.lower())


def fetch_scene(context: SyncContext, result: SyncResult, now: datetime) -> Scene:
    """Database read: a few queries, whatever the size of the snapshot."""
    provider_id = context.provider.pk
    if result.part_read is not None:
        recent = result.part_read.recent
    else:
        since = now - FLAPPING_WINDOW
        recent = fetch_recent_changes(provider_id, since, at_least=FLAPPING_CHANGES - 1)
    return Scene(
        provider_id=provider_id,
        provider_name=context.provider.name,
        snapshot=result.snapshot,
        facts=result.facts,
        owners=context.reading.owners,
        profiles={profile.reference: profile for profile in context.reading.profiles},
        domain_filter=result.domain_filter or result.known_filter,
        changing=_add_this_run(context, result, recent.changing),
        histories=recent.histories,
        verified=tuple(
            item
            for item in verified_since(provider_id, now - TRANSFER_WATCH)
            if result.names is None or item.key.name in result.names
        ),
    )


def _add_this_run(
    context: SyncContext, result: SyncResult, earlier: Mapping[EndpointKey, int]
) -> dict[EndpointKey, int]:
    if not earlier:
        return {}
    changed_now = {result.snapshot.records[index].key for _, index in result.plan.changed}
    changed_now -= context.transfers.keys()
    return {key: count + (key in changed_now) for key, count in earlier.items()}
