"""The elements of a view: the names in it, with the claims that speak for them."""

import random
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.registries.claim import TxtProfile
from providers.registries.encryption import decrypt_labels_text, encrypt_labels_text
from providers.registries.labels import ENCRYPTION_NONCE
from providers.registries.linked_names import NameLinks
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import decode_endpoints_strict, encode_endpoints
from registry_app.guard.view import View, ZoneNames
from tests.depth import examples
from tests.external_dns.instance import deduplicate
from tests.external_dns.plan import compute_changes
from tests.external_dns.settings import Settings
from tests.external_dns.txt_registry import TxtRegistry
from tests.reference_server import make_claim, make_record

KEY = bytes(range(32))
EVERYTHING = DomainFilter()
BLUE = View(("blue.example.org",), EVERYTHING)
_SETTINGS = [
    Settings("", "blue-cluster", **values)
    for values in (
        {},
        {"txt_prefix": "txt-"},
        {"txt_prefix": "owner."},
        {"txt_suffix": "-own"},
        {"txt_suffix": ".blue"},
        {"txt_prefix": "%{record_type}."},
        {"txt_suffix": "-%{record_type}"},
        {"wildcard_replacement": "any"},
        {"encryption_key": KEY},
        {"txt_prefix": "txt-", "encryption_key": KEY},
    )
]
_NAMES = [
    *("example.org", "blue.example.org", "www.blue.example.org", "*.blue.example.org"),
    *("any.blue.example.org", "blue.blue.example.org", "a-www.blue.example.org", "www.example.org"),
    *("*.example.org", "green.example.org", "xblue.example.org", "WWW.Blue.example.org."),
]
_SUFFIXES = ["blue.example.org", ".blue.example.org", "www.blue.example.org", "example.org", "org", "net"]
_FILTERS = [
    EVERYTHING,
    DomainFilter(include=("example.org",), exclude=("www.blue.example.org",)),
    DomainFilter(exclude=(".blue.example.org",)),
    DomainFilter(regex_include=r"^(www|\*)", regex_exclude="green"),
    DomainFilter(regex_exclude=r"^a-"),
]
_TYPES = ["A", "AAAA", "CNAME", "TXT"]


def _cut(zone: Sequence[Endpoint], view: View, profiles: Sequence[TxtProfile] = ()) -> list[Endpoint]:
    body = ZoneNames(encode_endpoints(zone), NameLinks(profiles), max_items=1_000).cut(view)
    return list(decode_endpoints_strict(body, max_items=1_000))


def _claim(name: str, kind: str, owner: str, flags: Settings, identifier: str) -> Endpoint:
    claim = make_claim(name, kind, owner, flags.profile, set_identifier=identifier)
    if flags.encryption_key is None:
        return claim
    text = encrypt_labels_text(claim.targets[0].strip('"'), flags.encryption_key)
    return msgspec.structs.replace(claim, targets=(f'"{text}"',))


_NAME = st.sampled_from(_NAMES)
_OWNER = st.sampled_from(["blue-cluster", "blue-cluster", "green-cluster"])
_IDENTIFIER = st.sampled_from(["", "", "one"])
_RECORD = st.builds(
    make_record,
    _NAME,
    st.sampled_from(_TYPES),
    st.sampled_from([("192.0.2.1",), ("192.0.2.2",)]),
    set_identifier=_IDENTIFIER,
)
_CLAIM = st.builds(_claim, _NAME, st.sampled_from(_TYPES), _OWNER, st.sampled_from(_SETTINGS), _IDENTIFIER)
_VIEW = st.builds(
    View,
    st.lists(st.sampled_from(_SUFFIXES), min_size=1, max_size=2).map(tuple),
    st.sampled_from(_FILTERS),
)


def _plan(
    flags: Settings, zone: Sequence[Endpoint], desired: Sequence[Endpoint], shown: DomainFilter
) -> list[list[Endpoint]]:
    """What an instance would send."""
    registry = TxtRegistry(flags, lambda: zone, lambda: 0.0)
    current = registry.fetch_records()
    changes = compute_changes(current, deduplicate(desired), flags, shown.matches)
    sent = registry.add_claims(changes)
    lists = (sent.create, sent.update_old, sent.update_new, sent.delete)
    return [[_without_chance(record.to_endpoint(), flags) for record in records] for records in lists]


def _without_chance(endpoint: Endpoint, flags: Settings) -> Endpoint:
    """A new encrypted claim is another text each time."""
    labels = {name: value for name, value in endpoint.labels.items() if name != ENCRYPTION_NONCE}
    read = [
        decrypt_labels_text(target, flags.encryption_key) if flags.encryption_key else None
        for target in endpoint.targets
    ]
    targets = tuple(
        found.plain if found else target for found, target in zip(read, endpoint.targets, strict=True)
    )
    return msgspec.structs.replace(endpoint, labels=labels, targets=targets)


@settings(deadline=None, max_examples=examples(3_000))
@given(
    st.lists(_RECORD | _CLAIM, max_size=12),
    st.lists(_RECORD, max_size=5),
    st.sampled_from(_SETTINGS),
    st.sampled_from(_SETTINGS),
    _VIEW,
    st.sampled_from([("A", "AAAA", "CNAME"), ("A", "AAAA", "CNAME", "TXT")]),
)
def test_an_instance_plans_with_its_view_what_it_plans_with_the_whole_zone(
    zone: list[Endpoint],
    desired: list[Endpoint],
    flags: Settings,
    others: Settings,
    view: View,
    managed_types: tuple[str, ...],
) -> None:
    flags = Settings(
        "",
        "blue-cluster",
        txt_prefix=flags.txt_prefix,
        txt_suffix=flags.txt_suffix,
        wildcard_replacement=flags.wildcard_replacement,
        encryption_key=flags.encryption_key,
        managed_types=managed_types,
    )
    shown = view.build_filter()

    cut = _cut(zone, view, [flags.profile, others.profile])

    assert _plan(flags, cut, desired, shown) == _plan(flags, zone, desired, shown)
    records = [each for each in zone if each.record_type != "TXT"]
    assert [each for each in records if each in cut] == [
        each for each in records if shown.matches(each.dns_name)
    ]


@settings(deadline=None, max_examples=examples(1_000))
@given(st.lists(_RECORD | _CLAIM, max_size=8), st.lists(_RECORD | _CLAIM, max_size=8), _VIEW, st.randoms())
def test_a_view_does_not_depend_on_what_was_read_before(
    first: list[Endpoint], others: list[Endpoint], view: View, chance: random.Random
) -> None:
    second = [*others, *first[::2]]
    chance.shuffle(second)
    links, body = NameLinks([each.profile for each in _SETTINGS]), encode_endpoints(second)[:-1]
    poisoned = b'{"dnsName":"a\\u0000.example.org","recordType":"A","targets":["192.0.2.1"]}'
    body += (b"," if second else b"") + poisoned + b"]"
    before = ZoneNames(encode_endpoints(first), links, max_items=100)

    again = ZoneNames(body, links, max_items=100, before=before)
    once_more = ZoneNames(body, links, max_items=100, before=again)

    whole = ZoneNames(body, links, max_items=100).cut(view)
    assert again.cut(view) == whole
    assert once_more.cut(view) == whole


def test_the_elements_are_those_of_the_response_byte_for_byte() -> None:
    inside = [
        b'{"recordType":"A" ,"dnsName":"www.blue.example.org","targets":["192.0.2.1"],"extra":{"a":[1]}}',
        b'{"dnsName":"a-www.blue.example.org","recordType":"TXT","targets":["\\"heritage=external-dns\\""]}',
    ]
    outside = b'{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"]}'
    body = b" [\n" + b" ,\n".join([outside, inside[0], outside, inside[1]]) + b"] "

    cut = ZoneNames(body, NameLinks([]), max_items=10).cut(BLUE)

    assert cut == b"[" + b",".join(inside) + b"]"


@pytest.mark.parametrize("flags", _SETTINGS)
def test_a_claim_follows_its_record_set(flags: Settings) -> None:
    names = ("blue.example.org", "www.blue.example.org", "*.blue.example.org")
    records = [make_record(name) for name in names]
    claims = [_claim(name, "A", "blue-cluster", flags, "") for name in names]
    others = [make_record("www.example.org"), _claim("www.example.org", "A", "green-cluster", flags, "")]

    cut = _cut([*claims, *others, *records], BLUE, [flags.profile])

    assert [each for each in cut if each not in others] == [*claims, *records]
    assert others[0] not in cut


def test_a_claim_whose_record_set_lies_outside_stays_out() -> None:
    view = View(("blue.example.org",), DomainFilter(exclude=("www.blue.example.org",)))
    record, claim = make_record("www.blue.example.org"), make_claim("www.blue.example.org")

    assert _cut([record, claim, make_record("x.blue.example.org")], view) == [
        make_record("x.blue.example.org")
    ]


def test_another_text_beside_a_name_of_the_view_stays_out() -> None:
    text = make_record("a-blue.example.org", "TXT", ['"v=spf1 -all"'])

    assert _cut([text], BLUE) == []
    assert _cut([make_claim("blue.example.org")], BLUE) == [make_claim("blue.example.org")]


def test_what_cannot_be_read_stays_in() -> None:
    poisoned = b'{"dnsName":"a\\u0000.example.org","recordType":"A","targets":["192.0.2.1"]}'
    outside = encode_endpoints([make_record("www.example.org")])

    cut = ZoneNames(outside[:-1] + b"," + poisoned + b"]", NameLinks([]), max_items=10).cut(BLUE)

    assert cut == b"[" + poisoned + b"]"


@pytest.mark.parametrize("body", [b"null", b"[]", b" [ ] "])
def test_a_view_of_nothing_is_empty(body: bytes) -> None:
    assert ZoneNames(body, NameLinks([]), max_items=10).cut(BLUE) == b"[]"


def test_a_response_whose_elements_cannot_be_cut_has_no_view() -> None:
    broken = b'[{"dnsName":"www.blue.example.org","recordType":"A","targets":["192.0.2.1"],"recordTTL":01}]'

    with pytest.raises(WireError):
        ZoneNames(broken, NameLinks([]), max_items=10)
