"""Whatever goes wrong in a sync, no secret is in a log, a run, a finding or the audit trail (I18)."""

import logging
from collections.abc import Callable

import pytest
from django.core import serializers
from prometheus_client import generate_latest

from registry_app.actor import SYSTEM
from registry_app.inventory.provider import register_provider
from registry_app.metrics import REGISTRY
from registry_app.models import AuditEntry, Finding, Provider, RegistryProfile, SyncRun
from tests.depth import deep_after
from tests.faults import framing_faults, read_faults
from tests.faults.fault import Fault
from tests.reference_server import ReferenceProvider, make_zone
from tests.registry_app.reconcile.syncing import sync

pytestmark = [pytest.mark.one_database, pytest.mark.django_db]
SECRET = "s3cret-of-the-provider"
KEY = "0123456789abcdef0123456789abcdef"
TOKEN = "t0ken-in-the-query"

FAULTS: dict[str, Callable[[], Fault]] = {
    "none": read_faults.shuffled,
    "echo": lambda: read_faults.status(401, f"no such login: {SECRET} at /records?token={TOKEN}"),
    "redirect": lambda: read_faults.redirect(f"http://blue:{SECRET}@192.0.2.1/records?token={SECRET}"),
    "type": lambda: read_faults.wrong_content_type(f"text/{SECRET};{TOKEN}"),
    "reset": framing_faults.reset,
    "undecodable": lambda: read_faults.body(f'[{{"dnsName":"{SECRET}"'.encode()),
}
LOGINS: dict[str, dict[str, str]] = {
    "basic": {"authentication": "basic", "username": "blue", "secret": SECRET},
    "bearer": {"authentication": "bearer", "secret": SECRET},
}


@pytest.mark.parametrize("login", deep_after(1, LOGINS))
@pytest.mark.parametrize("fault", FAULTS)
def test_no_secret_is_told(fault: str, login: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    RegistryProfile.objects.create(name="sealed", encryption_key=KEY)
    with ReferenceProvider(make_zone(count=3)) as reference:
        values = {"name": "blue-zone", "url": f"{reference.url}?token={TOKEN}", "deadline_seconds": 2}
        provider = register_provider(SYSTEM, {**values, **LOGINS[login]})
        reference.faults.plan("GET /records", FAULTS[fault](), times=3)

        for _ in range(3):
            sync(provider)

    told = [caplog.text, generate_latest(REGISTRY).decode()]
    told += [serializers.serialize("json", rows) for rows in (SyncRun.objects.all(), Finding.objects.all())]
    told += [f"{row.last_error} {row.last_error_code}" for row in Provider.objects.all()]
    assert [text for text in told if SECRET in text or KEY in text or TOKEN in text] == []
    trail = serializers.serialize("json", AuditEntry.objects.all())
    assert SECRET not in trail
    assert TOKEN not in trail
    assert {asked.query for asked in reference.history.requests("GET /records")} == {f"token={TOKEN}"}
    assert KEY not in trail
