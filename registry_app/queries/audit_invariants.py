"""I15, I16, I18 and I21, as far as rows show them (registry_app.audit verifies the chain)."""

from datetime import timedelta

from django.db import connection, models
from django.db.models import CharField, Exists, F, OuterRef, Q
from django.db.models.functions import Cast

from registry_app.clock import TOLERANCE, fetch_now
from registry_app.errors import SecretUnavailable
from registry_app.models import (
    AuditCheckpoint,
    AuditEntry,
    Cluster,
    EncryptedTextField,
    Finding,
    GuardStep,
    IdempotencyKey,
    LoopStep,
    Provider,
    RegistryProfile,
    SyncRun,
    Transfer,
    TransferStep,
)
from registry_app.models.encrypted_field import find_secret_names
from registry_app.outside_copy import find_copy_ahead
from registry_app.queries.invariant import Invariant, Violation, first_of, violation_of

_SEALED = "v1:"
_HOLDERS: tuple[type[models.Model], ...] = (Provider, RegistryProfile, Cluster)
_SHORTEST_SECRET = 12  # a shorter one may well be an ordinary word
_LOOKED_AT = 2_000
_UNSENT = ("stored", "not_sent")


def find_unaudited_transfers() -> Violation | None:
    """I15. Every transfer was requested by somebody, and every end of one has its line. Those of transfers
    that are older than the last purge of the trail may be in its export."""
    lines = AuditEntry.objects.filter(object_type="transfer", object_id=Cast(OuterRef("pk"), CharField()))
    transfers = Transfer.objects.all()
    if (purged := AuditCheckpoint.objects.first()) is not None:
        transfers = transfers.filter(created_at__gt=purged.at + TOLERANCE)
    unrequested = transfers.filter(~Exists(lines))
    unended = transfers.exclude(status=Transfer.Status.REQUESTED).filter(
        ~Exists(lines.exclude(action="transfer.requested"))
    )
    return first_of(
        violation_of(unrequested, "A transfer has no audit entry."),
        violation_of(unended, "A transfer changed its status without an audit entry."),
    )


def find_forgotten_keys() -> Violation | None:
    """I16. A key in flight for a day belongs to a request that was interrupted."""
    rows = IdempotencyKey.objects.filter(
        status_code__isnull=True, claimed_at__lt=fetch_now() - timedelta(days=1)
    )
    return violation_of(rows, "An idempotency key is in flight for more than a day.")


def find_open_secrets() -> Violation | None:
    """I18, spot check: secrets are ciphertext at rest, and in no text that people can read."""
    return first_of(*(_find_plain_columns(model) for model in _HOLDERS), _find_spilled())


def _find_plain_columns(model: type[models.Model]) -> Violation | None:
    table = model._meta.db_table
    for field in model._meta.concrete_fields:
        if not isinstance(field, EncryptedTextField):
            continue
        quote, column = connection.ops.quote_name, str(field.column)
        with connection.cursor() as cursor:
            # Past the field on purpose: it would decrypt. Names come from the model, never from outside.
            cursor.execute(
                f"SELECT id FROM {quote(table)} WHERE {quote(column)} <> %s"  # noqa: S608 - see above
                f" AND {quote(column)} NOT LIKE %s ORDER BY id LIMIT 20",
                ["", f"{_SEALED}%"],
            )
            ids = [row[0] for row in cursor.fetchall()]
        if ids:
            sample = tuple(f"{model._meta.verbose_name} {pk}" for pk in ids)
            return Violation(len(ids), sample, f"A secret is not encrypted in {table}.{column}.")
    return None


def _find_spilled() -> Violation | None:
    secrets = _known_secrets()
    if not secrets:
        return None
    texts: tuple[tuple[models.QuerySet[models.Model], tuple[str, ...]], ...] = (
        (AuditEntry.objects.all(), ("before", "after", "reason")),
        (SyncRun.objects.all(), ("error",)),
        (Provider.objects.all(), ("url", "last_error", "description")),
        (RegistryProfile.objects.all(), ("endpoint_url", "access_key_id")),
        (Cluster.objects.all(), ("api_url", "description")),
        (Finding.objects.all(), ("explanation", "details", "suggestion")),
        (Transfer.objects.all(), ("status_reason", "preconditions")),
        (TransferStep.objects.all(), ("answer",)),
        (IdempotencyKey.objects.all(), ("answer",)),
    )
    for rows, columns in texts:
        noun = rows.model._meta.verbose_name
        for pk, *values in rows.order_by("-pk").values_list("pk", *columns)[:_LOOKED_AT]:
            text = str(values)
            if any(secret in text for secret in secrets):
                return Violation(1, (f"{noun} {pk}",), "A secret is in a text that people can read.")
    return None


def _known_secrets() -> set[str]:
    """The secrets that would be recognised: references to the environment or a file are none."""
    found: set[str] = set()
    for model in _HOLDERS:
        for column in find_secret_names(model):
            try:
                found.update(model._default_manager.values_list(column, flat=True))
            except SecretUnavailable:
                continue  # it cannot be read here, so it cannot be looked for
    kept = (secret for secret in found if secret and not secret.startswith(("env:", "file:")))
    # Of a key in several lines the longest one: texts are looked at as they are shown, on one line.
    telling = (max(secret.splitlines() or [""], key=len) for secret in kept)
    return {secret for secret in telling if len(secret) >= _SHORTEST_SECRET}


TRAIL_INVARIANTS = (
    Invariant("I15", "each state change has an audit entry", find_unaudited_transfers),
    Invariant("I16", "the same key takes effect once", find_forgotten_keys),
    Invariant("I18", "secrets are encrypted, and in no text that people can read", find_open_secrets),
)


def find_unnoted_restore() -> Violation | None:
    """I21. The database is not older than the copies outside, and nothing was sent too early."""
    return first_of(_find_copy_ahead(), *_find_early_sends())


def _find_copy_ahead() -> Violation | None:
    ahead = find_copy_ahead()
    if ahead is None:
        return None
    sample = (f"generation {ahead.generation}, {ahead.sends} requests, audit entry {ahead.sequence}",)
    explanation = (
        "A copy outside the database is ahead of it: the database was restored, or its last audit "
        "entries were cut off. Nothing is sent. A worker records it within seconds."
    )
    return Violation(1, sample, explanation)


def _find_early_sends() -> list[Violation | None]:
    restored = Q(transfer__provider__restored_at__isnull=False)
    early = Q(stored_at__gt=F("transfer__provider__restored_at"))
    steps = TransferStep.objects.filter(restored & early).exclude(status__in=_UNSENT)
    loop_steps = LoopStep.objects.filter(
        run__provider__restored_at__isnull=False, stored_at__gt=F("run__provider__restored_at")
    ).exclude(status__in=_UNSENT)
    guard_steps = GuardStep.objects.filter(
        provider__restored_at__isnull=False, stored_at__gt=F("provider__restored_at")
    ).exclude(status__in=_UNSENT)
    started = Transfer.objects.filter(
        provider__restored_at__isnull=False,
        created_at__lt=F("provider__restored_at"),
        status__in=Transfer.OPEN_STATUSES,
    )
    return [
        violation_of(steps, "Something was sent to a provider that is not accepted since a restore."),
        violation_of(loop_steps, "A loop sent something to a provider that is not accepted since a restore."),
        violation_of(guard_steps, "The guard sent something to a provider not accepted since a restore."),
        violation_of(started, "A transfer of before a restore is still open."),
    ]


RESTORE_INVARIANTS = (
    Invariant("I21", "a restored database sends nothing before it is accepted", find_unnoted_restore),
)
