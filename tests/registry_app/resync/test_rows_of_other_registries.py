"""What another owner has by a TXT claim is named in a ConfigMap registry, never written as unowned."""

import json

import pytest

from providers.wire.change_set import ChangeSet
from registry_app.models import Finding, Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.factories import make_owner
from tests.reference_server import make_claim
from tests.registry_app.reconcile.syncing import sync
from tests.registry_app.resync.world import BLUE, HERITAGE, Beside, open_beside
from tests.registry_app.transfer.world import ask, make_alice, request

pytestmark = pytest.mark.django_db(transaction=True)


def _owners(beside: Beside) -> dict[object, object]:
    return {row["dnsname"]: row["owner"] for row in beside.rows()}


def test_a_rebuild_names_the_owner_of_a_txt_claim_and_corrects_a_row_that_names_nobody() -> None:
    with open_beside() as beside:
        beside.resync(is_rebuilt=True)
        before = _owners(beside)
        beside.reference.backend.apply(
            ChangeSet(create=(make_claim("api.example.org", owner="green-cluster"),))
        )

        beside.resync(is_rebuilt=False)
        told = Finding.objects.get(kind=Finding.Kind.REGISTRY_DRIFT).details["differences"]
        beside.resync(is_rebuilt=True)

        assert before == {"api.example.org": "", "www.example.org": BLUE}
        assert [each["kind"] for each in told if each["name"] == "api.example.org"] == ["other_owner"]
        assert _owners(beside)["api.example.org"] == "green-cluster"
        assert _owners(beside)["www.example.org"] == BLUE


def test_a_transfer_out_of_the_registry_leaves_a_row_that_names_the_new_owner() -> None:
    with open_beside() as beside:
        make_owner("green-cluster")
        alice = make_alice()
        type(beside.provider).objects.filter(pk=beside.provider.pk).update(
            approval_policy="none", max_transfer_percent=100, read_back_seconds=0
        )
        sync(beside.provider)

        transfer = request(alice, ask(selection=Selection(names=("www.example.org",), record_types=("A",))))
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert _owners(beside)["www.example.org"] == "green-cluster"
        assert HERITAGE not in json.dumps(beside.rows())
