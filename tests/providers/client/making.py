"""Clients as these tests want them: on loopback, and with little patience where patience is the subject."""

from providers.client.webhook_client import WebhookClient
from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import Limits
from providers.http.credentials import NO_CREDENTIALS, Credentials

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
