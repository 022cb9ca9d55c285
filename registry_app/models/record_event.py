"""RecordEvent: the history of each record set, append-only."""

from django.db import models

from registry_app.models.provider import Provider


class RecordEvent(models.Model):
    """What happened to one record set, from what to what, when, and by which run, transfer, loop
    run, guard endpoint or writer.

    It names the record set by its identity, not by row: history outlives a purge. The first accepted
    snapshot of a provider is its baseline and writes no events.
    """

    class Kind(models.TextChoices):
        APPEARED = "appeared", "Appeared"
        CHANGED = "changed", "Value changed"
        OWNER_CHANGED = "owner_changed", "Owner changed"
        VANISHED = "vanished", "Vanished"
        RETURNED = "returned", "Returned"
        PURGED = "purged", "Purged"

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="+", db_index=False)
    name = models.CharField(max_length=253)
    record_type = models.CharField(max_length=20)
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    kind = models.CharField(max_length=13, choices=Kind.choices)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    at = models.DateTimeField()
    # Not foreign keys: history is kept longer than runs, and is bulk-loaded.
    sync_run_id = models.PositiveBigIntegerField(null=True)
    transfer_id = models.PositiveBigIntegerField(null=True)
    loop_run_id = models.PositiveBigIntegerField(null=True)
    guard_endpoint = models.CharField(
        max_length=63, blank=True, default="", help_text="The slug of the guard endpoint that sent it."
    )
    writer = models.CharField(
        max_length=255, blank=True, default="", help_text="Who wrote it, as far as anybody can tell."
    )

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(
                fields=["provider", "name", "record_type", "set_identifier", "-id"], name="event_of_record"
            ),
            # What flapped in the last hour, and what is old enough to be purged: each by provider.
            models.Index(fields=["provider", "at"], name="event_of_provider"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.record_type}: {self.kind}"
