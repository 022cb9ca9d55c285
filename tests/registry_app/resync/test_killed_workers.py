"""A worker killed with -9 around a rebuild: no row changes hands, and the next resync tells the truth."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry_app.models import AuditEntry, Finding, Provider, RegistryProfile
from registry_app.resync.resync_registry import resync_registry
from tests.registry_app.resync.world import BLUE, open_beside
from tests.registry_app.transfer.forking import Forks

pytestmark = pytest.mark.django_db(transaction=True)

POINTS = {"resync.intended", "resync.rebuilt"}


@pytest.mark.parametrize("crash_at", sorted(POINTS))
def test_the_next_resync_ends_it(forks: Forks, crash_at: str) -> None:
    with open_beside() as beside:
        RegistryProfile.objects.update(is_rebuilt=True)

        ending = forks.act("resync_registry", beside.profile.pk, crash_at=crash_at)
        Provider.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        RegistryProfile.objects.update(next_resync_at=None)
        resync_registry(beside.profile.pk)

        assert ending.was_killed
        rows = {str(row["dnsname"]): row["owner"] for row in beside.rows()}
        assert rows == {"www.example.org": BLUE, "api.example.org": ""}
        assert not Finding.objects.exclude(state=Finding.State.RESOLVED).exists()
        begun = AuditEntry.objects.filter(action="registry_profile.rebuilding").count()
        assert begun == (2 if crash_at == "resync.intended" else 1)
