"""A database with a mirror of any size, filled in bulk: what pages and lists are measured on."""

import os
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from bench.bodies import OWNERS, UNMANAGED_EVERY

PROVIDERS = 100
_CHUNK = 20_000
_FINDING_EVERY = 10
_TYPES = ("A", "A", "A", "A", "A", "A", "A", "A", "AAAA", "CNAME")
_NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


class Filled(NamedTuple):
    """What a request needs: a session cookie, a token, and the id of the provider with half of the rows."""

    session: str
    token: str
    provider: int


def fill(settings: Mapping[str, str], count: int, result: Connection) -> None:
    """Migrate, and insert `count` record sets with their claims and findings; sends a Filled.

    Half of them are at one provider, the others at the rest; every tenth has a finding.
    """
    os.environ |= settings
    import django

    from dnsadmin.prepare import prepare_state

    prepare_state(Path(settings["DNSADMIN_STATE_DIR"]))
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from registry_app.reconcile.kept_counts import rebuild_counts

    call_command("migrate", verbosity=0)
    call_command("flush", verbosity=0, interactive=False)
    providers, owners = _make_configuration(count)
    _insert_rows(count, providers, owners)
    rebuild_counts()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")  # as the server does by itself, sooner or later
    session, token = _sign_in()
    result.send(Filled(session, token, providers[0]))


def _make_configuration(count: int) -> tuple[list[int], list[int]]:
    from registry_app.models import Owner, Provider

    for number in range(PROVIDERS):
        Provider.objects.create(
            name=f"zone-{number:02}",
            url=f"http://127.0.0.1:1/{number}",
            status=Provider.Status.OK,
            accepted_at=_NOW,
            accepted_snapshots=1,
            last_sync_at=_NOW,
            next_sync_at=datetime.now(UTC) + timedelta(hours=20),
            record_set_count=count // 2 if number == 0 else count // 2 // (PROVIDERS - 1),
        )
    registered = Owner.Status.REGISTERED
    for number in range(OWNERS):
        Owner.objects.create(owner_id=f"cluster-{number:02}", status=registered)
    return (
        list(Provider.objects.order_by("name").values_list("pk", flat=True)),
        list(Owner.objects.order_by("owner_id").values_list("pk", flat=True)),
    )


def _insert_rows(count: int, providers: Sequence[int], owners: Sequence[int]) -> None:
    from django.db import transaction

    from registry_app.models import Claim, Finding, RecordSet
    from registry_app.reconcile.rows.bulk import insert_rows, stored_time
    from registry_app.reconcile.rows.claim_rows import INSERTED_COLUMNS as CLAIM_COLUMNS
    from registry_app.reconcile.rows.record_rows import INSERTED_COLUMNS as RECORD_COLUMNS

    at = stored_time(_NOW)
    finding_columns = tuple(_make_finding(0, 0, at))
    for start in range(0, count, _CHUNK):
        numbers = range(start, min(start + _CHUNK, count))
        places = [(number, _pick_provider(number, providers)) for number in numbers]
        with transaction.atomic():
            made = [_make_record_set(number, pk, owners, at) for number, pk in places]
            insert_rows(RecordSet, RECORD_COLUMNS, [_in_order(row, RECORD_COLUMNS) for row in made])
            claims = [_make_claim(row, at) for row in made if row["owner_id"]]
            insert_rows(Claim, CLAIM_COLUMNS, [_in_order(row, CLAIM_COLUMNS) for row in claims])
            found = [_make_finding(*place, at) for place in places if place[0] % _FINDING_EVERY == 0]
            insert_rows(Finding, finding_columns, [_in_order(row, finding_columns) for row in found])


def _pick_provider(number: int, providers: Sequence[int]) -> int:
    """Each owner is at two providers."""
    return providers[0] if number // OWNERS % 2 == 0 else providers[1 + number % OWNERS]


def _name(number: int) -> str:
    return f"app-{number:07d}.team-{number % OWNERS}.example.org"


def _in_order(row: dict[str, Any], columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[column] for column in columns)


def _make_record_set(number: int, provider: int, owners: Sequence[int], at: Any) -> dict[str, Any]:
    name, is_owned = _name(number), number % UNMANAGED_EVERY != 0
    return {
        "provider_id": provider,
        "name": name,
        "name_reversed": ".".join(reversed(name.split("."))),
        "record_type": _TYPES[number // OWNERS % len(_TYPES)],
        "set_identifier": "",
        "targets": f'["10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"]',
        "ttl": 300,
        "provider_specific": "[]",
        "labels": "{}",
        "resource": f"ingress/shop/app-{number:07d}" if is_owned else "",
        "beliefs": "[]",
        "digest": number.to_bytes(16, "big"),
        "state": "owned" if is_owned else "unmanaged",
        "owner_id": owners[number % len(owners)] if is_owned else None,
        "first_seen_at": at,
        "changed_at": at,
        "missing_since": None,
        "missing_snapshots": 0,
    }


def _make_claim(record_set: dict[str, Any], at: Any) -> dict[str, Any]:
    return {
        "provider_id": record_set["provider_id"],
        "identity": record_set["digest"],
        "txt_name": f"a-{record_set['name']}",
        "set_identifier": "",
        "raw": f'"heritage=external-dns,external-dns/resource={record_set["resource"]}"',
        "record_name": record_set["name"],
        "record_type": record_set["record_type"],
        "format": "new",
        "verdict": "effective",
        "owner_id": record_set["owner_id"],
        "resource": record_set["resource"],
        "labels": "{}",
        "registry_profile_id": None,
        "is_encrypted": False,
        "problem": "",
        "digest": record_set["digest"],
        "first_seen_at": at,
        "changed_at": at,
    }


def _make_finding(number: int, provider: int, at: Any) -> dict[str, Any]:
    return {
        "fingerprint": number.to_bytes(16, "big"),
        "kind": "unmanaged_in_pattern",
        "severity": (10, 20, 30)[number % 3],
        "provider_id": provider,
        "owner_id": None,
        "name": _name(number),
        "record_type": "A",
        "set_identifier": "",
        "explanation": "Nobody owns it.",
        "suggestion": "{}",
        "details": "{}",
        "state": "resolved" if number // _FINDING_EVERY % 10 == 0 else "open",
        "first_seen_at": at,
        "last_seen_at": at,
        "occurrences": 1,
        "acknowledged_by": "",
    }


def _sign_in() -> tuple[str, str]:
    """The cookie of a session, and the text of a token, of an administrator."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    from registry_app.actor import SYSTEM
    from registry_app.inventory.token import issue_token

    user = get_user_model().objects.create_superuser("alice", password=secrets.token_hex())
    client = Client()
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    _, text = issue_token(SYSTEM, user_id=user.pk, name="bench", scopes=["read"])
    return client.cookies["sessionid"].value, text
