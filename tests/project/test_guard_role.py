"""The guard as a role of its own: what it answers while its database is away, and how it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from dnsadmin.env import BASE_DIR
from dnsadmin.free_port import find_free_port
from dnsadmin.prepare import prepare_state
from providers.wire.domain_filter import DomainFilter
from tests.reference_server import ReferenceProvider, make_zone
from tests.waiting import wait_until

pytestmark = [pytest.mark.one_database, pytest.mark.deep]

_REGISTER = """
from registry_app.models import *
provider = Provider.objects.create(name="blue-zone", url="{url}")
owner = Owner.objects.create(owner_id="blue-cluster", status="registered")
instance = Instance.objects.create(owner=owner, name="blue")
GuardEndpoint.objects.create(slug="blue", provider=provider, instance=instance)
"""


@contextmanager
def _running(environment: dict[str, str], port: int) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "dnsadmin.roles", "guard"]
    guard = subprocess.Popen(command, cwd=BASE_DIR, env={**environment, "DNSADMIN_GUARD_PORT": str(port)})
    try:
        wait_until(lambda: _ask(port, "/healthz") == 200, "the guard to answer", seconds=60)
        yield guard
    finally:
        guard.kill()
        guard.wait()


def _ask(port: int, path: str) -> int:
    try:
        return requests.get(f"http://127.0.0.1:{port}{path}", timeout=30).status_code
    except requests.ConnectionError:
        return 0


def _manage(environment: dict[str, str], *arguments: str) -> None:
    subprocess.run([sys.executable, "manage.py", *arguments], cwd=BASE_DIR, env=environment, check=True)


def test_an_instance_can_start_while_the_database_is_away(tmp_path: Path) -> None:
    prepare_state(tmp_path)
    database, port = tmp_path / "dnsadmin.sqlite3", find_free_port()
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")},
        "DNSADMIN_STATE_DIR": str(tmp_path),
        "DNSADMIN_ALLOW_LOOPBACK": "1",
    }
    _manage(environment, "migrate", "--no-input", "--verbosity", "0")
    with ReferenceProvider(make_zone(count=2), domain_filter=DomainFilter(include=("example.org",))) as zone:
        _manage(environment, "shell", "--no-imports", "-c", _REGISTER.format(url=zone.url))
        with _running(environment, port) as guard:
            there = [_ask(port, path) for path in ("/blue", "/blue/records")]
            database.rename(tmp_path / "away")
            database.mkdir()
            away = [_ask(port, path) for path in ("/blue", "/blue/records", "/nobody")]
            guard.send_signal(signal.SIGTERM)
            ended = guard.wait(timeout=60)
        with _running(environment, port):
            started_without = [_ask(port, path) for path in ("/blue", "/blue/records")]

    assert there == [200, 200]
    assert away == [200, 503, 503]
    assert ended == 0
    assert started_without == [200, 503]


def test_it_does_not_start_on_a_database_that_was_not_migrated(tmp_path: Path) -> None:
    prepare_state(tmp_path)
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}"}
    environment |= {"DNSADMIN_STATE_DIR": str(tmp_path), "DNSADMIN_GUARD_PORT": str(find_free_port())}

    done = subprocess.run(
        [sys.executable, "-m", "dnsadmin.roles", "guard"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("The role guard did not start. The database is not migrated: it lacks ")
    assert done.stderr.count("\n") == 1
