"""Items that nobody picked, and the verdict of a record set that is deleted and not replaced."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0003_provider_url_query"),
    ]

    operations = [
        migrations.AddField(
            model_name="transferitem",
            name="is_added",
            field=models.BooleanField(
                default=False, help_text="Nobody picked it: it is another type at a name that was picked."
            ),
        ),
        migrations.AlterField(
            model_name="transferitem",
            name="verdict",
            field=models.CharField(
                choices=[
                    ("no_op", "Stays as it is"),
                    ("retarget", "Traffic moves"),
                    ("delete", "Deleted"),
                    ("unknown", "Unknown"),
                    ("not_replaced", "Deleted, not replaced"),
                ],
                max_length=14,
            ),
        ),
    ]
