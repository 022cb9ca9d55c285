"""`check --deploy` fails with keys that can be guessed, and never says them."""

import pytest
from django.core.checks import CheckMessage, Error, run_checks
from pytest_django import Settings

from tests.depth import deep_after

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("name", "value"),
    deep_after(
        2,
        [
            ("DNSADMIN_AUDIT_KEY", "short"),
            ("DNSADMIN_AUDIT_KEY", "a" * 64),
            ("SECRET_KEY", "short"),
            ("DNSADMIN_ENCRYPTION_KEYS", (b"\0" * 32,)),
        ],
    ),
)
def test_a_key_that_can_be_guessed_fails(settings: Settings, name: str, value: object) -> None:
    setattr(settings, name, value)

    found = [
        each for each in run_checks(include_deployment_checks=True) if str(each.id).startswith("dnsadmin.")
    ]

    assert [type(each) for each in found] == [Error]
    assert name.removeprefix("DNSADMIN_") in found[0].msg
    assert "short" not in found[0].msg.replace("shorter", "")


def test_the_keys_that_prepare_makes_pass() -> None:
    found = [
        each for each in run_checks(include_deployment_checks=True) if str(each.id).startswith("dnsadmin.")
    ]

    assert found == []


def _check() -> list[CheckMessage]:
    found = run_checks(include_deployment_checks=True)
    return [each for each in found if str(each.id).startswith("dnsadmin.")]
