"""DatabaseClaim: one claim of a registry profile whose store is this database."""

from django.db import models
from django.db.models import Q

from registry_app.models.registry_profile import RegistryProfile


class DatabaseClaim(models.Model):
    """Whose one record set is, by one registry profile: there is one row for each record set.

    `text` has all labels as a heritage text without quotes; `owner_id` repeats the owner in it. With
    `meant_targets` it is an intent: it was written before its record set, and counts only if that has just
    these targets. `writes_legacy`: its instance writes a claim without the record type as well, as
    ExternalDNS did before 0.16, and looks for it.
    """

    registry_profile = models.ForeignKey(
        RegistryProfile, on_delete=models.PROTECT, related_name="database_claims", db_index=False
    )
    name = models.CharField(max_length=253)
    record_type = models.CharField(max_length=20)
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    owner_id = models.CharField(max_length=255)
    text = models.TextField()
    meant_targets = models.JSONField(null=True, blank=True)
    writes_legacy = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["registry_profile", "name", "record_type", "set_identifier"],
                name="database_claim_once",
            )
        ]
        indexes = [
            models.Index(
                fields=["changed_at"],
                name="database_claim_intents",
                condition=Q(meant_targets__isnull=False),
            ),
            models.Index(
                fields=["registry_profile", "owner_id"],
                name="database_claim_legacy",
                condition=Q(writes_legacy=True),
            ),
        ]

    def __str__(self) -> str:
        identifier = f" ({self.set_identifier})" if self.set_identifier else ""
        return f"{self.name} {self.record_type}{identifier} of {self.owner_id}"
