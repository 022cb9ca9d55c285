"""Compare a ConfigMap registry with what its provider shows now, and rebuild it where its profile says so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.conf import settings
from django.db.models import Q

from providers.client.provider_client import RecordsAnswer
from providers.http.errors import ProviderError
from providers.registries.configmap.resync import Comparison, Difference
from providers.registries.stored_claim import StoreContents
from providers.stores.registry import ResyncableStore
from providers.stores.registry_catalogue import KINDS_WITH_RESYNC
from providers.wire.endpoint import Endpoint, EndpointKey
from providers.wire.errors import WireError
from providers.wire.json_codec import DecodedRecords, decode_records
from registry_app.actor import SYSTEM
from registry_app.audit import record_audit
from registry_app.clock import fetch_now
from registry_app.crash_point import crash_point
from registry_app.errors import LeaseLost, SecretUnavailable
from registry_app.mirror.baseline import compare_with_known, find_lost_claims, raise_if_implausible
from registry_app.mirror.body_digest import compute_body_digest
from registry_app.mirror.client import build_client
from registry_app.mirror.open_stores import open_store
from registry_app.mirror.plausibility import count_endpoints
from registry_app.mirror.registries import Registries, fetch_txt_profiles
from registry_app.mirror.snapshot import Snapshot, build_snapshot
from registry_app.models import Finding, Provider, RegistryProfile
from registry_app.outside_copy import announce_send, count_send
from registry_app.queries.freeze import find_owner_stops
from registry_app.queries.instance import list_owner_ids
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity
from registry_app.reconcile.store_findings import open_finding, resolve_finding, resolve_findings
from registry_app.writes.session import LeasedProvider, ProviderBusy, leased_provider

_logger = structlog.get_logger(__name__)
_BUSY_AGAIN = timedelta(seconds=15)
_MOST_LISTED = 100


@dataclass(frozen=True)
class Shown:
    """What a provider shows, and the owners of it by all registries that are read."""

    endpoints: Sequence[Endpoint]
    owners: Mapping[EndpointKey, str]


def resync_registry(profile_id: int) -> None:
    """Compare the registry of each owner that uses a ConfigMap profile with its provider, and open or
    resolve the finding about the differences; where the profile says so, rebuild it first.

    Nothing happens if it is not due, if somebody else has the provider, or while a snapshot of it is held
    (I3). A registry that lost claims which no sync has accepted as gone is not rebuilt. The owner of a row
    never changes here, and record sets at the provider are only read. A store or a provider that cannot be
    read is reported by the syncs, which read both too.
    """
    profile = RegistryProfile.objects.filter(pk=profile_id, kind__in=KINDS_WITH_RESYNC).first()
    provider = profile.providers.filter(is_enabled=True).first() if profile else None
    if profile is None or provider is None or not _take_turn(profile):
        return
    try:
        with leased_provider(provider.pk, "resync") as leased:
            if leased.provider.status != Provider.Status.HELD:
                _resync(profile, leased)
    except ProviderBusy:
        _wait(profile, _BUSY_AGAIN)
    except (ProviderError, WireError, SecretUnavailable, LeaseLost) as error:
        _logger.warning("resync.not_finished", registry_profile=profile.pk, error=str(error))


def _resync(profile: RegistryProfile, leased: LeasedProvider) -> None:
    provider = leased.provider
    with build_client(provider) as client:
        leased.renew(exchanges=2)
        answer = client.records()
        decoded = decode_records(answer.body, max_items=provider.max_items)
        endpoints = decoded.endpoints
        counts = count_endpoints(endpoints)
        raise_if_implausible(provider, compare_with_known(provider, counts, len(endpoints)))
        store = open_store(profile, provider, client, remembers=True).store
        if not isinstance(store, ResyncableStore):
            raise TypeError(f"The store of {profile} cannot be compared with its provider.")
        snapshot = _read_all(profile, provider, store, answer, decoded)
        losers = _find_losers(profile, provider, snapshot)
        owners = {record.key: record.owner_id for record in snapshot.records if record.owner_id}
        for owner_id in list_owner_ids(profile, provider):
            leased.renew(exchanges=3)
            found = store.compare(owner_id, endpoints, owners=owners)
            rebuilds = owner_id not in losers and _may_rebuild(profile, provider, owner_id)
            draft = _draft_drift(profile, provider, owner_id, found, was_rebuilt=rebuilds)
            if rebuilds and found.differences and _is_news(provider, draft):
                found = _rebuild(profile, leased, store, owner_id, Shown(endpoints, owners), found)
                draft = _draft_drift(profile, provider, owner_id, found, was_rebuilt=True)
            _store_finding(leased, draft, is_there=bool(found.differences))
        _resolve_left_over(profile, leased)


def _rebuild(
    profile: RegistryProfile,
    leased: LeasedProvider,
    store: ResyncableStore,
    owner_id: str,
    shown: Shown,
    found: Comparison,
) -> Comparison:
    """Write the intent, act once, then read back: what differs afterwards."""
    with leased.fenced():
        differences = len(found.differences) + found.further
        after = {"owner_id": owner_id, "differences": differences}
        record_audit(SYSTEM, "registry_profile.rebuilding", profile, after=after)
        count_send()
    crash_point("resync.intended")
    announce_send()
    store.rebuild(owner_id, shown.endpoints, owners=shown.owners)
    crash_point("resync.rebuilt")
    return store.compare(owner_id, shown.endpoints, owners=shown.owners)


def _read_all(
    profile: RegistryProfile,
    provider: Provider,
    store: ResyncableStore,
    answer: RecordsAnswer,
    decoded: DecodedRecords,
) -> Snapshot:
    """The owner of each record set by the claims of the zone and those of the profile's maps."""
    reference = str(profile.pk)
    contents = StoreContents(reference, profile.kind, tuple(store.fetch_claims()))
    return build_snapshot(
        decoded,
        fetch_txt_profiles(provider),
        Registries(stores=(reference,)),
        (contents,),
        body=answer.body,
        body_digest=compute_body_digest(answer.body),
    )


def _find_losers(profile: RegistryProfile, provider: Provider, snapshot: Snapshot) -> set[str]:
    """Owners whose registry lost claims that no sync has accepted as gone: rebuilt now, it would say that
    nobody owns their record sets."""
    if not profile.is_rebuilt:
        return set()
    return {each.holding.owner_id for each in find_lost_claims(provider, snapshot)}


def _may_rebuild(profile: RegistryProfile, provider: Provider, owner_id: str) -> bool:
    return profile.is_rebuilt and not find_owner_stops(provider, owner_id, in_part=True)


def _draft_drift(
    profile: RegistryProfile, provider: Provider, owner_id: str, found: Comparison, *, was_rebuilt: bool
) -> FindingDraft:
    """One finding for each owner's registry; its details list the first differences. `was_rebuilt`: these
    are what a rebuild left."""
    count = len(found.differences) + found.further
    what = "place" if count == 1 else "places"
    way_out = (
        "It was updated. These rows could not be updated."
        if was_rebuilt
        else "Its instance updates it when it runs. Or let dnsadmin update it: set “rebuilt from the "
        "provider” in the registry profile."
    )
    return FindingDraft(
        kind=Kind.REGISTRY_DRIFT,
        severity=Severity.WARNING,
        subject=f"{profile.pk}\0{owner_id}",
        explanation=(
            f"The ConfigMap registry of {owner_id} in the namespace {profile.namespace} ({profile.name}) "
            f"differs from what {provider.name} shows in {count} {what}. {way_out}"
        ),
        details={
            "registry_profile": profile.name,
            "owner_id": owner_id,
            "count": count,
            "was_rebuilt": was_rebuilt,
            "differences": [_describe(each) for each in found.differences[:_MOST_LISTED]],
        },
    )


def _describe(difference: Difference) -> dict[str, str]:
    return {
        "kind": difference.kind.value,
        **difference.key._asdict(),
        "in_registry": difference.in_registry,
        "at_provider": difference.at_provider,
    }


def _store_finding(leased: LeasedProvider, draft: FindingDraft, *, is_there: bool) -> None:
    now = fetch_now()
    provider_id = leased.provider.pk
    with leased.fenced():
        if is_there:
            open_finding(provider_id, draft, now)
        else:
            resolve_finding(draft.fingerprint(provider_id), now)


def _is_news(provider: Provider, draft: FindingDraft) -> bool:
    """Whether these are not just what the last rebuild left: another one would leave them too."""
    known = Finding.objects.filter(fingerprint=draft.fingerprint(provider.pk))
    reported = known.exclude(state=Finding.State.RESOLVED).values_list("details", flat=True).first()
    return bool(reported != dict(draft.details))


def _resolve_left_over(profile: RegistryProfile, leased: LeasedProvider) -> None:
    """Findings about owners that do not use the profile any more."""
    owner_ids = set(list_owner_ids(profile, leased.provider))
    reported = Finding.objects.filter(
        provider=leased.provider, kind=Kind.REGISTRY_DRIFT, details__registry_profile=profile.name
    ).exclude(state=Finding.State.RESOLVED)
    gone = [
        pk for pk, details in reported.values_list("pk", "details") if details["owner_id"] not in owner_ids
    ]
    with leased.fenced():
        resolve_findings(gone, fetch_now())


def _take_turn(profile: RegistryProfile) -> bool:
    """Whether it was due, and nobody else began: by compare-and-swap."""
    now = fetch_now()
    due = RegistryProfile.objects.filter(Q(next_resync_at__isnull=True) | Q(next_resync_at__lte=now))
    again = now + settings.DNSADMIN_REGISTRY_RESYNC
    return due.filter(pk=profile.pk).update(next_resync_at=again) == 1


def _wait(profile: RegistryProfile, pause: timedelta) -> None:
    RegistryProfile.objects.filter(pk=profile.pk).update(next_resync_at=fetch_now() + pause)
