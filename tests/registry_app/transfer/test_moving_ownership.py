"""A transfer from request to verified, and back."""

import pytest

from registry_app.models import AuditEntry, Transfer, TransferStep
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, open_world, request, undo_reviewed

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_moves_all_record_sets_of_an_owner() -> None:
    alice = make_alice()
    with open_world() as world:
        before = world.zone()

        transfer = request(alice, ask())
        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        after = world.zone()
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert set(after) == set(before)
        for key, endpoint in after.items():
            if key[1] == "TXT":
                old = before[key].targets[0]
                assert endpoint.targets == (old.replace(f"owner={BLUE}", f"owner={GREEN}"),)
                assert endpoint.record_ttl == before[key].record_ttl
            else:
                assert endpoint == before[key]
        assert world.owner_of("app-00003.example.org") == GREEN


def test_an_undo_gives_back_the_bytes() -> None:
    alice = make_alice()
    with open_world() as world:
        before = world.reference.zone_bytes()
        transfer = request(alice, ask())
        run_transfer(transfer.pk)

        text = preview_undo(alice, transfer.public_id).confirmation_text
        undo = undo_reviewed(alice, transfer.public_id, reason="It was too early.", confirmation=text)
        run_transfer(undo.pk)

        undo.refresh_from_db()
        transfer.refresh_from_db()
        assert text == "undo 10 record sets"
        assert undo.status == Transfer.Status.VERIFIED, undo.status_reason
        assert transfer.status == Transfer.Status.ROLLED_BACK
        assert world.reference.zone_bytes() == before
        assert world.owner_of("app-00003.example.org") == BLUE


def test_every_status_has_its_audit_line() -> None:
    alice = make_alice()
    with open_world():
        transfer = request(alice, ask())
        run_transfer(transfer.pk)

        entries = AuditEntry.objects.filter(object_type="transfer", object_id=str(transfer.pk))
        actions = list(entries.order_by("sequence").values_list("action", flat=True))
        assert actions == [
            "transfer.requested",
            "transfer.approved",
            "transfer.sending",
            "transfer.sent",
            "transfer.verified",
        ]


def test_what_was_sent_is_what_was_stored() -> None:
    alice = make_alice()
    with open_world(batch_size=4) as world:
        transfer = request(alice, ask())
        run_transfer(transfer.pk)

        steps = TransferStep.objects.filter(transfer=transfer).order_by("pk")
        sent = [entry.body.decode() for entry in world.reference.history.requests("POST /records")]
        assert [step.change_set for step in steps] == sent
        assert [step.status for step in steps] == [TransferStep.Status.VERIFIED] * 3
