"""The connection test of a provider: it asks what ExternalDNS asks, says what came back, changes nothing."""

import pytest

from providers.wire.domain_filter import DomainFilter
from registry_app.actor import SYSTEM, Actor
from registry_app.errors import NotAllowed, NotFound
from registry_app.inventory.provider_probe import SAMPLE_SIZE, ConnectionReport, probe_provider
from registry_app.models import Provider, SyncRun
from tests.factories import make_provider
from tests.faults import framing_faults, read_faults
from tests.reference_server import ReferenceProvider, make_zone
from tests.servers.provider_server import PluginServer

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]


def _probe(reference: ReferenceProvider) -> ConnectionReport:
    return probe_provider(SYSTEM, make_provider(url=reference.url, deadline_seconds=1).pk)


def test_it_tells_what_the_provider_manages_and_shows_some_of_it() -> None:
    limits = DomainFilter(include=("example.org",), exclude=("old.example.org",))
    with ReferenceProvider(make_zone(count=30), domain_filter=limits) as reference:
        before = reference.zone_bytes()

        report = _probe(reference)

        assert [f"{asked.method} {asked.path}" for asked in reference.history.requests()] == [
            "GET /",
            "GET /records",
        ]
        assert reference.zone_bytes() == before
    assert report.is_ok
    assert report.domain_filter == ("example.org", "not old.example.org")
    assert (report.record_count, report.set_aside_count, len(report.sample)) == (60, 0, SAMPLE_SIZE)
    assert report.sample[0].name == "app-00000.example.org"
    assert not SyncRun.objects.exists()
    assert Provider.objects.get().status == Provider.Status.NEW


def test_it_tells_what_is_odd_though_it_works() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        reference.faults.plan("GET /", read_faults.body(b'{"filters":["example.org"]}'))
        reference.faults.plan("GET /records", read_faults.wrong_content_type())

        report = _probe(reference)

    assert report.is_ok
    assert report.said_filters
    assert not report.has_protocol_type


def test_the_report_of_a_provider_with_the_other_protocol_says_so() -> None:
    with ReferenceProvider(make_zone(count=3), server_type=PluginServer) as reference:
        report = _probe(reference)

    assert not report.is_ok
    assert "It speaks the plugin protocol" in report.error
    assert Provider.objects.get().protocol == Provider.Protocol.WEBHOOK


def test_what_is_wrong_is_reported_with_what_to_do() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        reference.faults.plan("GET /records", framing_faults.silence())

        report = _probe(reference)

    assert report.error_code == "timed_out"
    assert report.error
    assert report.hint


def test_nobody_without_the_right_to_operate_it_may_test_its_connection() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)

        with pytest.raises(NotAllowed):
            probe_provider(Actor(kind="user", name="dora", user_id=1), provider.pk)

        assert reference.history.requests() == ()


def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound):
        probe_provider(SYSTEM, 4711)
