"""Claims in a DynamoDB table: read whole, and changed only where they are as they were read."""

import msgspec
import pytest

from providers.http.errors import NothingSent, OutcomeUnknown
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.stores.dynamodb.responses import RowConflict
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.faults.write_faults import delivered_twice, meanwhile
from tests.providers.stores.dynamodb.rows import (
    BLUE,
    GREEN,
    WWW,
    make_changes,
    make_row,
    make_rows,
    make_store,
    name_of,
    owner_in,
)
from tests.reference_server import make_record
from tests.strict_dynamodb import StrictDynamoDb

pytestmark = pytest.mark.deep

WWW_KEY = "www.example.org#A#"
TRANSACTIONS = "TransactWriteItems"


def test_every_item_is_a_claim_and_an_odd_one_says_why(empty: StrictDynamoDb) -> None:
    empty.put(
        make_row(), make_row("odd.example.org", ""), make_row("b.example.org", "green-cluster", "CNAME")
    )

    claims = make_store(empty.url).fetch_claims()

    assert sorted(claims, key=lambda claim: claim.key) == [
        StoredClaim(EndpointKey("b.example.org", "CNAME", ""), GREEN),
        StoredClaim(
            EndpointKey("odd.example.org", "A", ""),
            "heritage=external-dns,external-dns/resource=ingress/shop/www",
            "The claim names no owner.",
        ),
        StoredClaim(EndpointKey("www.example.org", "A", ""), BLUE),
    ]


def test_a_table_of_1200_rows_is_read_page_after_page(empty: StrictDynamoDb) -> None:
    empty.put(*make_rows(1200))
    empty.page_items = 100

    claims = make_store(empty.url).fetch_claims()

    assert {claim.key.name for claim in claims} == {name_of(number) for number in range(1200)}
    assert len(claims) == 1200
    assert len(empty.asked("Scan")) >= 12
    assert all(question["ConsistentRead"] is True for question in empty.asked("Scan"))


def test_an_empty_table_has_no_claims(empty: StrictDynamoDb) -> None:
    assert make_store(empty.url).fetch_claims() == []


def test_another_owner_is_written_and_all_else_of_the_row_stays(empty: StrictDynamoDb) -> None:
    row = make_row()
    more = {"note": {"S": "kept"}, "seen": {"NS": ["1", "2"]}}
    labels = {"M": {**row["l"]["M"], "txt-encryption-nonce": {"S": "bm9uY2U="}}}
    empty.put({**row, **more, "l": labels})

    make_store(empty.url).write([StoredClaimChange(WWW, BLUE, GREEN)])

    assert empty.items() == {WWW_KEY: {**row, **more, "l": labels, "o": {"S": "green-cluster"}}}


def test_a_row_is_made_as_externaldns_makes_it_and_taken_away(empty: StrictDynamoDb) -> None:
    store = make_store(empty.url)

    store.write([StoredClaimChange(WWW, None, BLUE)])
    made = empty.items()
    store.write([StoredClaimChange(WWW, BLUE, None)])

    assert made == {WWW_KEY: make_row()}
    assert empty.items() == {}


def test_a_row_is_made_under_the_spelling_its_provider_has(empty: StrictDynamoDb) -> None:
    record = msgspec.structs.replace(WWW, dns_name="WWW.example.org", set_identifier="eu#1")

    make_store(empty.url).write([StoredClaimChange(record, None, BLUE)])

    assert list(empty.items()) == ["WWW.example.org#A#eu#1"]


def test_a_row_in_another_spelling_is_found_and_keeps_it(empty: StrictDynamoDb) -> None:
    empty.put(make_row("WWW.Example.Org."))

    make_store(empty.url).write([StoredClaimChange(WWW, BLUE, GREEN)])

    assert owner_in(empty, "WWW.Example.Org.#A#") == "green-cluster"
    assert len(empty.items()) == 1


def test_a_row_without_labels_is_compared_and_written_too(empty: StrictDynamoDb) -> None:
    empty.put({"k": {"S": WWW_KEY}, "o": {"S": "blue-cluster"}})
    bare = "heritage=external-dns,external-dns/owner=blue-cluster"

    make_store(empty.url).write([StoredClaimChange(WWW, bare, GREEN)])

    assert empty.items() == {WWW_KEY: make_row(owner_id="green-cluster")}


def test_many_rows_are_changed_in_as_few_transactions_as_the_service_takes(empty: StrictDynamoDb) -> None:
    empty.put(*make_rows(120))

    make_store(empty.url).write(make_changes(120))

    assert {item["o"]["S"] for item in empty.items().values()} == {"green-cluster"}
    assert [len(asked["TransactItems"]) for asked in empty.asked(TRANSACTIONS)] == [100, 20]
    assert len({asked["ClientRequestToken"] for asked in empty.asked(TRANSACTIONS)}) == 2


def test_large_rows_are_changed_in_transactions_the_service_takes(empty: StrictDynamoDb) -> None:
    empty.put(*({**row, "note": {"S": "x" * 380_000}} for row in make_rows(12)))

    make_store(empty.url).write(make_changes(12))

    assert {item["o"]["S"] for item in empty.items().values()} == {"green-cluster"}
    assert [len(asked["TransactItems"]) for asked in empty.asked(TRANSACTIONS)] == [8, 4]


@pytest.mark.parametrize(
    ("held", "change", "told"),
    [
        ([], StoredClaimChange(WWW, BLUE, GREEN), "www.example.org A has no row any more."),
        (
            [make_row(owner_id="green-cluster")],
            StoredClaimChange(WWW, BLUE, None),
            "is held by green-cluster now.",
        ),
        (
            [make_row(owner_id="green-cluster")],
            StoredClaimChange(WWW, None, BLUE),
            "a row of green-cluster already.",
        ),
        ([{**make_row(), "l": {"M": {}}}], StoredClaimChange(WWW, BLUE, GREEN), "has other labels now"),
        (
            [make_row(owner_id="green-cluster")],
            StoredClaimChange(WWW, BLUE, BLUE),
            "is held by green-cluster now.",
        ),
    ],
)
def test_a_row_that_is_not_as_it_was_is_a_conflict_and_nothing_is_sent(
    empty: StrictDynamoDb, held: list[dict[str, object]], change: StoredClaimChange, told: str
) -> None:
    empty.put(make_row("b.example.org"), *held)
    fitting = StoredClaimChange(make_record("b.example.org"), BLUE, GREEN)
    before = empty.items()

    with pytest.raises(RowConflict) as caught:
        make_store(empty.url).write([fitting, change])

    assert told in str(caught.value)
    assert empty.items() == before
    assert not empty.asked(TRANSACTIONS)


@pytest.mark.parametrize(
    ("held", "change", "told"),
    [
        (
            [make_row(), make_row("WWW.example.org")],
            StoredClaimChange(WWW, BLUE, GREEN),
            "2 items of the table",
        ),
        ([make_row(owner_id="a,b")], StoredClaimChange(WWW, BLUE, GREEN), "is not valid"),
        (
            [make_row()],
            StoredClaimChange(WWW, BLUE, f"{GREEN},odd=text"),
            "not written as ExternalDNS writes",
        ),
        ([make_row()], StoredClaimChange(WWW, BLUE, "heritage=external-dns"), "names no owner"),
        ([], StoredClaimChange(make_record("a#b.example.org"), None, BLUE), "another record set's"),
        ([], StoredClaimChange(Endpoint(dns_name="a..b", record_type="A"), None, BLUE), "is no name"),
    ],
)
def test_a_change_that_no_row_can_hold_is_refused(
    empty: StrictDynamoDb, held: list[dict[str, object]], change: StoredClaimChange, told: str
) -> None:
    empty.put(make_row("b.example.org"), *held)

    with pytest.raises(NothingSent, match="The change was not sent") as caught:
        make_store(empty.url).write([StoredClaimChange(make_record("b.example.org"), BLUE, GREEN), change])

    assert told in str(caught.value)
    assert not empty.asked(TRANSACTIONS)


def test_a_row_is_not_changed_twice_in_one_write(empty: StrictDynamoDb) -> None:
    empty.put(make_row())

    with pytest.raises(NothingSent, match=r"www\.example\.org A more than once"):
        make_store(empty.url).write([StoredClaimChange(WWW, BLUE, GREEN), StoredClaimChange(WWW, BLUE, None)])

    assert owner_in(empty) == "blue-cluster"


def test_an_intent_is_a_row_and_its_coming_true_is_no_change(empty: StrictDynamoDb) -> None:
    store = make_store(empty.url)

    store.write([StoredClaimChange(WWW, None, BLUE, is_intent=True)])
    store.write([StoredClaimChange(WWW, BLUE, BLUE)])

    assert empty.items() == {WWW_KEY: make_row()}
    assert len(empty.asked(TRANSACTIONS)) == 1


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        (make_row(owner_id="green-cluster"), "www.example.org A is held by green-cluster now"),
        (
            {**make_row(), "l": {"M": {}}},
            "www.example.org A has other labels now than it was read with, though still of blue-cluster",
        ),
        (None, "www.example.org A has no row any more"),
    ],
)
def test_another_writer_between_reading_and_writing_is_a_conflict(
    empty: StrictDynamoDb, theirs: dict[str, object] | None, told: str
) -> None:
    empty.put(make_row(), make_row("b.example.org"))

    def act() -> None:
        if theirs is None:
            empty.delete(WWW_KEY)
        else:
            empty.put(theirs)

    empty.faults.plan(f"POST /{TRANSACTIONS}", meanwhile(act))
    changes = [
        StoredClaimChange(make_record("b.example.org"), BLUE, GREEN),
        StoredClaimChange(WWW, BLUE, GREEN),
    ]

    with pytest.raises(RowConflict) as caught:
        make_store(empty.url).write(changes)

    assert f"The change was not made: {told}" in str(caught.value)
    assert owner_in(empty, "b.example.org#A#") == "blue-cluster"
    assert len(empty.asked(TRANSACTIONS)) == 1


def test_a_row_made_by_another_writer_in_between_is_not_overwritten(empty: StrictDynamoDb) -> None:
    theirs = make_row(owner_id="green-cluster")
    empty.faults.plan(f"POST /{TRANSACTIONS}", meanwhile(lambda: empty.put(theirs)))

    with pytest.raises(RowConflict, match="has a row of green-cluster already"):
        make_store(empty.url).write([StoredClaimChange(WWW, None, BLUE)])

    assert empty.items() == {WWW_KEY: theirs}


def test_a_conflict_after_the_first_transaction_tells_how_much_was_made(empty: StrictDynamoDb) -> None:
    empty.put(*make_rows(102))
    last = make_row(name_of(101), "green-cluster")
    empty.faults.plan(f"POST /{TRANSACTIONS}", meanwhile(lambda: empty.put(last)), after=1)

    with pytest.raises(OutcomeUnknown, match="100 of 102 rows were changed, and then it stopped") as caught:
        make_store(empty.url).write(make_changes(102))

    assert isinstance(caught.value.reason, RowConflict)
    assert f"{name_of(101)} A is held by green-cluster now" in str(caught.value)
    assert owner_in(empty, f"{name_of(99)}#A#") == "green-cluster"
    assert owner_in(empty, f"{name_of(100)}#A#") == "blue-cluster"


def test_a_transaction_that_is_delivered_twice_is_made_once_and_a_success(empty: StrictDynamoDb) -> None:
    empty.put(make_row())
    empty.faults.plan(f"POST /{TRANSACTIONS}", delivered_twice())

    make_store(empty.url).write([StoredClaimChange(WWW, BLUE, GREEN)])

    assert owner_in(empty) == "green-cluster"


def test_the_same_change_made_again_later_is_made_again(empty: StrictDynamoDb) -> None:
    empty.put(make_row())
    store = make_store(empty.url)

    for old, new in ((BLUE, GREEN), (GREEN, BLUE), (BLUE, GREEN)):
        store.write([StoredClaimChange(WWW, old, new)])

    assert owner_in(empty) == "green-cluster"
    assert len({asked["ClientRequestToken"] for asked in empty.asked(TRANSACTIONS)}) == 3
