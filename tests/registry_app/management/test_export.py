"""`dnsadmin_export`: the file that the API would send."""

import csv
import io
import json
from pathlib import Path

import pytest
from django.db import connection

from registry_app.models import AuditEntry
from tests.factories import make_owner, make_provider, make_record_set, make_user
from tests.registry_app.api.client import items, make_client
from tests.registry_app.management.command import run_command, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _alice() -> None:
    make_user("alice")


def _export(*arguments: str) -> tuple[int, str]:
    return run_command("dnsadmin_export", *arguments, "--as", "alice")


def test_a_list_is_the_one_of_the_api_with_its_filters() -> None:
    blue, zone = make_owner("blue-cluster"), make_provider("blue-zone")
    make_record_set(zone, "a.example.org", owner=blue, resource="ä")
    make_record_set(zone, "b.example.org")

    code, text = _export("record-sets", "--filter", "owner=blue-cluster", "--filter", "type=A,AAAA")

    *rows, closing = [json.loads(line) for line in text.splitlines()]
    assert code == 0
    assert rows == items(make_client(make_user("bob")), "/record-sets/?owner=blue-cluster")
    assert closing == {"closing": True, "rows": 1}
    entry = AuditEntry.objects.get(action="export.made")
    assert (entry.actor_kind, entry.actor_name) == ("command", "alice")
    filters = {"owner": "blue-cluster", "type": "A,AAAA"}
    assert entry.after == {"list": "record-sets", "format": "ndjson", "filters": filters}


def test_every_list_is_exported() -> None:
    for name in ("owners", "findings", "transfers", "audit-entries", "tokens", "contention", "instances"):
        code, text = _export(name, "--format", "csv")

        assert code == 0, name
        assert list(csv.reader(io.StringIO(text)))[-1][0] == "closing", name


def test_a_file_is_new_whole_and_its_owner_s_alone(tmp_path: Path) -> None:
    make_owner("=1+1")
    path = tmp_path / "owners.csv"

    arguments = ("owners", "--format", "csv", "--output", str(path))
    code, told = run_json("dnsadmin_export", *arguments, "--as", "alice")
    again, text = _export(*arguments)

    assert (code, told) == (0, {"file": str(path), "bytes": path.stat().st_size})
    assert path.stat().st_mode & 0o777 == 0o600
    assert b"'=1+1" in path.read_bytes()
    assert (again, "File exists" in text) == (1, True)
    assert AuditEntry.objects.filter(action="export.made").count() == 1


def test_a_file_that_is_cut_off_is_removed(tmp_path: Path) -> None:
    make_provider()
    path = tmp_path / "zone"
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE registry_app_claim RENAME COLUMN txt_name TO elsewhere")

    code, _ = _export("zone", "blue-zone", "--output", str(path))

    assert code == 1
    assert not path.exists()


def test_the_zone_file_of_a_provider() -> None:
    make_record_set(make_provider("blue-zone"), "www.example.org")

    code, text = _export("zone", "blue-zone")

    assert code == 0
    assert "www.example.org. IN A 192.0.2.1\n" in text
    assert text.splitlines()[-1].startswith("; closing: 1 record sets")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["record-sets", "--filter", "colour=blue"], "--filter colour: There is no such parameter."),
        (["record-sets", "--filter", "limit=1"], "--filter limit"),
        (["record-sets", "--filter", "owner=nobody"], "--filter owner: There is no owner with this id."),
        (["record-sets", "--filter", "owner"], "A filter is NAME=VALUE"),
        (["record-sets", "--filter", "type=A", "--filter", "type=TXT"], "--filter type: Give it once."),
        (["record-sets", "blue-zone"], "A list takes no provider."),
        (["zone"], "Name the provider"),
        (["zone", "nowhere"], "There is no provider 'nowhere'."),
        (["zone", "nowhere", "--format", "csv"], "one format"),
        (["colours"], "invalid choice"),
    ],
)
def test_what_cannot_be_exported_is_an_error(arguments: list[str], told: str) -> None:
    code, text = _export(*arguments)

    assert code == 1
    assert told in text
    assert not AuditEntry.objects.filter(action="export.made").exists()


def test_nobody_is_exported_for_whom_dnsadmin_does_not_know() -> None:
    code, text = run_command("dnsadmin_export", "owners", "--as", "mallory")

    assert code == 1
    assert "There is no active user 'mallory'." in text
