"""The whole of dnsadmin, started as a new user starts it, and the sample providers' zones on disk."""

import json
import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis
import requests

from dnsadmin.env import STATE_DIR
from dnsadmin.free_port import find_free_port
from providers.backends.zone_file import ZoneFileBackend
from providers.wire.canonical_name import endpoint_key
from providers.wire.endpoint import Endpoint, EndpointKey
from tests.migrated_database import copy_migrated_database
from tests.waiting import wait_until

START_SECONDS = 120.0
# 0 is the suite's own, and 16 are what a Redis has unless told otherwise.
_REDIS_NUMBERS = range(1, 16)
ENDED = {"verified", "failed", "stale", "rejected", "cancelled", "expired", "rolled_back", "needs_operator"}


@dataclass
class RunningDnsadmin:
    """One running installation: where it is, who administers it, and what its sample zones hold."""

    url: str
    state_dir: Path
    environment: Mapping[str, str]
    process: "subprocess.Popen[bytes]"
    password: str = ""
    token: str = ""
    session: requests.Session = field(default_factory=requests.Session)

    @property
    def guard_url(self) -> str:
        """Where its guard is."""
        return f"http://127.0.0.1:{self.environment['DNSADMIN_GUARD_PORT']}"

    def call(self, method: str, path: str, body: object = None, **parameters: str) -> Any:
        """One call of the API; fails the test, with what was answered, unless it succeeded."""
        answer = self.session.request(
            method,
            f"{self.url}api/v1/{path}",
            json=body,
            params=parameters,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=60,
        )
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def change(self, path: str, values: object) -> None:
        """Change a row as a careful program does: read it, and change exactly what was read."""
        bearer = {"Authorization": f"Bearer {self.token}"}
        seen = self.session.get(f"{self.url}api/v1/{path}", headers=bearer, timeout=60)
        headers = {**bearer, "If-Match": seen.headers["ETag"]}
        answer = self.session.patch(f"{self.url}api/v1/{path}", json=values, headers=headers, timeout=60)
        assert answer.ok, answer.text

    def fetch_all(self, path: str, **parameters: str) -> list[dict[str, Any]]:
        """Every row of a list, page by page."""
        rows: list[dict[str, Any]] = []
        cursor: dict[str, str] = {}
        while True:
            page = self.call("GET", path, limit="1000", **parameters, **cursor)
            rows += page["items"]
            if page["next_cursor"] is None:
                return rows
            cursor = {"cursor": page["next_cursor"]}

    def zone(self, provider: str) -> dict[EndpointKey, Endpoint]:
        """What stands in a sample provider's zone file, read from disk."""
        endpoints = ZoneFileBackend(self.state_dir / "samples" / provider).records()
        return {endpoint_key(endpoint): endpoint for endpoint in endpoints}

    def zone_text(self, provider: str) -> str:
        """A sample zone as text, but for its serial number, which counts every write."""
        (path,) = (self.state_dir / "samples" / provider).glob("*.zone")
        return re.sub(r"( SOA \S+ \S+) \d+", r"\1 SERIAL", path.read_text(encoding="utf-8"))

    def provider_id(self, name: str) -> int:
        """The id of the provider called `name`."""
        return next(int(row["id"]) for row in self.call("GET", "providers/")["items"] if row["name"] == name)

    def wait_for_end(self, transfer_id: str, *, seconds: float = 60.0) -> dict[str, Any]:
        """The transfer, once nothing moves any more."""

        def look() -> dict[str, Any] | None:
            seen: dict[str, Any] = self.call("GET", f"transfers/{transfer_id}/")
            return seen if seen["status"] in ENDED else None

        return wait_until(look, f"transfer {transfer_id} to end", seconds=seconds)

    def register_provider(self, name: str, url: str) -> int:
        """Register a provider whose transfers need no approval; returns its id after its first sync."""
        values = {"name": name, "url": url, "approval_policy": "none"}
        provider_id = int(self.call("POST", "providers/", values)["id"])

        def synced() -> bool:
            return bool(self.call("GET", f"providers/{provider_id}/")["status"] == "ok")

        wait_until(synced, f"the first sync of {name}")
        return provider_id

    def request_reviewed(self, body: dict[str, Any]) -> dict[str, Any]:
        """The transfer of a request that is about one provider, by a program that saw its plan and agrees."""
        (plan,) = self.call("POST", "transfers/preview/", body)["plans"]
        seen = {str(plan["provider"]["id"]): plan["fingerprint"]}
        reviewed = {**body, "confirmation": plan["confirmation_text"], "fingerprints": seen}
        (transfer,) = self.call("POST", "transfers/", reviewed)["transfers"]
        return dict(transfer)

    def request_undo(self, transfer_id: str, body: dict[str, Any]) -> dict[str, Any]:
        """The undo of a transfer, by a program that saw its plan."""
        (plan,) = self.call("POST", f"transfers/{transfer_id}/undo/preview/", {})["plans"]
        reviewed = {**body, "fingerprint": plan["fingerprint"]}
        return dict(self.call("POST", f"transfers/{transfer_id}/undo/", reviewed))

    def undo(self, transfer_id: str) -> None:
        """Give back what a transfer wrote, as a program does: the next journey finds the world as it was."""
        count = self.call("GET", f"transfers/{transfer_id}/")["item_count"]
        confirmation = f"undo {count} record set" if count == 1 else f"undo {count} record sets"
        body = {"reason": "the journey is over", "confirmation": confirmation}
        undo = self.request_undo(transfer_id, body)
        ended = self.wait_for_end(undo["id"])
        assert ended["status"] == "verified", ended["status_reason"]

    def log(self, role: str) -> str:
        """The end of a role's log, for a failing test to show."""
        path = self.state_dir / "logs" / f"{role}.log"
        return path.read_text(encoding="utf-8", errors="replace")[-4000:] if path.exists() else ""


@contextmanager
def running_dnsadmin(
    state_dir: Path, settings: Mapping[str, str], *, is_migrated: bool = False
) -> Iterator[RunningDnsadmin]:
    """Start everything in an empty folder, wait for the first syncs, stop it at the end.

    `is_migrated`: with a database that is migrated already, but for which nothing was started: migrating
    takes longer than all else together.
    """
    if is_migrated and "DATABASE_URL" not in os.environ:
        state_dir.mkdir(mode=0o700)
        copy_migrated_database(STATE_DIR, state_dir / "dnsadmin.sqlite3")
    with _database() as database:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("DNSADMIN_")},
            "DNSADMIN_STATE_DIR": str(state_dir),
            "PORT": str(find_free_port()),
            "DNSADMIN_GUARD_PORT": str(find_free_port()),
            **database,
            **settings,
        }
        log = (state_dir.parent / f"{state_dir.name}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "dnsadmin.supervisor"], env=environment, stdout=log, stderr=log
        )
        system = RunningDnsadmin(f"http://127.0.0.1:{environment['PORT']}/", state_dir, environment, process)
        try:
            _wait_until_up(system, Path(log.name))
            yield system
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
            log.close()


@contextmanager
def _database() -> Iterator[dict[str, str]]:
    """A database and a Redis of their own where the suite runs on servers; SQLite and embedded otherwise."""
    if "DATABASE_URL" not in os.environ:
        yield {}
        return
    parts = urlsplit(os.environ["DATABASE_URL"])
    name = f"journey_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        redis_url = _claim_redis(connection)
        # That an empty database is migrated by the start is shown on SQLite.
        template = os.environ.get("DNSADMIN_TEST_TEMPLATE", "template1")
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
        try:
            yield {"DATABASE_URL": urlunsplit(parts._replace(path=f"/{name}")), "REDIS_URL": redis_url}
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def _claim_redis(connection: "psycopg.Connection[Any]") -> str:
    """An empty Redis database nobody else has while `connection` lasts.

    Two installations on one Redis database take each other's tasks off the queue and lose them.
    """
    for number in _REDIS_NUMBERS:
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", [number]).fetchone()
        if row and row[0]:
            url = urlunsplit(urlsplit(os.environ["REDIS_URL"])._replace(path=f"/{number}"))
            with redis.Redis.from_url(url) as client:
                client.flushdb()
            return url
    raise AssertionError(f"every Redis database of {_REDIS_NUMBERS} has an installation")


def _wait_until_up(system: RunningDnsadmin, log: Path) -> None:
    def said() -> bool:
        assert system.process.poll() is None, log.read_text()
        return "dnsadmin is at" in log.read_text()

    wait_until(said, "dnsadmin to start", seconds=START_SECONDS)
    system.password = (system.state_dir / "admin-password").read_text().strip()
    system.token = _issue_token(system)

    def synced() -> bool:
        rows = system.call("GET", "providers/")["items"]
        return len(rows) == 3 and all(row["status"] == "ok" for row in rows)

    wait_until(synced, "the first sync of every provider", seconds=START_SECONDS)


def log_in(system: RunningDnsadmin, username: str, password: str) -> requests.Session:
    """A session of the web admin, as a browser without scripts has it."""
    session = requests.Session()
    page = session.get(f"{system.url}admin/login/", timeout=30)
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token, page.text[:500]
    answer = session.post(
        f"{system.url}admin/login/",
        {"csrfmiddlewaretoken": token[1], "username": username, "password": password, "next": "/admin/"},
        timeout=30,
    )
    assert answer.url == f"{system.url}admin/", answer.text[:2000]
    return session


def _issue_token(system: RunningDnsadmin) -> str:
    session = log_in(system, "admin", system.password)
    answer = session.post(
        f"{system.url}api/v1/tokens/",
        json={"name": "journeys", "scopes": ["read", "plan", "approve", "apply", "admin"]},
        headers={"X-CSRFToken": session.cookies["csrftoken"], "Referer": system.url},
        timeout=30,
    )
    assert answer.status_code == 201, answer.text
    return str(json.loads(answer.text)["token"])
