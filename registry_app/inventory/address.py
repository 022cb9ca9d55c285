"""Read the address that a person gave for a provider, or for a registry store."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from providers.http.address import ProviderAddress, parse_provider_url
from providers.http.errors import InvalidAddress
from registry_app.errors import InvalidRequest
from registry_app.models import Provider


def split_address(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with the URL's `user:secret@` moved to the credential fields, and its `?query` to its own.

    ExternalDNS honours both in its URL; a URL is shown on pages and in logs, a secret is not.
    Raises InvalidRequest for a URL that cannot be used. Nothing is resolved or contacted here.
    """
    if values.get("url_query"):
        _parse("url_query", f"https://provider.invalid/?{values['url_query']}")
    if "url" not in values:
        return dict(values)
    address = _parse("url", str(values["url"]))
    if address.scheme not in settings.DNSADMIN_PROVIDER_SCHEMES:
        schemes = " or ".join(f"{scheme}://" for scheme in settings.DNSADMIN_PROVIDER_SCHEMES)
        message = f"This deployment only allows providers at {schemes} addresses."
        raise InvalidRequest(
            message,
            fields={"url": [message]},
            todo=f"Use another address, or add {address.scheme} to DNSADMIN_PROVIDER_SCHEMES.",
        )
    split = {**values, "url": address.base_url.partition("?")[0]}
    if address.query:
        split["url_query"] = address.query
    if address.login is not None:
        split |= {
            "authentication": Provider.Authentication.BASIC,
            "username": address.login.username,
            "secret": address.login.password,
        }
    return split


def read_store_address(field: str, text: str) -> str:
    """The address as it is kept. Raises InvalidRequest; nothing is resolved or contacted here."""
    if not text:
        return ""
    address = _parse(field, text)
    if address.login is not None:
        raise _refuse(field, "Do not put a user name or password into this address: it is shown on pages.")
    if address.query:
        raise _refuse(field, "Do not put a query (?...) into this address: it is shown on pages.")
    if address.scheme not in settings.DNSADMIN_PROVIDER_SCHEMES:
        schemes = " or ".join(f"{scheme}://" for scheme in settings.DNSADMIN_PROVIDER_SCHEMES)
        raise _refuse(field, f"This deployment only allows {schemes} addresses.")
    return address.base_url


def is_same_origin(before: str, after: str) -> bool:
    """Whether what was entered for the one address may be sent to the other. Both as they are kept."""
    if not before or not after:
        return before == after
    return parse_provider_url(before).origin == parse_provider_url(after).origin


def _parse(field: str, url: str) -> ProviderAddress:
    try:
        return parse_provider_url(url)
    except InvalidAddress as error:
        raise _refuse(field, str(error)) from error


def _refuse(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, fields={field: [message]})
