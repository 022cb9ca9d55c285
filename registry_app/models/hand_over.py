"""HandOver: names that go from one owner to another as soon as the other wants them."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from registry_app.models.consent import Consented, build_consent_constraints
from registry_app.models.owner import Owner
from registry_app.models.provider import Provider
from registry_app.models.transfer import Transfer


class HandOver(Consented):
    """Names of one provider that move from `from_owner` to `to_owner`, each when the new owner wants it.

    Nothing is locked while it waits. `fingerprint` binds an approval to the names, the owners and the
    verdicts that are allowed. Names of waves after `wave` wait for their wave.
    """

    class Status(models.TextChoices):
        REQUESTED = "requested", "Requested"
        RUNNING = "running", "Running"
        PAUSED = "paused", "Paused"
        FINISHED = "finished", "Finished"
        ENDED = "ended", "Ended before all names moved"
        REJECTED = "rejected", "Rejected"
        CANCELLED = "cancelled", "Cancelled"

    # Deletes of the old owner are held, and names may still move.
    OPEN_STATUSES = (Status.RUNNING, Status.PAUSED)
    UNFINISHED_STATUSES = (Status.REQUESTED, *OPEN_STATUSES)

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="hand_overs")
    from_owner = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="hand_overs_from")
    to_owner = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="hand_overs_to")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.REQUESTED)
    status_reason = models.TextField(blank=True, default="")
    reason = models.TextField()
    ticket = models.CharField(max_length=200, blank=True, default="")
    allowed_verdicts = models.JSONField(
        default=list, help_text="What the next sync of the new owner may do to a record set that moves."
    )
    fingerprint = models.CharField(max_length=64)
    approval_policy = models.CharField(max_length=12, choices=Provider.ApprovalPolicy.choices)
    wave = models.PositiveIntegerField(default=1)
    wave_count = models.PositiveIntegerField(default=1)
    ends_at = models.DateTimeField()
    next_run_at = models.DateTimeField(null=True, blank=True, editable=False)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    requested_by_issuer = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    requested_by_name = models.CharField(max_length=200)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    approved_by_issuer = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    approved_by_name = models.CharField(max_length=200, blank=True, default="")
    approved_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "hand-over"
        ordering = ("-id",)
        indexes = [
            models.Index(
                fields=["provider", "status"],
                name="hand_over_open",
                condition=Q(status__in=["requested", "running", "paused"]),
            )
        ]
        constraints = [
            models.CheckConstraint(name="hand_over_owners_differ", condition=~Q(from_owner=F("to_owner"))),
            models.CheckConstraint(
                name="hand_over_requester_never_approves",
                condition=~Q(approval_policy="other_person")
                | Q(approved_by__isnull=True)
                | Q(requested_by__isnull=True)
                | ~Q(approved_by=F("requested_by")),
            ),
            *build_consent_constraints("hand_over"),
        ]

    def __str__(self) -> str:
        return f"Hand-over {self.pk}"


class HandOverItem(models.Model):
    """One name of a hand-over. `transfer` is the last one that moved it, or tried to."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting until the new owner wants it"
        MOVING = "moving", "Moving"
        MOVED = "moved", "Moved"
        SERVING = "serving", "Serving what the new owner wants"
        BLOCKED = "blocked", "Blocked"
        FAILED = "failed", "Failed; resume the hand-over to try again"
        GONE = "gone", "No longer the old owner's"

    hand_over = models.ForeignKey(HandOver, on_delete=models.CASCADE, related_name="items")
    name = models.CharField(max_length=253)
    wave = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    reason = models.TextField(blank=True, default="")
    transfer = models.ForeignKey(
        Transfer, null=True, blank=True, on_delete=models.SET_NULL, related_name="hand_over_items"
    )
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ("wave", "name", "id")
        constraints = [models.UniqueConstraint(fields=["hand_over", "name"], name="hand_over_item_once")]
        indexes = [
            models.Index(fields=["hand_over", "state"], name="hand_over_item_by_state"),
            models.Index(fields=["name"], name="hand_over_item_by_name"),
        ]

    def __str__(self) -> str:
        return self.name
