"""Findings about owner ids that instances share without being replicas of one another."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from providers.wire.endpoint import Endpoint
from registry_app.models import Finding, Loop, Owner, Provider, RecordEvent
from tests.factories import make_cluster, make_instance, make_owner, make_provider
from tests.reference_server import make_claim, make_record
from tests.registry_app.reconcile.serving import serve

pytestmark = pytest.mark.django_db
NAME = "www.example.org"


def _zone(*targets: str, owner_id: str = "default", name: str = NAME) -> list[Endpoint]:
    return [make_record(name, targets=targets), make_claim(name, "A", owner_id)]


def _told() -> list[str]:
    found = Finding.objects.filter(kind="shared_owner").exclude(state="resolved").order_by("pk")
    return [row.explanation for row in found]


def test_instances_that_share_names_and_types_and_are_no_replicas_are_told_of() -> None:
    provider, other = make_provider(), make_provider("other")
    owner, east, west = make_owner("default"), make_cluster("east"), make_cluster("west")
    a, b = {"domain_include": ["a.example.org"]}, {"domain_include": [".b.example.org"]}
    below, without = {"domain_include": ["x.a.example.org"]}, {"domain_exclude": ["a.example.org"]}
    pairs: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
        ({"cluster": east}, {"cluster": west}, True),
        ({"cluster": east}, {"cluster": east}, False),
        ({}, {}, False),
        ({"policy": "sync"}, {"policy": "upsert-only"}, True),
        ({"cluster": east, **a}, {"cluster": west, **b}, False),
        ({"cluster": east, **a}, {"cluster": west, **below}, True),
        ({"cluster": east, **a}, {"cluster": west, **without}, False),
        ({"cluster": east, **b}, {"cluster": west, **without}, True),
        ({"managed_types": ["A"]}, {"managed_types": ["AAAA", "CNAME"]}, False),
        ({"managed_types": ["A"]}, {"managed_types": ["A", "CNAME"]}, True),
        ({"managed_types": ["A"]}, {"managed_types": []}, True),
        ({"cluster": east, "provider": provider}, {"cluster": west, "provider": other}, False),
        ({"cluster": east, "provider": provider}, {"cluster": west, "provider": provider}, True),
    ]

    for number, (one, two, is_told) in enumerate(pairs):
        owner.instances.all().delete()
        make_instance(owner, "one", **one)
        make_instance(owner, "two", **two)
        serve(provider, _zone("192.0.2.1"))
        assert (len(_told()) == 1) is is_told, (number, _told())

    row = Finding.objects.get(kind="shared_owner")
    assert row.owner == owner
    assert "2 instances of default act on the same names at blue-zone" in row.explanation
    assert "one, two" in row.explanation
    assert "--txt-owner-id" in row.explanation
    assert "--domain-filter" in row.explanation


def test_an_owner_that_was_only_seen_in_claims_is_told_of_too() -> None:
    provider = make_provider()
    owner = make_owner("default", status=Owner.Status.DISCOVERED)
    for name in ("east", "west"):
        make_instance(owner, name, cluster=make_cluster(name))

    serve(provider, _zone("192.0.2.1"))

    assert len(_told()) == 1
    assert "which is not registered" in Finding.objects.get(kind="unregistered_owner").explanation


def test_nothing_is_told_where_nothing_shows_that_they_write() -> None:
    owner, provider = make_owner("default"), make_provider()
    for name in ("east", "west"):
        make_instance(owner, name, cluster=make_cluster(name))

    serve(provider, _zone("192.0.2.1", owner_id="another"))

    assert _told() == []


def test_a_loop_is_an_instance_and_the_settings_of_a_loop_are_none() -> None:
    provider, owner = make_provider(), make_owner("default")
    Loop.objects.create(owner=owner, provider=provider)
    make_instance(owner, "settings")

    serve(provider, _zone("192.0.2.1"))
    alone = _told()
    make_instance(owner, "east", cluster=make_cluster("east"))
    serve(provider, _zone("192.0.2.1"))

    assert alone == []
    assert [text.partition(": ")[2].partition(".")[0] for text in _told()] == ["east, dnsadmin's loop"]


def test_many_instances_are_one_finding_that_names_five() -> None:
    owner, provider = make_owner("default"), make_provider()
    for number in range(9):
        make_instance(owner, f"i{number}", cluster=make_cluster(f"c{number}"))

    serve(provider, _zone("192.0.2.1"))

    assert "9 instances" in _told()[0]
    assert "i0, i1, i2, i3, i4 and 4 more" in _told()[0]


def _serve_in_turn(provider: Provider, zones: list[list[Endpoint]]) -> None:
    # So many that none of these snapshots is held.
    others = [_zone("192.0.2.99", owner_id="steady", name=f"s{number}.example.org") for number in range(5)]
    steady = [item for zone in others for item in zone]
    for zone in zones:
        assert serve(provider, [*zone, *steady]).status in ("stored", "unchanged")


@pytest.mark.deep
def test_values_that_go_to_and_fro_under_one_owner_are_told_of() -> None:
    one, two = _zone("192.0.2.1"), _zone("192.0.2.2")
    three, theirs = _zone("192.0.2.3"), _zone("192.0.2.2", owner_id="green-cluster")
    gone: list[Endpoint] = []
    tables = [
        ([one, two, one, two], True),
        ([one, two, one], False),
        ([one, two, three, two], False),
        ([one, theirs, one, theirs], False),
        ([one, gone, one, gone], True),
        ([gone, one, gone, one, gone], True),
        ([one, one, one, one], False),
    ]

    for number, (zones, is_told) in enumerate(tables):
        provider = make_provider(f"p{number}")
        _serve_in_turn(provider, zones)
        told = [text for text in _told() if f"at p{number} " in text]
        assert (len(told) == 1) is is_told, (number, told)

    row = Finding.objects.get(kind="shared_owner", provider__name="p0")
    assert "1 record set of default" in row.explanation
    assert f"{NAME} A" in row.explanation
    assert row.owner == Owner.objects.get(owner_id="default")


def test_many_record_sets_are_one_finding_that_names_five_and_it_ends() -> None:
    provider = make_provider()
    names = [f"w{number}.example.org" for number in range(9)]
    zones = [
        [item for name in names for item in _zone(f"192.0.2.{turn % 2}", name=name)] for turn in range(4)
    ]

    _serve_in_turn(provider, zones)
    told, row = _told(), Finding.objects.get(kind="shared_owner")
    hour = timedelta(hours=1, minutes=1)
    RecordEvent.objects.update(at=F("at") - hour)
    Finding.objects.update(last_seen_at=F("last_seen_at") - hour)
    _serve_in_turn(provider, zones[-1:])

    assert len(told) == 1
    assert "9 record sets of default" in told[0]
    assert f"{', '.join(f'w{n}.example.org A' for n in range(5))} and 4 more" in told[0]
    assert row.details["record_sets"] == 9
    assert _told() == []
