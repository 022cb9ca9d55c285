"""What instances say is no column of their owner any more."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0008_one_instance_for_each_owner"),
    ]

    operations = [
        migrations.RemoveField(model_name="owner", name="cluster"),
        migrations.RemoveField(model_name="owner", name="policy"),
        migrations.RemoveField(model_name="owner", name="registry_profile"),
    ]
