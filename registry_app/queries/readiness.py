"""Whether a process can work: its database, the migrations, the keys; and what it can do without for a while.

A few small reads, whatever the database holds. Nothing of what is asked is in the answer but names of checks.
"""

import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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

_HOLDERS: tuple[type[models.Model], ...] = (Provider, RegistryProfile, Cluster)
_SAMPLE = 5
_LOG = structlog.get_logger(__name__)


@dataclass
class Checks:
    """Whether each is well; None where that could not be asked, as of a database that is away."""

    database: bool | None = None
    migrations: bool | None = None
    keys: bool | None = None
    broker: bool | None = None
    clock: bool | None = None

    @property
    def is_ready(self) -> bool:
        """Whether it can work, if only for a while."""
        return bool(self.database and self.migrations and self.keys)

    @property
    def is_degraded(self) -> bool:
        """Whether anything is missing."""
        return not all(vars(self).values())


def check_readiness() -> Checks:
    """Ask for each, as far as that can be."""
    found = Checks(broker=_is_well(_check_broker), database=_is_well(_check_database))
    if found.database:
        found.migrations = _is_well(_check_migrations)
        found.clock = _is_well(_check_clock)
    if found.migrations:
        found.keys = _is_well(_check_keys)
    return found


def _is_well(check: Callable[[], bool]) -> bool:
    name = check.__name__.removeprefix("_check_")
    try:
        is_well = check()
    except (*DATABASE_ERRORS, RedisError) as error:
        _LOG.warning("readiness.failed", check=name, error=type(error).__name__)
        return False
    if not is_well:
        _LOG.warning("readiness.failed", check=name)
    return is_well


def _check_database() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone())


def _check_migrations() -> bool:
    """A newer database is well: during an upgrade old processes run beside it."""
    return _find_last_migrations() <= MigrationRecorder(connection).applied_migrations().keys()


@cache
def _find_last_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


def _check_keys() -> bool:
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


def _check_broker() -> bool:
    return fetch_queue_length() >= 0


def _check_clock() -> bool:
    return abs(measure_offset()) <= TOLERANCE
