"""The loop at a provider that lists one endpoint for each target sees no difference where there is none."""

import pytest

from registry_app.models import LoopRun
from tests.one_target_each import OneTargetEachProvider
from tests.registry_app.loop.world import WWW, open_parking, owned, run, wanted

pytestmark = [pytest.mark.one_database, pytest.mark.django_db(transaction=True)]


def test_what_stands_as_wanted_is_left_alone_and_what_does_not_is_changed_part_by_part() -> None:
    zone = owned(WWW, "192.0.2.1", "192.0.2.2")
    with open_parking(zone, reference_type=OneTargetEachProvider) as world:
        quiet = run(world, [wanted(WWW, "192.0.2.2", "192.0.2.1")])
        changed = run(world, [wanted(WWW, "192.0.2.3", "192.0.2.2", "192.0.2.4")])
        fewer = run(world, [wanted(WWW, "192.0.2.4")])
        again = run(world, [wanted(WWW, "192.0.2.4")])
        gone = run(world, [], confirmation="delete 1 record set of parked")

        assert quiet.status == LoopRun.Status.UNCHANGED, quiet.reason
        assert changed.status == LoopRun.Status.VERIFIED, changed.reason
        assert fewer.status == LoopRun.Status.VERIFIED, fewer.reason
        assert again.status == LoopRun.Status.UNCHANGED, again.reason
        assert gone.status == LoopRun.Status.VERIFIED, gone.reason
        assert not [each for each in world.reference.endpoints() if each.dns_name.endswith(WWW)]
