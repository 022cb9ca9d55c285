"""The domain filter a provider negotiates, as the value that is kept of it."""

from datetime import datetime, timedelta

import msgspec
from django.utils.dateparse import parse_datetime

from providers.client.provider_client import ProviderClient
from providers.wire.domain_filter import DomainFilter
from registry_app.models import Provider

# ExternalDNS negotiates once, when it starts. A provider's filter changes when it is restarted with other
# settings, which shows as a failure or not at all: so after each failure, and every ten minutes.
NEGOTIATION_INTERVAL = timedelta(minutes=10)


class NegotiatedFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """What was negotiated, and when. `negotiated_at` is no part of what the filter says."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    regex_include: str = ""
    regex_exclude: str = ""
    matches_everything: bool = True
    said_filters: bool = False
    negotiated_at: str = ""

    def says_the_same(self, other: "NegotiatedFilter") -> bool:
        """Whether both have the same patterns."""
        return msgspec.structs.replace(self, negotiated_at="") == msgspec.structs.replace(
            other, negotiated_at=""
        )

    def matches(self, name: str) -> bool:
        """Whether the provider manages a canonical name, as far as it negotiated."""
        pattern = DomainFilter(self.include, self.exclude, self.regex_include, self.regex_exclude)
        return pattern.matches(name)

    def to_json(self) -> dict[str, object]:
        """The value of `Provider.domain_filter`."""
        return msgspec.convert(msgspec.to_builtins(self), dict[str, object])


def read_known_filter(value: dict[str, object]) -> NegotiatedFilter | None:
    """What a row holds; None if nothing was negotiated yet."""
    return msgspec.convert(value, NegotiatedFilter, strict=False) if value else None


def is_negotiation_due(provider: Provider, known: NegotiatedFilter | None, now: datetime) -> bool:
    """Whether the next sync should negotiate before it asks for the records."""
    at = parse_datetime(known.negotiated_at) if known and known.negotiated_at else None
    is_restless = provider.consecutive_failures > 0 or provider.status == Provider.Status.HELD
    return at is None or is_restless or now - at >= NEGOTIATION_INTERVAL


def fetch_domain_filter(client: ProviderClient, now: datetime) -> NegotiatedFilter:
    """Negotiate. Raises ProviderError."""
    parsed = client.negotiate()
    return NegotiatedFilter(
        include=parsed.filter.include,
        exclude=parsed.filter.exclude,
        regex_include=parsed.filter.regex_include,
        regex_exclude=parsed.filter.regex_exclude,
        matches_everything=parsed.filter.matches_everything,
        said_filters=parsed.said_filters,
        negotiated_at=now.isoformat(),
    )
