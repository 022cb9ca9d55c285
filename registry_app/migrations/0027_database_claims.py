"""Registries whose claims are rows of this database."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def set_byte_order(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """As 0002 did it for the names that were there then."""
    if schema_editor.connection.vendor != "postgresql":
        return
    model = apps.get_model("registry_app", "DatabaseClaim")
    kind = model._meta.get_field("name").db_type(schema_editor.connection)
    schema_editor.execute(f'ALTER TABLE "{model._meta.db_table}" ALTER COLUMN "name" TYPE {kind} COLLATE "C"')


class Migration(migrations.Migration):
    dependencies = [("registry_app", "0026_both_sides_agree")]

    operations = [
        migrations.AddField(
            model_name="registryprofile",
            name="claims_version",
            field=models.CharField(
                blank=True,
                default="",
                editable=False,
                help_text="Another one after each change of its claims in the database.",
                max_length=32,
            ),
        ),
        migrations.AddField(
            model_name="registryprofile",
            name="exported_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="registryprofile",
            name="export_error",
            field=models.CharField(blank=True, default="", editable=False, max_length=500),
        ),
        migrations.AlterField(
            model_name="registryprofile",
            name="kind",
            field=models.CharField(
                choices=[
                    ("txt", "TXT"),
                    ("configmap", "ConfigMap"),
                    ("crd", "DNSRecord objects (crd)"),
                    ("dynamodb", "DynamoDB"),
                    ("aws-sd", "AWS Service Discovery (descriptions)"),
                    ("database", "Database (behind the guard)"),
                    ("noop", "None (noop)"),
                ],
                default="txt",
                max_length=12,
            ),
        ),
        migrations.CreateModel(
            name="DatabaseClaim",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=253)),
                ("record_type", models.CharField(max_length=20)),
                ("set_identifier", models.CharField(blank=True, default="", max_length=255)),
                ("owner_id", models.CharField(max_length=255)),
                ("text", models.TextField()),
                ("meant_targets", models.JSONField(blank=True, null=True)),
                ("writes_legacy", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                (
                    "registry_profile",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="database_claims",
                        to="registry_app.registryprofile",
                    ),
                ),
            ],
            options={
                "ordering": ("name", "id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("meant_targets__isnull", False)),
                        fields=["changed_at"],
                        name="database_claim_intents",
                    ),
                    models.Index(
                        condition=models.Q(("writes_legacy", True)),
                        fields=["registry_profile", "owner_id"],
                        name="database_claim_legacy",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("registry_profile", "name", "record_type", "set_identifier"),
                        name="database_claim_once",
                    )
                ],
            },
        ),
        migrations.RunPython(set_byte_order, migrations.RunPython.noop),
    ]
