"""Every wrong answer to a write shows what it says it shows: the answer is one thing, the zone another."""

from collections.abc import Iterator

import msgspec
import pytest
import requests

from providers.wire.change_set import ChangeSet
from tests.faults import framing_faults, write_faults
from tests.faults.fault import Fault
from tests.providers.servers.calls import fetch_endpoints, post_changes
from tests.reference_server import ReferenceProvider, make_claim, make_record

ONE, TWO = make_claim("one.example.org"), make_claim("two.example.org")
NEW_ONE = make_claim("one.example.org", owner="green-cluster")
NEW_TWO = make_claim("two.example.org", owner="green-cluster")
THREE = make_claim("three.example.org")
CHANGES = ChangeSet(create=(THREE,), update_old=(ONE, TWO), update_new=(NEW_ONE, NEW_TWO))
BEFORE = (ONE, TWO)
AFTER = (NEW_ONE, THREE, NEW_TWO)


@pytest.fixture
def provider() -> Iterator[ReferenceProvider]:
    with ReferenceProvider([ONE, TWO]) as provider:
        yield provider


def _post(provider: ReferenceProvider, fault: Fault) -> requests.Response:
    provider.faults.plan("POST /records", fault)
    return post_changes(provider.url, CHANGES)


def test_without_a_fault_everything_is_applied(provider: ReferenceProvider) -> None:
    answer = post_changes(provider.url, CHANGES)

    assert answer.status_code == 204
    assert provider.endpoints() == AFTER


@pytest.mark.parametrize("code", [400, 500, 503])
def test_an_error_before_applying_changes_nothing(provider: ReferenceProvider, code: int) -> None:
    assert _post(provider, write_faults.error_before_applying(code)).status_code == code
    assert provider.endpoints() == BEFORE


@pytest.mark.parametrize("fault", [framing_faults.reset(), framing_faults.closed()])
def test_a_connection_lost_before_applying_changes_nothing(provider: ReferenceProvider, fault: Fault) -> None:
    with pytest.raises(requests.ConnectionError):
        _post(provider, fault)

    assert provider.endpoints() == BEFORE


def test_applied_then_error_changes_everything(provider: ReferenceProvider) -> None:
    assert _post(provider, write_faults.applied_then_error(500)).status_code == 500
    assert provider.endpoints() == AFTER


def test_applied_then_silence_changes_everything(provider: ReferenceProvider) -> None:
    provider.faults.plan("POST /records", write_faults.applied_then_silence())

    with pytest.raises(requests.ReadTimeout):
        post_changes(provider.url, CHANGES, seconds=0.5)

    assert provider.endpoints() == AFTER


def test_applied_then_reset_changes_everything(provider: ReferenceProvider) -> None:
    with pytest.raises(requests.ConnectionError):
        _post(provider, write_faults.applied_then_reset())

    assert provider.endpoints() == AFTER


@pytest.mark.parametrize("code", [204, 500])
@pytest.mark.parametrize(
    ("count", "zone"),
    [(0, BEFORE), (1, (NEW_ONE, TWO)), (2, (NEW_ONE, NEW_TWO)), (3, AFTER), (4, AFTER)],
)
def test_only_the_first_changes_are_applied(
    provider: ReferenceProvider, count: int, zone: tuple[object, ...], code: int
) -> None:
    assert _post(provider, write_faults.first_applied(count, code)).status_code == code
    assert provider.endpoints() == zone


def test_success_with_nothing_applied(provider: ReferenceProvider) -> None:
    assert _post(provider, write_faults.success_with_nothing_applied()).status_code == 204
    assert provider.endpoints() == BEFORE


def test_success_with_something_else_applied(provider: ReferenceProvider) -> None:
    assert _post(provider, write_faults.success_with_something_else()).status_code == 204

    somebody = '"heritage=external-dns,external-dns/owner=somebody-else"'
    assert [each.targets for each in provider.endpoints()] == [(somebody,)] * 3


def test_success_with_something_else_changes_the_ttl_of_what_is_no_claim() -> None:
    with ReferenceProvider() as provider:
        provider.faults.plan("POST /records", write_faults.success_with_something_else())

        post_changes(provider.url, ChangeSet(create=(make_record(ttl=300),)))

        assert provider.endpoints() == (make_record(ttl=301),)


def test_delivered_twice_gives_the_answer_to_the_second(provider: ReferenceProvider) -> None:
    answer = _post(provider, write_faults.delivered_twice())

    assert answer.status_code == 500
    assert provider.endpoints() == AFTER


def test_applied_late_is_seen_only_after_so_many_reads(provider: ReferenceProvider) -> None:
    answer = _post(provider, write_faults.applied_late(reads=2))

    reads = [len(fetch_endpoints(provider.url)) for _ in range(4)]

    assert answer.status_code == 204
    assert reads == [2, 2, 3, 3]


def test_applied_late_can_be_delivered_at_once_and_may_follow_an_error(provider: ReferenceProvider) -> None:
    answer = _post(provider, write_faults.applied_late(reads=1000, code=503))
    before = provider.endpoints()

    delivered = provider.faults.deliver_late()

    assert (answer.status_code, before, delivered) == (503, BEFORE, 1)
    assert provider.endpoints() == AFTER


def test_somebody_else_can_write_between_our_read_and_our_request(provider: ReferenceProvider) -> None:
    rewritten = msgspec.structs.replace(ONE, targets=('"heritage=external-dns,external-dns/owner=other"',))

    def rewrite() -> None:
        provider.backend.apply(ChangeSet(update_old=(ONE,), update_new=(rewritten,)))

    answer = _post(provider, write_faults.meanwhile(rewrite))

    assert answer.status_code == 500
    assert provider.endpoints() == (rewritten, TWO)
