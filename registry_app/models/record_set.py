"""RecordSet: an endpoint at rest in the mirror."""

from django.db import models

from registry_app.models.owner import Owner
from registry_app.models.provider import Provider


class OwnershipState(models.TextChoices):
    """The values of providers.registries.claim.OwnershipState, with words for people."""

    OWNED = "owned", "Owned"
    UNMANAGED = "unmanaged", "Unmanaged"
    CONFLICT = "conflict", "Conflict"
    UNKNOWN = "unknown", "Unknown"


class RecordSet(models.Model):
    """One record set of one provider, and whose it is. Written only by reconcile (I2).

    `name` is canonical; `name_reversed` is its labels reversed, so that a suffix is a prefix scan.
    `digest` (16 bytes) covers everything that is compared at a sync. A missing one keeps its last values.
    `beliefs` say which registry profile finds which owner, and where:
    {"profile_id": <null: ExternalDNS's default settings>, "owner", "source": "claim" or "label", "place"}.
    They are empty where every claim is obeyed and all name one owner.
    """

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="record_sets")
    name = models.CharField(max_length=253)
    name_reversed = models.CharField(max_length=253)
    record_type = models.CharField(max_length=20)
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    targets = models.JSONField(default=list)
    ttl = models.PositiveBigIntegerField(default=0, help_text="Seconds; 0 is not configured.")
    provider_specific = models.JSONField(default=list, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=OwnershipState.choices)
    owner = models.ForeignKey(
        Owner, null=True, blank=True, on_delete=models.PROTECT, related_name="record_sets", db_index=False
    )
    resource = models.TextField(blank=True, default="", help_text="kind/namespace/name in the cluster.")
    beliefs = models.JSONField(default=list, blank=True)
    digest = models.BinaryField(max_length=16)
    first_seen_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    missing_since = models.DateTimeField(null=True, blank=True)
    missing_snapshots = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("name", "id")
        indexes = [
            models.Index(fields=["name", "id"], name="record_set_by_name"),
            models.Index(fields=["name_reversed"], name="record_set_by_suffix"),
            # What follows the name narrows by a second filter without a look at the row.
            models.Index(fields=["owner", "name", "provider", "record_type"], name="record_set_by_owner"),
            models.Index(fields=["record_type", "name", "provider"], name="record_set_by_type"),
            models.Index(fields=["changed_at"], name="record_set_by_change"),
            models.Index(
                fields=["state", "name", "provider", "record_type"],
                name="record_set_not_owned",
                condition=~models.Q(state="owned"),
            ),
            models.Index(
                fields=["provider", "missing_since"],
                name="record_set_missing",
                condition=models.Q(missing_since__isnull=False),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "name", "record_type", "set_identifier"], name="record_set_once"
            ),
            models.CheckConstraint(
                name="record_set_owner_iff_owned",
                condition=models.Q(state="owned", owner__isnull=False)
                | (~models.Q(state="owned") & models.Q(owner__isnull=True)),
            ),
            models.CheckConstraint(
                name="record_set_state_known", condition=models.Q(state__in=OwnershipState.values)
            ),
        ]

    def __str__(self) -> str:
        identifier = f" ({self.set_identifier})" if self.set_identifier else ""
        return f"{self.name} {self.record_type}{identifier}"
