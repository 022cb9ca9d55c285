"""AuditEntry: who did what, append-only and chained."""

from django.db import models


class AuditEntry(models.Model):
    """One state change (I15). `hash` is an HMAC over this entry and `previous_hash`; `sequence` has no gaps.

    Written by registry_app.audit alone, in the transaction of the change it records.
    """

    sequence = models.PositiveBigIntegerField(unique=True)
    at = models.DateTimeField(db_index=True)
    actor_kind = models.CharField(max_length=10)
    actor_name = models.CharField(max_length=200)
    action = models.CharField(max_length=60, db_index=True)
    object_type = models.CharField(max_length=40)
    object_id = models.CharField(max_length=64)
    object_label = models.CharField(max_length=300, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    request_id = models.CharField(max_length=64, blank=True, default="")
    previous_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        ordering = ("-sequence",)
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["object_type", "object_id"], name="audit_of_object"),
            # Nearly all entries are of the system: what one person did is found by this alone.
            models.Index(fields=["actor_name", "-sequence"], name="audit_of_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.sequence} {self.action}"


class AuditTail(models.Model):
    """The one row every audited transaction moves on: it makes the chain gapless under concurrency.

    `seal` is an HMAC over both: whoever cuts off the last entries cannot write a tail that fits.
    """

    sequence = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, default="")
    seal = models.CharField(max_length=64, default="")

    class Meta:
        constraints = [models.CheckConstraint(name="audit_tail_single", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"audit tail at {self.sequence}"


class AuditCheckpoint(models.Model):
    """Up to which entry the trail was exported, so that it could be deleted up to there. The last one counts.

    The chain is verified from it on. `seal` is an HMAC over all the other columns: nobody without the key can
    write one that hides a deletion.
    """

    sequence = models.PositiveBigIntegerField(unique=True)
    hash = models.CharField(max_length=64)
    at = models.DateTimeField(help_text="When that entry was written.")
    entries = models.PositiveBigIntegerField(help_text="How many entries the export has.")
    export_digest = models.CharField(max_length=64, help_text="SHA-256 of the exported file.")
    restores = models.JSONField(
        default=list, help_text="Of each restore up to there its generation, and the first entry after it."
    )
    seal = models.CharField(max_length=64)

    class Meta:
        ordering = ("-sequence",)

    def __str__(self) -> str:
        return f"audit checkpoint at {self.sequence}"
