"""The items of a transfer are found by their batch."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry_app", "0028_why_all_was_read")]

    operations = [
        migrations.AlterField(
            model_name="transferitem",
            name="transfer",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="items",
                to="registry_app.transfer",
            ),
        ),
        migrations.AddIndex(
            model_name="transferitem",
            index=models.Index(fields=["transfer", "batch", "ordinal"], name="transfer_item_by_batch"),
        ),
    ]
