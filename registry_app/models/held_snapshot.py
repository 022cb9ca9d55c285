"""HeldSnapshot: an implausible snapshot that waits for a person."""

from django.db import models

from registry_app.models.provider import Provider
from registry_app.models.sync_run import SyncRun


class HeldSnapshot(models.Model):
    """An implausible response of a provider. The mirror stays as it was.

    Accepting it makes this snapshot the baseline for the next sync: what the provider then says is
    stored if it is plausible beside this one.
    """

    class Status(models.TextChoices):
        OPEN = "open", "Waiting for a person"
        ACCEPTED = "accepted", "Accepted, next sync stores"
        STORED = "stored", "Accepted and stored"
        REJECTED = "rejected", "Rejected"
        CLEARED = "cleared", "Cleared by a plausible sync"

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="held_snapshots")
    sync_run = models.ForeignKey(SyncRun, null=True, on_delete=models.SET_NULL, related_name="+")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    reasons = models.JSONField(default=list, help_text="[{code, text}] why it is held.")
    difference = models.JSONField(default=dict, help_text="Counts and samples of what would change.")
    body = models.BinaryField(help_text="The response as received, compressed.")
    contents = models.BinaryField(
        default=b"", help_text="What the registry stores beside it held, compressed."
    )
    body_digest = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    occurrences = models.PositiveIntegerField(default=1)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["provider"],
                condition=models.Q(status__in=["open", "accepted"]),
                name="held_snapshot_one_waiting",
            )
        ]

    def __str__(self) -> str:
        return f"Held snapshot {self.pk}"
