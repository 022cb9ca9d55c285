"""Why a sync read all of a response."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0027_database_claims"),
    ]

    operations = [
        migrations.AddField(
            model_name="syncrun",
            name="whole_reading",
            field=models.CharField(
                blank=True,
                choices=[
                    ("first", "It was the first response of this provider"),
                    ("no_index", "The accepted snapshot has no index to compare with"),
                    ("registries", "A registry other than TXT is read, or a profile has both affixes"),
                    ("settings", "Profiles, owners, instances or limits changed, or dnsadmin was upgraded"),
                    ("domain_filter", "The provider negotiated another domain filter"),
                    ("passing_findings", "A finding may have ended by time alone"),
                    ("held_before", "A snapshot was held, and none was stored since"),
                    ("format", "The response is no JSON list, or its media type changed"),
                    ("odd_items", "An item that was set aside, or a TXT name beyond ASCII, came or went"),
                    ("many_items", "Too many items changed, or are linked with those that did"),
                    ("not_counted", "What labels of the provider or items set aside decide is not counted"),
                    ("many_findings", "A kind has more findings than are listed, or may have"),
                    ("implausible", "What changed was implausible"),
                    ("check", "It was time to check what is found by reading only what changed"),
                ],
                default="",
                help_text="Why all items were read. Empty where only those were that changed, or none.",
                max_length=20,
            ),
        ),
    ]
