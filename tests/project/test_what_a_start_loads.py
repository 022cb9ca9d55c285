"""A worker and a command load no page of the web admin; a check of the project looks at all pages."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.deep, pytest.mark.one_database]

_PROGRAM = """
import json, sys
import django
django.setup()
import registry_app.tasks
from django.core.checks import run_checks
def list_pages(): return sorted(name for name in sys.modules if name.startswith("registry_app.admin."))
print(json.dumps([list_pages(), [str(each) for each in run_checks(tags=["admin"])], list_pages()]))
"""


def test_only_what_shows_pages_or_checks_them_loads_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "dnsadmin.settings"},
        capture_output=True,
        text=True,
        check=True,
    )

    of_a_worker, found, after_a_check = json.loads(done.stdout)
    assert of_a_worker == []
    assert found == []
    assert {"registry_app.admin.transfer", "registry_app.admin.provider"} <= set(after_a_check)
