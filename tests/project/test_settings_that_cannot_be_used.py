"""A setting that cannot be used is told in one sentence, by name and never by value; nothing is started."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dnsadmin.env import STATE_DIR
from dnsadmin.prepare import prepare_state
from tests.migrated_database import copy_migrated_database

pytestmark = [pytest.mark.deep, pytest.mark.one_database]

_ROOT = Path(__file__).parents[2]
_BAD = [
    ("DNSADMIN_ENCRYPTION_KEYS", "not-base64-secret"),
    ("DNSADMIN_ENCRYPTION_KEYS", "c2hvcnQ="),
    ("DATABASE_URL", "garbage-secret"),
    ("DATABASE_URL", "mysql://root:garbage-secret@db.example.org/dnsadmin"),
    ("DATABASE_URL", "postgres://dnsadmin:garbage-secret@db.example.org:port/dnsadmin"),
    ("DATABASE_URL", "postgres://dnsadmin:garbage-secret@[db.example.org/dnsadmin"),
    ("DATABASE_URL", "postgres://dnsadmin:garbage-secret@db.example.org"),
    ("REDIS_URL", "garbage-secret"),
    ("REDIS_URL", "redis://:pa#garbage-secret@[broker.example.org/0"),
    ("REDIS_URL", "rediss://:garbage-secret@broker.example.org/0?ssl_cert_reqs=none"),
    ("DNSADMIN_ALLOWED_NETWORKS", "300.1.1.1/8"),
    ("DNSADMIN_LOG_LEVEL", "LOUD"),
    ("DNSADMIN_TRANSFER_EXPIRY_DAYS", "soon"),
    ("DNSADMIN_LEASE_SECONDS", "soon"),
]
_WEB, _CHECK = ("-m", "dnsadmin.roles", "web"), ("manage.py", "check")
_CASES = [
    *((module, name, value) for module in (_WEB, _CHECK) for name, value in _BAD),
    (_WEB, "PORT", "99999"),
    (_WEB, "PORT", "none"),
    (_CHECK, "DNSADMIN_LOG_FORMAT", "xml"),
    (_CHECK, "DNSADMIN_BEAT_OPERATIONS_PORT", "99999"),
    (_WEB, "DNSADMIN_METRICS_TOKEN_FILE", "/nowhere"),
]


@pytest.mark.parametrize(("module", "name", "value"), _CASES)
def test_it_is_named_and_nothing_is_started(
    tmp_path: Path, module: tuple[str, ...], name: str, value: str
) -> None:
    prepare_state(tmp_path)

    done = _run(module, tmp_path, {name: value})

    assert done.returncode == 1
    assert f"{name} cannot be used" in done.stderr
    assert "Nothing was started." in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


def test_a_state_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("Something else.")

    done = _run(["-m", "dnsadmin.supervisor"], path, {})

    assert done.returncode == 1
    assert f"The state folder {path} cannot be used" in done.stdout
    assert path.read_text() == "Something else."


def test_a_secret_whose_file_is_empty_is_made_again_by_prepare(tmp_path: Path) -> None:
    prepare_state(tmp_path)
    path = tmp_path / "secrets" / "dnsadmin_secret_key"
    path.write_text("\n")

    refused = _run(["manage.py", "check"], tmp_path, {})
    prepare_state(tmp_path)
    accepted = _run(["manage.py", "check"], tmp_path, {})

    assert refused.returncode == 1
    assert "DNSADMIN_SECRET_KEY is not set, or its file is empty" in refused.stderr
    assert "python -m dnsadmin.prepare" in refused.stderr
    assert accepted.returncode == 0, accepted.stderr


def test_samples_whose_state_was_cut_say_what_to_do_and_keep_their_zones(tmp_path: Path) -> None:
    prepare_state(tmp_path)
    copy_migrated_database(STATE_DIR, tmp_path / "dnsadmin.sqlite3")
    assert _run(["-m", "dnsadmin.samples", "prepare"], tmp_path, {}).returncode == 0
    zones = {path: path.read_bytes() for path in (tmp_path / "samples").rglob("*.zone")}
    (tmp_path / "samples" / "state.json").write_text('{"edge')

    done = _run(["-m", "dnsadmin.samples", "prepare"], tmp_path, {})

    assert done.returncode == 1
    assert "SAMPLE=0 make run" in done.stderr
    assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "samples").rglob("*.zone")} == zones


def _run(module: Sequence[str], state: Path, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DNSADMIN_")}
    for name in ("DATABASE_URL", "REDIS_URL", "PORT"):
        kept.pop(name, None)
    return subprocess.run(
        [sys.executable, *module],
        cwd=_ROOT,
        env={**kept, "DNSADMIN_STATE_DIR": str(state), **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
