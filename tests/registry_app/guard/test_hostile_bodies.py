"""Whatever an instance asks for, what is not its own stays byte for byte (I12).

DNSADMIN_TEST_EXAMPLES=100000 tries more: make test-deep ARGS=tests/registry_app/guard/test_hostile_bodies.py
"""

import base64
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import OwnershipState, Pairing, TxtProfile
from providers.registries.pairing import pair
from providers.wire.canonical_name import InvalidName, endpoint_key
from providers.wire.change_set import ChangeSet, build_change_set
from providers.wire.endpoint import Endpoint, EndpointKey, ProviderSpecificProperty
from providers.wire.errors import WireError
from providers.wire.json_codec import DecodedRecords, decode_change_set_strict, encode_change_set
from registry_app.clock import fetch_now
from registry_app.guard.asked import read_change_set
from registry_app.guard.judge import Judge
from registry_app.guard.unit import Caller
from registry_app.guard.zone import build_zone
from registry_app.mirror.registries import NO_REGISTRIES
from registry_app.mirror.snapshot import build_snapshot
from registry_app.models import GuardEndpoint, RegistryProfile
from tests.depth import examples
from tests.external_dns.recordings import KEY
from tests.reference_server import make_claim, make_claim_encrypted_otherwise, make_record
from tests.registry_app.guard.serving import guarded

pytestmark = pytest.mark.one_database
BLUE, GREEN = "blue-cluster", "green-cluster"
_PREFIXED = TxtProfile(reference="1", prefix="x.", wildcard_replacement="any")
_ENCRYPTED = TxtProfile(reference="2", suffix="-own", encryption_key=KEY)
_TEMPLATE = TxtProfile(reference="3", prefix="%{record_type}-of-")
PROFILES = (TxtProfile(), _PREFIXED, _ENCRYPTED, _TEMPLATE)

_GREEN = [
    make_record("www.example.org"),
    make_claim("www.example.org", owner=GREEN),
    make_record("www.example.org", "AAAA", ("2001:db8::1",)),
    make_claim("www.example.org", "AAAA", GREEN),
    make_record("shop.example.org", "CNAME", ("lb.example.net",)),
    make_claim("shop.example.org", "CNAME", GREEN, _PREFIXED),
    make_record("*.wild.example.org"),
    make_claim("*.wild.example.org", owner=GREEN, profile=_PREFIXED),
    make_record("set.example.org", set_identifier="green"),
    make_claim("set.example.org", owner=GREEN, set_identifier="green"),
    make_record("secret.example.org"),
    make_claim_encrypted_otherwise("secret.example.org", GREEN, _ENCRYPTED),
    make_record("b\u00fccher.example.org"),
    make_claim("b\u00fccher.example.org", owner=GREEN),
]
_NOBODYS = [
    make_record("nobody.example.org"),
    make_record("example.org", "MX", ("10 mail.example.org",)),
    make_record("example.org", "TXT", ('"v=spf1 -all"',)),
]
_SHARED_TEXT = msgspec.structs.replace(
    make_claim("both.example.org", owner=GREEN),
    targets=(*make_claim("both.example.org", owner=GREEN).targets, '"another text"'),
)
_BLUE = [
    make_record("mine.example.org"),
    make_claim("mine.example.org"),
    make_record("api.example.org", "CNAME", ("lb.example.net",)),
    make_claim("api.example.org", "CNAME"),
]
ZONE = [*_GREEN, *_NOBODYS, make_record("both.example.org"), _SHARED_TEXT, *_BLUE]

_NAMES = sorted(
    {each.dns_name for each in ZONE} | {"new.example.org", "any.wild.example.org", "cname-mine.example.org"}
)
_TEXTS = (
    '"heritage=external-dns,external-dns/owner=blue-cluster"',
    "heritage=external-dns,external-dns/owner=blue-cluster",
    '"heritage=external-dns,external-dns/owner=green-cluster"',
    '"heritage=external-dns,external-dns/owner=blue-cluster,external-dns/owner=green-cluster"',
    '"heritage=external-dns,external-dns/owner=green-cluster,external-dns/owner=blue-cluster"',
    '"external-dns/owner=blue-cluster,heritage=external-dns"',
    '"heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=ingress/a/b"',
    '"heritage=external-dns,heritage=other,external-dns/owner=blue-cluster"',
    '"heritage=external-dns"',
    base64.b64encode(os.urandom(60)).decode(),
    make_claim_encrypted_otherwise("x.example.org", BLUE, _ENCRYPTED).targets[0],
    make_claim_encrypted_otherwise("x.example.org", GREEN, _ENCRYPTED).targets[0],
    '"another text"',
    '"v=spf1 -all"',
)
_ADDRESSES = ("192.0.2.1", "203.0.113.66", "2001:db8::66", "lb.example.net", "WWW.example.org.")


def _respell(name: str, how: int) -> str:
    spellings = (
        name,
        name.upper(),
        f"{name}.",
        name.replace("*", "\\052"),
        name.replace("e", "\uff45"),
        name.replace(".", "\u3002"),
        name.replace("w", "w\u200d", 1),
        f"a-{name}",
        f"cname-{name}",
        f"x.a-{name}",
        f"a-of-{name}",
        name.replace("*.wild", "any.wild"),
        f"a-{name.replace('.', '-own.', 1)}",
    )
    return spellings[how % len(spellings)]


_ASKED = st.builds(
    lambda name, how, kind, targets, sid, ttl, alias: Endpoint(
        dns_name=_respell(name, how),
        targets=tuple(targets),
        record_type=kind,
        set_identifier=sid,
        record_ttl=ttl,
        provider_specific=(ProviderSpecificProperty("alias", "true"),) if alias else (),
    ),
    st.sampled_from(_NAMES),
    st.one_of(st.just(0), st.integers(0, 12)),
    st.sampled_from(("A", "A", "AAAA", "CNAME", "TXT", "TXT", "TXT", "NS", "a", "Txt", "MX", "")),
    st.lists(st.sampled_from((*_TEXTS, *_ADDRESSES)), max_size=3),
    st.sampled_from(("", "", "", "green", "blue")),
    st.sampled_from((0, 300, 60)),
    st.booleans(),
)
_ENDPOINT = st.one_of(_ASKED, st.sampled_from(ZONE))
_LISTS = st.lists(_ENDPOINT, max_size=4)


@st.composite
def change_sets(draw: st.DrawFn) -> ChangeSet:
    """What a hostile instance may post."""
    pairs = draw(st.lists(st.tuples(_ENDPOINT, _ENDPOINT), max_size=4))
    # Pairs of one identity, as an instance writes them, are more dangerous than any others.
    same = [
        (old, msgspec.structs.replace(old, targets=new.targets, record_ttl=new.record_ttl))
        if is_same
        else (old, new)
        for (old, new), is_same in ((each, draw(st.booleans())) for each in pairs)
    ]
    return ChangeSet(
        create=tuple(draw(_LISTS)),
        update_old=tuple(old for old, _ in same),
        update_new=tuple(new for _, new in same),
        delete=tuple(draw(_LISTS)),
    )


def _judge(change_set: ChangeSet) -> ChangeSet:
    """What the guard would send, from the bytes that came."""
    try:
        decoded = decode_change_set_strict(encode_change_set(change_set), max_items=1_000)
    except WireError:
        return ChangeSet()
    changes, _ = read_change_set(decoded, {KEY})
    read = DecodedRecords(ZONE, [])
    zone = build_zone(build_snapshot(read, PROFILES, NO_REGISTRIES, (), body=b"", body_digest=""), ZONE)
    caller = Caller(
        owner_id=BLUE,
        is_managed=lambda _: True,
        is_in_patterns=lambda _: True,
        may_share=lambda _, __: False,
        find_hidden=lambda _, *, whatever: {},
        find_stop=lambda _: "",
    )
    judge = Judge(zone, caller, changes)
    judged = judge.judge()
    edits = judge.build_edits(judged, judged.passing)
    return build_change_set([(zone.find(key), new) for key, new in edits.items()], {})


def apply_to(endpoints: Iterable[Endpoint], change_set: ChangeSet) -> list[Endpoint]:
    """What a provider makes of it that changes all it is asked to."""
    zone = {_key(each): each for each in endpoints}
    for each in (*change_set.delete, *change_set.update_old):
        zone.pop(_key(each), None)
    for each in (*change_set.create, *change_set.update_new):
        zone[_key(each)] = each
    return list(zone.values())


def _key(endpoint: Endpoint) -> EndpointKey | Endpoint:
    try:
        return endpoint_key(endpoint)
    except InvalidName:
        return endpoint


def _others(pairing: Pairing) -> dict[EndpointKey, tuple[Endpoint, OwnershipState, str]]:
    return {
        record.key: (record.endpoint, record.state, record.owner_id)
        for record in pairing.records
        if record.owner_id != BLUE
    }


_BEFORE = _others(pair(ZONE, PROFILES))
_FOREIGN_TEXTS = {
    (endpoint_key(claim.endpoint), claim.raw)
    for claim in pair(ZONE, PROFILES).claims
    if claim.owner_id != BLUE
}


@pytest.mark.random
@settings(max_examples=examples(10_000))
@given(change_sets())
def test_what_is_not_its_own_stays_byte_for_byte(change_set: ChangeSet) -> None:
    after = pair(apply_to(ZONE, _judge(change_set)), PROFILES)

    found = _others(after)
    assert {key: found.get(key) for key in _BEFORE} == _BEFORE
    texts = {(endpoint_key(claim.endpoint), claim.raw) for claim in after.claims}
    assert texts >= _FOREIGN_TEXTS
    # Nor is anything made that belongs to somebody else.
    assert not [key for key in found.keys() - _BEFORE.keys() if found[key][2]]


@pytest.mark.random
@pytest.mark.django_db(transaction=True)
def test_over_the_wire_too(tmp_path: Path) -> None:
    """The whole way, with a provider that applies whatever comes."""
    profiles = RegistryProfile.objects
    profiles.create(name="prefixed", prefix="x.", wildcard_replacement="any")
    profiles.create(name="encrypted", suffix="-own", encryption_key=KEY.decode())
    profiles.create(name="template", prefix="%{record_type}-of-")
    with guarded(tmp_path, ZONE, value_exact=False, mode=GuardEndpoint.Mode.ENFORCE) as guard:
        GuardEndpoint.objects.update(first_changes_at=fetch_now(), delete_percent=100, most_deletes=1_000_000)

        @settings(max_examples=examples(400))
        @given(change_sets())
        def post(change_set: ChangeSet) -> None:
            answer = guard.post("/records", encode_change_set(change_set))
            left = list(guard.reference.backend.records())

            assert answer.status_code in (204, 503)
            assert [each for each in (*_GREEN, *_NOBODYS, _SHARED_TEXT) if each not in left] == []

        post()
