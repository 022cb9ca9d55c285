"""The form of a provider. Its credentials go in and never come out."""

from typing import Any

from django import forms

from registry_app.admin.config_page import ConfigForm
from registry_app.admin.fields import SecretField
from registry_app.models import Provider

_WHERE = ("name", "url", "protocol", "description", "is_enabled")
_SHOWN_CREDENTIALS = ("authentication", "username", "ca_certificate", "client_certificate")
_QUERY = ("url_query", "forget_url_query")
_CERTIFICATES = ("ca_certificate", "client_certificate", "client_key", "forget_client_key")
_SYNCS = (
    "interval_seconds",
    "deadline_seconds",
    "max_body_bytes",
    "max_items",
    "allow_empty",
    "hold_missing_percent",
    "hold_owners_changed_percent",
)
_WRITES = (
    "approval_policy",
    "max_transfer_count",
    "max_transfer_percent",
    "write_mode",
    "batch_size",
    "read_back_seconds",
    "capitalized_changes",
)


class AddressInput(forms.TextInput):
    """An address whose `user:password@` and `?query` are not written back into the page."""

    def format_value(self, value: Any) -> str | None:
        text: str | None = super().format_value(value)
        if text is None:
            return None
        text = text.partition("?")[0]
        if "@" not in text:
            return text
        scheme, separator, rest = text.rpartition("//")
        return scheme + separator + rest.rpartition("@")[2]


class ProviderForm(ConfigForm):
    secret = SecretField(
        label="secret",
        help_text="Password or token, or env:NAME or file:NAME. Never shown again. Leave it empty to keep "
        "the stored one. A URL at another host deletes it.",
    )
    url_query = SecretField(
        label="URL query",
        help_text="The part of the URL after the ?, if it has one. Never shown again. A URL at another host "
        "deletes it.",
    )
    client_key = SecretField(label="client key (PEM)", lines=True, help_text="Never shown again.")

    sections = (
        ("Where it is", _WHERE),
        ("Credentials", ("authentication", "username", "secret", "forget_secret", *_QUERY, *_CERTIFICATES)),
        ("How it is read", _SYNCS),
        ("How it is written to", _WRITES),
    )

    class Meta:
        model = Provider
        fields = (*_WHERE, *_SHOWN_CREDENTIALS, *_SYNCS, *_WRITES)
        widgets = {"url": AddressInput}
