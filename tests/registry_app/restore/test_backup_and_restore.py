"""`dnsadmin_backup` and `dnsadmin_restore`: all comes back, nothing is sent again, refusals come early."""

import io
import json
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from providers.wire.change_set import ChangeSet
from registry_app.models import AuditEntry, Generation, Provider, RecordSet, Transfer
from registry_app.transfer.send.run_transfer import run_transfer
from tests.reference_server import make_zone
from tests.registry_app.transfer.world import (
    BLUE,
    GREEN,
    World,
    approve,
    ask,
    make_alice,
    make_bob,
    open_world,
    owners,
    request,
)

pytestmark = pytest.mark.django_db(transaction=True)
OTHER_PERSON = Provider.ApprovalPolicy.OTHER_PERSON


def _call(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    with suppress(SystemExit):  # an exit code of findings; what was found is in the document
        call_command(*arguments, "--json", stdout=out)
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def test_the_drill(tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.gz"
    with open_world(approval_policy=OTHER_PERSON, secret="correct-horse-battery") as world:
        transfer = approve(make_bob(), request(make_alice(), ask()))
        backed_up = _call("dnsadmin_backup", str(file))
        run_transfer(transfer.pk)
        assert owners(world) == {GREEN: 10}
        lost = AuditEntry.objects.count()

        restored = _call("dnsadmin_restore", "backup", str(file), "--replace")
        run_transfer(transfer.pk)

        assert len(world.change_sets()) == 1
        transfer.refresh_from_db()
        assert transfer.status == Transfer.Status.STALE
        assert restored["generation"] == backed_up["manifest"]["generation"] + 1
        assert Provider.objects.get().secret == "correct-horse-battery"
        assert RecordSet.objects.count() == 10
        entry = AuditEntry.objects.get(action="database.restored")
        assert entry.after is not None
        assert entry.after["audit_cut"]["to"] <= lost
        waiting = _call("dnsadmin_restore", "status")["waiting"]
        assert [each["provider"] for each in waiting] == [world.provider.name]
        checked = _call("dnsadmin_check", "--only", "I15", "--only", "I21")
        assert [each["holds"] for each in checked["invariants"]] == [True] * len(checked["invariants"])

        _undo_by_hand(world)
        world.sync()
        accepted = _call("dnsadmin_restore", "accept", "--all", "--as", "alice", "--reason", "The drill.")
        assert accepted == {"accepted": [world.provider.name], "waiting": []}
        again = approve(make_bob(), request(make_alice(), ask()))
        run_transfer(again.pk)
        assert owners(world) == {GREEN: 10}


def _undo_by_hand(world: World) -> None:
    standing = tuple(world.reference.endpoints())
    world.reference.backend.apply(ChangeSet(create=tuple(make_zone(BLUE, 10)), delete=standing))


@pytest.mark.deep
def test_rows_made_after_a_restore_get_new_ids(tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.gz"
    with open_world() as world:
        _call("dnsadmin_backup", str(file))
        _call("dnsadmin_restore", "backup", str(file), "--replace")

        world.sync()
        assert request(make_alice(), ask()).pk


def test_a_restore_refuses_early_and_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.gz"
    with open_world():
        _call("dnsadmin_backup", str(file))
        assert (file.stat().st_mode & 0o777) == 0o600
        newer = _edited(file, tmp_path / "newer.tar.gz", _add_migration)
        older = _edited(file, tmp_path / "older.tar.gz", _drop_migration)
        other = _edited(file, tmp_path / "other.tar.gz", lambda manifest: manifest.update(engine="mysql"))
        broken = _edited(file, tmp_path / "broken.tar.gz", _spoil_digest)
        torn = tmp_path / "torn.tar.gz"
        torn.write_bytes(file.read_bytes()[:-200])
        held = Provider.objects.get()
        refusals = {
            "not empty": ("backup", str(file)),
            "newer schema": ("backup", str(newer), "--replace"),
            "older schema": ("backup", str(older), "--replace"),
            "of mysql": ("backup", str(other), "--replace"),
            "not as the manifest describes it": ("backup", str(broken), "--replace"),
            "cannot be used": ("backup", str(torn), "--replace"),
            "cannot be read": ("backup", str(tmp_path / "none"), "--replace"),
        }

        for words, arguments in refusals.items():
            with pytest.raises(CommandError, match=words):
                call_command("dnsadmin_restore", *arguments)
        with pytest.raises(CommandError, match="exists already"):
            call_command("dnsadmin_backup", str(file))

        held.refresh_from_db()
        assert held.restored_at is None
        assert Generation.objects.get().number == 1


def test_a_restore_refuses_while_somebody_has_the_database_open(tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.gz"
    with open_world():
        _call("dnsadmin_backup", str(file))
        other = connection.copy()
        other.inc_thread_sharing()
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT count(*) FROM registry_app_provider")

            with pytest.raises(CommandError, match="open"):
                call_command("dnsadmin_restore", "backup", str(file), "--replace")
        finally:
            other.close()

        call_command("dnsadmin_restore", "backup", str(file), "--replace")


def _add_migration(manifest: dict[str, Any]) -> None:
    manifest["migrations"]["registry_app"].append("9999_of_tomorrow")


def _drop_migration(manifest: dict[str, Any]) -> None:
    manifest["migrations"]["registry_app"].pop()


def _spoil_digest(manifest: dict[str, Any]) -> None:
    for member in manifest["members"].values():
        member[1] = "0" * 64


def _edited(file: Path, target: Path, edit: Any) -> Path:
    """The backup with another manifest."""
    with tarfile.open(file) as source, tarfile.open(target, "w:gz") as changed:
        for member in source.getmembers():
            body = source.extractfile(member)
            assert body is not None
            content = body.read()
            if member.name == "manifest.json":
                manifest = json.loads(content)
                edit(manifest)
                content = json.dumps(manifest).encode()
                member.size = len(content)
            changed.addfile(member, io.BytesIO(content))
    return target
