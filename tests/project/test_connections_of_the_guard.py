"""The guard keeps its connections to PostgreSQL for later requests, and is not held up where it is away."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dnsadmin.free_port import find_free_port
from dnsadmin.prepare import prepare_state

_ASK = """
import sys
import time
from threading import Thread

import django

django.setup()
from django.db import DatabaseError, connection, connections

found = []


def ask():
    began = time.monotonic()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            found.append(cursor.fetchone()[0])
    except DatabaseError:
        found.append(f"away within 5 s: {time.monotonic() - began < 5}")
    finally:
        connections.close_all()


for _ in range(int(sys.argv[1])):
    thread = Thread(target=ask)
    thread.start()
    thread.join()
print(*dict.fromkeys(found), sep="\\n")
"""


def _ask(folder: Path, database_url: str, times: int) -> list[str]:
    """What so many threads find, one after the other; each answer once."""
    prepare_state(folder)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "dnsadmin.settings",
        "DNSADMIN_STATE_DIR": str(folder),
        "DNSADMIN_GUARD_CONNECTIONS": "4",
        "DATABASE_URL": database_url,
    }
    command = [sys.executable, "-c", _ASK, str(times)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif("DATABASE_URL" not in os.environ, reason="SQLite has no connections to keep")
def test_on_postgresql_a_few_connections_serve_one_thread_after_the_other(tmp_path: Path) -> None:
    found = _ask(tmp_path, os.environ["DATABASE_URL"], 30)

    assert all(each.isdecimal() for each in found)
    assert 1 <= len(found) <= 4


@pytest.mark.deep
def test_a_database_that_is_away_is_known_to_be_before_an_instance_gives_up(tmp_path: Path) -> None:
    found = _ask(tmp_path, f"postgres://nobody@127.0.0.1:{find_free_port()}/none", 2)

    assert found == ["away within 5 s: True"]
