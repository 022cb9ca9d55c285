"""`dnsadmin_check`: each invariant the rows can show, shown broken once."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from registry_app.actor import SYSTEM
from registry_app.inventory.cluster import register_cluster
from registry_app.models import (
    AuditEntry,
    Claim,
    IdempotencyKey,
    Provider,
    RecordSet,
    RegistryProfile,
    SyncRun,
    Transfer,
    TransferItem,
    TransferStep,
)
from registry_app.queries.search import TRIGGERS, TRIGRAMS
from tests.factories import make_cluster, make_owner, make_provider, make_record_set, make_user
from tests.registry_app.management.command import run_command, run_json

pytestmark = pytest.mark.django_db

_FINGERPRINT = "f" * 64


def _broken(*arguments: str) -> list[str]:
    """The ids of the broken invariants; the exit code agrees."""
    code, document = run_json("dnsadmin_check", *arguments)
    broken = [entry["id"] for entry in document["invariants"] if not entry["holds"]]
    assert code == (2 if broken else 0)
    return broken


def _make_transfer(**values: Any) -> Transfer:
    """A transfer that was requested and approved as it should be."""
    provider = Provider.objects.first() or make_provider(accepted_snapshots=1)
    now = timezone.now()
    defaults: dict[str, Any] = {
        "kind": Transfer.Kind.TRANSFER,
        "provider": provider,
        "source_owner": make_owner(f"blue-{uuid.uuid4()}"),
        "target_owner": make_owner(f"green-{uuid.uuid4()}"),
        "reason": "Blue moves.",
        "plan_fingerprint": _FINGERPRINT,
        "approved_fingerprint": _FINGERPRINT,
        "approval_policy": Provider.ApprovalPolicy.NONE,
        "approved_at": now,
        "requested_by_name": "alice",
        "expires_at": now + timedelta(days=1),
        "started_at": now,
    }
    transfer = Transfer.objects.create(**{**defaults, **values})
    for number, action in enumerate(("transfer.requested", "transfer.approved")):
        AuditEntry.objects.create(
            sequence=10_000 + 2 * transfer.pk + number,
            at=now,
            actor_kind="user",
            actor_name="alice",
            action=action,
            object_type="transfer",
            object_id=str(transfer.pk),
            previous_hash="",
            hash="",
        )
    return transfer


def _make_step(transfer: Transfer, **values: Any) -> TransferStep:
    now = timezone.now()
    defaults: dict[str, Any] = {
        "phase": TransferStep.Phase.WRITE,
        "batch": 0,
        "change_set": "{}",
        "body_digest": "d" * 64,
        "epoch": 1,
        "stored_at": now,
    }
    return TransferStep.objects.create(transfer=transfer, **{**defaults, **values})


def _make_item(transfer: Transfer, **values: Any) -> TransferItem:
    defaults: dict[str, Any] = {
        "ordinal": 0,
        "name": "www.example.org",
        "record_type": "A",
        "before": [{"dnsName": "a-www.example.org", "targets": ["blue"]}],
        "after": [{"dnsName": "a-www.example.org", "targets": ["green"]}],
        "verdict": TransferItem.Verdict.NO_OP,
    }
    return TransferItem.objects.create(transfer=transfer, **{**defaults, **values})


def _break_i1() -> None:
    row = make_record_set(make_provider(accepted_snapshots=1))
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA ignore_check_constraints = ON")
        else:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE registry_app_recordset DROP CONSTRAINT record_set_owner_iff_owned")
        cursor.execute("UPDATE registry_app_recordset SET state = 'owned' WHERE id = %s", [row.pk])
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA ignore_check_constraints = OFF")


def _break_i2() -> None:
    make_record_set(make_provider())


def _break_i4() -> None:
    make_record_set(make_provider(accepted_snapshots=1), missing_snapshots=2)


def _break_i5_with_an_empty_step() -> None:
    _make_step(_make_transfer(), change_set="")


def _break_i5_without_a_step() -> None:
    transfer = _make_transfer(status=Transfer.Status.VERIFIED)
    _make_item(transfer, status=TransferItem.Status.VERIFIED)


def _break_i6_without_a_read_back() -> None:
    _make_step(_make_transfer(), status=TransferStep.Status.VERIFIED)


def _break_i6_with_an_open_item() -> None:
    transfer = _make_transfer(status=Transfer.Status.VERIFIED)
    _make_item(transfer, status=TransferItem.Status.FAILED)


def _break_i7_with_a_sync() -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    provider = make_provider(lease_epoch=1)
    SyncRun.objects.create(provider=provider, epoch=1, trigger="schedule", started_at=long_ago)


def _break_i7_with_a_sync_without_a_row() -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    make_provider(lease_epoch=1, sync_epoch=1, sync_started_at=long_ago)


def _break_i7_with_a_transfer() -> None:
    transfer = _make_transfer(status=Transfer.Status.SENDING)
    Transfer.objects.filter(pk=transfer.pk).update(updated_at=timezone.now() - timedelta(minutes=10))


def _break_i8_with_an_approval_too_late() -> None:
    _make_transfer(expires_at=timezone.now() - timedelta(days=1))


def _break_i8_without_an_approval() -> None:
    _make_step(_make_transfer(approved_at=None))


def _break_i10() -> None:
    transfer = _make_transfer(status=Transfer.Status.VERIFIED)
    _make_item(transfer, status=TransferItem.Status.VERIFIED, after=[])
    _make_step(transfer)


def _break_i14() -> None:
    provider = make_provider(lease_epoch=1)
    SyncRun.objects.create(
        provider=provider, epoch=7, trigger="schedule", started_at=timezone.now(), status="stored"
    )


def _break_i14_without_a_row() -> None:
    make_provider(lease_epoch=1, sync_epoch=2, sync_started_at=timezone.now())


def _break_i14_beside_a_row() -> None:
    now = timezone.now()
    provider = make_provider(lease_epoch=1, sync_epoch=1, sync_started_at=now)
    SyncRun.objects.create(provider=provider, epoch=1, trigger="schedule", started_at=now)


def _break_i15() -> None:
    _make_transfer()
    AuditEntry.objects.all().delete()


def _break_i16() -> None:
    IdempotencyKey.objects.create(
        user=make_user(), key="k", body_digest="d", claimed_at=timezone.now() - timedelta(days=2)
    )


def _break_i18_with_an_open_column() -> None:
    provider = make_provider(secret="s3cr3t-of-blue")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE registry_app_provider SET secret = 's3cr3t-of-blue' WHERE id = %s", [provider.pk]
        )


def _break_i18_with_a_secret_in_a_text() -> None:
    make_provider(secret="s3cr3t-of-blue", last_error="401 for s3cr3t-of-blue")


def _break_i18_with_an_open_token_of_a_cluster() -> None:
    cluster = make_cluster(token="s3cr3t-of-blue")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE registry_app_cluster SET token = 's3cr3t-of-blue' WHERE id = %s", [cluster.pk])


def _break_i18_with_an_access_key_in_a_text() -> None:
    RegistryProfile.objects.create(name="table", secret_access_key="s3cr3t-of-blue")
    make_provider(last_error="The table refused s3cr3t-of-blue")


def _break_i18_with_a_line_of_a_key_in_a_text() -> None:
    make_cluster(
        client_key="-----BEGIN-----\nMHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY=\n-----END-----"
    )
    make_provider(last_error="MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY= is no key")


def _break_i1_with_a_store_of_two_providers() -> None:
    profile = RegistryProfile.objects.create(name="sd", kind="aws-sd")
    profile.providers.set([make_provider(), make_provider("green-zone")])


def _make_stored_claim(profile: RegistryProfile | None) -> None:
    now = timezone.now()
    provider = make_provider(status=Provider.Status.OK, accepted_at=now + timedelta(minutes=1))
    Claim.objects.create(
        provider=provider,
        identity=b"i" * 16,
        digest=b"d" * 16,
        format="new",
        verdict="orphan",
        record_name="www.example.org",
        registry_profile=profile,
        first_seen_at=now,
        changed_at=now,
    )


def _break_i2_with_a_claim_that_stands_nowhere() -> None:
    _make_stored_claim(None)


def _break_i2_with_a_claim_of_a_store_that_was_taken_away() -> None:
    _make_stored_claim(RegistryProfile.objects.create(name="sd", kind="aws-sd"))


def _break_i8_with_a_store_nobody_reviewed() -> None:
    profile = RegistryProfile.objects.create(name="sd", kind="aws-sd")
    _make_step(_make_transfer(preconditions={"stores": {str(profile.pk + 1): {}}}), registry_profile=profile)


def _break_i20() -> None:
    make_provider(next_sync_at=timezone.now() - timedelta(hours=1))


@pytest.mark.parametrize(
    "damage",
    [
        _break_i1,
        _break_i2,
        _break_i4,
        _break_i5_with_an_empty_step,
        _break_i5_without_a_step,
        _break_i6_without_a_read_back,
        _break_i6_with_an_open_item,
        _break_i7_with_a_sync,
        _break_i7_with_a_sync_without_a_row,
        _break_i7_with_a_transfer,
        _break_i8_with_an_approval_too_late,
        _break_i8_without_an_approval,
        _break_i10,
        _break_i14,
        _break_i14_without_a_row,
        _break_i14_beside_a_row,
        _break_i15,
        _break_i16,
        _break_i18_with_an_open_column,
        _break_i18_with_a_secret_in_a_text,
        _break_i18_with_an_open_token_of_a_cluster,
        _break_i18_with_an_access_key_in_a_text,
        _break_i18_with_a_line_of_a_key_in_a_text,
        _break_i1_with_a_store_of_two_providers,
        _break_i2_with_a_claim_that_stands_nowhere,
        _break_i2_with_a_claim_of_a_store_that_was_taken_away,
        _break_i8_with_a_store_nobody_reviewed,
        _break_i20,
    ],
)
def test_a_broken_invariant_is_found_under_its_id(damage: Callable[[], None]) -> None:
    wanted = damage.__name__.split("_")[2].upper()

    assert _broken("--only", wanted) == []
    damage()

    assert _broken("--only", wanted) == [wanted]


def test_a_healthy_database_breaks_nothing() -> None:
    provider = make_provider(accepted_snapshots=1, secret="s3cr3t-of-blue")
    make_record_set(provider, owner=make_owner())
    register_cluster(SYSTEM, {"name": "blue"})

    assert _broken() == []


def test_an_edited_audit_entry_is_found_by_its_sequence() -> None:
    register_cluster(SYSTEM, {"name": "blue"})
    register_cluster(SYSTEM, {"name": "green"})
    AuditEntry.objects.filter(sequence=2).update(reason="nothing happened")

    code, text = run_command("dnsadmin_check", "--only", "I15")

    assert code == 2
    assert "BROKEN" in text
    assert "audit entry 2" in text


def test_an_unknown_id_is_an_error() -> None:
    code, document = run_json("dnsadmin_check", "--only", "I99")

    assert code == 1
    assert "I99" in document["error"]["happened"]


def test_it_writes_nothing() -> None:
    make_record_set(make_provider(accepted_snapshots=1))
    before = [list(model.objects.values()) for model in (RecordSet, AuditEntry, SyncRun)]

    run_command("dnsadmin_check")

    assert [list(model.objects.values()) for model in (RecordSet, AuditEntry, SyncRun)] == before


def test_an_index_that_lost_rows_or_triggers_is_found_and_made_anew() -> None:
    make_record_set(make_provider(accepted_snapshots=1))
    run_command("dnsadmin_search", "update")
    if connection.vendor != "sqlite":
        assert not _broken("--only", "I26")
        connection.check_constraints()  # PostgreSQL makes no index while one waits to be checked
        assert run_json("dnsadmin_search", "rebuild") == (0, {"has_index": True, "waiting": 0})
        return
    for statement in (
        f"INSERT INTO {TRIGRAMS} ({TRIGRAMS}) VALUES ('delete-all')",
        f"DROP TRIGGER {TRIGGERS[0]}",
    ):
        with connection.cursor() as cursor:
            cursor.execute(statement)

        assert _broken("--only", "I26") == ["I26"], statement
        assert run_json("dnsadmin_search", "rebuild") == (0, {"has_index": True, "waiting": 0})
        assert not _broken("--only", "I26"), statement
