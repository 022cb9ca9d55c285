"""Transfer: moving record sets to another owner id, and the smaller acts on claims."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from registry_app.models.consent import Consented, build_consent_constraints
from registry_app.models.owner import Owner
from registry_app.models.provider import Provider
from registry_app.models.registry_profile import RegistryProfile
from registry_app.models.step import Step


class Transfer(Consented):
    """A reviewed change of claims at one provider.

    A request over several providers makes one transfer each, with the same `group`: approval, lease,
    freeze and undo belong to a provider, and what fails at one never holds up another.
    """

    class Kind(models.TextChoices):
        TRANSFER = "transfer", "Transfer to another owner"
        ADOPT = "adopt", "Adopt (first claim)"
        RELEASE = "release", "Release (remove the claim)"
        REFORMAT = "reformat", "Re-format claims"
        CLEAN_UP = "clean_up", "Clean up orphan and obsolete claims"
        UNDO = "undo", "Undo"

    class Status(models.TextChoices):
        REQUESTED = "requested", "Requested"
        APPROVED = "approved", "Approved"
        SENDING = "sending", "Sending"
        SENT = "sent", "Sent, reading back"
        VERIFIED = "verified", "Verified"
        REJECTED = "rejected", "Rejected"
        CANCELLED = "cancelled", "Cancelled"
        EXPIRED = "expired", "Expired"
        STALE = "stale", "Stale (nothing was sent)"
        FAILED = "failed", "Failed"
        ROLLED_BACK = "rolled_back", "Rolled back"
        NEEDS_OPERATOR = "needs_operator", "Needs an operator"

    OPEN_STATUSES = (Status.REQUESTED, Status.APPROVED, Status.SENDING, Status.SENT, Status.NEEDS_OPERATOR)

    class TargetIntent(models.TextChoices):
        """What the target's ExternalDNS wants of these record sets, on a person's word."""

        UNKNOWN = "unknown", "I do not know"
        SAME = "same", "It wants them with the same targets"
        OTHER = "other", "It wants them with other targets"
        NOT_WANTED = "not_wanted", "It does not want them"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    group = models.UUIDField(default=uuid.uuid4, db_index=True, editable=False)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT, related_name="transfers")
    source_owner = models.ForeignKey(
        Owner, null=True, blank=True, on_delete=models.PROTECT, related_name="transfers_from"
    )
    target_owner = models.ForeignKey(
        Owner, null=True, blank=True, on_delete=models.PROTECT, related_name="transfers_to"
    )
    undo_of = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="undos")
    status = models.CharField(max_length=14, choices=Status.choices, default=Status.REQUESTED)
    status_reason = models.TextField(blank=True, default="")
    target_intent = models.CharField(
        max_length=10, choices=TargetIntent.choices, default=TargetIntent.UNKNOWN
    )
    confirmation = models.CharField(max_length=255, blank=True, default="", help_text="As it was typed.")
    reason = models.TextField()
    ticket = models.CharField(max_length=200, blank=True, default="")
    preconditions = models.JSONField(
        default=dict,
        editable=False,
        help_text="What the plan depends on besides the zone: the provider's address, the owners' settings.",
    )
    plan_fingerprint = models.CharField(max_length=64)
    approval_policy = models.CharField(max_length=12, choices=Provider.ApprovalPolicy.choices)

    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    requested_by_issuer = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Who issued the token it was requested with; without a token, who requested it.",
    )
    requested_by_name = models.CharField(max_length=200)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    approved_by_issuer = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    approved_by_name = models.CharField(max_length=200, blank=True, default="")
    approved_fingerprint = models.CharField(max_length=64, blank=True, default="")
    approved_at = models.DateTimeField(null=True, blank=True)

    item_count = models.PositiveIntegerField(default=0)
    left_out = models.JSONField(
        default=list, blank=True, help_text="[{name, type, problem}] of what was selected and left out."
    )
    epoch = models.PositiveBigIntegerField(default=0, help_text="The lease it last ran under.")
    attempt = models.PositiveIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    watch_until = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="For a failed transfer: until then, syncs check whether what was sent arrives late.",
    )
    watched_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="The last snapshot that was checked for that."
    )
    expires_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(
                fields=["status", "next_attempt_at"],
                name="transfer_unfinished",
                condition=Q(status__in=["requested", "approved", "sending", "sent"]),
            ),
            models.Index(fields=["provider", "-id"], name="transfer_of_provider"),
            models.Index(
                fields=["watch_until", "provider"],
                name="transfer_watched",
                condition=Q(status="failed", watch_until__isnull=False),
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="transfer_owners_differ", condition=~Q(source_owner=F("target_owner"))
            ),
            models.CheckConstraint(
                name="transfer_requester_never_approves",
                condition=~Q(approval_policy="other_person")
                | Q(approved_by__isnull=True)
                | Q(requested_by__isnull=True)
                | ~Q(approved_by=F("requested_by")),
            ),
            models.CheckConstraint(
                name="transfer_people_differ",
                condition=~Q(approval_policy="other_person")
                | Q(approved_by__isnull=True)
                | (
                    ~Q(approved_by=F("requested_by_issuer"))
                    & ~Q(approved_by_issuer=F("requested_by"))
                    & ~Q(approved_by_issuer=F("requested_by_issuer"))
                ),
            ),
            models.CheckConstraint(
                name="transfer_runs_as_approved",
                condition=~Q(status__in=["approved", "sending", "sent", "verified"])
                | Q(approved_fingerprint=F("plan_fingerprint")),
            ),
            *build_consent_constraints("transfer"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.pk}"


class TransferItem(models.Model):
    """One record set (or one orphan claim) of a transfer.

    `before` and `after` are the claims, as reviewed and as wanted: lists of wire endpoints. A TXT target
    that is to be encrypted stands there as plain text, and `encrypt` (position -> registry profile) says
    so: the exact bytes are in the step. A row of a registry store has the name and type of its record set,
    its heritage texts as targets, and `store`, the primary key of the registry profile. `lock_key` is set
    while the transfer is open, on the first item of each name: no two open transfers share a name.
    """

    class Verdict(models.TextChoices):
        """What the next sync of the target would do to the record set."""

        NO_OP = "no_op", "Stays as it is"
        RETARGET = "retarget", "Traffic moves"
        DELETE = "delete", "Deleted"
        UNKNOWN = "unknown", "Unknown"
        NOT_REPLACED = "not_replaced", "Deleted, not replaced"
        KEPT = "kept", "Kept by the guard"

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        SENDING = "sending", "Sending"
        VERIFIED = "verified", "Verified"
        FAILED = "failed", "Failed (read back as before)"
        STALE = "stale", "Stale (nothing was sent)"
        NEEDS_OPERATOR = "needs_operator", "Needs an operator"

    # Found by the indexes that begin with it.
    transfer = models.ForeignKey(Transfer, on_delete=models.CASCADE, related_name="items", db_index=False)
    ordinal = models.PositiveIntegerField()
    batch = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=253)
    record_type = models.CharField(max_length=20, blank=True, default="")
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    record_before = models.JSONField(
        null=True, help_text="The record set itself, as reviewed; never written."
    )
    before = models.JSONField(default=list)
    after = models.JSONField(default=list)
    owner_before = models.TextField(
        blank=True, default="", help_text="Owner ids, as reviewed; comma between two."
    )
    is_added = models.BooleanField(
        default=False, help_text="It was not selected: it is another type at a selected name."
    )
    verdict = models.CharField(max_length=14, choices=Verdict.choices)
    verdict_reason = models.TextField(blank=True, default="")
    status = models.CharField(max_length=14, choices=Status.choices, default=Status.PENDING)
    status_reason = models.TextField(blank=True, default="")
    lock_key = models.CharField(max_length=64, null=True)  # noqa: DJ001 - NULL is "not locked" in a unique index

    class Meta:
        ordering = ("ordinal",)
        constraints = [
            models.UniqueConstraint(fields=["transfer", "ordinal"], name="transfer_item_once"),
            models.UniqueConstraint(fields=["lock_key"], name="transfer_item_subject_locked_once"),
        ]
        indexes = [
            models.Index(fields=["name"], name="transfer_item_by_name"),
            models.Index(fields=["transfer", "batch", "ordinal"], name="transfer_item_by_batch"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.record_type}"


class TransferStep(Step):
    """One request of a transfer: one phase of one batch, at one place."""

    class Phase(models.TextChoices):
        WRITE = "write", "Write claims"
        REMOVE = "remove", "Remove replaced claims"

    class Status(models.TextChoices):
        STORED = "stored", "Stored, not sent"
        SENDING = "sending", "Being sent, no response known"
        ANSWERED = "answered", "Provider reported success"
        UNKNOWN = "unknown", "Outcome unknown"
        NOT_SENT = "not_sent", "Nothing left this machine"
        VERIFIED = "verified", "Read back as written"
        FAILED = "failed", "Read back as before"
        NEEDS_OPERATOR = "needs_operator", "Read back as neither old nor new"

    transfer = models.ForeignKey(Transfer, on_delete=models.CASCADE, related_name="steps")
    phase = models.CharField(max_length=6, choices=Phase.choices)
    registry_profile = models.ForeignKey(
        RegistryProfile, null=True, blank=True, on_delete=models.PROTECT, related_name="transfer_steps"
    )
    batch = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField(default=1)
    status = models.CharField(max_length=14, choices=Status.choices, default=Status.STORED)
    read_back = models.JSONField(null=True, blank=True, help_text="The claims as read afterwards.")

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=["transfer", "phase", "batch", "attempt"],
                name="transfer_step_once",
                condition=Q(registry_profile__isnull=True),
            ),
            models.UniqueConstraint(
                fields=["transfer", "phase", "batch", "registry_profile", "attempt"],
                name="transfer_store_step_once",
                condition=Q(registry_profile__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_phase_display()}, batch {self.batch}"

    @property
    def crash_prefix(self) -> str:
        return f"transfer.{self.phase}_"
