"""What an instance posts is kept as what it wants, and as what changed."""

from pathlib import Path

import pytest

from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint
from registry_app.models import DesiredEndpoint, DesiredSet
from tests.reference_server import make_record
from tests.registry_app.guard.serving import guarded

pytestmark = pytest.mark.django_db(transaction=True)
WWW, API = make_record("www.example.org"), make_record("api.example.org", targets=("192.0.2.7",))


def _list_desired() -> list[tuple[str, str, list[str]]]:
    rows = DesiredEndpoint.objects.order_by("name", "record_type")
    return list(rows.values_list("name", "record_type", "targets"))


def test_it_is_what_was_posted_last(tmp_path: Path) -> None:
    moved = make_record("www.example.org", targets=("192.0.2.9",))
    with guarded(tmp_path) as guard:
        guard.adjust([WWW, API])
        first = _list_desired()
        guard.adjust([moved])

    assert first == [("api.example.org", "A", ["192.0.2.7"]), ("www.example.org", "A", list(WWW.targets))]
    assert _list_desired() == [("www.example.org", "A", ["192.0.2.9"])]


def test_the_same_set_in_another_order_is_counted(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        for endpoints in ([WWW, API], [API, WWW], [WWW, API]):
            guard.adjust(endpoints)
        before = list(DesiredEndpoint.objects.order_by("pk").values_list("pk", "changed_at"))
        guard.adjust([API])

    row = DesiredSet.objects.get()
    assert (row.endpoint_count, row.seen_count) == (1, 1)
    assert row.first_seen_at == row.last_seen_at
    (kept,) = DesiredEndpoint.objects.values_list("pk", "changed_at")
    assert kept in before


def test_what_is_wanted_as_before_keeps_since_when(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        guard.adjust([WWW, API])
        before = DesiredEndpoint.objects.get(name="api.example.org")
        guard.adjust([make_record("www.example.org", targets=("192.0.2.9",)), API])

    after = DesiredEndpoint.objects.get(name="api.example.org")
    moved = DesiredEndpoint.objects.get(name="www.example.org")
    assert (after.pk, after.changed_at) == (before.pk, before.changed_at)
    assert moved.first_seen_at < moved.changed_at


def test_nothing_wanted_is_a_desired_set_too(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        guard.adjust([])

    assert (DesiredSet.objects.get().endpoint_count, _list_desired()) == (0, [])


def test_of_several_endpoints_for_one_identity_the_one_externaldns_creates_is_kept(tmp_path: Path) -> None:
    several = [make_record(targets=targets) for targets in (("192.0.2.2", "192.0.2.3"), ("192.0.2.9",))]
    with guarded(tmp_path) as guard:
        guard.adjust(several)

    assert [targets for _, _, targets in _list_desired()] == [["192.0.2.9"]]


def test_names_are_stored_in_the_one_form_they_are_compared_in(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        guard.adjust([Endpoint(dns_name="WWW.Example.org.", record_type="a", targets=("192.0.2.1",))])

    assert _list_desired() == [("www.example.org", "A", ["192.0.2.1"])]


def test_what_the_provider_did_not_adjust_is_not_stored(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        guard.reference.stop()
        answer = guard.adjust([WWW])

    assert answer.status_code == 503
    assert not DesiredSet.objects.exists()


def test_what_the_provider_leaves_out_is_not_what_the_instance_plans_with(tmp_path: Path) -> None:
    with guarded(tmp_path, domain_filter=DomainFilter(include=("example.org",))) as guard:
        answer = guard.adjust([WWW, make_record("www.example.net")])

    assert answer.json()[0]["dnsName"] == "www.example.org"
    assert [name for name, _, _ in _list_desired()] == [each["dnsName"] for each in answer.json()]
