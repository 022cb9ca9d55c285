"""Old audit entries are deleted behind an export and a sealed checkpoint, and never without."""

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import override_settings
from django.utils import timezone
from pytest_django import Settings

from registry_app.actor import SYSTEM
from registry_app.audit import record_audit, verify_audit
from registry_app.errors import RefusedBySafety
from registry_app.inventory.purge_audit import purge_audit
from registry_app.models import AuditCheckpoint, AuditEntry, Provider, Transfer
from registry_app.models.audit_entry import AuditTail
from registry_app.outside_copy import fetch_generation, fetch_knowledge, find_copy_ahead, store_copy
from registry_app.queries.audit_entry import default_checkpoint_file, find_fault_of_checkpoints
from registry_app.queries.audit_invariants import find_unaudited_transfers
from registry_app.reconcile.request_sync import request_sync
from registry_app.restore.note_restore import note_restore_if_any
from registry_app.tasks import checkpoint_audit
from tests.factories import make_owner, make_provider
from tests.registry_app.transfer.forking import Forks

POINTS = {"audit.exported", "audit.checkpoint_stored"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _old_at_once(settings: Settings, tmp_path: Path) -> Iterator[None]:
    """Every entry but the last is old enough."""
    settings.DNSADMIN_STATE_DIR = str(tmp_path / "state")
    moment = timedelta(microseconds=1)
    with override_settings(DNSADMIN_RETENTION_AUDIT=moment, DNSADMIN_ACCOUNT_SETTLES=moment):
        fetch_generation()
        yield


def _write_entries(count: int) -> None:
    provider = make_provider(f"zone-{Provider.objects.count()}")
    for _ in range(count):
        request_sync(SYSTEM, provider.pk)


def _call(*arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command(*arguments, stdout=out, stderr=out)
    except SystemExit as leaving:
        return int(str(leaving.code)), out.getvalue()
    return 0, out.getvalue()


def test_what_is_deleted_is_in_the_export_and_the_rest_still_verifies(tmp_path: Path) -> None:
    _write_entries(6)
    file = tmp_path / "audit.ndjson"

    code, printed = _call("dnsadmin_audit", "--json", "purge", "--file", str(file))

    told = json.loads(printed)
    assert (code, told["first"], told["last"], told["deleted"]) == (0, 1, 5, 5)
    assert list(AuditEntry.objects.values_list("sequence", flat=True)) == [7, 6]
    assert AuditEntry.objects.get(sequence=7).action == "audit.purged"
    assert _call("dnsadmin_audit", "verify", str(file)) == (0, "Valid: 5 entries.\n")
    assert _call("dnsadmin_audit", "verify")[1].startswith("Valid: 7 entries. Those up to 5")
    assert _call("dnsadmin_check", "--only", "I15")[0] == 0


def test_exports_of_several_purges_follow_on_one_another(tmp_path: Path) -> None:
    for number in range(3):
        _write_entries(4)
        purge_audit(SYSTEM, tmp_path / f"{number}.ndjson")

    entries = [json.loads(line) for n in range(3) for line in (tmp_path / f"{n}.ndjson").open()]
    sequences = [entry["sequence"] for entry in entries if not entry.get("closing")]
    assert sequences == list(range(1, sequences[-1] + 1))
    assert AuditCheckpoint.objects.count() == 3
    assert verify_audit() is None


def test_without_a_retention_nothing_is_deleted(tmp_path: Path) -> None:
    _write_entries(3)

    with override_settings(DNSADMIN_RETENTION_AUDIT=timedelta(0)), pytest.raises(RefusedBySafety):
        purge_audit(SYSTEM, tmp_path / "audit.ndjson")

    assert AuditEntry.objects.count() == 3
    assert not (tmp_path / "audit.ndjson").exists()


def test_what_is_not_old_stays(tmp_path: Path) -> None:
    _write_entries(3)

    with override_settings(DNSADMIN_RETENTION_AUDIT=timedelta(hours=1)):
        purged = purge_audit(SYSTEM, tmp_path / "audit.ndjson")

    assert (purged.file, purged.deleted, AuditEntry.objects.count()) == ("", 0, 3)


def test_a_trail_that_is_not_valid_is_not_purged(tmp_path: Path) -> None:
    _write_entries(4)
    AuditEntry.objects.filter(sequence=2).update(reason="forged")

    with pytest.raises(RefusedBySafety) as refused:
        purge_audit(SYSTEM, tmp_path / "audit.ndjson")

    assert refused.value.code == "audit_not_valid"
    assert AuditEntry.objects.count() == 4


def test_a_file_that_exists_is_not_written_and_nothing_is_deleted(tmp_path: Path) -> None:
    _write_entries(4)
    file = tmp_path / "audit.ndjson"
    file.write_text("something else")

    with pytest.raises(FileExistsError):
        purge_audit(SYSTEM, file)

    assert file.read_text() == "something else"
    assert (AuditEntry.objects.count(), AuditCheckpoint.objects.count()) == (4, 0)


def test_a_checkpoint_that_somebody_without_the_key_wrote_is_found() -> None:
    _write_entries(5)
    third = AuditEntry.objects.get(sequence=3)
    AuditCheckpoint.objects.create(
        sequence=3, hash=third.hash, at=third.at, entries=3, export_digest="", seal="0" * 64
    )
    AuditEntry.objects.filter(sequence__lte=3).delete()

    fault = verify_audit()

    assert fault is not None
    assert "written by somebody else" in fault.problem


def test_entries_after_the_checkpoint_that_are_missing_are_found(tmp_path: Path) -> None:
    _write_entries(4)
    purge_audit(SYSTEM, tmp_path / "audit.ndjson")
    _write_entries(3)

    AuditEntry.objects.filter(sequence=5).delete()

    fault = verify_audit()
    assert fault is not None
    assert (fault.sequence, fault.problem) == (5, "an entry is missing")


def test_checkpoints_and_copies_from_before_a_purge_do_not_miss_what_it_deleted(tmp_path: Path) -> None:
    _write_entries(2)
    checkpoint_audit()
    store_copy(fetch_knowledge())
    _write_entries(4)
    purge_audit(SYSTEM, tmp_path / "audit.ndjson")

    assert find_fault_of_checkpoints() is None
    assert find_copy_ahead() is None
    assert default_checkpoint_file().exists()


def test_what_a_restore_cut_off_is_still_excused_after_its_entry_was_purged(tmp_path: Path) -> None:
    _write_entries(3)
    older = dict(AuditTail.objects.values("sequence", "hash", "seal").get())
    _write_entries(9)
    checkpoint_audit()
    AuditEntry.objects.filter(sequence__gt=3).delete()
    AuditTail.objects.filter(id=1).update(**older)
    assert note_restore_if_any()
    _write_entries(3)

    purge_audit(SYSTEM, tmp_path / "audit.ndjson")

    assert not AuditEntry.objects.filter(action="database.restored").exists()
    assert find_fault_of_checkpoints() is None


def test_a_transfer_whose_entries_were_purged_is_not_called_unaudited(tmp_path: Path) -> None:
    transfer = Transfer.objects.create(
        kind=Transfer.Kind.TRANSFER,
        provider=make_provider(),
        source_owner=make_owner("blue-cluster"),
        target_owner=make_owner("green-cluster"),
        status=Transfer.Status.CANCELLED,
        expires_at=timezone.now(),
    )
    with transaction.atomic():
        for action in ("transfer.requested", "transfer.cancelled"):
            record_audit(SYSTEM, action, transfer)
    _write_entries(2)
    purge_audit(SYSTEM, tmp_path / "audit.ndjson")

    assert find_unaudited_transfers() is None


@pytest.mark.parametrize("point", sorted(POINTS))
def test_a_purge_that_was_killed_deleted_nothing_and_the_next_one_goes_on(
    forks: Forks, tmp_path: Path, point: str
) -> None:
    _write_entries(6)
    assert forks.act("purge_audit", str(tmp_path / "first.ndjson"), crash_at=point).was_killed
    left, is_valid = AuditEntry.objects.count(), verify_audit() is None

    purge_audit(SYSTEM, tmp_path / "second.ndjson")

    assert left == (6 if point == "audit.exported" else 7)
    assert is_valid
    assert AuditEntry.objects.count() == 2
    assert verify_audit() is None
