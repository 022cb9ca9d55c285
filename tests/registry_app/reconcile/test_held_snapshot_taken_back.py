"""A person's word on a held snapshot, taken back or outlived by the limits."""

import pytest

from registry_app.actor import SYSTEM
from registry_app.errors import StateMoved
from registry_app.models import HeldSnapshot, Provider, SyncRun
from registry_app.reconcile.decide_held_snapshot import accept_held_snapshot, reject_held_snapshot
from tests.factories import make_provider
from tests.reference_server import make_zone
from tests.registry_app.reconcile.serving import serve
from tests.registry_app.reconcile.syncing import mirrored

pytestmark = pytest.mark.django_db


def _hold() -> tuple[Provider, HeldSnapshot]:
    """A provider that lost most of its zone, and what was held of it."""
    provider, zone = make_provider(), make_zone(count=20)
    serve(provider, zone)
    serve(provider, zone[:10])
    return provider, HeldSnapshot.objects.get()


def test_a_rejection_is_taken_back_by_accepting_while_the_provider_still_says_so() -> None:
    provider, held = _hold()
    reject_held_snapshot(SYSTEM, held.pk, reason="The provider lost its cache.")
    serve(provider, make_zone(count=20)[:10])

    accept_held_snapshot(SYSTEM, held.pk, reason="No, the shop did move out.")
    run = serve(provider, make_zone(count=20)[:10])

    held.refresh_from_db()
    assert (run.status, held.status) == (SyncRun.Status.STORED, HeldSnapshot.Status.STORED)


def test_a_rejection_is_not_taken_back_once_the_provider_says_something_normal() -> None:
    provider, held = _hold()
    reject_held_snapshot(SYSTEM, held.pk, reason="The provider lost its cache.")
    serve(provider, make_zone(count=20))

    with pytest.raises(StateMoved):
        accept_held_snapshot(SYSTEM, held.pk, reason="No, the shop did move out.")

    held.refresh_from_db()
    assert held.status == HeldSnapshot.Status.REJECTED


def test_an_accepted_one_beyond_todays_limits_is_put_before_a_person_again() -> None:
    provider, held = _hold()
    accept_held_snapshot(SYSTEM, held.pk, reason="The shop moved out.")
    Provider.objects.filter(pk=provider.pk).update(max_items=8)

    run = serve(provider, make_zone(count=20)[:8])

    held.refresh_from_db()
    assert (run.status, held.status) == (SyncRun.Status.HELD, HeldSnapshot.Status.OPEN)
    assert len(mirrored(provider)) == 20
