"""What DynamoDB refuses, how it is told, and that nothing is written twice or taken for nothing."""

from collections.abc import Sequence

import pytest

from providers.http.address_policy import AddressPolicy
from providers.http.errors import (
    NameUnresolved,
    NothingSent,
    OutcomeUnknown,
)
from providers.registries.stored_claim import StoredClaimChange
from providers.stores.dynamodb.responses import RowConflict, Throttled
from tests.faults.fault import Fault
from tests.faults.framing_faults import closed, reset, silence
from tests.providers.stores.dynamodb.rows import (
    BLUE,
    GREEN,
    HASTY,
    WWW,
    make_changes,
    make_rows,
    make_store,
    owner_in,
)
from tests.strict_dynamodb import (
    StrictDynamoDb,
    body,
    made_then,
    made_then_reset,
    refusal,
)

pytestmark = pytest.mark.deep

CHANGE = StoredClaimChange(WWW, BLUE, GREEN)
WRITES, SCANS = "POST /TransactWriteItems", "POST /Scan"


@pytest.mark.parametrize(
    "name", ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
)
def test_a_throttled_read_is_asked_again(service: StrictDynamoDb, name: str) -> None:
    service.faults.plan(SCANS, refusal(name), times=3)

    claims = make_store(service.url).fetch_claims()

    assert [claim.text for claim in claims] == [BLUE]
    assert len(service.asked("Scan")) == 4


def test_a_read_that_is_throttled_for_ever_ends_with_its_deadline(service: StrictDynamoDb) -> None:
    service.faults.plan(SCANS, refusal("ThrottlingException"), times=None)

    with pytest.raises(Throttled, match="throttles Scan on the table external-dns") as caught:
        make_store(service.url, limits=HASTY).fetch_claims()

    assert "capacity" in caught.value.hint
    assert 1 < len(service.asked("Scan")) < 20


@pytest.mark.parametrize(
    "fault",
    [
        refusal("ProvisionedThroughputExceededException"),
        refusal("TransactionCanceledException", CancellationReasons=[{"Code": "TransactionConflict"}]),
        refusal("TransactionCanceledException", CancellationReasons=[{"Code": "ThrottlingError"}]),
    ],
)
def test_a_throttled_write_is_sent_again_under_the_same_token(service: StrictDynamoDb, fault: Fault) -> None:
    service.faults.plan(WRITES, fault, times=2)

    make_store(service.url).write([CHANGE])

    assert owner_in(service) == "green-cluster"
    asked = service.asked("TransactWriteItems")
    assert len(asked) == 3
    assert len({each["ClientRequestToken"] for each in asked}) == 1


def test_a_write_that_is_throttled_again_and_again_changed_nothing(service: StrictDynamoDb) -> None:
    service.faults.plan(WRITES, refusal("ThrottlingException"), times=None)

    with pytest.raises(NothingSent, match=r"The change was not made: .* throttles") as caught:
        make_store(service.url).write([CHANGE])

    assert isinstance(caught.value.reason, Throttled)
    assert len(service.asked("TransactWriteItems")) == 5
    assert owner_in(service) == "blue-cluster"


def test_a_write_said_to_be_throttled_but_made_is_not_made_twice(service: StrictDynamoDb) -> None:
    service.faults.plan(WRITES, made_then("ThrottlingException"))

    make_store(service.url).write([CHANGE])

    assert owner_in(service) == "green-cluster"


def test_a_write_that_is_still_being_made_is_asked_for_until_it_is(service: StrictDynamoDb) -> None:
    service.faults.plan(WRITES, made_then("TransactionInProgressException"))

    make_store(service.url).write([CHANGE])

    assert owner_in(service) == "green-cluster"


def test_a_write_that_stays_in_progress_leaves_the_outcome_open(service: StrictDynamoDb) -> None:
    service.faults.plan(WRITES, refusal("TransactionInProgressException"), times=None)

    with pytest.raises(OutcomeUnknown, match="still making this very change"):
        make_store(service.url).write([CHANGE])


@pytest.mark.parametrize(
    "fault",
    [
        made_then_reset(),
        reset(),
        closed(),
        made_then("InternalServerError", status=500),
        refusal("ServiceUnavailable", status=503),
        body(b"<html>Please log in</html>"),
        body(b"<html>Forbidden</html>", status=403),
        body(b"[]"),
        body(b""),
    ],
)
def test_no_answer_that_is_the_services_own_leaves_the_outcome_open(
    service: StrictDynamoDb, fault: Fault
) -> None:
    service.faults.plan(WRITES, fault)

    with pytest.raises(OutcomeUnknown, match="Whether the change was made is unknown"):
        make_store(service.url).write([CHANGE])

    assert len(service.asked("TransactWriteItems")) == 1


@pytest.mark.parametrize(
    ("reason", "kind", "told"),
    [
        ({"Code": "ConditionalCheckFailed"}, RowConflict, "www.example.org A has no row any more."),
        ({"Code": "ValidationError", "Message": "too large"}, NothingSent, "ValidationError too large"),
        ({"Code": "None"}, NothingSent, "made none of the changes in the table external-dns"),
    ],
)
def test_a_cancelled_transaction_changed_nothing_and_says_why(
    service: StrictDynamoDb, reason: dict[str, str], kind: type[NothingSent], told: str
) -> None:
    fault = refusal("TransactionCanceledException", "Transaction cancelled", CancellationReasons=[reason])
    service.faults.plan(WRITES, fault)

    with pytest.raises(kind, match="The change was not made") as caught:
        make_store(service.url).write([CHANGE])

    assert told in str(caught.value)
    assert type(caught.value) is kind
    assert len(service.asked("TransactWriteItems")) == 1


def test_a_write_that_cannot_leave_any_more_changed_nothing(service: StrictDynamoDb) -> None:
    answers = iter([["127.0.0.1"]])

    def resolve(_host: str, _port: int) -> Sequence[str]:
        found = next(answers, None)
        if found is None:
            raise OSError("no such name any more")
        return found

    policy = AddressPolicy(allow_loopback=True, resolve=resolve)
    url = service.url.replace("127.0.0.1", "dynamodb.example.org")

    with pytest.raises(
        NothingSent, match=r"The change was not made: The name dynamodb\.example\.org"
    ) as caught:
        make_store(url, policy=policy).write([CHANGE])

    assert isinstance(caught.value.reason, NameUnresolved)
    assert len(service.asked("Scan")) == 1


def test_silence_ends_with_the_deadline_and_leaves_the_outcome_open(service: StrictDynamoDb) -> None:
    service.faults.plan(WRITES, silence())

    with pytest.raises(OutcomeUnknown, match=r"No DynamoDB responded at .* within 0\.[45]\d* s\."):
        make_store(service.url, limits=HASTY).write([CHANGE])


def test_a_failure_after_the_first_transaction_tells_how_much_was_made(service: StrictDynamoDb) -> None:
    service.put(*make_rows(101))
    service.faults.plan(WRITES, refusal("AccessDeniedException", "no"), after=1)

    with pytest.raises(OutcomeUnknown, match="100 of 101 rows were changed, and then it stopped"):
        make_store(service.url).write(make_changes(101))


def test_nothing_is_sent_while_the_table_cannot_be_read(service: StrictDynamoDb) -> None:
    service.faults.plan(SCANS, refusal("InternalServerError", status=500))
    service.faults.plan(SCANS, body(b"{}"))
    service.faults.plan(SCANS, reset())

    for _ in range(3):
        with pytest.raises(NothingSent, match="The change was not made"):
            make_store(service.url).write([CHANGE])

    assert not service.asked("TransactWriteItems")
