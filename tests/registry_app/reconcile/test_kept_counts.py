"""Counts are kept by whatever changes rows; the schedules of faults compare them with the rows, too (I25)."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from registry_app.actor import SYSTEM, Actor
from registry_app.models import Finding, KeptCount, OwnershipState, Provider, RecordSet
from registry_app.queries.kept_count import count_by, find_wrong_counts
from registry_app.reconcile.acknowledge_finding import acknowledge_finding
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity
from registry_app.reconcile.purge_history import purge_deleted_providers
from registry_app.reconcile.store_findings import open_finding, resolve_finding
from tests.factories import make_finding, make_owner, make_provider, make_record_set

pytestmark = pytest.mark.django_db
NOUN = KeptCount.Noun


def test_findings_are_counted_as_they_are_opened_seen_again_acknowledged_resolved_and_come_back() -> None:
    provider, now = make_provider(), timezone.now()
    mild = FindingDraft(Kind.CONFLICT, Severity.WARNING, "www", "Two claims disagree.")
    worse = FindingDraft(Kind.CONFLICT, Severity.ERROR, "www", "Three claims disagree.")
    seen = []
    for draft in (mild, worse):
        open_finding(provider.pk, draft, now)
        seen.append(count_by(SYSTEM, NOUN.FINDING, "state", "severity"))
    acknowledge_finding(SYSTEM, Finding.objects.get().pk)
    seen.append(count_by(SYSTEM, NOUN.FINDING, "state", "severity"))
    resolve_finding(mild.fingerprint(provider.pk), now)
    seen.append(count_by(SYSTEM, NOUN.FINDING, "state", "severity"))
    open_finding(provider.pk, mild, now)
    seen.append(count_by(SYSTEM, NOUN.FINDING, "state", "severity"))

    assert seen == [
        [("open", 20, 1)],
        [("open", 30, 1)],
        [("acknowledged", 30, 1)],
        [("resolved", 30, 1)],
        [("open", 20, 1)],
    ]
    assert find_wrong_counts() is None


def test_a_deleted_provider_takes_its_counts_with_it() -> None:
    provider, other = make_provider(), make_provider("green-zone")
    for each in (provider, other):
        make_record_set(each)
        make_finding(provider=each)
    Provider.objects.filter(pk=provider.pk).update(deleted_at=timezone.now())

    purge_deleted_providers()

    assert count_by(SYSTEM, NOUN.RECORD_SET, "provider_id") == [(other.pk, 1)]
    assert count_by(SYSTEM, NOUN.FINDING, "provider_id") == [(other.pk, 1)]
    assert find_wrong_counts() is None


def test_who_may_not_read_is_told_no_counts() -> None:
    make_record_set(make_provider())

    assert count_by(SYSTEM, NOUN.RECORD_SET, "type") == [("A", 1)]
    assert count_by(Actor("user", "nobody"), NOUN.RECORD_SET, "type") == []


def test_counts_that_differ_from_the_rows_are_found_and_rebuilt() -> None:
    provider = make_provider()
    owned = make_record_set(provider, "app.example.org", owner=make_owner())
    make_record_set(provider)
    RecordSet.objects.filter(pk=owned.pk).update(state=OwnershipState.UNMANAGED, owner=None)

    found = find_wrong_counts()
    printed = StringIO()
    call_command("dnsadmin_counts", "rebuild", stdout=printed)

    assert found is not None
    assert set(found.sample) == {
        f"record sets (provider {provider.pk}, owner none, A, unmanaged): +1",
        f"record sets (provider {provider.pk}, owner {owned.owner_id}, A, owned): -1",
    }
    assert printed.getvalue() == "counts 1\n"
    assert find_wrong_counts() is None
    assert count_by(SYSTEM, NOUN.RECORD_SET, "state") == [("unmanaged", 2)]
