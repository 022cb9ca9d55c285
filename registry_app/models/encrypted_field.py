"""A text column that is ciphertext in the database: AES-256-GCM, bound to its column."""

import base64
import binascii
import hashlib
import os
from typing import Any, TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db import models

from registry_app.errors import SecretUnavailable

_VERSION = "v1"


def _key_id(key: bytes) -> str:
    return hashlib.blake2b(key, digest_size=4, person=b"dnsadmin-key-id").hexdigest()


def encrypt_secret(plain: str, column: str) -> str:
    """`plain` under the newest key. `column` is authenticated: a ciphertext moved to another column
    does not decrypt there."""
    key = settings.DNSADMIN_ENCRYPTION_KEYS[0]
    nonce = os.urandom(12)
    sealed = AESGCM(key).encrypt(nonce, plain.encode(), column.encode())
    return f"{_VERSION}:{_key_id(key)}:{base64.b64encode(nonce + sealed).decode()}"


def decrypt_secret(stored: str, column: str) -> str:
    """The plain text. Raises SecretUnavailable if no known key opens it."""
    try:
        version, key_id, text = stored.split(":", 2)
        raw = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise _unavailable(column) from None
    for key in settings.DNSADMIN_ENCRYPTION_KEYS:
        if version == _VERSION and _key_id(key) == key_id:
            try:
                return AESGCM(key).decrypt(raw[:12], raw[12:], column.encode()).decode()
            except InvalidTag:
                break
    raise _unavailable(column)


def _unavailable(column: str) -> SecretUnavailable:
    return SecretUnavailable(
        f"The secret stored in {column} cannot be decrypted with the configured keys.",
        now="It is still stored as it was.",
        todo="Add the key it was encrypted with to DNSADMIN_ENCRYPTION_KEYS, or enter the secret again.",
    )


Row = TypeVar("Row", bound=models.Model)


class SecretsLeftBehind(models.Manager[Row]):
    """Loads rows without their secrets; each is fetched, and decrypted, when it is asked for.

    What no key opens then stands in the way of nothing but its own use.
    """

    def get_queryset(self) -> models.QuerySet[Row]:
        return super().get_queryset().defer(*find_secret_names(self.model))


def find_secret_names(model: type[models.Model]) -> list[str]:
    """The fields of a model that are ciphertext at rest."""
    return [field.name for field in model._meta.concrete_fields if isinstance(field, EncryptedTextField)]


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]  # a runtime class, not generic
    """Plain text in Python, ciphertext at rest. The empty text is stored as it is: nothing to hide."""

    def _column(self) -> str:
        return f"{self.model._meta.db_table}.{self.column}"

    def from_db_value(self, value: str | None, _expression: object, _connection: object) -> str | None:
        return decrypt_secret(value, self._column()) if value else value

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return encrypt_secret(text, self._column()) if text else text
