"""`/adjustendpoints` corrects what can never be held, so that no client asks for it, or loses what it has."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import requests

from providers.backends.zone_file import ZoneFileBackend, write_new_zone
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.json_codec import encode_endpoints
from tests.providers.servers.calls import ACCEPT, CONTENT
from tests.reference_server import make_claim, make_record
from tests.servers.provider_server import WebhookServer

GOOD = make_record("good.example.org", ttl=0)
ALIAS = (ProviderSpecificProperty("alias", "true"),)
BAD = {
    "two targets": make_record("www.example.org", "CNAME", ("a.example.net", "b.example.net")),
    "alias": msgspec.structs.replace(make_record(), provider_specific=ALIAS),
    "set identifier": make_record(set_identifier="eu"),
    "no address": make_record(targets=("lb.example.net",)),
    "control character": make_record(targets=("192.0.2.1\n",)),
}


@pytest.fixture
def backend(tmp_path: Path) -> ZoneFileBackend:
    write_new_zone(tmp_path / "example.org.zone", "example.org")
    return ZoneFileBackend(tmp_path)


@pytest.fixture
def url(backend: ZoneFileBackend) -> Iterator[str]:
    server = WebhookServer(backend)
    server.start()
    yield server.url
    server.stop()


def _adjust(url: str, *wanted: Endpoint) -> list[Endpoint]:
    answer = requests.post(
        f"{url}/adjustendpoints", encode_endpoints(wanted), headers=ACCEPT | CONTENT, timeout=20
    )
    assert answer.status_code == 200, answer.text
    return msgspec.json.decode(answer.content, type=list[Endpoint])


def test_what_cannot_be_held_is_left_out_where_nothing_stands(url: str) -> None:
    outside = make_record("www.example.net")

    for bad in (*BAD.values(), outside, make_record("two words.example.org")):
        assert _adjust(url, bad, GOOD) == [GOOD]


def test_where_something_stands_all_of_it_is_given_back_as_it_is(url: str, backend: ZoneFileBackend) -> None:
    live = (make_record(ttl=60), make_record("www.example.org", "AAAA", ("2001:db8::1",), ttl=90))
    backend.apply(ChangeSet(create=(*live, make_claim(), make_claim(record_type="AAAA"))))
    wanted_beside = make_record("www.example.org", "AAAA", ("2001:db8::9",))

    for bad in BAD.values():
        assert _adjust(url, bad, GOOD) == [GOOD, *live]
        assert _adjust(url, wanted_beside, bad, GOOD) == [GOOD, *live]


def test_labels_of_what_was_wanted_go_with_what_is_given_back(url: str, backend: ZoneFileBackend) -> None:
    backend.apply(ChangeSet(create=(make_record(),)))
    labels = {"resource": "ingress/shop/www"}

    (given,) = _adjust(url, msgspec.structs.replace(BAD["no address"], labels=labels))

    assert given == msgspec.structs.replace(make_record(), labels=labels)


def test_with_a_legacy_claim_alone_what_a_client_adds_is_given_back_too(
    url: str, backend: ZoneFileBackend
) -> None:
    legacy = msgspec.structs.replace(make_claim(), dns_name="www.example.org")
    backend.apply(ChangeSet(create=(make_record(), legacy)))

    (given,) = _adjust(url, BAD["two targets"])

    assert given.provider_specific == (ProviderSpecificProperty("txt/force-update", "true"),)


def test_a_cname_beside_other_types_is_left_out_and_the_others_stay(url: str) -> None:
    wanted = (make_record(ttl=0), make_record("www.example.org", "CNAME", ("lb.example.net",)), GOOD)

    assert _adjust(url, *wanted) == [make_record(ttl=0), GOOD]


def test_properties_that_no_zone_holds_are_taken_off_and_the_record_stays(url: str) -> None:
    properties = (
        ProviderSpecificProperty("alias", "false"),
        ProviderSpecificProperty("webhook/anything", "x"),
    )

    assert _adjust(url, msgspec.structs.replace(GOOD, provider_specific=properties)) == [GOOD]
