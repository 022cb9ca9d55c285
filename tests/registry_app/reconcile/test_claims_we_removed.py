"""Claims that a transfer of ours removed are no loss, however many of them spoke for one record set."""

import pytest

from registry_app.models import Provider
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import BLUE, ask, make_alice, open_world, request

pytestmark = pytest.mark.django_db(transaction=True)

WWW = "www.example.org"
LEGACY = f'"heritage=external-dns,external-dns/owner={BLUE}"'


def test_the_mirror_follows_a_release_of_the_last_record_set_with_two_claims() -> None:
    alice = make_alice()
    zone = [make_record(WWW), make_claim(WWW), make_record(WWW, "TXT", (LEGACY,))]
    with open_world(zone) as world:
        transfer = request(alice, ask("release"))

        run_transfer(transfer.pk)

        world.provider.refresh_from_db()
        assert world.provider.status == Provider.Status.OK
        assert world.owner_of(WWW) == "unmanaged"
