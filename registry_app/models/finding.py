"""Finding: something a person should know."""

from django.db import models

from registry_app.models.owner import Owner
from registry_app.models.provider import Provider


class Finding(models.Model):
    """One thing found wrong, kept under a fingerprint so that it is one row however often it is seen.

    `suggestion` is a ready request: {"kind": <transfer kind or "accept_snapshot", "register_owner", ...>,
    ...arguments}, or empty where only a person can know.
    """

    class Kind(models.TextChoices):
        ORPHAN_CLAIM = "orphan_claim", "Claim without record"
        UNMANAGED_IN_PATTERN = "unmanaged_in_pattern", "Record without claim inside an owner's patterns"
        CONFLICT = "conflict", "Claims that disagree"
        UNREGISTERED_OWNER = "unregistered_owner", "Claim of an unregistered owner"
        UNREADABLE_CLAIM = "unreadable_claim", "Unreadable claim"
        LEGACY_CLAIM = "legacy_claim", "Legacy-format claim"
        ENCRYPTED_OTHERWISE = "encrypted_otherwise", "Claim encrypted differently than ExternalDNS does"
        SUPERSEDED_CLAIM = "superseded_claim", "Legacy-format claim beside a new one"
        OBSOLETE_CLAIM = "obsolete_claim", "Obsolete cname- claim of an alias"
        UNHEARD_CLAIM = "unheard_claim", "Claim that ExternalDNS ignores"
        OWNER_IN_LABELS = "owner_in_labels", "Owner named only by the provider's label"
        PARTS_DIFFER = "parts_differ", "Endpoints of one record set that differ"
        TXT_NAME_TOO_LONG = "txt_name_too_long", "TXT name that cannot exist"
        SPLIT_OWNER = "split_owner", "A and AAAA split between owners"
        CNAME_BESIDE_OTHERS = "cname_beside_others", "CNAME beside other types"
        FLAPPING = "flapping", "Record set flapping"
        PROVIDER_FAILING = "provider_failing", "Provider failing or silent"
        SNAPSHOT_HELD = "snapshot_held", "Snapshot held"
        FILTER_MATCHES_ALL = "filter_matches_all", "Domain filter that matches everything"
        SET_ASIDE = "set_aside", "Record set aside"
        WRONG_CONTENT_TYPE = "wrong_content_type", "Wrong content type"
        SECOND_READING = "second_reading", "Name that can be read in two ways"
        CHANGED_BACK = "changed_back", "Ownership changed back after a transfer"
        DELETED_AFTER_TRANSFER = "deleted_after_transfer", "Record deleted after a transfer"
        COPY_DIFFERS = "copy_differs", "TXT copy that differs from its claim"
        EXPORT_FAILED = "export_failed", "Export of claims that failed"
        REGISTRY_DRIFT = "registry_drift", "Registry that differs from its provider"
        TRANSFER_STUCK = "transfer_stuck", "Transfer needs an operator"
        APPROVAL_LOOSENED = "approval_loosened", "Looser approval policy is pending"
        LOOP_STUCK = "loop_stuck", "Loop that does not reach the desired state"
        SHARED_OWNER = "shared_owner", "Owner id shared by several instances"
        DUPLICATE_PROVIDER = "duplicate_provider", "Provider registered twice"
        DATABASE_RESTORED = "database_restored", "Restored: nothing is sent until a snapshot is accepted"
        CLOCK_OFF = "clock_off", "Worker with a wrong clock"
        DUPLICATE_OWNER = "duplicate_owner", "Owner id of instances that want different things"
        FOREIGN_CLAIM = "foreign_claim", "Instance that signs with another owner id"
        CHANGED_OUTSIDE = "changed_outside", "Change that did not pass the guard"
        READINGS_DIFFER = "readings_differ", "Partial and whole sync differ"

    class Severity(models.IntegerChoices):
        INFO = 10, "Info"
        WARNING = 20, "Warning"
        ERROR = 30, "Error"
        CRITICAL = 40, "Critical"

    class State(models.TextChoices):
        OPEN = "open", "Open"
        ACKNOWLEDGED = "acknowledged", "Acknowledged"
        RESOLVED = "resolved", "Resolved"

    fingerprint = models.BinaryField(max_length=16)
    kind = models.CharField(max_length=30, choices=Kind.choices)
    severity = models.PositiveSmallIntegerField(choices=Severity.choices)
    provider = models.ForeignKey(Provider, null=True, on_delete=models.CASCADE, related_name="findings")
    owner = models.ForeignKey(Owner, null=True, on_delete=models.SET_NULL, related_name="findings")
    name = models.CharField(max_length=253, blank=True, default="")
    record_type = models.CharField(max_length=20, blank=True, default="")
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    explanation = models.TextField()
    suggestion = models.JSONField(default=dict, blank=True)
    details = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=12, choices=State.choices, default=State.OPEN)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    occurrences = models.PositiveIntegerField(default=1)
    resolved_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by = models.CharField(max_length=200, blank=True, default="")
    muted_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-severity", "-id")
        indexes = [
            models.Index(fields=["state", "-severity", "-id"], name="finding_open"),
            models.Index(
                fields=["-severity", "-id", "kind", "provider"],
                name="finding_unresolved",
                condition=~models.Q(state="resolved"),
            ),
            models.Index(fields=["provider", "state", "kind"], name="finding_of_provider"),
            models.Index(fields=["provider", "name"], name="finding_of_name"),
        ]
        constraints = [models.UniqueConstraint(fields=["fingerprint"], name="finding_once")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.name or self.provider}"
