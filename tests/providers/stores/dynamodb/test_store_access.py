"""Keys, regions, tables and addresses that DynamoDB or we do not accept, each told in our words."""

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from providers.http.address_policy import AddressPolicy
from providers.http.errors import (
    AddressForbidden,
    InvalidAddress,
    InvalidCredentials,
    NothingSent,
    ProviderError,
    Unreachable,
)
from providers.registries.stored_claim import StoredClaimChange
from providers.stores.dynamodb.key import AwsKey, build_dynamodb_url
from providers.stores.dynamodb.responses import WrongTable
from tests.providers.stores.dynamodb.rows import BLUE, GREEN, WWW, make_store, owner_in
from tests.strict_dynamodb import (
    KEY_ID,
    SECRET,
    TOKEN,
    StrictDynamoDb,
    body,
    refusal,
)

pytestmark = pytest.mark.deep

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.literals import ScalarAttributeTypeType

CHANGE = StoredClaimChange(WWW, BLUE, GREEN)
SCANS = "POST /Scan"


@pytest.mark.parametrize(
    ("key", "region", "told"),
    [
        (AwsKey("AKIASOMEBODYELSE", SECRET), "eu-central-1", "The access key is not known"),
        (AwsKey(KEY_ID, SECRET, TOKEN), "eu-central-1", "The access key is not known"),
        (AwsKey(KEY_ID, "another-secret"), "eu-central-1", "does not fit its access key id"),
        (AwsKey(KEY_ID, SECRET), "eu-west-1", "signed for another region"),
    ],
)
def test_credentials_that_are_not_accepted_are_told_apart(
    service: StrictDynamoDb, key: AwsKey, region: str, told: str
) -> None:
    with pytest.raises(ProviderError, match=told) as caught:
        make_store(service.url, key=key, region=region).fetch_claims()

    assert caught.value.hint
    assert key.secret_access_key not in f"{caught.value!r} {caught.value.hint}"


def test_a_clock_that_is_wrong_is_named(service: StrictDynamoDb) -> None:
    service.skew = timedelta(hours=1)

    with pytest.raises(ProviderError, match="clock of this machine") as caught:
        make_store(service.url).fetch_claims()

    assert "Set this machine's clock" in caught.value.hint


def test_expired_credentials_are_named(service: StrictDynamoDb) -> None:
    service.faults.plan(SCANS, refusal("ExpiredTokenException"))

    with pytest.raises(ProviderError, match="temporary credentials have expired"):
        make_store(service.url).fetch_claims()


def test_what_is_not_allowed_is_told_with_the_permissions_it_takes(service: StrictDynamoDb) -> None:
    service.denied = {"TransactWriteItems"}

    with pytest.raises(
        NothingSent, match="may not do TransactWriteItems on the table external-dns"
    ) as caught:
        make_store(service.url).write([CHANGE])

    assert "dynamodb:UpdateItem" in caught.value.hint
    assert owner_in(service) == "blue-cluster"


def test_a_table_that_is_missing_is_never_an_empty_one(service: StrictDynamoDb) -> None:
    store = make_store(service.url, table="no-such-table")

    with pytest.raises(ProviderError, match=r"There is no table no-such-table .* in eu-central-1") as caught:
        store.fetch_claims()
    assert "region" in caught.value.hint
    with pytest.raises(NothingSent):
        store.write([CHANGE])


@pytest.mark.parametrize(("key", "key_type"), [(("id",), "S"), (("k", "r"), "S"), (("k",), "N")])
def test_a_table_with_another_key_is_refused(
    service: StrictDynamoDb, key: tuple[str, ...], key_type: "ScalarAttributeTypeType"
) -> None:
    service.create_table("other", key=key, key_type=key_type)
    items = [
        {**{name: {key_type: "1"} for name in key}, **({"r": {"S": each}} if "r" in key else {})}
        for each in "ab"
    ]
    service.put(*items[: len(key)], table="other")
    store = make_store(service.url, table="other")

    with pytest.raises(WrongTable, match="not keyed by a text named k alone") as caught:
        store.fetch_claims()

    assert "--dynamodb-table" in caught.value.hint


@pytest.mark.parametrize(("key", "key_type"), [(("id",), "S"), (("k", "r"), "S"), (("k",), "N")])
def test_a_table_with_another_key_is_refused_while_it_is_empty_too(
    service: StrictDynamoDb, key: tuple[str, ...], key_type: "ScalarAttributeTypeType"
) -> None:
    service.create_table("other", key=key, key_type=key_type)

    with pytest.raises(WrongTable, match="not keyed by a text named k alone"):
        make_store(service.url, table="other").fetch_claims()
    with pytest.raises(NothingSent):
        make_store(service.url, table="other").write([StoredClaimChange(WWW, None, BLUE)])


def test_reading_rows_takes_no_permission_but_to_scan(service: StrictDynamoDb) -> None:
    service.denied = {"DescribeTable", "TransactWriteItems"}

    assert len(make_store(service.url).fetch_claims()) == 1


def test_a_table_that_is_being_deleted_is_not_usable(service: StrictDynamoDb) -> None:
    table = (
        b'{"Table":{"TableStatus":"DELETING","KeySchema":[{"AttributeName":"k","KeyType":"HASH"}],'
        b'"AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"}]}}'
    )
    service.create_table("empty")
    service.faults.plan("POST /DescribeTable", body(table))

    with pytest.raises(WrongTable, match="cannot be used now: it is DELETING"):
        make_store(service.url, table="empty").fetch_claims()


def test_temporary_credentials_are_sent_with_their_token(service: StrictDynamoDb) -> None:
    service.session_token = TOKEN

    claims = make_store(service.url, key=AwsKey(KEY_ID, SECRET, TOKEN)).fetch_claims()

    assert [claim.text for claim in claims] == [BLUE]


def test_no_secret_is_shown_or_logged(service: StrictDynamoDb, caplog: pytest.LogCaptureFixture) -> None:
    service.session_token = TOKEN
    key = AwsKey(KEY_ID, SECRET, TOKEN)
    echo = f"{SECRET} {TOKEN}"
    service.faults.plan(SCANS, refusal("ValidationException", f"You sent {echo}"))
    service.faults.plan(SCANS, refusal(f"Odd{SECRET}"))
    service.faults.plan(SCANS, body(f"<html>{echo}</html>".encode(), status=502))
    service.faults.plan(SCANS, body(f'{{"Items": "{echo}"}}'.encode()))
    reasons = [{"Code": "ValidationError", "Message": echo}]
    service.faults.plan(SCANS, refusal("TransactionCanceledException", echo, CancellationReasons=reasons))

    told = [repr(key), str(key)]
    with caplog.at_level(logging.DEBUG):
        for _ in range(5):
            with pytest.raises(ProviderError) as caught:
                make_store(service.url, key=key).fetch_claims()
            told += [repr(caught.value), caught.value.hint, str(caught.value)]

    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("werkzeug")]
    assert not [text for text in [*told, *ours] if SECRET in text or TOKEN in text]


def test_the_address_is_checked_before_anything_leaves(service: StrictDynamoDb) -> None:
    with pytest.raises(AddressForbidden):
        make_store(service.url, policy=AddressPolicy()).fetch_claims()
    with pytest.raises(NothingSent):
        make_store(service.url, policy=AddressPolicy()).write([CHANGE])

    assert not service.history.requests()


def test_an_endpoint_where_nothing_listens_is_told_in_our_words() -> None:
    with pytest.raises(
        Unreachable, match=r"No DynamoDB responded at http://127\.0\.0\.1:1: the connection was refused"
    ):
        make_store("http://127.0.0.1:1").fetch_claims()


def test_a_redirect_is_not_followed(service: StrictDynamoDb) -> None:
    service.faults.plan(SCANS, body(b"", status=307))

    with pytest.raises(
        ProviderError,
        match=r"redirects to another address \(307\), which dnsadmin does not follow",
    ):
        make_store(service.url).fetch_claims()


@pytest.mark.parametrize(
    ("access_key_id", "secret", "token"),
    [
        ("", SECRET, ""),
        (KEY_ID, "", ""),
        (KEY_ID, f"{SECRET}\n", ""),
        (f"{KEY_ID} ", SECRET, ""),
        ("A/B", SECRET, ""),
    ],
)
def test_a_key_that_is_none_is_refused_without_repeating_it(
    access_key_id: str, secret: str, token: str
) -> None:
    with pytest.raises(InvalidCredentials) as caught:
        AwsKey(access_key_id, secret, token)

    assert SECRET not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(
    "url", ["http://user:word@127.0.0.1:1", "http://127.0.0.1:1/?token=abcdefgh", "ftp://a"]
)
def test_an_endpoint_that_cannot_be_one_is_refused(url: str) -> None:
    with pytest.raises(InvalidAddress):
        make_store(url)


@pytest.mark.parametrize("table", ["", "ab", "a" * 256, "external dns", "arn:aws:dynamodb"])
def test_a_table_name_that_cannot_be_one_is_refused(table: str) -> None:
    with pytest.raises(InvalidAddress, match="no name of a DynamoDB table"):
        make_store("http://127.0.0.1:1", table=table)


def test_the_usual_address_of_a_region_is_known_in_every_part_of_aws() -> None:
    urls = [
        build_dynamodb_url(region) for region in ("eu-central-1", "cn-north-1", "us-gov-west-1", "eu-new-9")
    ]

    assert urls == [
        "https://dynamodb.eu-central-1.amazonaws.com",
        "https://dynamodb.cn-north-1.amazonaws.com.cn",
        "https://dynamodb.us-gov-west-1.amazonaws.com",
        "https://dynamodb.eu-new-9.amazonaws.com",
    ]


@pytest.mark.parametrize(
    "region", ["", "local", "nowhere", "eu-central-1.example.org", "eu central", "a" * 50]
)
def test_what_is_no_region_has_no_address(region: str) -> None:
    with pytest.raises(InvalidAddress):
        build_dynamodb_url(region)
