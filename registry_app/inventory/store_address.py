"""Read the address a person gave for a registry store: a Kubernetes API, or DynamoDB's."""

from django.conf import settings

from providers.http.address import parse_provider_url
from providers.http.errors import InvalidAddress
from registry_app.errors import InvalidRequest


def read_store_address(field: str, text: str) -> str:
    """The address as it is kept. Raises InvalidRequest; nothing is resolved or contacted here."""
    if not text:
        return ""
    try:
        address = parse_provider_url(text)
    except InvalidAddress as error:
        raise _refuse(field, str(error)) from error
    if address.login is not None:
        raise _refuse(field, "No user name and password go into this address: it is shown on pages.")
    if address.query:
        raise _refuse(field, "No query (?...) goes into this address: it is shown on pages.")
    if address.scheme not in settings.DNSADMIN_PROVIDER_SCHEMES:
        schemes = " or ".join(f"{scheme}://" for scheme in settings.DNSADMIN_PROVIDER_SCHEMES)
        raise _refuse(field, f"This deployment only goes to {schemes} addresses.")
    return address.base_url


def is_same_origin(before: str, after: str) -> bool:
    """Whether what was entered for the one address may be sent to the other. Both as they are kept."""
    if not before or not after:
        return before == after
    return parse_provider_url(before).origin == parse_provider_url(after).origin


def _refuse(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, fields={field: [message]})
