"""Two instances share an owner id, and one of them gets its own (docs/hand-over.md)."""

from pathlib import Path

import pytest

from registry_app.clock import fetch_now
from registry_app.models import GuardEndpoint, GuardRule, HandOverItem, HeldDelete, Owner
from tests.external_dns.instance import Instance, Outcome
from tests.external_dns.settings import Settings
from tests.factories import make_instance
from tests.reference_server import make_zone
from tests.registry_app.hand_over.world import BLUE, GREEN, open_clusters, states

pytestmark = pytest.mark.django_db(transaction=True)
ZONE = make_zone(BLUE, 6)
RECORDS = [each for each in ZONE if each.record_type != "TXT"]
NAMES = [each.dns_name for each in RECORDS]


def test_no_record_set_changes_while_one_of_two_instances_gets_an_owner_id_of_its_own(tmp_path: Path) -> None:
    with open_clusters(tmp_path, ZONE) as clusters:
        shared = GuardEndpoint.objects.create(
            provider=clusters.provider,
            instance=make_instance(Owner.objects.get(owner_id=BLUE), name="second", policy="sync"),
            slug="second",
            mode=GuardEndpoint.Mode.ENFORCE,
            first_changes_at=fetch_now(),
        )
        GuardEndpoint.objects.update(most_deletes=1)
        before = clusters.records()
        clusters.blue.desired = RECORDS[:3]
        with Instance(Settings(f"{clusters.guard.guard_url}/{shared.slug}", BLUE), RECORDS[3:]) as second:
            for instance in (clusters.blue, second, clusters.blue, second):
                instance.run_once()
        held = HeldDelete.objects.filter(rule=GuardRule.DELETE_COUNT).count()

        row = clusters.begin(names=tuple(NAMES[3:]))
        clusters.green.desired = RECORDS[3:]
        seen, outcomes = [clusters.records()], []
        for _ in range(3):
            outcomes += [clusters.green.run_once().outcome, clusters.blue.run_once().outcome]
            clusters.work(row)
            seen.append(clusters.records())
        shared.delete()
        outcomes += [clusters.green.run_once().outcome, clusters.blue.run_once().outcome]

        assert [*seen, clusters.records()] == [before] * 5
        assert clusters.owners() == {BLUE: 3, GREEN: 3}
    assert held == len(NAMES)
    assert Outcome.DEAD not in outcomes
    assert outcomes[-2:] == [Outcome.QUIET, Outcome.QUIET]
    assert set(states(row).values()) == {HandOverItem.State.SERVING}
