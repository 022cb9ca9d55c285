"""`/healthz` and `/readyz`: a process that runs, and one that can work."""

import os
from collections.abc import Callable, Iterator

import pytest
from django.db import connection, connections, transaction
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import Settings

from dnsadmin.operations import OperationsApplication, Readiness, WithOperations
from dnsadmin.wsgi import application as web
from registry_app.actor import SYSTEM
from registry_app.audit import record_audit
from tests.factories import make_provider
from tests.project.operations.scraping import ask, served

pytestmark = pytest.mark.django_db(transaction=True)
# No file, and no database of a server.
_NOWHERE = "/nowhere/nothing"


@pytest.fixture
def url() -> Iterator[str]:
    with served(OperationsApplication()) as url:
        yield url


def _check(url: str) -> tuple[int, str, dict[str, str]]:
    answer = ask(f"{url}/readyz")
    return answer.status_code, answer.json()["status"], answer.json()["checks"]


def _lose_the_database(_settings: Settings) -> None:
    connections.settings["default"]["NAME"] = _NOWHERE


def _lose_the_audit_key(settings: Settings) -> None:
    with transaction.atomic():
        record_audit(SYSTEM, "provider.registered", make_provider())
    settings.DNSADMIN_AUDIT_KEY = "another one"


def _lose_the_encryption_key(settings: Settings) -> None:
    make_provider(authentication="bearer", secret="s3cret")
    settings.DNSADMIN_ENCRYPTION_KEYS = (os.urandom(32),)


def _lose_a_migration(_settings: Settings) -> None:
    app, name = max(
        each for each in MigrationRecorder(connection).applied_migrations() if each[0] == "registry_app"
    )
    MigrationRecorder(connection).record_unapplied(app, name)


def _lose_the_broker(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"


@pytest.fixture
def restored() -> Iterator[None]:
    """What a test takes from the database itself is given back."""
    name = connections.settings["default"]["NAME"]
    applied = set(MigrationRecorder(connection).applied_migrations())
    yield
    connections.settings["default"]["NAME"] = name
    for app, migration in applied - MigrationRecorder(connection).applied_migrations().keys():
        MigrationRecorder(connection).record_applied(app, migration)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(
    ("lose", "status", "told", "failed"),
    [
        (_lose_the_database, 503, "not ready", {"database": "failed"}),
        (_lose_a_migration, 503, "not ready", {"migrations": "failed"}),
        (_lose_the_audit_key, 503, "not ready", {"keys": "failed"}),
        (_lose_the_encryption_key, 503, "not ready", {"keys": "failed"}),
        (_lose_the_broker, 200, "degraded", {"broker": "failed"}),
    ],
)
def test_it_says_what_is_missing(
    url: str,
    settings: Settings,
    lose: Callable[[Settings], None],
    status: int,
    told: str,
    failed: dict[str, str],
) -> None:
    lose(settings)

    answered = _check(url)

    assert answered[:2] == (status, told)
    assert {name: word for name, word in answered[2].items() if word == "failed"} == failed
    assert ask(f"{url}/healthz").text == "ok\n"


def test_one_secret_that_no_key_opens_stops_nobody_else(url: str, settings: Settings) -> None:
    make_provider("green-zone", authentication="bearer", secret="s3cret")
    old = settings.DNSADMIN_ENCRYPTION_KEYS
    settings.DNSADMIN_ENCRYPTION_KEYS = (os.urandom(32),)
    make_provider("blue-zone", authentication="bearer", secret="s3cret")
    settings.DNSADMIN_ENCRYPTION_KEYS = old

    assert _check(url)[:2] == (200, "ready")


@pytest.mark.usefixtures("restored")
def test_the_database_is_asked_every_two_seconds_at_most() -> None:
    readiness = Readiness()
    first = readiness.find()
    connections.settings["default"]["NAME"] = _NOWHERE

    again = [readiness.find() for _ in range(1000)]

    assert first.database is True
    assert all(each is first for each in again)


def test_a_probe_is_answered_under_any_host_name() -> None:
    with served(web) as url:
        paths = ("/healthz", "/readyz", "/admin/login/")
        *answers, page = [ask(f"{url}{path}", Host="10.1.2.3") for path in paths]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[1].json()["status"] == "ready"
    assert page.status_code == 400
    assert not any(answer.cookies for answer in answers)


def test_what_else_there_is_stays_as_it_was() -> None:
    with served(WithOperations(web, OperationsApplication())) as url:
        found = [ask(f"{url}{path}").status_code for path in ("/readyz/", "/nothing", "/admin/login/")]

    assert found == [404, 404, 200]
