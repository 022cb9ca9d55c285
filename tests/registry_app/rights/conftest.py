"""Hundreds of refused requests are logged nowhere, and none is one too many."""

import logging
from collections.abc import Iterator

import pytest
from pytest_django import Settings


@pytest.fixture
def quiet(settings: Settings) -> Iterator[None]:
    settings.DNSADMIN_REQUESTS_WITHOUT_TOKEN_PER_MINUTE = 1_000_000
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
