"""Zones, batches, refusals and throttling, over HTTP against moto behind a strict layer."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest
import requests

from providers.backends.errors import BackendError, ChangeImpossible, ChangeRefused
from providers.backends.route53 import Route53Backend
from providers.backends.route53_api import Route53Api
from providers.registries.claim import TxtProfile
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, ProviderSpecificProperty
from providers.wire.json_codec import PLUGIN_MEDIA_TYPE
from tests.reference_server import make_claim, make_record, make_zone
from tests.strict_route53 import CREDENTIALS, StrictRoute53, strict_route53

pytestmark = pytest.mark.deep

WWW, WWW2 = make_record("www.example.org"), make_record("www2.example.org")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictRoute53]:
    with strict_route53() as running:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": running.url}.items():
            monkeypatch.setenv(name, value)
        yield running


def _backend(seconds: float = 20.0, **options: object) -> Route53Backend:
    return Route53Backend(Route53Api(seconds=seconds), **options)  # type: ignore[arg-type]  # keyword options


def _names(backend: Route53Backend) -> set[str]:
    return {each.dns_name for each in backend.records() if each.record_type not in ("NS", "SOA")}


def test_every_page_of_every_zone_that_matches_is_read(service: StrictRoute53) -> None:
    for name in ("example.org", "example.net", "example.com"):
        service.create_zone(name)
    zone = [each for each in make_zone(count=700) if each.record_type != "TXT"]
    _backend().apply(ChangeSet(create=tuple(zone)))

    backend = _backend(domain_filter=DomainFilter(include=("example.org", "example.net")))

    assert len(_names(backend)) == 700
    assert {each.dns_name for each in backend.records() if each.record_type == "NS"} == {
        "example.org",
        "example.net",
    }


def test_a_page_that_comes_again_and_again_is_not_read_for_ever(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    one = _weighted("www.example.org")
    sets = [msgspec.structs.replace(one, set_identifier=f"s{number:03}") for number in range(310)]
    _backend().apply(ChangeSet(create=tuple(sets)))

    # moto knows no place within the sets of one name, and begins with the first each time.
    with pytest.raises(BackendError, match="the same page again and again"):
        _backend().records()


def test_a_name_goes_to_the_zone_that_fits_it_best(service: StrictRoute53) -> None:
    parent, child = service.create_zone("example.org"), service.create_zone("shop.example.org")

    _backend().apply(ChangeSet(create=(WWW, make_record("www.shop.example.org"))))

    assert ("www.example.org", "A", "") in service.held(parent)
    assert ("www.shop.example.org", "A", "") in service.held(child)


def test_two_zones_of_one_name_must_be_told_apart(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    private = service.create_zone("example.org", is_private=True)

    with pytest.raises(BackendError, match="--zone-type"):
        _backend().records()
    _backend(is_private=True).apply(ChangeSet(create=(WWW,)))

    assert ("www.example.org", "A", "") in service.held(private)


def test_nothing_is_ever_upserted(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    backend = _backend()
    backend.apply(ChangeSet(create=(WWW,)))
    (held,) = [each for each in backend.records() if each.record_type == "A"]

    backend.apply(
        ChangeSet(update_old=(held,), update_new=(msgspec.structs.replace(held, targets=("192.0.2.2",)),))
    )

    actions = [action for batch in service.batches for action, _, _ in batch]
    assert actions == ["CREATE", "DELETE", "CREATE"]


def test_many_changes_go_in_batches_and_no_claim_leaves_its_record(service: StrictRoute53) -> None:
    service.create_zone("example.org")

    _backend().apply(ChangeSet(create=tuple(make_zone(count=1_200))))

    assert len(service.batches) > 2
    for batch in service.batches:
        records = {name for _, name, kind in batch if kind != "TXT"}
        claims = {name.split("-", 1)[1] for _, name, kind in batch if kind == "TXT"}
        assert records == claims
        assert len(batch) <= 1_000


def test_one_bad_record_does_not_keep_the_others_from_being_made(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    good = make_zone(count=8)
    bad = [make_record("bad.example.org", targets=("999.0.2.1",)), make_claim("bad.example.org")]
    backend = _backend()

    with pytest.raises(ChangeRefused) as caught:
        backend.apply(ChangeSet(create=(*good[:8], *bad, *good[8:])))

    assert "2 of 18 changes were not applied" in str(caught.value)
    assert "A bad.example.org" in str(caught.value)
    assert _names(backend) == {each.dns_name for each in good}


def _weighted(name: str, *, health_check: str = "", weight: str = "10") -> Endpoint:
    properties = {"aws/weight": weight} | ({"aws/health-check-id": health_check} if health_check else {})
    found = tuple(ProviderSpecificProperty(*each) for each in properties.items())
    return msgspec.structs.replace(
        make_record(name, set_identifier="one", targets=("192.0.2.7",)), provider_specific=found
    )


_MANY = [f"192.0.2.{number}" for number in range(200)]
# Of 200 values each, four go in one batch.
TEN_LARGE = tuple(make_record(f"n{number}.example.org", targets=_MANY) for number in range(10))
BAD: dict[str, Endpoint] = {
    "no address": make_record("bad.example.org", targets=("999.0.2.1",)),
    "a health check that is not there": _weighted("bad.example.org", health_check="nowhere"),
    "a weight that is none": _weighted("bad.example.org", weight="many"),
    "in none of the zones": make_record("bad.example.com"),
    "too long for any batch": make_record("bad.example.org", "TXT", [f'"{"x" * 3_900}"'] * 9),
}


@pytest.mark.parametrize("reason", BAD)
def test_whatever_is_wrong_with_one_record_the_others_are_made(service: StrictRoute53, reason: str) -> None:
    service.create_zone("example.org")
    good = [*make_zone(count=3), _weighted("checked.example.org", health_check="here")]
    service.health_checks = {"here"}
    backend = _backend()

    with pytest.raises(ChangeRefused) as caught:
        backend.apply(ChangeSet(create=(*good, BAD[reason])))

    assert "1 of 8 changes were not applied, the others were" in str(caught.value)
    assert BAD[reason].dns_name in str(caught.value)
    assert _names(backend) == {each.dns_name for each in good}


def test_one_old_value_that_moved_does_not_keep_the_others_from_being_changed(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    backend = _backend()
    backend.apply(ChangeSet(create=tuple(make_zone(count=2))))
    held = [each for each in backend.records() if each.record_type == "A"]
    stale = [msgspec.structs.replace(held[0], targets=("192.0.2.200",)), held[1]]
    new = [msgspec.structs.replace(each, targets=("192.0.2.99",)) for each in held]

    with pytest.raises(ChangeRefused, match="1 of 2 changes were not applied, the others were"):
        backend.apply(ChangeSet(update_old=tuple(stale), update_new=tuple(new)))

    shown = {each.dns_name: each.targets for each in backend.records() if each.record_type == "A"}
    assert shown == {held[0].dns_name: held[0].targets, held[1].dns_name: ("192.0.2.99",)}


def test_a_request_of_which_nothing_can_ever_be_made_must_change(service: StrictRoute53) -> None:
    service.create_zone("example.org")

    with pytest.raises(ChangeImpossible, match="2 of 2 changes were not applied, so nothing was applied"):
        _backend().apply(ChangeSet(create=(BAD["a weight that is none"], BAD["in none of the zones"])))

    assert service.batches == []


def test_batches_keep_within_the_values_of_one_request(service: StrictRoute53) -> None:
    service.create_zone("example.org")

    _backend().apply(ChangeSet(create=TEN_LARGE))

    # None was refused, and tried again in parts.
    assert [len(batch) for batch in service.batches] == [4, 4, 2]


@pytest.mark.parametrize(
    ("profile", "record"),
    [
        (TxtProfile(prefix="extdns."), "www.example.org"),
        (TxtProfile(prefix="x-%{record_type}-"), "www.example.org"),
        (TxtProfile(suffix="-owner"), "www.example.org"),
        (TxtProfile(wildcard_replacement="any"), "*.example.org"),
    ],
)
def test_a_claim_under_any_profile_goes_with_its_record(
    service: StrictRoute53, profile: TxtProfile, record: str
) -> None:
    service.create_zone("example.org")
    backend = _backend()
    bad = make_record(record, targets=("999.0.2.1",))
    claim = make_claim(record, profile=profile)

    with pytest.raises(ChangeRefused):
        backend.apply(ChangeSet(create=(WWW2, bad, claim, make_claim(WWW2.dns_name))))

    assert _names(backend) == {WWW2.dns_name, f"a-{WWW2.dns_name}"}


def test_a_request_that_breaks_off_says_what_was_made_and_what_may_have_been(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    service.fail_after = 1
    backend = _backend()

    with pytest.raises(BackendError) as caught:
        backend.apply(ChangeSet(create=TEN_LARGE))

    assert "It may have been applied: read the records again." in str(caught.value)
    assert "Nothing was changed" not in str(caught.value)
    assert "4 changes of this request were made before, 2 were not tried" in str(caught.value)
    assert len(_names(backend)) == 8


def test_what_somebody_changed_since_it_was_read_is_not_deleted(service: StrictRoute53) -> None:
    zone_id = service.create_zone("example.org")
    backend = _backend()
    backend.apply(ChangeSet(create=(WWW,)))
    (held,) = [each for each in backend.records() if each.record_type == "A"]
    service.client.change_resource_record_sets(
        HostedZoneId=zone_id,
        ChangeBatch={
            "Changes": [
                {
                    "Action": "UPSERT",
                    "ResourceRecordSet": {
                        "Name": "www.example.org",
                        "Type": "A",
                        "TTL": 300,
                        "ResourceRecords": [{"Value": "198.51.100.9"}],
                    },
                }
            ]
        },
    )

    with pytest.raises(ChangeRefused):
        backend.apply(ChangeSet(delete=(held,)))

    assert [each.targets for each in backend.records() if each.record_type == "A"] == [("198.51.100.9",)]


def test_throttling_is_waited_out(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    backend = _backend()
    service.throttle = 2

    backend.apply(ChangeSet(create=(WWW,)))

    assert _names(backend) == {"www.example.org"}


def test_throttling_is_not_waited_out_for_ever(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    service.throttle = 1_000

    with pytest.raises(BackendError, match="throttles"):
        _backend(seconds=0.5).records()

    # A pause that doubles leaves room for few.
    assert service.throttle > 990
    service.throttle = 0
    assert _names(_backend()) == set()


def test_wrong_credentials_are_told_and_never_an_empty_zone(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    service.refuse_keys = True

    with pytest.raises(BackendError, match="does not accept the credentials"):
        _backend().records()


def test_no_credentials_are_told(service: StrictRoute53, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)

    with pytest.raises(BackendError, match="No AWS credentials"):
        _backend().records()


def test_a_zone_that_vanished_is_told(service: StrictRoute53) -> None:
    zone_id = service.create_zone("example.org")
    backend = _backend()
    service.client.delete_hosted_zone(Id=zone_id)

    with pytest.raises(ChangeImpossible):
        backend.apply(ChangeSet(create=(WWW,)))


def test_a_service_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(BackendError, match="did not respond"):
        _backend(seconds=5.0).records()


def test_the_command_serves_it_as_a_plugin(service: StrictRoute53) -> None:
    service.create_zone("example.org")
    command = ["route53", "--protocol", "plugin", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "providers.servers", *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **CREDENTIALS, "AWS_ENDPOINT_URL": service.url},
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        answer = requests.get(f"{ready['url']}/records", headers={"Accept": PLUGIN_MEDIA_TYPE}, timeout=30)
        process.send_signal(signal.SIGTERM)

    shown = msgspec.json.decode(answer.content, type=list[Endpoint])
    assert [each.record_type for each in shown] == ["NS"]
