"""Claims in the description of a provider's own endpoints: that label changes, and nothing else does."""

import msgspec
import pytest

from providers.http.errors import NothingSent, OutcomeUnknown
from providers.registries.stored_claim import StoredClaim, StoredClaimChange
from providers.stores.aws_sd_registry import AwsSdStore, raise_if_alters_more
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.faults import read_faults, write_faults
from tests.providers.client.making import make_client
from tests.reference_server import ReferenceProvider, make_record

LABEL = "aws-sd-description"
BLUE = "heritage=external-dns,external-dns/owner=blue-cluster,external-dns/resource=service/shop/www"
GREEN = BLUE.replace("blue", "green")
WWW = EndpointKey("www.example.org", "A", "")


def described(name: str = "www.example.org", text: str = BLUE) -> Endpoint:
    return msgspec.structs.replace(make_record(name), labels={"kept": "yes", LABEL: text})


def store_of(provider: ReferenceProvider) -> AwsSdStore:
    return AwsSdStore(make_client(provider.url), max_items=1000)


def test_a_description_with_heritage_is_a_claim_and_any_other_is_not() -> None:
    owned, foreign = described(), described("old.example.org", "made by hand")
    nameless = described("odd.example.org", "heritage=external-dns")
    with ReferenceProvider([owned, foreign, nameless, make_record("bare.example.org")]) as provider:
        claims = store_of(provider).fetch_claims()

    assert sorted(claims, key=lambda claim: claim.key) == [
        StoredClaim(
            EndpointKey("odd.example.org", "A", ""), "heritage=external-dns", "The claim names no owner."
        ),
        StoredClaim(WWW, BLUE),
    ]


def test_an_update_says_exactly_what_was_read_and_changes_that_label_alone() -> None:
    record = described()
    with ReferenceProvider([record, make_record("bare.example.org")]) as provider:
        store_of(provider).write([StoredClaimChange(record, BLUE, GREEN)])

        assert described(text=GREEN) in provider.endpoints()
        (request,) = provider.history.requests("POST /records")
        sent = msgspec.json.decode(request.body, type=ChangeSet)
        assert sent == ChangeSet(update_old=(record,), update_new=(described(text=GREEN),))


def test_a_first_claim_is_added_and_the_last_one_taken_away() -> None:
    bare = make_record()
    with ReferenceProvider([bare]) as provider:
        store = store_of(provider)

        store.write([StoredClaimChange(bare, None, BLUE)])
        claimed = provider.endpoints()
        store.write([StoredClaimChange(claimed[0], BLUE, None)])

        assert claimed == (msgspec.structs.replace(bare, labels={LABEL: BLUE}),)
        assert provider.endpoints() == (bare,)


@pytest.mark.parametrize(
    ("held", "record", "old"),
    [
        ([], described(), BLUE),
        ([described(text=GREEN)], described(), BLUE),
        ([msgspec.structs.replace(described(), record_ttl=1)], described(), BLUE),
        ([described(text="made by hand")], described(text="made by hand"), None),
    ],
)
def test_what_is_not_as_it_was_read_is_not_written(
    held: list[Endpoint], record: Endpoint, old: str | None
) -> None:
    with ReferenceProvider(held) as provider:
        with pytest.raises(NothingSent, match=r"www\.example\.org"):
            store_of(provider).write([StoredClaimChange(record, old, GREEN)])

        assert provider.endpoints() == tuple(held)
        assert not provider.history.requests("POST /records")


def test_an_endpoint_that_is_listed_twice_is_not_valid_and_not_written() -> None:
    record = described()
    with ReferenceProvider([record]) as provider:
        provider.faults.plan("GET /records", read_faults.duplicated(), times=2)

        claims = store_of(provider).fetch_claims()
        with pytest.raises(NothingSent, match="listed more than once"):
            store_of(provider).write([StoredClaimChange(record, BLUE, GREEN)])

        assert [claim.problem != "" for claim in claims] == [True]
        assert provider.history.requests("POST /records") == ()


def test_nothing_is_sent_while_the_records_cannot_be_read() -> None:
    with ReferenceProvider([described()]) as provider:
        provider.faults.plan("GET /records", read_faults.status(503))
        provider.faults.plan("GET /records", read_faults.empty_object())

        for _ in range(2):
            with pytest.raises(NothingSent):
                store_of(provider).write([StoredClaimChange(described(), BLUE, GREEN)])

        assert not provider.history.requests("POST /records")


def test_an_answer_that_is_no_success_leaves_the_outcome_open() -> None:
    with ReferenceProvider([described()]) as provider:
        provider.faults.plan("POST /records", write_faults.applied_then_error())

        with pytest.raises(OutcomeUnknown):
            store_of(provider).write([StoredClaimChange(described(), BLUE, GREEN)])


@pytest.mark.parametrize(
    "new",
    [
        msgspec.structs.replace(described(), record_ttl=1),
        msgspec.structs.replace(described(), targets=("192.0.2.9",)),
        msgspec.structs.replace(described(), labels={LABEL: GREEN}),
        msgspec.structs.replace(described(), labels={"kept": "no", LABEL: GREEN}),
        described("other.example.org", GREEN),
    ],
)
def test_the_guard_lets_nothing_through_but_the_description(new: Endpoint) -> None:
    raise_if_alters_more([described()], [described(text=GREEN)])

    with pytest.raises(ValueError, match="more than its description"):
        raise_if_alters_more([described()], [new])
