"""A visit in a process of its own, which a crash point may kill."""

import os
import signal
import subprocess
import sys

from django.db import connection

from registry_app.models import Provider

_VISIT = """
import sys, django
django.setup()
from django.conf import settings
settings.DNSADMIN_ALLOW_LOOPBACK = True
from registry_app.actor import SYSTEM
from registry_app.reconcile.visit import visit_provider
visit_provider(int(sys.argv[1]), actor=SYSTEM, trigger="person")
"""


def visit_and_die(provider: Provider, crash_at: str) -> None:
    """Visit in another process, on this test's database, and be killed at a named point on the way."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "dnsadmin.settings",
        "DATABASE_URL": _database_url(),
        "DNSADMIN_CRASH_AT": crash_at,
    }
    process = subprocess.run(
        [sys.executable, "-c", _VISIT, str(provider.pk)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr


def _database_url() -> str:
    told = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{told['NAME']}"
    login = f"{told['USER']}:{told['PASSWORD']}" if told["PASSWORD"] else told["USER"]
    return f"postgres://{login}@{told['HOST']}:{told['PORT']}/{told['NAME']}"
