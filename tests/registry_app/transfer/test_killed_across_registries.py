"""A worker killed with -9 at every named point of a transfer that crosses registries: it ends verified."""

import pytest

from providers.wire.canonical_name import endpoint_key
from registry_app.models import Transfer, TransferItem
from tests.registry_app.transfer.forking import Forks
from tests.registry_app.transfer.registries import heritage
from tests.registry_app.transfer.test_killed_workers import ON_THE_WAY, resume, run_and_die
from tests.registry_app.transfer.two_registries import RECORDS, RING, Two, open_two
from tests.registry_app.transfer.world import BLUE, GREEN, ask, make_alice, request

pytestmark = [pytest.mark.deep, pytest.mark.django_db(transaction=True), pytest.mark.one_database]


@pytest.mark.parametrize("crash_at", ON_THE_WAY)
@pytest.mark.parametrize(("source", "target"), RING)
def test_it_ends_verified_and_each_step_was_sent_at_most_once(
    forks: Forks, source: str, target: str, crash_at: str
) -> None:
    alice = make_alice()
    with open_two(source, target) as two:
        transfer = request(alice, ask())

        run_and_die(forks, transfer, crash_at)
        resume(transfer)

        assert transfer.status == Transfer.Status.VERIFIED, transfer.status_reason
        wanted = {endpoint_key(each): [heritage(GREEN, each.dns_name)] for each in RECORDS}
        assert two.claims() == two.green.claims() == wanted
        _raise_if_a_step_was_sent_twice(transfer)


@pytest.mark.parametrize(("source", "target"), RING)
def test_a_claim_that_may_have_been_written_is_read_and_not_written_again(
    forks: Forks, source: str, target: str
) -> None:
    alice = make_alice()
    with open_two(source, target) as two:
        before = two.contents()
        transfer = request(alice, ask())

        run_and_die(forks, transfer, "transfer.write_marked")
        resume(transfer)

        # The first batch was marked and not sent; the second one went its way.
        assert transfer.status == Transfer.Status.FAILED, transfer.status_reason
        assert _owners(two) == {BLUE: 2, GREEN: 1}
        assert before != two.contents()


@pytest.mark.parametrize(("source", "target"), RING)
def test_a_removal_that_may_have_been_made_waits_for_an_operator_while_both_claims_exist(
    forks: Forks, source: str, target: str
) -> None:
    alice = make_alice()
    with open_two(source, target) as two:
        transfer = request(alice, ask())

        run_and_die(forks, transfer, "transfer.remove_marked")
        resume(transfer)

        assert transfer.status == Transfer.Status.NEEDS_OPERATOR, transfer.status_reason
        assert _owners(two) == {BLUE: 2, GREEN: 3}
        stuck = transfer.items.filter(status=TransferItem.Status.NEEDS_OPERATOR)
        assert {"Send again" in item.status_reason for item in stuck} == {True}


def _owners(two: Two) -> dict[str, int]:
    texts = [text for each in two.claims().values() for text in each]
    return {owner: sum(f"owner={owner}," in text for text in texts) for owner in (BLUE, GREEN)}


def _raise_if_a_step_was_sent_twice(transfer: Transfer) -> None:
    sent = transfer.steps.exclude(status="not_sent").values_list("phase", "batch", "registry_profile")
    assert len(sent) == len(set(sent))
