"""SyncRun: one sync to one provider."""

from django.db import models

from registry_app.models.provider import Provider


class SyncRun(models.Model):
    """What one sync found and did. `epoch` is the lease it ran under.

    Syncs of the schedule that find nothing new share a row while nothing else happens at their provider:
    `sync_count` says how many they are. What was fetched and `epoch` are those of the last of them.
    """

    class Trigger(models.TextChoices):
        SCHEDULE = "schedule", "Schedule"
        PERSON = "person", "Person"
        TRANSFER = "transfer", "Transfer"

    class Status(models.TextChoices):
        RUNNING = "running", "Running"
        UNCHANGED = "unchanged", "Unchanged"
        STORED = "stored", "Stored"
        HELD = "held", "Held for review"
        FAILED = "failed", "Failed"
        ABANDONED = "abandoned", "Abandoned (its worker stopped)"

    class WholeReading(models.TextChoices):
        """Why all of a response was read, and not only what changed."""

        FIRST = "first", "It was the first response of this provider"
        NO_INDEX = "no_index", "The accepted snapshot has no index to compare with"
        REGISTRIES = "registries", "A registry other than TXT is read, or a profile has both affixes"
        SETTINGS = "settings", "Profiles, owners, instances or limits changed, or dnsadmin was upgraded"
        DOMAIN_FILTER = "domain_filter", "The provider negotiated another domain filter"
        PASSING_FINDINGS = "passing_findings", "A finding may have ended by time alone"
        HELD_BEFORE = "held_before", "A snapshot was held, and none was stored since"
        FORMAT = "format", "The response is no JSON list, or its media type changed"
        ODD_ITEMS = "odd_items", "An item that was set aside, or a TXT name beyond ASCII, came or went"
        MANY_ITEMS = "many_items", "Too many items changed, or are linked with those that did"
        NOT_COUNTED = "not_counted", "What labels of the provider or items set aside decide is not counted"
        MANY_FINDINGS = "many_findings", "A kind has more findings than are listed, or may have"
        IMPLAUSIBLE = "implausible", "What changed was implausible"
        CHECK = "check", "It was time to check what is found by reading only what changed"

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="sync_runs")
    trigger = models.CharField(max_length=10, choices=Trigger.choices)
    requested_by = models.CharField(max_length=200, blank=True, default="")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.RUNNING)
    epoch = models.PositiveBigIntegerField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    sync_count = models.PositiveIntegerField(
        default=1,
        help_text="How many syncs this is: successive scheduled ones that found nothing new share a row.",
    )
    repeated_until = models.DateTimeField(
        null=True, blank=True, help_text="When the last of them ended, where they are several."
    )
    fetch_milliseconds = models.PositiveIntegerField(null=True, blank=True)
    store_milliseconds = models.PositiveIntegerField(null=True, blank=True)
    body_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    body_digest = models.CharField(max_length=64, blank=True, default="")
    items_read = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="How many items of the response were read. Empty: all, or none where nothing changed.",
    )
    whole_reading = models.CharField(
        max_length=20,
        choices=WholeReading.choices,
        blank=True,
        default="",
        help_text="Why all items were read. Empty where only those were that changed, or none.",
    )
    seen = models.PositiveIntegerField(default=0)
    created = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    vanished = models.PositiveIntegerField(default=0)
    returned = models.PositiveIntegerField(default=0)
    purged = models.PositiveIntegerField(default=0)
    set_aside = models.PositiveIntegerField(default=0)
    claims = models.PositiveIntegerField(default=0)
    error_code = models.CharField(max_length=64, blank=True, default="")
    error = models.TextField(blank=True, default="")

    class Meta:
        verbose_name = "sync"
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["provider", "-id"], name="sync_run_latest"),
            models.Index(fields=["started_at"], name="sync_run_by_start"),
            models.Index(fields=["status"], name="sync_run_running", condition=models.Q(status="running")),
        ]

    def __str__(self) -> str:
        return f"Sync {self.pk}"

    @property
    def has_row(self) -> bool:
        """False for one of the schedule that has stored nothing yet, or was counted in an earlier row."""
        return self.pk is not None
