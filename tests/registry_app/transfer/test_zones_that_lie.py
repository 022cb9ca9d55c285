"""An answer that lacks most of what is known beside a transfer proves nothing about the transfer's own
claims: neither that one is gone, nor that one was never written."""

from collections.abc import Callable

import pytest

from providers.wire.endpoint import Endpoint
from registry_app.models import Transfer
from registry_app.transfer.plan.transfer_request import Selection
from registry_app.transfer.send.run_transfer import run_transfer
from tests.faults import read_faults, write_faults
from tests.faults.fault import Fault
from tests.reference_server import make_claim, make_zone
from tests.registry_app.transfer.world import BLUE, World, ask, make_alice, open_world, plan, request

pytestmark = [pytest.mark.one_database, pytest.mark.deep, pytest.mark.django_db(transaction=True)]

_STATUS = Transfer.Status
_ONE = "app-00000.example.org"
_GONE = [make_claim(f"gone-{number}.example.org") for number in range(3)]
# As many TXT records as there are claims: what is counted must be claims.
_MAIL = [
    Endpoint(f"mail-{number}.example.org", ('"v=spf1 -all"',), "TXT", record_ttl=300) for number in range(12)
]


def _is_claim(endpoint: Endpoint) -> bool:
    return endpoint.record_type == "TXT" and "heritage" in endpoint.targets[0]


def _without_claims() -> Fault:
    return read_faults.without(_is_claim)


def _without_most_claims() -> Fault:
    return read_faults.without(lambda each: _is_claim(each) and "00009" not in each.dns_name)


def _without_other_records() -> Fault:
    return read_faults.without(
        lambda each: not each.dns_name.startswith(("mail", "app-00000", "a-")) or "gone" in each.dns_name
    )


_LIES = pytest.mark.parametrize("lie", [_without_claims, _without_most_claims, _without_other_records])


def _ask_for(world: World, kind: str) -> Transfer:
    alice = make_alice()
    selection = {
        "release": Selection(names=(_ONE,)),
        "clean_up": Selection(name_suffix="example.org"),
    }[kind]
    asked = ask(kind, selection)
    text = plan(alice, asked).confirmation_text
    return request(alice, ask(kind, selection, confirmation=text))


@_LIES
@pytest.mark.parametrize("kind", ["release", "clean_up"])
def test_a_claim_that_is_gone_with_the_others_is_not_taken_for_removed(
    kind: str, lie: Callable[[], Fault]
) -> None:
    with open_world([*make_zone(BLUE, 20), *_GONE, *_MAIL]) as world:
        transfer = _ask_for(world, kind)
        before = world.reference.zone_bytes()
        world.reference.faults.plan("POST /records", write_faults.success_with_nothing_applied())
        world.reference.faults.plan("GET /records", lie(), times=None, after=2)

        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        waiting = transfer.status
        world.reference.faults.clear()
        run_transfer(transfer.pk)
        transfer.refresh_from_db()

        assert waiting == _STATUS.SENDING
        assert transfer.status == _STATUS.FAILED
        assert world.reference.zone_bytes() == before


@_LIES
@pytest.mark.parametrize("kind", ["release", "clean_up"])
def test_what_is_there_is_not_taken_for_moved_before_anything_is_sent(
    kind: str, lie: Callable[[], Fault]
) -> None:
    with open_world([*make_zone(BLUE, 20), *_GONE, *_MAIL]) as world:
        transfer = _ask_for(world, kind)
        world.reference.faults.plan("GET /records", lie())

        run_transfer(transfer.pk)
        transfer.refresh_from_db()
        waiting, reason = transfer.status, transfer.status_reason
        run_transfer(transfer.pk)
        transfer.refresh_from_db()

        assert waiting == _STATUS.SENDING
        assert "is implausible" in reason
        assert transfer.status == _STATUS.VERIFIED, transfer.status_reason


def test_a_release_of_every_claim_there_is_comes_to_its_end() -> None:
    with open_world(make_zone(BLUE, 20)) as world:
        alice = make_alice()
        transfer = request(alice, ask("release"))

        run_transfer(transfer.pk)
        transfer.refresh_from_db()

        assert transfer.status == _STATUS.VERIFIED, transfer.status_reason
        assert not [each for each in world.reference.endpoints() if _is_claim(each)]
