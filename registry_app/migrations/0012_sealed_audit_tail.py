"""A seal over the end of the audit trail. The end as it stands is taken for the right one."""

from typing import Any

from django.db import migrations, models

from registry_app.audit import compute_tail_seal


def seal_tail(apps: Any, _schema_editor: Any) -> None:
    for tail in apps.get_model("registry_app", "AuditTail").objects.filter(sequence__gt=0):
        tail.seal = compute_tail_seal(tail.sequence, tail.hash)
        tail.save(update_fields=["seal"])


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0011_restored_database"),
    ]

    operations = [
        migrations.AddField(
            model_name="audittail",
            name="seal",
            field=models.CharField(default="", max_length=64),
        ),
        migrations.RunPython(seal_tail, migrations.RunPython.noop),
    ]
