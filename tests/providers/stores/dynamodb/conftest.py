"""The service these tests speak to: one moto server a module, and a strict layer before it for each test."""

from collections.abc import Iterator

import pytest

from tests.providers.stores.dynamodb.rows import make_row
from tests.strict_dynamodb import StrictDynamoDb, moto_server, strict_dynamodb


@pytest.fixture(scope="package")
def moto_url() -> Iterator[str]:
    with moto_server() as url:
        yield url


@pytest.fixture
def empty(moto_url: str) -> Iterator[StrictDynamoDb]:
    """The service with an empty table."""
    with strict_dynamodb(moto_url) as started:
        started.create_table()
        yield started


@pytest.fixture
def service(empty: StrictDynamoDb) -> StrictDynamoDb:
    """The service with one row of blue's."""
    empty.put(make_row())
    return empty
