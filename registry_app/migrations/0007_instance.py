"""Owners get instances: a table for them, and the kinds of findings that tell of what they share."""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0006_deleted_rows"),
    ]

    operations = [
        migrations.CreateModel(
            name="Instance",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="What people call it. Empty: the name of its cluster.", max_length=100
                    ),
                ),
                (
                    "policy",
                    models.CharField(
                        choices=[
                            ("unknown", "Unknown"),
                            ("sync", "sync (deletes what it owns and no longer wants)"),
                            ("upsert-only", "upsert-only (never deletes)"),
                            ("create-only", "create-only (only creates)"),
                        ],
                        default="unknown",
                        help_text="--policy",
                        max_length=12,
                    ),
                ),
                (
                    "domain_include",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="--domain-filter. Empty: every name.",
                        verbose_name="domain filter",
                    ),
                ),
                (
                    "domain_exclude",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="--exclude-domains",
                        verbose_name="excluded domains",
                    ),
                ),
                (
                    "managed_types",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="--managed-record-types, such as A, AAAA, CNAME. Empty: not known.",
                        verbose_name="managed record types",
                    ),
                ),
                (
                    "claim_cache_seconds",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="--txt-cache-interval: for so long it acts on claims it read before. 0: not at all. Empty: not known.",
                        null=True,
                        validators=[django.core.validators.MaxValueValidator(604800)],
                        verbose_name="caches claims for (seconds)",
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="instances",
                        to="registry_app.cluster",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="instances",
                        to="registry_app.owner",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        blank=True,
                        help_text="The provider it writes through. Empty: not known; it counts at every provider.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="instances",
                        to="registry_app.provider",
                    ),
                ),
                (
                    "registry_profile",
                    models.ForeignKey(
                        blank=True,
                        help_text="How it writes its claims. Empty: ExternalDNS's defaults.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="instances",
                        to="registry_app.registryprofile",
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("owner", "name"),
                        name="instance_once",
                        violation_error_message="Its owner has another instance of this name.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="instance_name_not_empty"
                    ),
                ],
            },
        ),
    ]
