"""Names, identifiers and texts at the edge of what DNS and claims can hold."""

import pytest

from providers.wire.endpoint import EndpointKey
from registry_app.errors import DnsadminError
from registry_app.models import RecordSet, Transfer
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_claim, make_record
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    ask,
    make_alice,
    open_world,
    plan,
    register_owner,
    request,
)

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True)]

STATUS = Transfer.Status
_LABELS = ".".join(["x" * 60, "y" * 60, "z" * 60])


@pytest.mark.parametrize("owner_id", ["blüe-cluster", "蓝-cluster", "team@blue/1"])
def test_an_owner_id_may_be_any_text_that_a_claim_can_hold(owner_id: str) -> None:
    alice, name = make_alice(), "www.example.org"
    with open_world([make_record(name), make_claim(name)]) as world:
        register_owner(owner_id)
        transfer = request(alice, ask(target_owner_id=owner_id))

        run_transfer(transfer.pk)

        assert f"external-dns/owner={owner_id}" in world.claim_text(f"a-{name}")
        assert world.owner_of(name) == owner_id


@pytest.mark.parametrize(
    "owner_id", ["blue,external-dns/owner=red", 'blue"', "blue=green", "blue\u2028green"]
)
def test_an_owner_id_that_a_claim_cannot_hold_is_refused(owner_id: str) -> None:
    alice, name = make_alice(), "www.example.org"
    with open_world([make_record(name), make_claim(name)]) as world:
        register_owner(owner_id)

        found = plan(alice, ask(target_owner_id=owner_id))

        assert found.included == ()
        assert [item.problem_code for item in found.left_out] == ["unwritable_claim"]
        with pytest.raises(DnsadminError):
            request(alice, ask(target_owner_id=owner_id))
        assert world.change_sets() == []


def test_a_name_of_253_characters_keeps_its_claim_where_it_stands() -> None:
    # Its claim would be two characters too long: only one of the former format, at the name itself, fits.
    name = f"{_LABELS}.{'w' * 58}.example.org"[:253].rstrip(".")
    assert len(name) == 253
    text = f'"heritage=external-dns,external-dns/owner={BLUE}"'
    alice = make_alice()
    with open_world([make_record(name), make_record(name, "TXT", (text,))]) as world:
        transfer = request(alice, ask())

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert f"owner={GREEN}" in world.claim_text(name)


def test_a_name_whose_claim_does_not_fit_is_not_adopted() -> None:
    name = f"{_LABELS}.{'w' * 58}.example.org"[:253].rstrip(".")
    alice = make_alice()
    with open_world([make_record(name), make_record("www.example.org")]) as world:
        asked = ask("adopt", Selection(name_suffix="example.org", provider_id=world.provider.pk))

        (found,) = preview_transfer(alice, asked)

        assert [item.name for item in found.included] == ["www.example.org"]
        assert [item.problem_code for item in found.left_out] == ["unwritable_claim"]


@pytest.mark.parametrize(
    "identifier", ['eu "west"', "a,b;c=d", "Ünïcode", "x" * 255, "<script>", "-- %s ' \\", "A", " a "]
)
def test_a_set_identifier_may_hold_anything_printable(identifier: str) -> None:
    alice, name = make_alice(), "www.example.org"
    zone = [
        make_record(name, set_identifier=identifier),
        make_claim(name, set_identifier=identifier),
        make_record(name, targets=("192.0.2.7",), set_identifier="other"),
        make_claim(name, set_identifier="other"),
    ]
    with open_world(zone) as world:
        pk = RecordSet.objects.get(set_identifier=identifier).pk
        transfer = request(alice, ask(selection=Selection(record_set_ids=(pk,))))

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        after = {
            EndpointKey(e.dns_name, e.record_type, e.set_identifier): e for e in world.reference.endpoints()
        }
        assert f"owner={GREEN}" in after[EndpointKey(f"a-{name}", "TXT", identifier)].targets[0]
        assert f"owner={BLUE}" in after[EndpointKey(f"a-{name}", "TXT", "other")].targets[0]


def test_a_claim_longer_than_255_bytes_is_moved_whole() -> None:
    alice, name = make_alice(), "www.example.org"
    resource = f"ingress/shop/{'ä' * 300}"
    with open_world([make_record(name), make_claim(name, resource=resource)]) as world:
        before = world.claim_text(f"a-{name}")
        transfer = request(alice, ask())

        run_transfer(transfer.pk)

        transfer.refresh_from_db()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert world.claim_text(f"a-{name}") == before.replace(BLUE, GREEN)


def test_a_claim_shown_in_strings_of_255_bytes_never_becomes_another_claim() -> None:
    alice, name = make_alice(), "www.example.org"
    text = f"heritage=external-dns,external-dns/owner={BLUE},external-dns/resource=ingress/shop/{'a' * 300}"
    split = f'"{text[:255]}" "{text[255:]}"'
    with open_world([make_record(name), make_record(f"a-{name}", "TXT", (split,))]) as world:
        found = plan(alice, ask())
        assert len(found.included) == 1

        run_transfer(request(alice, ask()).pk)

        transfer = Transfer.objects.get()
        assert transfer.status == STATUS.VERIFIED, transfer.status_reason
        assert world.claim_text(f"a-{name}") == split.replace(BLUE, GREEN)
