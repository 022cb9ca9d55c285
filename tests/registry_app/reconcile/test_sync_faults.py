"""Every fault of an answer ends in the state it names, and the mirror stays."""

from collections.abc import Callable

import pytest

from providers.wire.endpoint import Endpoint
from registry_app.actor import SYSTEM
from registry_app.models import Finding, HeldSnapshot, Provider, SyncRun
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot
from tests.factories import make_provider
from tests.faults import read_faults
from tests.faults.catalogue import POISONED_READS, REFUSED_READS
from tests.faults.fault import Fault
from tests.reference_server import ReferenceProvider, make_record, make_zone
from tests.registry_app.reconcile.syncing import mirrored, sync

pytestmark = [pytest.mark.one_database, pytest.mark.django_db, pytest.mark.deep]

# What a person is told, fault by fault. Whether a port is closed, silent or another program's is not said.
CODES = {
    "not_found": "refused_by_provider",
    "unauthorized": "refused_by_provider",
    "failing": "failed_at_provider",
    "unavailable": "failed_at_provider",
    "too_many_requests": "too_many_requests",
    "redirect_same_host": "redirected",
    "redirect_other_host": "redirected",
    "reset": "unreachable",
    "closed": "unreachable",
    "silence": "timed_out",
    "headers_only": "deadline_exceeded",
    "slow_headers": "deadline_exceeded",
    "slow_drip": "deadline_exceeded",
    "never_ends": "answer_too_large",
    "truncated_content_length": "answer_truncated",
    "truncated_chunked": "answer_truncated",
    "truncated_close_delimited": "undecodable",
    "gzip_bomb": "compressed_answer",
    "deep_nesting": "undecodable",
    "byte_order_mark": "undecodable",
    "trailing_text": "undecodable",
    "empty_object": "undecodable",
}


@pytest.mark.parametrize("fault", REFUSED_READS)
def test_a_refused_answer_fails_the_sync_and_leaves_the_mirror(fault: str) -> None:
    with ReferenceProvider(make_zone(count=12)) as reference:
        provider = make_provider(url=reference.url, deadline_seconds=1)
        sync(provider)
        before = mirrored(provider)
        accepted_at = provider.accepted_at
        reference.faults.plan("GET /records", REFUSED_READS[fault]())

        run = sync(provider)

    assert (run.status, run.error_code) == (SyncRun.Status.FAILED, CODES[fault])
    assert run.error.endswith(".")
    assert mirrored(provider) == before
    assert (provider.status, provider.consecutive_failures) == (Provider.Status.FAILING, 1)
    assert provider.accepted_at == accepted_at


@pytest.mark.parametrize("make_fault", POISONED_READS.values(), ids=POISONED_READS.keys())
def test_one_poisoned_record_is_set_aside_alone(make_fault: Callable[[], Fault]) -> None:
    with ReferenceProvider(make_zone(count=60)) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)
        before = mirrored(provider)
        reference.faults.plan("GET /records", make_fault())

        run = sync(provider)

    assert (run.status, run.set_aside) == (SyncRun.Status.UNCHANGED, 1)
    assert mirrored(provider) == before
    assert Finding.objects.filter(kind=Finding.Kind.SET_ASIDE, state=Finding.State.OPEN).count() == 1


@pytest.mark.parametrize("make_fault", [read_faults.empty_list, read_faults.null])
def test_an_empty_answer_empties_nothing(make_fault: Callable[[], Fault]) -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)
        before = mirrored(provider)
        reference.faults.plan("GET /records", make_fault())

        run = sync(provider)

    assert run.status == SyncRun.Status.HELD
    assert provider.status == Provider.Status.HELD
    assert mirrored(provider) == before


@pytest.mark.parametrize("make_fault", [read_faults.shuffled, read_faults.duplicated])
def test_another_order_and_duplicates_change_nothing(make_fault: Callable[[], Fault]) -> None:
    with ReferenceProvider(make_zone(count=12)) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)
        before = mirrored(provider)
        reference.faults.plan("GET /records", make_fault())

        run = sync(provider)

    assert run.status == SyncRun.Status.UNCHANGED
    assert mirrored(provider) == before
    assert provider.accepted_snapshots == 2


def test_a_wrong_content_type_is_a_finding_and_no_failure() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)
        reference.faults.plan("GET /records", read_faults.wrong_content_type())

        run = sync(provider)

    assert run.status == SyncRun.Status.STORED
    assert Finding.objects.get(kind=Finding.Kind.WRONG_CONTENT_TYPE).state == Finding.State.OPEN


def test_that_finding_comes_and_goes_with_the_type_though_the_body_is_the_same() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)
        reference.faults.plan("GET /records", read_faults.wrong_content_type())

        sync(provider)
        meanwhile = Finding.objects.get(kind=Finding.Kind.WRONG_CONTENT_TYPE).state
        sync(provider)

    assert meanwhile == Finding.State.OPEN
    assert Finding.objects.get(kind=Finding.Kind.WRONG_CONTENT_TYPE).state == Finding.State.RESOLVED


def test_two_owners_in_every_claim_are_held_when_they_were_one_owners() -> None:
    with ReferenceProvider(make_zone(count=12)) as reference:
        provider = make_provider(url=reference.url)
        sync(provider)
        before = mirrored(provider)
        reference.faults.plan("GET /records", read_faults.two_owners())

        run = sync(provider)

    assert run.status == SyncRun.Status.HELD
    assert mirrored(provider) == before


def test_a_provider_that_refuses_connections_fails_the_sync() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url, deadline_seconds=1)
        sync(provider)
        before = mirrored(provider)

    run = sync(provider)

    assert (run.status, run.error_code) == (SyncRun.Status.FAILED, "connection_refused")
    assert mirrored(provider) == before


def test_a_name_that_does_not_resolve_fails_the_sync() -> None:
    provider = make_provider(url="http://provider.invalid:8888", deadline_seconds=2)

    run = sync(provider)

    assert (run.status, run.error_code) == (SyncRun.Status.FAILED, "name_unresolved")


def test_plain_http_where_tls_is_expected_fails_the_sync() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url.replace("http://", "https://"), deadline_seconds=2)

        run = sync(provider)

    assert run.status == SyncRun.Status.FAILED


def test_a_secret_reference_that_leads_nowhere_fails_the_sync_without_a_request() -> None:
    with ReferenceProvider(make_zone(count=3)) as reference:
        provider = make_provider(url=reference.url, authentication="bearer", secret="env:HOME")

        run = sync(provider)

        assert len(reference.history.requests()) == 0
    assert (run.status, run.error_code) == (SyncRun.Status.FAILED, "secret_unavailable")


def test_a_share_of_poisoned_records_that_a_person_accepted_is_no_news() -> None:
    provider, zone = make_provider(), make_zone(count=10)

    first = _serve_poisoned(provider, zone)
    accept_held_snapshot(SYSTEM, HeldSnapshot.objects.get().pk, reason="It is the old printer.")
    second = _serve_poisoned(provider, zone)
    third = _serve_poisoned(provider, [*zone, make_record("new.example.org")])

    assert [run.status for run in (first, second, third)] == ["held", "stored", "stored"]


def _serve_poisoned(provider: Provider, zone: list[Endpoint]) -> SyncRun:
    with ReferenceProvider(zone) as reference:
        Provider.objects.filter(pk=provider.pk).update(url=reference.url)
        reference.faults.plan("GET /records", read_faults.nul())
        return sync(provider)
