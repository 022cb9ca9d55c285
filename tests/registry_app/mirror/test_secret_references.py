"""Secrets by reference come from the places set aside for them, and from nowhere else."""

from pathlib import Path

import pytest
from django.test import override_settings

from registry_app.errors import SecretUnavailable
from registry_app.mirror.secret_reference import fetch_secret_value


def test_a_plain_text_is_the_secret_itself() -> None:
    assert fetch_secret_value("s3cret:with:colons") == "s3cret:with:colons"


def test_a_variable_with_the_prefix_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DNSADMIN_CREDENTIAL_BLUE", "s3cret")

    assert fetch_secret_value("env:DNSADMIN_CREDENTIAL_BLUE") == "s3cret"


@pytest.mark.parametrize("name", ["DNSADMIN_SECRET_KEY", "HOME", "", "DNSADMIN_CREDENTIAL_ABSENT"])
def test_no_other_variable_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DNSADMIN_SECRET_KEY", "very secret")

    with pytest.raises(SecretUnavailable) as refused:
        fetch_secret_value(f"env:{name}")

    assert "very secret" not in str(refused.value)


def test_a_file_below_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "blue").write_text("s3cret\n")

    with override_settings(DNSADMIN_CREDENTIALS_DIR=str(tmp_path)):
        secret = fetch_secret_value("file:blue")

    assert secret == "s3cret"


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "absent", "", "nul\x00"])
def test_no_other_file_is_read(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "credentials"
    folder.mkdir()
    (tmp_path / "outside").write_text("very secret")

    with override_settings(DNSADMIN_CREDENTIALS_DIR=str(folder)), pytest.raises(SecretUnavailable):
        fetch_secret_value(f"file:{name}")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "credentials"
    folder.mkdir()
    (tmp_path / "outside").write_text("very secret")
    (folder / "link").symlink_to(tmp_path / "outside")

    with override_settings(DNSADMIN_CREDENTIALS_DIR=str(folder)), pytest.raises(SecretUnavailable):
        fetch_secret_value("file:link")


def test_without_a_folder_no_file_is_read() -> None:
    with override_settings(DNSADMIN_CREDENTIALS_DIR=""), pytest.raises(SecretUnavailable):
        fetch_secret_value("file:etc/hostname")
