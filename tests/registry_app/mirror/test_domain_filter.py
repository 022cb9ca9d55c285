"""When a provider's filter is negotiated, and what is kept of it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from providers.wire.domain_filter import DomainFilter
from registry_app.mirror.client import build_client
from registry_app.mirror.domain_filter import (
    NegotiatedFilter,
    fetch_domain_filter,
    is_negotiation_due,
    read_known_filter,
)
from registry_app.models import Provider
from tests.reference_server import ReferenceProvider

NOW = timezone.now()


@pytest.mark.parametrize(
    "said",
    [
        DomainFilter(include=("example.org",), exclude=("internal.example.org",)),
        DomainFilter(regex_include=r"\.example\.(org|net)$"),
        DomainFilter(),
    ],
)
def test_what_is_kept_reads_back_as_it_was_negotiated(said: DomainFilter) -> None:
    with (
        ReferenceProvider(domain_filter=said) as reference,
        build_client(Provider(url=reference.url)) as client,
    ):
        negotiated = fetch_domain_filter(client, NOW)

    assert read_known_filter(negotiated.to_json()) == negotiated
    assert (negotiated.include, negotiated.regex_include) == (said.include, said.regex_include)


def test_the_time_is_no_part_of_what_a_filter_says() -> None:
    said = NegotiatedFilter(include=("example.org",), negotiated_at="then")

    assert said.says_the_same(NegotiatedFilter(include=("example.org",), negotiated_at="now"))
    assert not said.says_the_same(NegotiatedFilter(include=("example.net",), negotiated_at="then"))


@pytest.mark.parametrize(
    ("provider", "minutes_ago", "is_due"),
    [
        (Provider(status="ok"), 1, False),
        (Provider(status="ok"), 11, True),
        (Provider(status="failing", consecutive_failures=1), 1, True),
        (Provider(status="held"), 1, True),
    ],
)
def test_it_is_negotiated_every_ten_minutes_and_while_something_is_wrong(
    provider: Provider, minutes_ago: int, is_due: bool
) -> None:
    at = NOW - timedelta(minutes=minutes_ago)

    assert is_negotiation_due(provider, NegotiatedFilter(negotiated_at=at.isoformat()), NOW) is is_due


def test_it_is_negotiated_at_the_first_sync() -> None:
    assert is_negotiation_due(Provider(), None, NOW)
