"""Loop: dnsadmin itself as the instance of an owner id, and what each of its runs did."""

import uuid

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone

from providers.planning.planned_changes import DEFAULT_MANAGED_TYPES
from providers.wire.endpoint import KNOWN_RECORD_TYPES
from registry_app.models.owner import Owner
from registry_app.models.provider import Provider
from registry_app.models.registry_profile import RegistryProfile
from registry_app.models.step import Step


class LoopPolicy(models.TextChoices):
    """ExternalDNS's --policy, with words for people."""

    SYNC = "sync", "sync (deletes what it owns and no longer wants)"
    UPSERT_ONLY = "upsert-only", "upsert-only (never deletes)"
    CREATE_ONLY = "create-only", "create-only (only creates)"


def list_default_types() -> list[str]:
    """The types ExternalDNS manages unless told otherwise."""
    return sorted(DEFAULT_MANAGED_TYPES)


class Loop(models.Model):
    """An owner id that dnsadmin runs at this provider, from the endpoints declared here.

    `declared_at` is the version of the whole set of declared endpoints. `requested_by`, `requester`,
    `requester_issuer` (of their token) and `confirmation` are those of a person who asked for the next run;
    that run takes them.
    """

    owner = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="loops")
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="loops")
    policy = models.CharField(max_length=12, choices=LoopPolicy.choices, default=LoopPolicy.SYNC)
    managed_types = models.JSONField(
        "managed types", default=list_default_types, help_text="Record sets of other types are ignored."
    )
    interval_seconds = models.PositiveIntegerField(
        "runs every (seconds)", default=60, validators=[MinValueValidator(10), MaxValueValidator(86_400)]
    )
    is_enabled = models.BooleanField("runs", default=True)
    declared_at = models.DateTimeField(default=timezone.now, editable=False)
    requested_by = models.CharField(max_length=200, blank=True, default="", editable=False)
    requester = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    requester_issuer = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    confirmation = models.CharField(max_length=500, blank=True, default="", editable=False)
    next_run_at = models.DateTimeField(null=True, blank=True, editable=False)
    consecutive_failures = models.PositiveIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)
        indexes = [models.Index(fields=["next_run_at"], name="loop_due", condition=models.Q(is_enabled=True))]
        constraints = [models.UniqueConstraint(fields=["owner", "provider"], name="loop_once")]

    def __str__(self) -> str:
        return f"Loop of {self.owner} at {self.provider}"

    def clean(self) -> None:
        kinds = self.managed_types
        is_known = isinstance(kinds, list) and all(each in KNOWN_RECORD_TYPES for each in kinds)
        if not (is_known and kinds):
            known = ", ".join(KNOWN_RECORD_TYPES)
            raise ValidationError({"managed_types": f"Name one or more of {known}."})


class DeclaredEndpoint(models.Model):
    """One endpoint that a loop is to keep, under its canonical name."""

    loop = models.ForeignKey(Loop, on_delete=models.CASCADE, related_name="endpoints")
    name = models.CharField(max_length=253)
    record_type = models.CharField(max_length=20)
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    targets = models.JSONField(default=list)
    ttl = models.PositiveBigIntegerField(default=0, help_text="Seconds; 0 is not configured.")
    provider_specific = models.JSONField(default=list, blank=True, help_text="[[name, value], ...]")
    resource = models.TextField(blank=True, default="", help_text="The label `resource` of its claim.")

    class Meta:
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["loop", "name", "record_type", "set_identifier"], name="declared_endpoint_once"
            )
        ]

    def __str__(self) -> str:
        identifier = f" ({self.set_identifier})" if self.set_identifier else ""
        return f"{self.name} {self.record_type}{identifier}"


class LoopConfirmation(models.Model):
    """One person's confirmation of one large plan of a loop, where the provider requires a second person.

    `plan_digest` is of the plan that the run they asked for came to; another plan needs a new confirmation.
    """

    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, related_name="+")
    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    issuer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    plan_digest = models.CharField(max_length=64)
    confirmed_at = models.DateTimeField()

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["owner", "provider"], name="loop_confirmation_once")]

    def __str__(self) -> str:
        return f"{self.name} for {self.owner} at {self.provider}"


class LoopRun(models.Model):
    """One run: planned from a fresh reading, sent, and read back. `epoch` is the lease it ran under.

    `loop` is empty for a run that somebody began by hand from another source.
    """

    class Trigger(models.TextChoices):
        SCHEDULE = "schedule", "Schedule"
        PERSON = "person", "Person"

    class Status(models.TextChoices):
        RUNNING = "running", "Running"
        UNCHANGED = "unchanged", "Everything is as wanted"
        VERIFIED = "verified", "Read back as wanted"
        INCOMPLETE = "incomplete", "Not everything is as wanted"
        REFUSED = "refused", "Refused by a safety rule"
        FAILED = "failed", "Failed (nothing was sent)"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    loop = models.ForeignKey(Loop, null=True, on_delete=models.SET_NULL, related_name="runs")
    owner = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="loop_runs")
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="loop_runs")
    trigger = models.CharField(max_length=10, choices=Trigger.choices)
    requested_by = models.CharField(max_length=200, blank=True, default="")
    policy = models.CharField(max_length=12, choices=LoopPolicy.choices)
    source = models.CharField(max_length=300)
    address = models.CharField(
        max_length=2048, blank=True, default="", help_text="Where the provider was then."
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.RUNNING)
    reason = models.TextField(blank=True, default="")
    confirmation = models.CharField(max_length=500, blank=True, default="", help_text="As it was typed.")
    confirmation_text = models.CharField(
        max_length=500, blank=True, default="", help_text="What a person types to confirm it."
    )
    epoch = models.PositiveBigIntegerField()
    attempt = models.PositiveIntegerField(default=0, help_text="How often somebody tried to finish it.")
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    planned = models.PositiveIntegerField(default=0)
    created = models.PositiveIntegerField(default=0)
    updated = models.PositiveIntegerField(default=0)
    deleted = models.PositiveIntegerField(default=0)
    not_as_wanted = models.PositiveIntegerField(default=0)
    left_alone_count = models.PositiveIntegerField(default=0)
    left_alone = models.JSONField(
        default=list, help_text="[{name, record_type, set_identifier, reason}], the first of them."
    )

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["loop", "-id"], name="loop_run_latest"),
            models.Index(fields=["started_at"], name="loop_run_by_start"),
            models.Index(fields=["status"], name="loop_run_running", condition=models.Q(status="running")),
        ]

    def __str__(self) -> str:
        return f"Run {self.pk} for {self.owner}"


class LoopStep(Step):
    """One request of a run.

    `items` are the record sets it is about, each with what is done to it, where its claims are, and, once it
    was read back, what came of it.
    """

    class Status(models.TextChoices):
        STORED = "stored", "Stored, not sent"
        SENDING = "sending", "Being sent, no response known"
        ANSWERED = "answered", "Provider reported success"
        UNKNOWN = "unknown", "Outcome unknown"
        NOT_SENT = "not_sent", "Nothing left this machine"
        VERIFIED = "verified", "Read back as written"
        INCOMPLETE = "incomplete", "Not read back as written"
        UNSEEN = "unseen", "Never read back"

    run = models.ForeignKey(LoopRun, on_delete=models.CASCADE, related_name="steps")
    ordinal = models.PositiveIntegerField()
    registry_profile = models.ForeignKey(
        RegistryProfile, null=True, blank=True, on_delete=models.PROTECT, related_name="loop_steps"
    )
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.STORED)
    items = models.JSONField(default=list)

    class Meta:
        ordering = ("id",)
        constraints = [models.UniqueConstraint(fields=["run", "ordinal"], name="loop_step_once")]

    def __str__(self) -> str:
        return f"Step {self.ordinal} of run {self.run_id}"

    @property
    def crash_prefix(self) -> str:
        return "loop."
