"""Rows of a database of before, made and read with the models of that time."""

import uuid
from typing import Any

from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

APP = "registry_app"
Rows = dict[str, list[dict[str, Any]]]


def load_models(name: str | None = None) -> Any:
    """The models after a migration; after the newest one without a name."""
    return MigrationExecutor(connection).loader.project_state((APP, name) if name else None).apps


def fill(apps: Any, name: str) -> None:
    """A row of each kind that the others hang on, and of the kinds that are kept for years."""
    make = {model.__name__: model.objects for model in apps.get_app_config(APP).get_models()}
    now = timezone.now()
    provider = make["Provider"].create(name=f"of {name}", url="http://192.0.2.9:8888", secret="correct-horse")
    owner = make["Owner"].create(owner_id=f"owner of {name}")
    cluster = make["Cluster"].create(name=f"cluster of {name}")
    assert cluster.pk
    make["RegistryProfile"].create(name=f"profile of {name}")
    make["Freeze"].create(provider=provider, reason="A test.", starts_at=now, created_by="alice")
    make["Loop"].create(owner=owner, provider=provider)
    make["Transfer"].create(
        kind="release",
        provider=provider,
        source_owner=owner,
        public_id=uuid.uuid4(),
        reason="A test.",
        plan_fingerprint="0" * 64,
        approval_policy="none",
        requested_by_name="alice",
        expires_at=now,
    )
    entries = make["AuditEntry"].count()
    make["AuditEntry"].create(
        sequence=entries + 1,
        at=now,
        actor_kind="system",
        actor_name="dnsadmin",
        action="provider.registered",
        object_type="provider",
        object_id=str(provider.pk),
        previous_hash="0" * 64,
        hash="1" * 64,
    )


def read_rows(apps: Any, before: Rows | None = None) -> Rows:
    """All rows of all models, column by column; with `before`, no rows and no columns but those."""
    return {
        model.__name__: list(_rows_of(model, before).order_by("pk").values(*_columns_of(model, before)))
        for model in apps.get_app_config(APP).get_models()
        if before is None or before.get(model.__name__)
    }


def keep_columns_of(after: Rows, before: Rows) -> Rows:
    """Of what was there before: the models and columns that are there afterwards too."""
    return {
        name: [{column: row[column] for column in rows[0]} for row in before[name]]
        for name, rows in after.items()
    }


def _rows_of(model: Any, before: Rows | None) -> Any:
    if before is None:
        return model.objects.all()
    return model.objects.filter(pk__in=[row[model._meta.pk.attname] for row in before[model.__name__]])


def _columns_of(model: type[models.Model], read: Rows | None) -> list[str]:
    present = [field.attname for field in model._meta.concrete_fields]
    return present if read is None else [name for name in read[model.__name__][0] if name in present]
