"""Whatever a zone is made of, it is stored as it is read, and read again nothing is left to do."""

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.registries.encryption import encrypt_labels_text
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.json_codec import encode_endpoints
from registry_app.actor import SYSTEM
from registry_app.mirror.registries import fetch_txt_profiles
from registry_app.mirror.snapshot import Snapshot, decode_snapshot
from registry_app.models import Claim, Finding, HeldSnapshot, Provider, RecordSet, RegistryProfile, SyncRun
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from registry_app.reconcile.rows.record_digest import compute_claim_identity
from tests.depth import PARTIAL_SYNCS
from tests.factories import make_provider
from tests.registry_app.reconcile.serving import serve_body

_KEY = "0123456789abcdef0123456789abcdef"
# Affixes that overlap: most names read in several ways.
PROFILES = (
    {"prefix": "a-"},
    {"prefix": "%{record_type}-", "wildcard_replacement": "any"},
    {"suffix": "-a"},
    {"suffix": "-%{record_type}.x", "encryption_key": _KEY},
    {"wildcard_replacement": "a", "encryption_key": _KEY[::-1]},
)
_numbers = itertools.count(1)

LABELS = st.sampled_from(
    "a A * any www WWW a-a aaaa-a cname-www a- -a a-any x straße münchen xn--mnchen-3ya _a a-www-a txt-a "
    rf"a-a-www www-a \052 mx-a {'a' * 63} a-{'b' * 61}".split()
)
NAMES = st.builds(
    lambda labels, dot: ".".join((*labels, "example.org")) + dot,
    st.lists(LABELS, max_size=2),
    st.sampled_from(["", "."]),
)
OWNERS = st.sampled_from(
    ["blue-cluster", "green", "o=1", "é", "o wner", "<b>", "o" * 255, "o" * 256, "", '"']
)
HERITAGES = st.builds(
    lambda owner, tail: f"heritage=external-dns,external-dns/owner={owner}{tail}",
    OWNERS,
    st.sampled_from(
        ["", ",external-dns/resource=ingress/x/y", ",external-dns/owner=green", ",heritage=other", ",,="]
    ),
)
TEXTS = st.one_of(
    HERITAGES,
    HERITAGES.map(lambda text: f'"{text}"'),
    HERITAGES.map(lambda text: f'"{encrypt_labels_text(text, _KEY.encode())}"'),
    HERITAGES.map(lambda text: encrypt_labels_text(f"{text}\0", _KEY[::-1].encode())),
    st.sampled_from(["v=spf1 -all", "", '"', "QUJD" * 30, "f" * 128]),
)
PROPERTIES = st.sampled_from(
    [(), (ProviderSpecificProperty("alias", "true"),), (ProviderSpecificProperty("", "é"),)]
)
RECORDS = st.builds(
    Endpoint,
    dns_name=NAMES,
    record_type=st.sampled_from(["A", "a", "AAAA", "CNAME", "MX", "", "TYPE65534-IS-LONG"]),
    targets=st.lists(st.sampled_from(["192.0.2.1", "2001:DB8::1", "lb.example.net."]), max_size=3).map(tuple),
    set_identifier=st.sampled_from(["", "", "eu", "é "]),
    record_ttl=st.sampled_from([0, 300, 2**31 - 1]),
    provider_specific=PROPERTIES,
)
TXTS = st.builds(
    Endpoint,
    dns_name=NAMES,
    record_type=st.sampled_from(["TXT", "TXT", "txt"]),
    targets=st.lists(TEXTS, max_size=3).map(tuple),
    set_identifier=st.sampled_from(["", "", "eu"]),
)
ZONES = st.lists(st.one_of(RECORDS, TXTS), min_size=1, max_size=30)


@pytest.mark.django_db(transaction=True)
@settings(max_examples=PARTIAL_SYNCS, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ZONES, st.sets(st.sampled_from(range(len(PROFILES)))), st.randoms(use_true_random=False))
def test_it_is_stored_as_it_is_read_and_then_nothing_is_left_to_do(
    zone: list[Endpoint], chosen: set[int], dice: random.Random
) -> None:
    provider = _make_world(sorted(chosen))
    snapshot = _read(provider, zone)
    _sync(provider, zone)
    dice.shuffle(zone)

    again = _sync(provider, zone)

    assert again.status == SyncRun.Status.UNCHANGED
    assert _stored(provider) == _said(snapshot)
    assert not Finding.objects.filter(provider=provider, occurrences__gt=1).exists()


def _make_world(chosen: Sequence[int]) -> Provider:
    RegistryProfile.objects.all().delete()
    for number in chosen:
        RegistryProfile.objects.create(name=f"profile {number}", **PROFILES[number])
    return make_provider(f"zone-{next(_numbers)}")


def _read(provider: Provider, zone: Sequence[Endpoint]) -> Snapshot:
    return decode_snapshot(encode_endpoints(zone), fetch_txt_profiles(provider), max_items=1_000)


def _sync(provider: Provider, zone: Sequence[Endpoint]) -> SyncRun:
    run = serve_body(provider, encode_endpoints(zone))
    if run.status == SyncRun.Status.HELD:
        # More than one in a hundred was set aside.
        accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get(provider=provider).pk, reason="It is so.")
        run = serve_body(provider, encode_endpoints(zone))
    return run


def _said(snapshot: Snapshot) -> tuple[list[tuple[str, ...]], set[bytes]]:
    records = [
        (*each.key, *sorted(set(each.endpoint.targets)), each.state.value, each.owner_id)
        for each in snapshot.records
    ]
    return sorted(records), {compute_claim_identity(claim) for claim in snapshot.claims}


def _stored(provider: Provider) -> tuple[list[tuple[str, ...]], set[bytes]]:
    rows = RecordSet.objects.filter(provider=provider).select_related("owner")
    records = [
        (
            *(row.name, row.record_type, row.set_identifier),
            *sorted(set(row.targets)),
            *(row.state, row.owner.owner_id if row.owner else ""),
        )
        for row in rows
    ]
    identities = Claim.objects.filter(provider=provider).values_list("identity", flat=True)
    return sorted(records), {bytes(identity) for identity in identities}
