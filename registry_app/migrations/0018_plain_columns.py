"""Columns get the names that the documents use; the key of a held snapshot's fingerprint with them."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def _rename_key(apps: Apps, old: str, new: str) -> None:
    held_snapshots = apps.get_model("registry_app", "HeldSnapshot").objects
    for held in held_snapshots.only("difference").iterator(chunk_size=100):
        if old in held.difference:
            held.difference[new] = held.difference.pop(old)
            held.save(update_fields=["difference"])


def name_fingerprint(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _rename_key(apps, "sighting", "fingerprint")


def name_sighting(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    _rename_key(apps, "fingerprint", "sighting")


class Migration(migrations.Migration):
    dependencies = [("registry_app", "0017_plain_labels")]

    # An index with a condition does not follow a renamed column in Django's state, so each is made again.
    operations = [
        migrations.RemoveIndex("provider", "provider_due"),
        migrations.RemoveIndex("transfer", "transfer_unfinished"),
        migrations.RenameField("provider", "next_visit_at", "next_sync_at"),
        migrations.RenameField("provider", "last_visit_at", "last_sync_at"),
        migrations.RenameField("transfer", "premises", "preconditions"),
        migrations.RenameField("transfer", "next_look_at", "next_attempt_at"),
        migrations.RenameField("looprun", "next_look_at", "next_attempt_at"),
        migrations.AddIndex(
            "provider",
            models.Index(fields=["next_sync_at"], name="provider_due", condition=models.Q(is_enabled=True)),
        ),
        migrations.AddIndex(
            "transfer",
            models.Index(
                fields=["status", "next_attempt_at"],
                name="transfer_unfinished",
                condition=models.Q(status__in=["requested", "approved", "sending", "sent"]),
            ),
        ),
        migrations.RunPython(name_fingerprint, name_sighting),
    ]
