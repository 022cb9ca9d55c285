"""Endpoints into a zone file and out again."""

import tempfile
from pathlib import Path

import dns.ipv6
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from tests.reference_server import make_claim, make_record

_LABELS = st.from_regex(r"[a-z0-9_]([a-z0-9_-]{0,20}[a-z0-9])?", fullmatch=True)
_NAMES = st.builds(
    lambda labels, wild: ".".join([*(["*"] if wild else []), *labels, "example.org"]),
    st.lists(_LABELS, min_size=1, max_size=3),
    st.booleans(),
)
_HOSTS = st.builds(lambda labels: ".".join([*labels, "example.org"]), st.lists(_LABELS, max_size=2))
_SMALL = st.integers(0, 65535)
_TEXTS = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters='"\\'), min_size=1, max_size=400
)
_TARGETS = {
    "A": st.ip_addresses(v=4).map(str),
    # A zone file's own spelling: Python's differs for mapped addresses, and between its versions.
    "AAAA": st.ip_addresses(v=6).map(lambda address: dns.ipv6.inet_ntoa(address.packed)),
    "CNAME": _HOSTS,
    "DNAME": _HOSTS,
    "NS": _HOSTS,
    "PTR": _HOSTS,
    "MX": st.builds("{} {}".format, _SMALL, _HOSTS),
    "SRV": st.builds("{} {} {} {}.".format, _SMALL, _SMALL, _SMALL, _HOSTS),
    "TXT": _TEXTS.map('"{}"'.format),
    "NAPTR": st.builds('{} {} "U" "E2U+sip" "!^.*$!sip:(info)@example.org!" .'.format, _SMALL, _SMALL),
}


@st.composite
def _endpoints(draw: st.DrawFn) -> list[Endpoint]:
    names = draw(st.lists(_NAMES, unique=True, min_size=1, max_size=8))
    found = []
    for name in names:
        record_type = draw(st.sampled_from(sorted(_TARGETS)))
        most = 1 if record_type in ("CNAME", "DNAME") else 4
        targets = draw(st.lists(_TARGETS[record_type], unique=True, min_size=1, max_size=most))
        ttl = draw(st.integers(1, 2**31 - 1))
        found.append(make_record(name, record_type, targets, ttl=ttl))
    return found


@settings(deadline=None)
@given(_endpoints())
def test_every_endpoint_comes_back_from_disk_as_it_went_there(endpoints: list[Endpoint]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "example.org.zone")
        write_new_zone(path, "example.org")
        apex = ZoneFileBackend(path).records()

        ZoneFileBackend(path).apply(ChangeSet(create=tuple(endpoints)))
        read = ZoneFileBackend(path).records()

    assert _as_set(read) == _as_set([*apex, *endpoints])


@settings(deadline=None)
@given(_endpoints())
def test_what_was_read_is_accepted_as_old_and_the_zone_is_empty_again(endpoints: list[Endpoint]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "example.org.zone")
        write_new_zone(path, "example.org")
        backend = ZoneFileBackend(path)
        before = backend.records()
        backend.apply(ChangeSet(create=tuple(endpoints)))

        backend.apply(ChangeSet(delete=tuple(each for each in backend.records() if each not in before)))

        assert ZoneFileBackend(path).records() == before


@pytest.mark.parametrize(
    ("record_type", "sent", "read"),
    [
        ("A", "192.0.2.1", "192.0.2.1"),
        ("AAAA", "2001:DB8:0::1", "2001:db8::1"),
        ("CNAME", "LB.example.org.", "lb.example.org"),
        ("CNAME", "straße.example.org", "strasse.example.org"),
        ("MX", "10 Mail.example.org", "10 mail.example.org"),
        ("SRV", "0 5 5060 sip.example.org", "0 5 5060 sip.example.org."),
        ("TXT", "bare", '"bare"'),
        ("TXT", '"a" "b"', '"ab"'),
    ],
)
def test_adjusting_gives_the_target_that_will_be_read_back(
    tmp_path: Path, record_type: str, sent: str, read: str
) -> None:
    path = tmp_path / "example.org.zone"
    write_new_zone(path, "example.org")
    backend = ZoneFileBackend(path)
    endpoint = make_record(record_type=record_type, targets=(sent,), ttl=0)

    adjusted = backend.adjust([endpoint])
    backend.apply(ChangeSet(create=(endpoint,)))

    assert adjusted == [make_record(record_type=record_type, targets=(read,), ttl=0)]
    assert backend.records()[-1].targets == (read,)


def test_adjusting_keeps_labels_and_what_no_zone_file_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "example.org.zone"
    write_new_zone(path, "example.org")
    labelled = Endpoint("www.example.org", ("192.0.2.1",), "A", labels={"resource": "ingress/shop/www"})
    routed = make_record("eu.example.org", set_identifier="eu")

    adjusted = ZoneFileBackend(path).adjust([labelled, routed])

    assert adjusted == [labelled, routed]


def test_a_ttl_that_is_not_configured_becomes_the_zones_default(tmp_path: Path) -> None:
    path = tmp_path / "example.org.zone"
    path.write_text("$ORIGIN example.org.\n$TTL 1h\n@ IN SOA ns1 host 1 2 3 4 5\n@ IN NS ns1\n")
    backend = ZoneFileBackend(path)

    backend.apply(ChangeSet(create=(make_record(ttl=0),)))

    assert [each.record_ttl for each in ZoneFileBackend(path).records()] == [3600, 3600]


def test_a_claim_stands_in_the_file_as_bind_would_write_it(tmp_path: Path) -> None:
    path = tmp_path / "example.org.zone"
    write_new_zone(path, "example.org")

    ZoneFileBackend(path).apply(ChangeSet(create=(make_claim(resource="ingress/shop/www"),)))

    assert (
        'a-www.example.org. 300 IN TXT "heritage=external-dns,external-dns/owner=blue-cluster,'
        'external-dns/resource=ingress/shop/www"\n'
    ) in path.read_text()


def _as_set(endpoints: list[Endpoint] | tuple[Endpoint, ...] | object) -> set[tuple[object, ...]]:
    assert isinstance(endpoints, list)
    return {(each.dns_name, each.record_type, frozenset(each.targets), each.record_ttl) for each in endpoints}
