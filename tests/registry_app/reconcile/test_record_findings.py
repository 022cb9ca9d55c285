"""Findings about record sets, owners and answers."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.models import Finding, Provider, RecordEvent, RegistryProfile
from tests.factories import make_owner, make_provider
from tests.faults import read_faults
from tests.reference_server import ReferenceProvider, make_claim, make_record, make_zone
from tests.registry_app.reconcile.serving import serve
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db
Kind = Finding.Kind


def _names(kind: str) -> list[str]:
    found = Finding.objects.filter(kind=kind, state=Finding.State.OPEN)
    return sorted(found.values_list("name", flat=True))


def test_a_record_without_claim_is_told_of_only_inside_an_owners_patterns() -> None:
    make_owner("blue-cluster", name_patterns=["blue.example.org"])

    serve(make_provider(), [make_record("www.blue.example.org"), make_record("www.example.org")])

    assert _names(Kind.UNMANAGED_IN_PATTERN) == ["www.blue.example.org"]
    suggestion = Finding.objects.get(kind=Kind.UNMANAGED_IN_PATTERN).suggestion
    assert (suggestion["kind"], suggestion["target_owner_id"]) == ("adopt", "blue-cluster")


def test_a_pattern_with_a_leading_dot_leaves_the_name_itself_out() -> None:
    make_owner("blue-cluster", name_patterns=[".blue.example.org"])

    serve(make_provider(), [make_record("blue.example.org"), make_record("www.blue.example.org")])

    assert _names(Kind.UNMANAGED_IN_PATTERN) == ["www.blue.example.org"]


def test_the_zones_own_records_are_nobodys_to_claim() -> None:
    make_owner("blue-cluster", name_patterns=["example.org"])

    serve(make_provider(), [make_record("example.org", "NS", ("ns1.example.net",))])

    assert _names(Kind.UNMANAGED_IN_PATTERN) == []


def test_a_and_aaaa_of_different_owners_are_a_split() -> None:
    zone = [
        make_record("www.example.org", "A"),
        make_claim("www.example.org", "A", "blue-cluster"),
        make_record("www.example.org", "AAAA", ("2001:db8::1",)),
        make_claim("www.example.org", "AAAA", "green-cluster"),
    ]

    serve(make_provider(), zone)

    assert _names(Kind.SPLIT_OWNER) == ["www.example.org"]


def test_a_and_aaaa_of_one_owner_are_no_split() -> None:
    zone = [
        make_record("www.example.org", "A"),
        make_claim("www.example.org", "A"),
        make_record("www.example.org", "AAAA", ("2001:db8::1",)),
        make_claim("www.example.org", "AAAA"),
    ]

    serve(make_provider(), zone)

    assert _names(Kind.SPLIT_OWNER) == []


def test_a_cname_beside_another_type_is_told_of() -> None:
    zone = [make_record("www.example.org", "CNAME", ("lb.example.org",)), make_record("www.example.org", "A")]

    serve(make_provider(), zone)

    assert _names(Kind.CNAME_BESIDE_OTHERS) == ["www.example.org"]


def test_a_claim_whose_name_cannot_exist_is_told_of() -> None:
    profile = RegistryProfile.objects.create(name="long", prefix="external-dns-of-the-blue-cluster-")
    make_owner("blue-cluster", registry_profile=profile)
    name = f"{'w' * 40}.example.org"

    serve(make_provider(), [make_record(name), make_claim(name), *make_zone(count=1)])

    assert _names(Kind.TXT_NAME_TOO_LONG) == [name]


def test_a_name_with_a_second_reading_is_told_of() -> None:
    serve(make_provider(), [make_record("straße.example.org"), make_record("www.example.org")])

    assert _names(Kind.SECOND_READING) == ["strasse.example.org"]


def test_the_third_change_within_an_hour_is_flapping() -> None:
    provider = make_provider()

    for number in range(3):
        serve(provider, [make_record("www.example.org", targets=(f"192.0.2.{number}",)), make_claim()])
    after_two_changes = _names(Kind.FLAPPING)
    serve(provider, [make_record("www.example.org", targets=("192.0.2.77",)), make_claim()])

    assert after_two_changes == []
    assert _names(Kind.FLAPPING) == ["www.example.org"]


def test_changes_of_more_than_an_hour_ago_are_no_flapping() -> None:
    provider = make_provider()
    for number in range(3):
        serve(provider, [make_record("www.example.org", targets=(f"192.0.2.{number}",)), make_claim()])
    RecordEvent.objects.update(at=timezone.now() - timedelta(minutes=61))

    serve(provider, [make_record("www.example.org", targets=("192.0.2.77",)), make_claim()])

    assert _names(Kind.FLAPPING) == []


def test_a_filter_called_filters_matches_everything() -> None:
    with ReferenceProvider(make_zone(count=1)) as reference:
        provider = make_provider(url=reference.url)
        reference.faults.plan("GET /", read_faults.body(b'{"filters":["example.org"]}'))

        sync(provider)

    assert Finding.objects.get(kind=Kind.FILTER_MATCHES_ALL).provider == provider


def test_a_record_whose_claim_was_set_aside_is_unknown_not_unmanaged() -> None:
    provider = make_provider()
    with ReferenceProvider(make_zone(count=200)) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        bad = b'{"dnsName":"a-www.example.org","recordType":"TXT","targets":["\\u0000"]}'
        lone = b'{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"]}'
        reference.faults.plan("GET /records", read_faults.poisoned(bad + b"," + lone))

        sync(provider)

    assert provider.record_sets.get(name="www.example.org").state == "unknown"


def test_a_record_that_is_set_aside_is_not_missing() -> None:
    provider, zone = make_provider(), make_zone(count=200)
    serve(provider, zone)
    name = zone[0].dns_name
    with ReferenceProvider(zone[1:]) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        bad = f'{{"dnsName":"{name}","recordType":"A","recordTTL":-1,"targets":["192.0.2.1"]}}'
        reference.faults.plan("GET /records", read_faults.poisoned(bad.encode()))

        run = sync(provider)

    assert run.vanished == 0
    assert provider.record_sets.get(name=name).missing_since is None
