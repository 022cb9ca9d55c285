"""A finding for claims encrypted otherwise than ExternalDNS would."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0016_deleted_rows"),
    ]

    operations = [
        migrations.AlterField(
            model_name="finding",
            name="kind",
            field=models.CharField(
                choices=[
                    ("orphan_claim", "Claim without record"),
                    ("unmanaged_in_pattern", "Record without claim inside an owner's patterns"),
                    ("conflict", "Claims that disagree"),
                    ("unregistered_owner", "Claim of an unregistered owner"),
                    ("unreadable_claim", "Unreadable claim"),
                    ("legacy_claim", "Legacy-format claim"),
                    ("encrypted_otherwise", "Claim encrypted otherwise than ExternalDNS does"),
                    ("superseded_claim", "Legacy-format claim beside a new one"),
                    ("obsolete_claim", "Obsolete cname- claim of an alias"),
                    ("txt_name_too_long", "TXT name that cannot exist"),
                    ("split_owner", "A and AAAA split between owners"),
                    ("cname_beside_others", "CNAME beside other types"),
                    ("flapping", "Record set flapping"),
                    ("provider_failing", "Provider failing or silent"),
                    ("snapshot_held", "Snapshot held"),
                    ("filter_matches_all", "Domain filter that matches everything"),
                    ("set_aside", "Record set aside"),
                    ("wrong_content_type", "Wrong content type"),
                    ("second_reading", "Name with a second reading"),
                    ("changed_back", "Ownership changed back after a transfer"),
                    ("deleted_after_transfer", "Record deleted after a transfer"),
                    ("registry_drift", "Registry that differs from its provider"),
                    ("transfer_stuck", "Transfer needs an operator"),
                    ("loop_stuck", "Loop that does not make what is wanted"),
                ],
                max_length=30,
            ),
        ),
    ]
