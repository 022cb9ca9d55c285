"""What must hold of a transfer that ended, whatever happened to its workers on the way."""

from collections import Counter
from collections.abc import Mapping

from django.utils import timezone

from providers.registries.claim import OwnershipState, TxtProfile
from providers.registries.pairing import pair
from providers.wire.canonical_name import canonical_name
from providers.wire.endpoint import Endpoint, EndpointKey
from registry_app.audit import verify_audit
from registry_app.mirror.registries import fetch_txt_profiles
from registry_app.models import Transfer, TransferItem
from registry_app.queries.kept_count import find_wrong_counts
from registry_app.queries.write_invariants import TRANSFER_INVARIANTS
from tests.registry_app.transfer.recording import RecordingProvider
from tests.registry_app.transfer.world import World

_STATUS = Transfer.Status
_ITEM = TransferItem.Status
_ENDS = (_STATUS.VERIFIED, _STATUS.FAILED, _STATUS.STALE, _STATUS.NEEDS_OPERATOR)


def check_all_holds(world: World, reference: RecordingProvider, transfer: Transfer) -> None:
    """I5, I6, I10 at every instant, I11, I15 and that nothing is left held."""
    transfer.refresh_from_db()
    assert transfer.status in _ENDS, transfer.status_reason
    _check_all_that_was_seen_was_stored(reference, transfer)
    _check_each_change_was_made_once(reference)
    _check_statuses_tell_the_truth(reference, transfer)
    _check_only_ownership_changed(reference, transfer)
    if transfer.kind != Transfer.Kind.CLEAN_UP:
        _check_claims_at_every_instant(reference, transfer, fetch_txt_profiles(world.provider))
    _check_nothing_is_held(world, transfer)
    assert verify_audit() is None
    assert [each.id for each in TRANSFER_INVARIANTS if each.find() is not None] == []
    assert find_wrong_counts() is None


def _check_all_that_was_seen_was_stored(reference: RecordingProvider, transfer: Transfer) -> None:
    """I5: every body the provider saw is, byte for byte, that of a step, and was sent once."""
    seen = Counter(entry.body for entry in reference.history.requests("POST /records"))
    stored = Counter(text.encode() for text in transfer.steps.values_list("change_set", flat=True))
    assert seen <= stored


def _check_each_change_was_made_once(reference: RecordingProvider) -> None:
    made = Counter((change.key, change.new is None) for change in reference.recorded.applied)
    assert set(made.values()) <= {1}


def _check_statuses_tell_the_truth(reference: RecordingProvider, transfer: Transfer) -> None:
    """I6: verified is what stands; failed or stale is what stood; the whole is what its items are."""
    first, last = reference.recorded.states[0], reference.recorded.states[-1]
    statuses = set()
    for item in transfer.items.all():
        statuses.add(item.status)
        before, after = _by_key(item.before), _by_key(item.after)
        touched = before.keys() | after.keys()
        stands = {key: _targets(last.get(key)) for key in touched}
        if item.status == _ITEM.VERIFIED:
            assert stands == {key: after.get(key) for key in touched}
        elif item.status in (_ITEM.FAILED, _ITEM.STALE):
            assert stands == {key: _targets(first.get(key)) for key in touched}
        else:
            assert item.status == _ITEM.NEEDS_OPERATOR
            assert item.status_reason
    assert (transfer.status == _STATUS.VERIFIED) is (statuses == {_ITEM.VERIFIED})
    assert (transfer.status == _STATUS.NEEDS_OPERATOR) is (_ITEM.NEEDS_OPERATOR in statuses)


def _check_only_ownership_changed(reference: RecordingProvider, transfer: Transfer) -> None:
    """I11, in every state the zone was ever in."""
    touched = {key for item in transfer.items.all() for key in (*_by_key(item.before), *_by_key(item.after))}
    first, *others = reference.recorded.states
    for state in others:
        for key in first.keys() | state.keys():
            assert key in touched or state.get(key) == first.get(key)


def _check_claims_at_every_instant(
    reference: RecordingProvider, transfer: Transfer, profiles: list[TxtProfile]
) -> None:
    """I10: what is claimed before and is to be claimed afterwards is claimed all the time."""
    keys = {
        EndpointKey(item.name, item.record_type, item.set_identifier)
        for item in transfer.items.all()
        if item.before and item.after
    }
    for state in reference.recorded.states:
        found = {record.key: record.state for record in pair(list(state.values()), profiles).records}
        assert {key for key in keys if found[key] == OwnershipState.UNMANAGED} == set()


def _check_nothing_is_held(world: World, transfer: Transfer) -> None:
    world.provider.refresh_from_db()
    # A worker killed right after the end leaves its lease to time.
    until = world.provider.lease_until
    assert until is None or until < timezone.now()
    is_locked = transfer.items.filter(lock_key__isnull=False).exists()
    assert is_locked is (transfer.status == _STATUS.NEEDS_OPERATOR)


def _by_key(endpoints: list[Mapping[str, object]]) -> dict[EndpointKey, list[str]]:
    found: dict[EndpointKey, list[str]] = {}
    for each in endpoints:
        key = EndpointKey(canonical_name(str(each["dnsName"])), "TXT", str(each.get("setIdentifier", "")))
        targets = each["targets"]
        assert isinstance(targets, list)
        found[key] = sorted(targets)
    return found


def _targets(endpoint: Endpoint | None) -> list[str] | None:
    return sorted(endpoint.targets) if endpoint is not None else None
