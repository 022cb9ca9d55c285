"""Secrets are ciphertext in the database, bound to their column."""

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from registry_app.errors import SecretUnavailable
from registry_app.models import Provider, RegistryProfile, SyncRun
from registry_app.models.encrypted_field import decrypt_secret, encrypt_secret

SECRET = "correct horse battery staple"
COLUMN = "registry_app_provider.secret"


def _stored(table: str, column: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column} FROM {table}")
        (value,) = cursor.fetchone()
    return str(value)


@pytest.mark.django_db
def test_the_database_never_holds_the_plain_text() -> None:
    provider = Provider.objects.create(name="public-dns", url="http://127.0.0.1:8888", secret=SECRET)

    stored = _stored("registry_app_provider", "secret")

    assert SECRET not in stored
    assert stored.startswith("v1:")
    assert Provider.objects.get(pk=provider.pk).secret == SECRET


@pytest.mark.django_db
def test_an_empty_secret_stays_empty() -> None:
    Provider.objects.create(name="public-dns", url="http://127.0.0.1:8888")

    assert _stored("registry_app_provider", "secret") == ""


@pytest.mark.django_db
def test_a_ciphertext_moved_to_another_column_does_not_decrypt_there() -> None:
    Provider.objects.create(name="public-dns", url="http://127.0.0.1:8888", secret=SECRET)
    stolen = _stored("registry_app_provider", "secret")
    RegistryProfile.objects.create(name="edge")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE registry_app_registryprofile SET encryption_key = %s", [stolen])

    with pytest.raises(SecretUnavailable):
        _ = RegistryProfile.objects.get(name="edge").encryption_key


def test_the_same_secret_is_never_stored_twice_alike() -> None:
    assert encrypt_secret(SECRET, COLUMN) != encrypt_secret(SECRET, COLUMN)


def test_a_key_rotated_in_front_still_reads_what_the_old_one_wrote(settings: Settings) -> None:
    stored = encrypt_secret(SECRET, COLUMN)

    settings.DNSADMIN_ENCRYPTION_KEYS = (b"n" * 32, *settings.DNSADMIN_ENCRYPTION_KEYS)

    assert decrypt_secret(stored, COLUMN) == SECRET
    assert decrypt_secret(encrypt_secret(SECRET, COLUMN), COLUMN) == SECRET


def test_without_its_key_a_secret_says_what_to_do(settings: Settings) -> None:
    stored = encrypt_secret(SECRET, COLUMN)
    settings.DNSADMIN_ENCRYPTION_KEYS = (b"n" * 32,)

    with pytest.raises(SecretUnavailable, match="DNSADMIN_ENCRYPTION_KEYS") as caught:
        decrypt_secret(stored, COLUMN)

    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "stored", ["", "v1", "v1:aa:bb", "v1:00000000:!!!!", "v2:00000000:AAAA", "plain text"]
)
def test_a_damaged_ciphertext_is_a_clear_error(stored: str) -> None:
    with pytest.raises(SecretUnavailable):
        decrypt_secret(stored, COLUMN)


@pytest.mark.django_db
def test_a_row_is_loaded_without_its_secrets_until_one_is_asked_for(settings: Settings) -> None:
    provider = Provider.objects.create(name="public-dns", url="http://127.0.0.1:8888", secret=SECRET)
    SyncRun.objects.create(provider=provider, trigger="schedule", epoch=1, started_at=timezone.now())
    settings.DNSADMIN_ENCRYPTION_KEYS = (b"n" * 32,)

    loaded = Provider.objects.get(pk=provider.pk)
    related = SyncRun.objects.get().provider

    assert (loaded.name, related.name) == ("public-dns", "public-dns")
    with pytest.raises(SecretUnavailable):
        _ = loaded.secret
