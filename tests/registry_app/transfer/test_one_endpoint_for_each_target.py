"""A provider that lists one endpoint for each target: they are one record set, and are changed one by one."""

import msgspec
import pytest

from providers.wire.endpoint import Endpoint
from registry_app.models import Claim, Finding, RecordSet, Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.request_transfer import preview_undo
from registry_app.transfer.send.run_transfer import run_transfer
from tests.one_target_each import OneTargetEachProvider
from tests.reference_server import make_claim, make_record, make_zone
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    ask,
    make_alice,
    open_world,
    plan,
    request,
    undo_reviewed,
)

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

_WWW = make_record(targets=("192.0.2.2", "192.0.2.1"))
_SPF = '"v=spf1 -all"'
_CLAIM = make_claim(owner=BLUE)
_BESIDE = msgspec.structs.replace(_CLAIM, targets=(_SPF, *_CLAIM.targets))
_GREENS = make_claim(owner=GREEN)


def _run(transfer: Transfer) -> Transfer:
    run_transfer(transfer.pk)
    transfer.refresh_from_db()
    return transfer


def _texts(endpoints: tuple[Endpoint, ...]) -> set[str]:
    return {target for each in endpoints if each.record_type == "TXT" for target in each.targets}


def test_the_mirror_holds_one_record_set_with_all_targets_in_their_order() -> None:
    with open_world([_WWW, _BESIDE], reference_type=OneTargetEachProvider) as world:
        row = RecordSet.objects.get(name="www.example.org")

        assert row.targets == ["192.0.2.2", "192.0.2.1"]
        assert world.owner_of("www.example.org") == BLUE
        assert RecordSet.objects.get(record_type="TXT").targets == [_SPF, *_CLAIM.targets]


def test_a_transfer_changes_the_one_endpoint_that_is_the_claim_and_is_undone() -> None:
    alice = make_alice()
    with open_world([_WWW, _BESIDE], reference_type=OneTargetEachProvider) as world:
        before = world.reference.endpoints()

        transfer = _run(request(alice, ask()))
        moved = world.reference.endpoints()
        text = preview_undo(alice, transfer.public_id).confirmation_text
        undo = _run(undo_reviewed(alice, transfer.public_id, reason="Too early.", confirmation=text))

        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert _texts(moved) == {_SPF, *_GREENS.targets}
        assert [each for each in moved if each.record_type == "A"] == list(before[-2:])
        assert undo.status == Transfer.Status.VERIFIED, undo.status_reason
        assert world.reference.endpoints() == before
        first, _ = world.change_sets()
        assert (first.create, first.delete) == ((), ())
        pairs = {
            (old.targets, new.targets) for old, new in zip(first.update_old, first.update_new, strict=True)
        }
        assert pairs == {((_SPF,), (_SPF,)), (_CLAIM.targets, _GREENS.targets)}


def test_a_release_deletes_the_claim_and_leaves_the_other_text() -> None:
    alice = make_alice()
    with open_world([_WWW, _BESIDE], reference_type=OneTargetEachProvider) as world:
        asked = ask("release")
        transfer = _run(request(alice, ask("release", confirmation=plan(alice, asked).confirmation_text)))

        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert _texts(world.reference.endpoints()) == {_SPF}
        assert world.owner_of("www.example.org") == "unmanaged"


def test_a_transfer_into_another_form_creates_the_new_claim_before_the_old_one_goes() -> None:
    alice = make_alice()
    legacy = msgspec.structs.replace(_BESIDE, dns_name="www.example.org")
    zone = [_WWW, legacy, *make_zone(BLUE, 5)]
    with open_world(zone, reference_type=OneTargetEachProvider) as world:
        transfer = _run(
            request(alice, ask("reformat", Selection(names=("www.example.org",), record_types=("A",))))
        )

        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert [each.dns_name for each in world.reference.endpoints() if each.targets == _CLAIM.targets] == [
            "a-www.example.org"
        ]
        assert Claim.objects.get(record_name="www.example.org").txt_name == "a-www.example.org"


def test_endpoints_of_one_record_set_that_differ_are_a_finding_and_no_obstacle() -> None:
    alice = make_alice()
    other = make_record(targets=("192.0.2.3",), ttl=60)
    with open_world([_WWW, other, _CLAIM], reference_type=OneTargetEachProvider) as world:
        finding = Finding.objects.get(kind=Finding.Kind.PARTS_DIFFER)

        transfer = _run(request(alice, ask()))

        assert "3 endpoints that differ in their TTL" in finding.explanation
        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        assert world.owner_of("www.example.org") == GREEN
