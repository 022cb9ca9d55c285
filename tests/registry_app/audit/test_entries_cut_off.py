"""Cutting off the last audit entries, or all of them, is found; and what a restore cut is on record."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from registry_app.actor import SYSTEM
from registry_app.audit import verify_audit
from registry_app.models import AuditEntry, Provider
from registry_app.models.audit_entry import AuditTail
from registry_app.outside_copy import fetch_generation, fetch_knowledge
from registry_app.queries.audit_entry import default_checkpoint_file, find_fault_of_checkpoints
from registry_app.reconcile.request_sync import request_sync
from registry_app.restore.note_restore import note_restore, note_restore_if_any
from registry_app.tasks import checkpoint_audit
from tests.factories import make_provider
from tests.registry_app.transfer.world import make_alice

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _state_folder(settings: Settings, tmp_path: Path) -> None:
    settings.DNSADMIN_STATE_DIR = str(tmp_path / "state")


def _call(*arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    try:
        call_command(*arguments, stdout=out)
    except SystemExit as leaving:
        return int(str(leaving.code)), out.getvalue()
    return 0, out.getvalue()


def _write_entries(provider: Provider, count: int) -> None:
    alice = make_alice()
    for _ in range(count):
        request_sync(alice, provider.pk)


def _cut_off_after(sequence: int, *, tail: dict[str, Any] | None = None) -> None:
    """As somebody with a database client does, who makes the tail fit as well as they can."""
    AuditEntry.objects.filter(sequence__gt=sequence).delete()
    last = AuditEntry.objects.filter(sequence=sequence).values_list("hash", flat=True).first()
    AuditTail.objects.filter(id=1).update(**(tail or {"sequence": sequence, "hash": last or "0" * 64}))


def test_a_tail_that_was_made_to_fit_is_found_without_any_checkpoint() -> None:
    fetch_generation()
    _write_entries(make_provider(), 5)

    _cut_off_after(3)

    fault = verify_audit()
    assert fault is not None
    assert "written by somebody else" in fault.problem


def test_what_a_checkpoint_knows_is_missed_even_with_an_older_tail_put_back() -> None:
    fetch_generation()
    provider = make_provider()
    _write_entries(provider, 3)
    older = dict(AuditTail.objects.values("sequence", "hash", "seal").get())
    _write_entries(provider, 3)
    checkpoint_audit()

    for kept, tail in ((3, older), (0, {"sequence": 0, "hash": "0" * 64, "seal": ""})):
        _cut_off_after(kept, tail=tail)

        assert verify_audit() is None  # by itself the chain cannot know
        fault = find_fault_of_checkpoints()
        assert fault is not None
        assert fault.sequence == 6
        code, told = _call("dnsadmin_check", "--only", "I15")
        assert code == 2
        assert "Entries were cut off" in told
        assert _call("dnsadmin_audit", "verify")[0] == 2


def test_what_a_restore_cut_is_excused_by_its_own_entry_and_by_nothing_else() -> None:
    fetch_generation()
    provider = make_provider()
    _write_entries(provider, 3)
    older = dict(AuditTail.objects.values("sequence", "hash", "seal").get())
    _write_entries(provider, 3)
    checkpoint_audit()
    _cut_off_after(3, tail=older)
    assert find_fault_of_checkpoints() is not None

    assert note_restore_if_any()

    entry = AuditEntry.objects.get(action="database.restored")
    assert entry.after is not None
    assert (entry.after["audit_cut"]["from"], entry.after["audit_cut"]["to"]) == (4, 6)
    assert find_fault_of_checkpoints() is None
    assert _call("dnsadmin_check", "--only", "I15")[0] == 0
    checkpoint_audit()
    AuditEntry.objects.filter(sequence__gte=4).delete()
    assert find_fault_of_checkpoints() is not None


def test_a_checkpoint_is_one_line_for_each_end_and_for_its_owner_alone(tmp_path: Path) -> None:
    fetch_generation()
    provider = make_provider()
    _write_entries(provider, 1)

    checkpoint_audit()
    checkpoint_audit()
    _write_entries(provider, 1)
    _call("dnsadmin_audit", "checkpoint")
    elsewhere = tmp_path / "elsewhere.ndjson"
    _call("dnsadmin_audit", "checkpoint", "--file", str(elsewhere))

    lines = default_checkpoint_file().read_text().splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == [1, 2]
    assert default_checkpoint_file().stat().st_mode & 0o777 == 0o600
    assert elsewhere.read_text().splitlines() == lines[1:]
    assert _call("dnsadmin_audit", "verify", "--checkpoints", str(elsewhere))[0] == 0


def test_an_export_holds_until_a_line_of_it_is_changed_moved_or_cut_off(tmp_path: Path) -> None:
    fetch_generation()
    _write_entries(make_provider(), 6)
    file = tmp_path / "audit.ndjson"
    assert _call("dnsadmin_audit", "export", "--file", str(file))[0] == 0
    _, printed = _call("dnsadmin_audit", "export", "--from", "2", "--to", "4")
    part = tmp_path / "part.ndjson"
    part.write_text(printed)
    lines = file.read_text().splitlines(keepends=True)
    spoiled = {
        "changed": [lines[0].replace("provider", "propider"), *lines[1:]],
        "left out": [*lines[:2], *lines[3:]],
        "moved": [lines[1], lines[0], *lines[2:]],
        "cut off": lines[:-1],
        "cut off before the end": [*lines[:-2], lines[-1]],
        "added": [*lines, lines[0]],
        "no export": ["[]\n"],
        "nothing": [],
    }

    assert _call("dnsadmin_audit", "verify", str(file)) == (0, "Valid: 6 entries.\n")
    assert _call("dnsadmin_audit", "verify", str(part)) == (0, "Valid: 3 entries.\n")
    for what, text in spoiled.items():
        other = tmp_path / "spoiled.ndjson"
        other.write_text("".join(text))
        assert _call("dnsadmin_audit", "verify", str(other))[0] == 2, what


def test_a_restore_that_lost_no_entry_says_that_nothing_was_cut() -> None:
    fetch_generation()
    _write_entries(make_provider(), 2)

    note_restore(SYSTEM, fetch_knowledge(), how="A drill.")

    entry = AuditEntry.objects.get(action="database.restored")
    assert entry.after is not None
    assert entry.after["audit_cut"] is None
    assert verify_audit() is None
