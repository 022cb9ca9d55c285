"""A person knows of a finding."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.actor import SYSTEM, Actor
from registry_app.errors import NotAllowed, NotFound, StateMoved
from registry_app.models import AuditEntry, Finding
from registry_app.reconcile.acknowledge_finding import acknowledge_finding
from tests.factories import make_finding, make_provider
from tests.reference_server import make_claim, make_zone
from tests.registry_app.reconcile.serving import serve

pytestmark = pytest.mark.django_db


def test_it_is_acknowledged_with_one_audit_line() -> None:
    finding = make_finding(provider=make_provider())

    acknowledge_finding(SYSTEM, finding.pk, reason="We know.")

    finding.refresh_from_db()
    assert (finding.state, finding.acknowledged_by) == (Finding.State.ACKNOWLEDGED, "dnsadmin")
    assert [entry.action for entry in AuditEntry.objects.all()] == ["finding.acknowledged"]


def test_it_stays_acknowledged_while_what_it_tells_of_is_there() -> None:
    provider, zone = make_provider(), [*make_zone(count=3), make_claim("gone.example.org")]
    serve(provider, zone)
    finding = Finding.objects.get(kind=Finding.Kind.ORPHAN_CLAIM)
    acknowledge_finding(SYSTEM, finding.pk)

    serve(provider, [*zone, *make_zone(count=1, domain="more.example.org")])

    finding.refresh_from_db()
    assert finding.state == Finding.State.ACKNOWLEDGED


def test_a_muted_one_that_comes_back_is_still_acknowledged() -> None:
    provider, zone = make_provider(), make_zone(count=3)
    serve(provider, [*zone, make_claim("gone.example.org")])
    finding = Finding.objects.get(kind=Finding.Kind.ORPHAN_CLAIM)
    acknowledge_finding(SYSTEM, finding.pk, muted_until=timezone.now() + timedelta(days=1))

    serve(provider, zone)
    serve(provider, [*zone, make_claim("gone.example.org")])

    finding.refresh_from_db()
    assert (finding.state, finding.occurrences) == (Finding.State.ACKNOWLEDGED, 2)


def test_a_resolved_one_is_not_acknowledged() -> None:
    finding = make_finding(provider=make_provider(), state=Finding.State.RESOLVED)

    with pytest.raises(StateMoved):
        acknowledge_finding(SYSTEM, finding.pk)

    assert not AuditEntry.objects.exists()


def test_nobody_without_the_right_acknowledges() -> None:
    finding = make_finding(provider=make_provider())
    dora = Actor(kind="user", name="dora", user_id=1)

    with pytest.raises(NotAllowed):
        acknowledge_finding(dora, finding.pk)

    finding.refresh_from_db()
    assert finding.state == Finding.State.OPEN


def test_one_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound):
        acknowledge_finding(SYSTEM, 4711)
