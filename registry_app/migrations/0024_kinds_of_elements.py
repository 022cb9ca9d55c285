"""A kind for each element of the index of the accepted snapshot.

Indexes without kinds go: the next sync that finds a change reads everything and makes a new one.
"""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def delete_indexes(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("registry_app", "SnapshotIndexChunk").objects.all().delete()
    apps.get_model("registry_app", "SnapshotIndex").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("registry_app", "0023_audit_checkpoints")]

    operations = [
        migrations.RunPython(delete_indexes, delete_indexes),
        migrations.AddField(
            model_name="snapshotindexchunk",
            name="kinds",
            field=models.BinaryField(default=bytes),
        ),
    ]
