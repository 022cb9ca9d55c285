"""The approval policy that both sides agree, and the first of two consents."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0025_guard"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="handover",
            name="consent_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="handover",
            name="consent_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="handover",
            name="consent_by_issuer",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="handover",
            name="consent_by_name",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AddField(
            model_name="handover",
            name="consent_side",
            field=models.CharField(
                blank=True, choices=[("giver", "gives"), ("taker", "takes")], default="", max_length=5
            ),
        ),
        migrations.AddField(
            model_name="transfer",
            name="consent_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="transfer",
            name="consent_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="transfer",
            name="consent_by_issuer",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="transfer",
            name="consent_by_name",
            field=models.CharField(blank=True, default="", max_length=200),
        ),
        migrations.AddField(
            model_name="transfer",
            name="consent_side",
            field=models.CharField(
                blank=True, choices=[("giver", "gives"), ("taker", "takes")], default="", max_length=5
            ),
        ),
        migrations.AlterField(
            model_name="approvalchange",
            name="from_policy",
            field=models.CharField(
                choices=[
                    ("none", "No approval"),
                    ("other_person", "Another person approves"),
                    ("both_sides", "Both sides agree"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="approvalchange",
            name="to_policy",
            field=models.CharField(
                choices=[
                    ("none", "No approval"),
                    ("other_person", "Another person approves"),
                    ("both_sides", "Both sides agree"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="handover",
            name="approval_policy",
            field=models.CharField(
                choices=[
                    ("none", "No approval"),
                    ("other_person", "Another person approves"),
                    ("both_sides", "Both sides agree"),
                ],
                max_length=12,
            ),
        ),
        migrations.AlterField(
            model_name="provider",
            name="approval_policy",
            field=models.CharField(
                choices=[
                    ("none", "No approval"),
                    ("other_person", "Another person approves"),
                    ("both_sides", "Both sides agree"),
                ],
                default="other_person",
                help_text="A looser policy takes effect when another administrator confirms it, or after a day if there is no other administrator. It also applies to large runs of loops.",
                max_length=12,
                verbose_name="approval",
            ),
        ),
        migrations.AlterField(
            model_name="transfer",
            name="approval_policy",
            field=models.CharField(
                choices=[
                    ("none", "No approval"),
                    ("other_person", "Another person approves"),
                    ("both_sides", "Both sides agree"),
                ],
                max_length=12,
            ),
        ),
        migrations.AddConstraint(
            model_name="handover",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("consent_at__isnull", True), ("consent_side", "")),
                    models.Q(
                        ("approval_policy", "both_sides"),
                        models.Q(("consent_side", ""), _negated=True),
                        ("consent_at__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="hand_over_consent_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="handover",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("approval_policy", "both_sides"), _negated=True),
                    ("approved_at__isnull", True),
                    ("consent_at__isnull", False),
                    _connector="OR",
                ),
                name="hand_over_both_sides_consent",
            ),
        ),
        migrations.AddConstraint(
            model_name="handover",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("approval_policy", "both_sides"), _negated=True),
                    ("approved_by__isnull", True),
                    ("consent_by__isnull", True),
                    models.Q(
                        models.Q(("approved_by", models.F("consent_by")), _negated=True),
                        models.Q(("approved_by", models.F("consent_by_issuer")), _negated=True),
                        models.Q(("approved_by_issuer", models.F("consent_by")), _negated=True),
                        models.Q(("approved_by_issuer", models.F("consent_by_issuer")), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="hand_over_consents_of_two_people",
            ),
        ),
        migrations.AddConstraint(
            model_name="transfer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("consent_at__isnull", True), ("consent_side", "")),
                    models.Q(
                        ("approval_policy", "both_sides"),
                        models.Q(("consent_side", ""), _negated=True),
                        ("consent_at__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="transfer_consent_is_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="transfer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("approval_policy", "both_sides"), _negated=True),
                    ("approved_at__isnull", True),
                    ("consent_at__isnull", False),
                    _connector="OR",
                ),
                name="transfer_both_sides_consent",
            ),
        ),
        migrations.AddConstraint(
            model_name="transfer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("approval_policy", "both_sides"), _negated=True),
                    ("approved_by__isnull", True),
                    ("consent_by__isnull", True),
                    models.Q(
                        models.Q(("approved_by", models.F("consent_by")), _negated=True),
                        models.Q(("approved_by", models.F("consent_by_issuer")), _negated=True),
                        models.Q(("approved_by_issuer", models.F("consent_by")), _negated=True),
                        models.Q(("approved_by_issuer", models.F("consent_by_issuer")), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="transfer_consents_of_two_people",
            ),
        ),
    ]
