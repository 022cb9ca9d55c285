"""Whether a process can work: its database, the migrations, the keys; and what it can do without for a while.

A few small reads, whatever the database holds. Nothing of what is asked is in the answer but names of checks.
"""

import hmac
from collections.abc import Callable, Iterator
from functools import cache

import structlog
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import TextField
from django.db.models.functions import Cast
from redis.exceptions import RedisError

from registry_app.audit import compute_tail_seal
from registry_app.clock import TOLERANCE, measure_offset
from registry_app.errors import DATABASE_ERRORS, SecretUnavailable
from registry_app.models import AuditTail, Cluster, Provider, RegistryProfile
from registry_app.models.encrypted_field import decrypt_secret, find_secret_names
from registry_app.queries.broker import fetch_queue_length

REQUIRED = ("database", "migrations", "keys")
CHECKS = (*REQUIRED, "broker", "clock")
_HOLDERS: tuple[type[models.Model], ...] = (Provider, RegistryProfile, Cluster)
_SAMPLE = 5
_LOG = structlog.get_logger(__name__)


def check_readiness() -> dict[str, bool | None]:
    """Each of CHECKS, and whether it is well; None where that could not be asked, as of a database that is
    away."""
    found: dict[str, bool | None] = dict.fromkeys(CHECKS)
    found["broker"] = _is_well("broker", _has_broker)
    found["database"] = _is_well("database", _has_database)
    if found["database"]:
        found["migrations"] = _is_well("migrations", _is_migrated)
        found["clock"] = _is_well("clock", _is_clock_right)
    if found["migrations"]:
        found["keys"] = _is_well("keys", _has_keys)
    return found


def _is_well(name: str, check: Callable[[], bool]) -> bool:
    try:
        is_well = check()
    except (*DATABASE_ERRORS, RedisError) as error:
        _LOG.warning("readiness.failed", check=name, error=type(error).__name__)
        return False
    if not is_well:
        _LOG.warning("readiness.failed", check=name)
    return is_well


def _has_database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone())


def _is_migrated() -> bool:
    """A newer database is well: during an upgrade old processes run beside it."""
    return _find_last_migrations() <= MigrationRecorder(connection).applied_migrations().keys()


@cache
def _find_last_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


def _has_keys() -> bool:
    """The audit key is the one that sealed the trail, and some of the secrets that were stored last can be
    decrypted: one that cannot stands in the way of its own use alone."""
    tail = AuditTail.objects.filter(id=1).first()
    seal = compute_tail_seal(tail.sequence, tail.hash) if tail is not None and tail.sequence else ""
    if tail is not None and seal and not hmac.compare_digest(tail.seal, seal):
        return False
    opened = [_opens(column, text) for column, text in _sample_secrets()]
    return any(opened) or not opened


def _sample_secrets() -> Iterator[tuple[str, str]]:
    """Columns with what is stored in them, still encrypted."""
    for model in _HOLDERS:
        for name in find_secret_names(model):
            column = f"{model._meta.db_table}.{name}"
            # As it is stored: the field itself would decrypt it.
            rows = model._default_manager.annotate(stored=Cast(name, TextField())).exclude(stored="")
            for text in rows.order_by("-pk").values_list("stored", flat=True)[:_SAMPLE]:
                yield column, text


def _opens(column: str, text: str) -> bool:
    try:
        decrypt_secret(text, column)
    except SecretUnavailable:
        return False
    return True


def _has_broker() -> bool:
    return fetch_queue_length() >= 0


def _is_clock_right() -> bool:
    return abs(measure_offset()) <= TOLERANCE
