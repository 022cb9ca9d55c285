"""How many record sets, claims and findings there are, in a table of its own; and indexes for two filters."""

import django.db.models.deletion
import django.db.models.functions.comparison
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

_COUNTED = (
    ("record_set", "registry_app_recordset", "record_type", "state", ""),
    ("claim", "registry_app_claim", "record_type", "verdict", ""),
    ("finding", "registry_app_finding", "kind", "state", ", severity"),
)


def count_rows(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Count what is there."""
    for noun, table, kind, state, severity in _COUNTED:
        columns = f"provider_id, owner_id, {kind}, {state}{severity}"
        schema_editor.execute(
            "INSERT INTO registry_app_keptcount (noun, provider_id, owner_id, type, state, severity, amount) "  # noqa: S608 - names of our own
            f"SELECT '{noun}', {columns}{'' if severity else ', 0'}, COUNT(*) FROM {table} GROUP BY {columns}"
        )


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0030_txt_copies"),
    ]

    operations = [
        migrations.CreateModel(
            name="KeptCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "noun",
                    models.CharField(
                        choices=[("record_set", "record sets"), ("claim", "claims"), ("finding", "findings")],
                        max_length=10,
                    ),
                ),
                ("type", models.CharField(blank=True, default="", max_length=30)),
                ("state", models.CharField(max_length=12)),
                ("severity", models.PositiveSmallIntegerField(default=0, help_text="Of findings.")),
                ("amount", models.BigIntegerField()),
            ],
            options={
                "ordering": ("noun", "id"),
            },
        ),
        migrations.RemoveIndex(
            model_name="recordset",
            name="record_set_by_owner",
        ),
        migrations.RemoveIndex(
            model_name="recordset",
            name="record_set_not_owned",
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(
                condition=models.Q(("state", "resolved"), _negated=True),
                fields=["-severity", "-id", "kind", "provider"],
                name="finding_unresolved",
            ),
        ),
        migrations.AddIndex(
            model_name="recordset",
            index=models.Index(
                fields=["owner", "name", "provider", "record_type"], name="record_set_by_owner"
            ),
        ),
        migrations.AddIndex(
            model_name="recordset",
            index=models.Index(fields=["record_type", "name", "provider"], name="record_set_by_type"),
        ),
        migrations.AddIndex(
            model_name="recordset",
            index=models.Index(
                condition=models.Q(("state", "owned"), _negated=True),
                fields=["state", "name", "provider", "record_type"],
                name="record_set_not_owned",
            ),
        ),
        migrations.AddField(
            model_name="keptcount",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="kept_counts",
                to="registry_app.owner",
            ),
        ),
        migrations.AddField(
            model_name="keptcount",
            name="provider",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="kept_counts",
                to="registry_app.provider",
            ),
        ),
        migrations.AddIndex(
            model_name="keptcount",
            index=models.Index(fields=["noun", "provider"], name="kept_count_by_provider"),
        ),
        migrations.AddIndex(
            model_name="keptcount",
            index=models.Index(fields=["noun", "owner"], name="kept_count_by_owner"),
        ),
        migrations.AddConstraint(
            model_name="keptcount",
            constraint=models.UniqueConstraint(
                models.F("noun"),
                django.db.models.functions.comparison.Coalesce("provider", 0),
                django.db.models.functions.comparison.Coalesce("owner", 0),
                models.F("type"),
                models.F("state"),
                models.F("severity"),
                name="kept_count_once",
            ),
        ),
        migrations.RunPython(count_rows, migrations.RunPython.noop),
    ]
