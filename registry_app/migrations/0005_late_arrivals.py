"""Until when syncs look whether a failed transfer arrives late."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0004_whole_names"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="transfer",
            name="watch_until",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="It ended as failed: until then syncs look whether what was sent arrives late.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="transfer",
            name="watched_at",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="The snapshot that was looked at last for that.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="transferitem",
            name="status",
            field=models.CharField(
                choices=[
                    ("pending", "Pending"),
                    ("sending", "Sending"),
                    ("verified", "Verified"),
                    ("failed", "Failed (read back as before)"),
                    ("stale", "Stale (nothing was sent)"),
                    ("needs_operator", "Needs an operator"),
                ],
                default="pending",
                max_length=14,
            ),
        ),
        migrations.AddIndex(
            model_name="transfer",
            index=models.Index(
                condition=models.Q(("status", "failed"), ("watch_until__isnull", False)),
                fields=["watch_until", "provider"],
                name="transfer_watched",
            ),
        ),
    ]
