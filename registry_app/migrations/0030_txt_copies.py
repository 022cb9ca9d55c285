"""TXT records that repeat claims of the database, and what the guard keeps."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry_app", "0029_transfer_items_by_batch"),
    ]

    operations = [
        migrations.AddField(
            model_name="registryprofile",
            name="keeps_txt",
            field=models.BooleanField(
                default=False,
                help_text="Database: the zone has a TXT record for each claim as well, as a copy. The claim in the database decides.",
                verbose_name="keep the TXT records too",
            ),
        ),
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
                    ("encrypted_otherwise", "Claim encrypted differently than ExternalDNS does"),
                    ("superseded_claim", "Legacy-format claim beside a new one"),
                    ("obsolete_claim", "Obsolete cname- claim of an alias"),
                    ("unheard_claim", "Claim that ExternalDNS ignores"),
                    ("owner_in_labels", "Owner named only by the provider's label"),
                    ("parts_differ", "Endpoints of one record set that differ"),
                    ("txt_name_too_long", "TXT name that cannot exist"),
                    ("split_owner", "A and AAAA split between owners"),
                    ("cname_beside_others", "CNAME beside other types"),
                    ("flapping", "Record set flapping"),
                    ("provider_failing", "Provider failing or silent"),
                    ("snapshot_held", "Snapshot held"),
                    ("filter_matches_all", "Domain filter that matches everything"),
                    ("set_aside", "Record set aside"),
                    ("wrong_content_type", "Wrong content type"),
                    ("second_reading", "Name that can be read in two ways"),
                    ("changed_back", "Ownership changed back after a transfer"),
                    ("deleted_after_transfer", "Record deleted after a transfer"),
                    ("copy_differs", "TXT copy that differs from its claim"),
                    ("export_failed", "Export of claims that failed"),
                    ("registry_drift", "Registry that differs from its provider"),
                    ("transfer_stuck", "Transfer needs an operator"),
                    ("approval_loosened", "Looser approval policy is pending"),
                    ("loop_stuck", "Loop that does not reach the desired state"),
                    ("shared_owner", "Owner id shared by several instances"),
                    ("duplicate_provider", "Provider registered twice"),
                    ("database_restored", "Restored: nothing is sent until a snapshot is accepted"),
                    ("clock_off", "Worker with a wrong clock"),
                    ("duplicate_owner", "Owner id of instances that want different things"),
                    ("foreign_claim", "Instance that signs with another owner id"),
                    ("changed_outside", "Change that did not pass the guard"),
                    ("readings_differ", "Partial and whole sync differ"),
                ],
                max_length=30,
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
                    ("kept", "Kept by the guard"),
                ],
                max_length=14,
            ),
        ),
    ]
