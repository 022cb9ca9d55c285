"""Clients as these tests want them: on loopback, and with little patience where patience is the subject."""

from providers.client.protocol_clients import WebhookClient
from providers.client.provider_client import ProviderClient
from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import Limits
from providers.http.credentials import NO_CREDENTIALS, Credentials
from providers.wire.endpoint import ValuePair

LOOPBACK = AddressPolicy(allow_loopback=True)
PATIENT = Limits(seconds=10.0)
HASTY = Limits(seconds=0.3)


def make_client(
    url: str,
    *,
    limits: Limits = PATIENT,
    policy: AddressPolicy = LOOPBACK,
    credentials: Credentials = NO_CREDENTIALS,
) -> WebhookClient:
    """A client that may connect to loopback."""
    return WebhookClient(url, policy=policy, credentials=credentials, limits=limits)


def are_equal(client: ProviderClient, name: str, previous: str, current: str) -> bool:
    """Whether two values of a provider-specific property mean the same to a provider."""
    pair = ValuePair(name, previous, current)
    return pair in client.find_equal_values([pair])
