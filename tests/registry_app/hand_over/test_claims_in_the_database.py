"""Names are handed over between instances of which one, or both, keep their claims in the database."""

from pathlib import Path

import pytest

from providers.wire.endpoint import EndpointKey
from registry_app.database_claims import RowChange, change_rows
from registry_app.models import DatabaseClaim, GuardEndpoint, HandOverItem
from tests.external_dns.instance import Outcome
from tests.providers.planning.planned import wanted
from tests.reference_server import make_zone
from tests.registry_app.guard.keeping import keep_in_database
from tests.registry_app.hand_over.world import BLUE, GREEN, open_clusters, states
from tests.registry_app.reconcile.syncing import sync

pytestmark = pytest.mark.django_db(transaction=True)
ZONE = make_zone(BLUE, 4)
NAMES = [f"app-0000{number}.example.org" for number in range(4)]


@pytest.mark.parametrize(("blue_keeps", "green_keeps"), [(True, True), (True, False), (False, True)])
def test_a_name_moves_with_its_claim_wherever_that_is(
    tmp_path: Path, *, blue_keeps: bool, green_keeps: bool
) -> None:
    zone = [each for each in ZONE if each.record_type != "TXT" or not blue_keeps]
    with open_clusters(tmp_path, zone) as clusters:
        blue, green = GuardEndpoint.objects.order_by("slug")
        if blue_keeps:
            profile = keep_in_database(blue)
            text = f"heritage=external-dns,external-dns/owner={BLUE}"
            change_rows(profile.pk, [RowChange(EndpointKey(name, "A", ""), None, text) for name in NAMES])
        if green_keeps:
            keep_in_database(green)
        sync(clusters.provider)
        assert clusters.blue.run_once().outcome is Outcome.QUIET
        row = clusters.begin()
        clusters.work(row)
        clusters.green.desired = [wanted(NAMES[0], targets=["203.0.113.1"])]
        clusters.green.run_once()
        clusters.work(row)
        outcomes = [clusters.blue.run_once().outcome, clusters.green.run_once().outcome]
        clusters.work(row)

        assert outcomes == [Outcome.QUIET, Outcome.CHANGED]
        assert clusters.records()[NAMES[0], "A"] == ("203.0.113.1",)
        assert clusters.provider.record_sets.get(name=NAMES[0]).owner.owner_id == GREEN  # type: ignore[union-attr]
        assert clusters.provider.record_sets.filter(owner__owner_id=BLUE).count() == 3
        rows = dict(DatabaseClaim.objects.values_list("name", "owner_id"))
        assert rows.get(NAMES[0]) == (GREEN if green_keeps else None)
        assert (rows.get(NAMES[1]) == BLUE) is blue_keeps
        assert clusters.owners() == {
            BLUE: 0 if blue_keeps else 3,
            GREEN: 0 if green_keeps else 1,
        }
        assert states(row)[NAMES[0]] != HandOverItem.State.WAITING
