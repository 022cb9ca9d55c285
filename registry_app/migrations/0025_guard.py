"""The guard, hand-overs, freezes of names, and contention."""

import django.core.validators
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


_NAME_COLUMNS = {
    "DesiredEndpoint": ("name", "name_reversed"),
    "Contention": ("name", "name_reversed"),
}


def set_byte_order(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """As 0002 did it for the names that were there then."""
    if schema_editor.connection.vendor != "postgresql":
        return
    for model_name, columns in _NAME_COLUMNS.items():
        model = apps.get_model("registry_app", model_name)
        for column in columns:
            kind = model._meta.get_field(column).db_type(schema_editor.connection)
            schema_editor.execute(
                f'ALTER TABLE "{model._meta.db_table}" ALTER COLUMN "{column}" TYPE {kind} COLLATE "C"'
            )


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "__first__"),
        ("registry_app", "0024_kinds_of_elements"),
    ]

    operations = [
        migrations.AddField(
            model_name="freeze",
            name="kind",
            field=models.CharField(
                choices=[
                    ("freeze", "Freeze: no instance, transfer or loop changes anything"),
                    ("pin", "Pin: instances change nothing; transfers and loops may"),
                ],
                default="freeze",
                max_length=6,
            ),
        ),
        migrations.AddField(
            model_name="freeze",
            name="name_suffixes",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="Suffixes, as in a domain filter: .example.org is only below it.",
            ),
        ),
        migrations.AddField(
            model_name="freeze",
            name="names",
            field=models.JSONField(blank=True, default=list, help_text="Exact names."),
        ),
        migrations.AddField(
            model_name="freeze",
            name="owner",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="freezes",
                to="registry_app.owner",
            ),
        ),
        migrations.AddField(
            model_name="freeze",
            name="window_minutes",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="freeze",
            name="window_start",
            field=models.TimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="freeze",
            name="window_time_zone",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="freeze",
            name="window_use",
            field=models.CharField(
                blank=True,
                choices=[("inside", "Inside its weekly window"), ("outside", "Outside its weekly window")],
                default="",
                max_length=7,
            ),
        ),
        migrations.AddField(
            model_name="freeze",
            name="window_weekdays",
            field=models.JSONField(blank=True, default=list, help_text="On which it begins: mon to sun."),
        ),
        migrations.AddField(
            model_name="provider",
            name="allowed_properties",
            field=models.JSONField(
                blank=True,
                default=list,
                help_text="What instances behind the guard may set, such as alias. Empty: any.",
                verbose_name="allowed provider-specific properties",
            ),
        ),
        migrations.AddField(
            model_name="recordevent",
            name="guard_endpoint",
            field=models.CharField(
                blank=True,
                default="",
                help_text="The slug of the guard endpoint that sent it.",
                max_length=63,
            ),
        ),
        migrations.AddField(
            model_name="recordevent",
            name="loop_run_id",
            field=models.PositiveBigIntegerField(null=True),
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
        migrations.AddConstraint(
            model_name="freeze",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("window_use", ""),
                    models.Q(("window_minutes__gt", 0), ("window_start__isnull", False)),
                    _connector="OR",
                ),
                name="freeze_window_is_whole",
            ),
        ),
        migrations.CreateModel(
            name="GuardEndpoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "slug",
                    models.CharField(
                        help_text="The path of its address: http://guard:8888/<slug>.",
                        max_length=63,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\Z",
                                "Use lower-case letters, digits and hyphens; begin and end with a letter or digit.",
                            )
                        ],
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="guard_endpoints",
                        to="registry_app.provider",
                    ),
                ),
                (
                    "instance",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="guard_endpoints",
                        to="registry_app.instance",
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("observe", "Observe (everything is sent, and what enforce would stop is shown)"),
                            ("enforce", "Enforce (the instance changes only what is its own)"),
                            ("dry_run", "Dry run (nothing is sent to the provider)"),
                            ("paused", "Paused (the instance changes nothing)"),
                        ],
                        default="observe",
                        max_length=8,
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="HTTP Basic. ExternalDNS writes the user name and password of its URL into its log.",
                        max_length=100,
                    ),
                ),
                ("password_hash", models.CharField(blank=True, default="", editable=False, max_length=64)),
                (
                    "networks",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="CIDR networks the instance may come from. Empty: any.",
                    ),
                ),
                (
                    "deadline_seconds",
                    models.PositiveIntegerField(
                        default=15,
                        help_text="--webhook-provider-read-timeout and --webhook-provider-write-timeout together.",
                        validators=[
                            django.core.validators.MinValueValidator(2),
                            django.core.validators.MaxValueValidator(600),
                        ],
                        verbose_name="deadline (seconds)",
                    ),
                ),
                (
                    "max_body_bytes",
                    models.PositiveBigIntegerField(
                        default=33554432,
                        help_text="--webhook-provider-max-body-size",
                        validators=[
                            django.core.validators.MinValueValidator(65536),
                            django.core.validators.MaxValueValidator(1073741824),
                        ],
                        verbose_name="largest body (bytes)",
                    ),
                ),
                (
                    "has_own_view",
                    models.BooleanField(
                        default=False,
                        help_text="The instance reads and manages only names that match the name patterns of its owner. Restart the instance after a change: it asks for its filter when it starts.",
                        verbose_name="reads the names of its owner alone",
                    ),
                ),
                (
                    "refuses_batch",
                    models.BooleanField(
                        default=False,
                        help_text="If one change is refused or held, nothing is sent and the instance gets 503.",
                        verbose_name="refuses the whole change set",
                    ),
                ),
                (
                    "shared_names",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="Suffixes of names at which the instance may have record sets with a set identifier beside another owner's. The guard endpoint of the other owner has to list them too.",
                    ),
                ),
                (
                    "delete_percent",
                    models.PositiveIntegerField(
                        default=30,
                        help_text="Of the record sets of its owner at this provider, if there are 10 or more.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(100),
                        ],
                        verbose_name="holds deletes above (percent)",
                    ),
                ),
                (
                    "most_deletes",
                    models.PositiveIntegerField(
                        default=500,
                        validators=[django.core.validators.MinValueValidator(1)],
                        verbose_name="holds deletes above (number)",
                    ),
                ),
                (
                    "window_seconds",
                    models.PositiveIntegerField(
                        default=3600,
                        help_text="Deletes and retargets of this time count together.",
                        validators=[
                            django.core.validators.MinValueValidator(60),
                            django.core.validators.MaxValueValidator(604800),
                        ],
                        verbose_name="counts deletes within (seconds)",
                    ),
                ),
                ("first_changes_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "ordering": ("slug",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("provider", "instance"),
                        name="guard_endpoint_once",
                        violation_error_message="The instance has a guard endpoint at this provider.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("password_hash", ""), ("username", "")),
                            models.Q(
                                models.Q(("username", ""), _negated=True),
                                models.Q(("password_hash", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="guard_endpoint_credential_whole",
                    ),
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="DesiredSet",
            fields=[
                (
                    "guard_endpoint",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="desired_set",
                        serialize=False,
                        to="registry_app.guardendpoint",
                    ),
                ),
                ("digest", models.CharField(max_length=64)),
                ("endpoint_count", models.PositiveIntegerField(default=0)),
                ("set_aside", models.PositiveIntegerField(default=0)),
                ("first_seen_at", models.DateTimeField()),
                ("last_seen_at", models.DateTimeField()),
                ("seen_count", models.PositiveBigIntegerField(default=1)),
                ("interval_seconds", models.PositiveIntegerField(blank=True, null=True)),
            ],
            options={
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="DesiredEndpoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "guard_endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="desired_endpoints",
                        to="registry_app.guardendpoint",
                    ),
                ),
                ("name", models.CharField(max_length=253)),
                ("name_reversed", models.CharField(default="", editable=False, max_length=253)),
                ("record_type", models.CharField(max_length=20)),
                ("set_identifier", models.CharField(blank=True, default="", max_length=255)),
                ("targets", models.JSONField(default=list)),
                ("ttl", models.PositiveBigIntegerField(default=0, help_text="Seconds; 0 is not configured.")),
                (
                    "provider_specific",
                    models.JSONField(blank=True, default=list, help_text="[[name, value], ...]"),
                ),
                (
                    "resource",
                    models.TextField(blank=True, default="", help_text="kind/namespace/name in the cluster."),
                ),
                ("first_seen_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("name", "id"),
                "indexes": [
                    models.Index(fields=["name", "guard_endpoint"], name="desired_endpoint_by_name"),
                    models.Index(fields=["name_reversed"], name="desired_endpoint_by_suffix"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("guard_endpoint", "name", "record_type", "set_identifier"),
                        name="desired_endpoint_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GuardCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "guard_endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="counts",
                        to="registry_app.guardendpoint",
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("refused", "Refused"),
                            ("held", "Held"),
                            ("would_refuse", "Enforce would refuse it"),
                            ("would_hold", "Enforce would hold it"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "rule",
                    models.CharField(
                        choices=[
                            ("foreign_name", "The name is another owner's, or nobody's (G1)"),
                            ("not_owner", "The record set is not its own (G2)"),
                            ("changed_since", "The record set is not as the instance read it (G3)"),
                            ("ambiguous", "The change set asks for two things at one record set (G4)"),
                            ("claim", "A claim that is not its own, or not exact (G5)"),
                            ("shadows", "It would cover a name of another owner (G6)"),
                            ("foreign_set", "Another set identifier at a name of another owner (G7)"),
                            ("property", "A provider-specific property that is not allowed (G8)"),
                            (
                                "outside",
                                "The name is outside the filter of the provider or the patterns of the owner (G9)",
                            ),
                            ("name_in_use", "A CNAME and another type at one name"),
                            ("frozen", "The name is frozen or pinned"),
                            ("delete_share", "It deletes a large share of what it owns (G10)"),
                            ("delete_count", "It deletes many record sets (G10)"),
                            ("delete_all", "It deletes everything it owns (G10)"),
                            ("first_contact", "It deletes in its first change set (G10)"),
                            ("empty_set", "It deletes after it wanted nothing (G10)"),
                            ("hand_over", "It deletes what is being handed over"),
                        ],
                        max_length=20,
                    ),
                ),
                ("count", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "ordering": ("guard_endpoint", "outcome", "rule"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("guard_endpoint", "outcome", "rule"), name="guard_count_once"
                    )
                ],
                "indexes": [],
            },
        ),
        migrations.CreateModel(
            name="GuardDecision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "guard_endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="registry_app.guardendpoint",
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("refused", "Refused"),
                            ("held", "Held"),
                            ("would_refuse", "Enforce would refuse it"),
                            ("would_hold", "Enforce would hold it"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "rule",
                    models.CharField(
                        choices=[
                            ("foreign_name", "The name is another owner's, or nobody's (G1)"),
                            ("not_owner", "The record set is not its own (G2)"),
                            ("changed_since", "The record set is not as the instance read it (G3)"),
                            ("ambiguous", "The change set asks for two things at one record set (G4)"),
                            ("claim", "A claim that is not its own, or not exact (G5)"),
                            ("shadows", "It would cover a name of another owner (G6)"),
                            ("foreign_set", "Another set identifier at a name of another owner (G7)"),
                            ("property", "A provider-specific property that is not allowed (G8)"),
                            (
                                "outside",
                                "The name is outside the filter of the provider or the patterns of the owner (G9)",
                            ),
                            ("name_in_use", "A CNAME and another type at one name"),
                            ("frozen", "The name is frozen or pinned"),
                            ("delete_share", "It deletes a large share of what it owns (G10)"),
                            ("delete_count", "It deletes many record sets (G10)"),
                            ("delete_all", "It deletes everything it owns (G10)"),
                            ("first_contact", "It deletes in its first change set (G10)"),
                            ("empty_set", "It deletes after it wanted nothing (G10)"),
                            ("hand_over", "It deletes what is being handed over"),
                        ],
                        max_length=20,
                    ),
                ),
                ("name", models.CharField(max_length=253)),
                ("set_identifier", models.CharField(blank=True, default="", max_length=255)),
                (
                    "asked",
                    models.CharField(help_text="What the instance asked for, in words.", max_length=500),
                ),
                ("reason", models.CharField(max_length=500)),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("count", models.PositiveBigIntegerField(default=1)),
            ],
            options={
                "ordering": ("-last_at", "-id"),
                "indexes": [
                    models.Index(fields=["guard_endpoint", "-last_at"], name="guard_decision_latest")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("guard_endpoint", "name", "set_identifier", "rule", "outcome"),
                        name="guard_decision_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GuardStep",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("status", models.CharField(default="stored", max_length=14)),
                ("change_set", models.TextField(help_text="The exact body, as JSON text.")),
                ("body_digest", models.CharField(max_length=64)),
                ("epoch", models.PositiveBigIntegerField()),
                ("stored_at", models.DateTimeField()),
                ("answered_at", models.DateTimeField(blank=True, null=True)),
                (
                    "answer",
                    models.TextField(
                        blank=True, default="", help_text="The provider's response, in dnsadmin's words."
                    ),
                ),
                ("read_back_at", models.DateTimeField(blank=True, null=True)),
                (
                    "guard_endpoint",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="steps",
                        to="registry_app.guardendpoint",
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="guard_steps",
                        to="registry_app.provider",
                    ),
                ),
                (
                    "registry_profile",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="guard_steps",
                        to="registry_app.registryprofile",
                    ),
                ),
                (
                    "slug",
                    models.CharField(
                        help_text="The guard endpoint, also after it was deleted.", max_length=63
                    ),
                ),
                ("items", models.JSONField(default=list)),
                ("deletes", models.PositiveIntegerField(default=0)),
                ("retargets", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ("-id",),
                "indexes": [
                    models.Index(fields=["guard_endpoint", "stored_at"], name="guard_step_by_time"),
                    models.Index(
                        condition=models.Q(("status__in", ["stored", "sending", "answered", "unknown"])),
                        fields=["provider"],
                        name="guard_step_unsettled",
                    ),
                ],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="HeldDelete",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "guard_endpoint",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="held_deletes",
                        to="registry_app.guardendpoint",
                    ),
                ),
                ("name", models.CharField(max_length=253)),
                ("set_identifier", models.CharField(blank=True, default="", max_length=255)),
                ("record_types", models.JSONField(default=list)),
                (
                    "rule",
                    models.CharField(
                        choices=[
                            ("foreign_name", "The name is another owner's, or nobody's (G1)"),
                            ("not_owner", "The record set is not its own (G2)"),
                            ("changed_since", "The record set is not as the instance read it (G3)"),
                            ("ambiguous", "The change set asks for two things at one record set (G4)"),
                            ("claim", "A claim that is not its own, or not exact (G5)"),
                            ("shadows", "It would cover a name of another owner (G6)"),
                            ("foreign_set", "Another set identifier at a name of another owner (G7)"),
                            ("property", "A provider-specific property that is not allowed (G8)"),
                            (
                                "outside",
                                "The name is outside the filter of the provider or the patterns of the owner (G9)",
                            ),
                            ("name_in_use", "A CNAME and another type at one name"),
                            ("frozen", "The name is frozen or pinned"),
                            ("delete_share", "It deletes a large share of what it owns (G10)"),
                            ("delete_count", "It deletes many record sets (G10)"),
                            ("delete_all", "It deletes everything it owns (G10)"),
                            ("first_contact", "It deletes in its first change set (G10)"),
                            ("empty_set", "It deletes after it wanted nothing (G10)"),
                            ("hand_over", "It deletes what is being handed over"),
                        ],
                        max_length=20,
                    ),
                ),
                ("reason", models.CharField(max_length=500)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("held", "Held"),
                            ("released", "Released: the instance may delete it"),
                            ("kept", "Kept: the instance may not delete it"),
                            ("deleted", "Deleted"),
                            ("wanted", "Wanted again"),
                        ],
                        default="held",
                        max_length=8,
                    ),
                ),
                ("asked_at", models.DateTimeField()),
                ("last_asked_at", models.DateTimeField()),
                ("count", models.PositiveBigIntegerField(default=1)),
                ("decided_by", models.CharField(blank=True, default="", max_length=200)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("decision_reason", models.TextField(blank=True, default="")),
            ],
            options={
                "ordering": ("-last_asked_at", "name", "id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("status__in", ["held", "kept"])),
                        fields=["guard_endpoint", "status", "name"],
                        name="held_delete_stopping",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("guard_endpoint", "name", "set_identifier"), name="held_delete_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="HandOver",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="hand_overs",
                        to="registry_app.provider",
                    ),
                ),
                (
                    "from_owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="hand_overs_from",
                        to="registry_app.owner",
                    ),
                ),
                (
                    "to_owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="hand_overs_to",
                        to="registry_app.owner",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("requested", "Requested"),
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("finished", "Finished"),
                            ("ended", "Ended before all names moved"),
                            ("rejected", "Rejected"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="requested",
                        max_length=10,
                    ),
                ),
                ("status_reason", models.TextField(blank=True, default="")),
                ("reason", models.TextField()),
                ("ticket", models.CharField(blank=True, default="", max_length=200)),
                (
                    "allowed_verdicts",
                    models.JSONField(
                        default=list,
                        help_text="What the next sync of the new owner may do to a record set that moves.",
                    ),
                ),
                ("fingerprint", models.CharField(max_length=64)),
                (
                    "approval_policy",
                    models.CharField(
                        choices=[("none", "No approval"), ("other_person", "Another person approves")],
                        max_length=12,
                    ),
                ),
                ("wave", models.PositiveIntegerField(default=1)),
                ("wave_count", models.PositiveIntegerField(default=1)),
                ("ends_at", models.DateTimeField()),
                ("next_run_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "requested_by_issuer",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("requested_by_name", models.CharField(max_length=200)),
                (
                    "approved_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "approved_by_issuer",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("approved_by_name", models.CharField(blank=True, default="", max_length=200)),
                ("approved_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "hand-over",
                "ordering": ("-id",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("status__in", ["requested", "running", "paused"])),
                        fields=["provider", "status"],
                        name="hand_over_open",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("from_owner", models.F("to_owner")), _negated=True),
                        name="hand_over_owners_differ",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("approval_policy", "other_person"), _negated=True),
                            ("approved_by__isnull", True),
                            ("requested_by__isnull", True),
                            models.Q(("approved_by", models.F("requested_by")), _negated=True),
                            _connector="OR",
                        ),
                        name="hand_over_requester_never_approves",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="HandOverItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "hand_over",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="registry_app.handover",
                    ),
                ),
                ("name", models.CharField(max_length=253)),
                ("wave", models.PositiveIntegerField(default=1)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting until the new owner wants it"),
                            ("moving", "Moving"),
                            ("moved", "Moved"),
                            ("serving", "Serving what the new owner wants"),
                            ("blocked", "Blocked"),
                            ("failed", "Failed; resume the hand-over to try again"),
                            ("gone", "No longer the old owner's"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("reason", models.TextField(blank=True, default="")),
                (
                    "transfer",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="hand_over_items",
                        to="registry_app.transfer",
                    ),
                ),
                ("changed_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("wave", "name", "id"),
                "indexes": [
                    models.Index(fields=["hand_over", "state"], name="hand_over_item_by_state"),
                    models.Index(fields=["name"], name="hand_over_item_by_name"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("hand_over", "name"), name="hand_over_item_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Contention",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "provider",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="contentions",
                        to="registry_app.provider",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("several_owners", "Wanted by several owners"),
                            ("several_instances", "Wanted by several instances of one owner"),
                            ("owned_by_other", "Wanted by one owner, owned by another"),
                            ("not_owned", "Wanted, and owned by nobody"),
                            ("unwanted", "Owned, and wanted by nobody"),
                            ("absent", "Wanted, and not there"),
                        ],
                        max_length=17,
                    ),
                ),
                ("name", models.CharField(max_length=253)),
                ("name_reversed", models.CharField(max_length=253)),
                ("set_identifier", models.CharField(blank=True, default="", max_length=255)),
                ("record_types", models.JSONField(default=list)),
                ("wanted_by", models.JSONField(default=list)),
                ("owned_by", models.JSONField(default=list)),
                (
                    "is_stale",
                    models.BooleanField(default=False, help_text="A desired set that it rests on is stale."),
                ),
                ("advice", models.TextField(help_text="What solves it.")),
                ("suggestion", models.JSONField(blank=True, default=dict)),
                ("since", models.DateTimeField()),
                ("digest", models.BinaryField(max_length=16)),
            ],
            options={
                "verbose_name_plural": "contention",
                "ordering": ("name", "id"),
                "indexes": [
                    models.Index(fields=["name", "id"], name="contention_by_name"),
                    models.Index(fields=["name_reversed"], name="contention_by_suffix"),
                    models.Index(fields=["kind", "name"], name="contention_by_kind"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("provider", "kind", "name", "set_identifier"), name="contention_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ContentionCheck",
            fields=[
                (
                    "provider",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="contention_check",
                        serialize=False,
                        to="registry_app.provider",
                    ),
                ),
                ("inputs", models.CharField(blank=True, default="", max_length=64)),
                ("computed_at", models.DateTimeField(null=True)),
                ("busy_until", models.DateTimeField(null=True)),
                ("milliseconds", models.PositiveIntegerField(default=0)),
                ("left_out", models.JSONField(default=dict)),
                ("events_seen", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "indexes": [],
                "constraints": [],
            },
        ),
        migrations.CreateModel(
            name="ContentionOwner",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "contention",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="registry_app.contention",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="registry_app.owner",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["owner", "contention"], name="contention_of_owner")],
                "constraints": [
                    models.UniqueConstraint(fields=("contention", "owner"), name="contention_owner_once")
                ],
            },
        ),
        migrations.AddField(
            model_name="contention",
            name="owners",
            field=models.ManyToManyField(
                related_name="contentions", through="registry_app.ContentionOwner", to="registry_app.owner"
            ),
        ),
        migrations.RunPython(set_byte_order, migrations.RunPython.noop),
    ]
