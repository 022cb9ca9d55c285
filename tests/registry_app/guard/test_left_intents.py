"""A row that was written before its record set and never settled is settled by the mirror."""

from datetime import timedelta
from pathlib import Path

import pytest

from providers.wire.change_set import ChangeSet
from registry_app.clock import fetch_now
from registry_app.guard.left_intents import settle_left_intents
from registry_app.models import DatabaseClaim
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.faults import write_faults
from tests.providers.planning.planned import wanted
from tests.reference_server import make_record
from tests.registry_app.guard.keeping import kept, list_rows
from tests.registry_app.reconcile.syncing import sync

pytestmark = [pytest.mark.django_db(transaction=True)]
BLUE = "blue-cluster"
WWW = ("www.example.org", "A")


@pytest.mark.parametrize("hours", [2, 25])
def test_what_arrived_late_has_its_owner_and_what_did_not_goes_after_a_day(
    tmp_path: Path, hours: int
) -> None:
    with kept(tmp_path, []) as guard:
        desired = [wanted(WWW[0]), wanted("never.example.org")]
        with Instance(Settings(guard.url, BLUE), desired) as blue:
            guard.reference.faults.plan("POST /records", write_faults.error_before_applying())
            assert blue.run_once().outcome is Outcome.SOFT_ERROR
        intents = list_rows()
        guard.reference.backend.apply(ChangeSet(create=(make_record(WWW[0]),)))
        early = settle_left_intents()
        DatabaseClaim.objects.update(changed_at=fetch_now() - timedelta(hours=hours))
        sync(guard.endpoint.provider)

        settled = settle_left_intents()

        assert intents == {WWW: (BLUE, False), ("never.example.org", "A"): (BLUE, False)}
        assert (early, settled) == (0, 1 if hours == 2 else 2)
        left = {("never.example.org", "A"): (BLUE, False)} if hours == 2 else {}
        assert list_rows() == {WWW: (BLUE, True), **left}


def test_an_instance_that_asks_again_settles_its_own(tmp_path: Path) -> None:
    with kept(tmp_path, []) as guard, Instance(Settings(guard.url, BLUE), [wanted(WWW[0])]) as blue:
        guard.reference.faults.plan("POST /records", write_faults.error_before_applying())

        outcomes = [blue.run_once().outcome for _ in range(3)]

        assert outcomes == [Outcome.SOFT_ERROR, Outcome.CHANGED, Outcome.QUIET]
    assert list_rows() == {WWW: (BLUE, True)}


def test_an_intent_of_another_owner_does_not_keep_a_name(tmp_path: Path) -> None:
    with kept(tmp_path, []) as guard, Instance(Settings(guard.url, BLUE), [wanted(WWW[0])]) as blue:
        guard.reference.faults.plan("POST /records", write_faults.error_before_applying())
        blue.run_once()
        text = DatabaseClaim.objects.get().text.replace(BLUE, "green-cluster")
        DatabaseClaim.objects.update(text=text, owner_id="green-cluster")

        outcomes = [blue.run_once().outcome for _ in range(2)]

        assert outcomes == [Outcome.CHANGED, Outcome.QUIET]
    assert list_rows() == {WWW: (BLUE, True)}
