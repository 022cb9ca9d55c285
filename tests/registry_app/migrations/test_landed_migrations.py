"""A migration that landed is never edited, and a database of every state that landed can be migrated.

`landed.txt` holds the digest of each; a blank line stands between what landed at different times. A new
migration gets its line when it lands, after a blank one if it is the first of its time:
`cd registry_app/migrations && sha256sum 0016_*.py >> ../../tests/registry_app/migrations/landed.txt`
"""

import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from registry_app.models import Provider

pytestmark = pytest.mark.django_db(transaction=True)

APP = "registry_app"
_FOLDER = Path(__file__).parents[3] / APP / "migrations"
_LANDED = Path(__file__).with_name("landed.txt")


def _landed() -> dict[str, str]:
    """Name and digest of each migration that landed, in order."""
    lines = (line.split() for line in _LANDED.read_text(encoding="ascii").splitlines() if line)
    return {name.removesuffix(".py"): digest for digest, name in lines}


def _states() -> list[str]:
    """The last migration of each landing: what a database that exists may have come to."""
    landings = _LANDED.read_text(encoding="ascii").strip().split("\n\n")
    return [landing.split()[-1].removesuffix(".py") for landing in landings]


@pytest.fixture
def _newest_afterwards() -> Iterator[None]:
    yield
    call_command("migrate", verbosity=0)


def test_no_migration_that_landed_was_edited_or_removed() -> None:
    for name, digest in _landed().items():
        found = hashlib.sha256((_FOLDER / f"{name}.py").read_bytes()).hexdigest()
        assert found == digest, f"{name} landed: make a new migration instead of editing it."


@pytest.mark.deep
@pytest.mark.usefixtures("_newest_afterwards")
def test_rows_of_every_state_that_landed_survive_the_way_to_the_newest() -> None:
    before: dict[str, dict[str, Any]] = {}
    # Rows of each state are added to those of the states before on one way up: a way takes long.
    for name in _states():
        call_command("migrate", APP, name, verbosity=0)
        apps = MigrationExecutor(connection).loader.project_state((APP, name)).apps
        _fill(apps, name)
        before[name] = _read(apps)

    call_command("migrate", verbosity=0)

    newest = MigrationExecutor(connection).loader.project_state().apps
    for name, rows in before.items():
        after = _read(newest, rows)
        assert after == _only_columns_of(after, rows), name
        assert Provider.objects.get(name=f"of {name}").secret == "correct-horse"


@pytest.mark.deep
@pytest.mark.usefixtures("_newest_afterwards")
def test_a_database_whose_first_migration_made_the_column_already_can_be_migrated() -> None:
    """Of the commits a0fea9c to 7eb1ac1: at 0002, with the column of 0003."""
    call_command("migrate", APP, "0002_names_in_byte_order", verbosity=0)
    loader = MigrationExecutor(connection).loader
    without, model = (
        loader.project_state((APP, name)).apps.get_model(APP, "Provider")
        for name in ("0002_names_in_byte_order", "0003_provider_url_query")
    )
    with connection.schema_editor() as editor:
        editor.add_field(without, model._meta.get_field("url_query"))
    model.objects.create(name="told", url="http://192.0.2.1", url_query="token=correct-horse")

    call_command("migrate", verbosity=0)

    told = Provider.objects.get(name="told")
    assert (told.url, told.url_query) == ("http://192.0.2.1", "token=correct-horse")


def _fill(apps: Any, name: str) -> None:
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


def _read(apps: Any, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """All rows of all models, column by column; with `before`, no rows and no columns but those."""
    return {
        model.__name__: list(_rows_of(model, before).order_by("pk").values(*_columns_of(model, before)))
        for model in apps.get_app_config(APP).get_models()
        if before is None or before.get(model.__name__)
    }


def _rows_of(model: Any, before: dict[str, Any] | None) -> Any:
    if before is None:
        return model.objects.all()
    return model.objects.filter(pk__in=[row[model._meta.pk.attname] for row in before[model.__name__]])


def _only_columns_of(after: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Of what was there before: the models and columns that are there afterwards too."""
    return {
        name: [{column: row[column] for column in rows[0]} for row in before[name]]
        for name, rows in after.items()
    }


def _columns_of(model: type[models.Model], read: dict[str, Any] | None) -> list[str]:
    present = [field.attname for field in model._meta.concrete_fields]
    return present if read is None else [name for name in read[model.__name__][0] if name in present]
