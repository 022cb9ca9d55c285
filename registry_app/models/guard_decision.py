"""What the guard decided about what instances asked for, and what it sent for them."""

from django.db import models

from registry_app.models.guard_endpoint import GuardEndpoint
from registry_app.models.provider import Provider
from registry_app.models.registry_profile import RegistryProfile
from registry_app.models.step import Step

# How the reason begins where a claim names another owner than its instance has (G5).
CLAIM_OF_ANOTHER = "Its claim names"
NO_OWNER = "no owner"


class GuardRule(models.TextChoices):
    """Why a change of an instance is refused or held. docs/guard.md explains each."""

    FOREIGN_NAME = "foreign_name", "The name is another owner's, or nobody's (G1)"
    NOT_OWNER = "not_owner", "The record set is not its own (G2)"
    CHANGED_SINCE = "changed_since", "The record set is not as the instance read it (G3)"
    AMBIGUOUS = "ambiguous", "The change set asks for two things at one record set (G4)"
    CLAIM = "claim", "A claim that is not its own, or not exact (G5)"
    SHADOWS = "shadows", "It would cover a name of another owner (G6)"
    FOREIGN_SET = "foreign_set", "Another set identifier at a name of another owner (G7)"
    PROPERTY = "property", "A provider-specific property that is not allowed (G8)"
    OUTSIDE = "outside", "The name is outside the filter of the provider or the patterns of the owner (G9)"
    NAME_IN_USE = "name_in_use", "A CNAME and another type at one name"
    FROZEN = "frozen", "The name is frozen or pinned"
    DELETE_SHARE = "delete_share", "It deletes a large share of what it owns (G10)"
    DELETE_COUNT = "delete_count", "It deletes many record sets (G10)"
    DELETE_ALL = "delete_all", "It deletes everything it owns (G10)"
    FIRST_CONTACT = "first_contact", "It deletes in its first change set (G10)"
    EMPTY_SET = "empty_set", "It deletes after it wanted nothing (G10)"
    HAND_OVER = "hand_over", "It deletes what is being handed over"


class GuardStep(Step):
    """One change set that the guard sent for an instance.

    `items` are its record sets and claims: [{name, record_type, set_identifier, action, is_claim, outcome}].
    `deletes` and `retargets` count record sets.
    """

    class Status(models.TextChoices):
        STORED = "stored", "Stored, not sent"
        SENDING = "sending", "Being sent, no response known"
        ANSWERED = "answered", "Provider reported success"
        UNKNOWN = "unknown", "Outcome unknown"
        NOT_SENT = "not_sent", "Nothing left this machine"
        VERIFIED = "verified", "Read back as written"
        INCOMPLETE = "incomplete", "Not read back as written"

    guard_endpoint = models.ForeignKey(
        GuardEndpoint, null=True, on_delete=models.SET_NULL, related_name="steps"
    )
    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="guard_steps")
    registry_profile = models.ForeignKey(
        RegistryProfile, null=True, blank=True, on_delete=models.PROTECT, related_name="guard_steps"
    )
    slug = models.CharField(max_length=63, help_text="The guard endpoint, also after it was deleted.")
    items = models.JSONField(default=list)
    deletes = models.PositiveIntegerField(default=0)
    retargets = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("-id",)
        indexes = [
            models.Index(fields=["guard_endpoint", "stored_at"], name="guard_step_by_time"),
            models.Index(
                fields=["provider"],
                name="guard_step_unsettled",
                condition=models.Q(status__in=["stored", "sending", "answered", "unknown"]),
            ),
        ]

    def __str__(self) -> str:
        return f"Change set {self.pk} of {self.slug}"

    @property
    def crash_prefix(self) -> str:
        return "guard."


class GuardDecision(models.Model):
    """A name with its set identifier that an instance asked to change, and what the guard decided.

    The same decision again makes no new row: `count` grows and `last_at` moves.
    """

    class Outcome(models.TextChoices):
        REFUSED = "refused", "Refused"
        HELD = "held", "Held"
        WOULD_REFUSE = "would_refuse", "Enforce would refuse it"
        WOULD_HOLD = "would_hold", "Enforce would hold it"

    guard_endpoint = models.ForeignKey(GuardEndpoint, on_delete=models.CASCADE, related_name="decisions")
    outcome = models.CharField(max_length=12, choices=Outcome.choices)
    rule = models.CharField(max_length=20, choices=GuardRule.choices)
    name = models.CharField(max_length=253)
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    asked = models.CharField(max_length=500, help_text="What the instance asked for, in words.")
    reason = models.CharField(max_length=500)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    count = models.PositiveBigIntegerField(default=1)

    class Meta:
        ordering = ("-last_at", "-id")
        constraints = [
            models.UniqueConstraint(
                fields=["guard_endpoint", "name", "set_identifier", "rule", "outcome"],
                name="guard_decision_once",
            )
        ]
        indexes = [models.Index(fields=["guard_endpoint", "-last_at"], name="guard_decision_latest")]

    def __str__(self) -> str:
        return f"{self.get_outcome_display()}: {self.asked}"


class GuardCount(models.Model):
    """How often the guard decided so for an instance, in all its time."""

    guard_endpoint = models.ForeignKey(GuardEndpoint, on_delete=models.CASCADE, related_name="counts")
    outcome = models.CharField(max_length=12, choices=GuardDecision.Outcome.choices)
    rule = models.CharField(max_length=20, choices=GuardRule.choices)
    count = models.PositiveBigIntegerField(default=0)

    class Meta:
        ordering = ("guard_endpoint", "outcome", "rule")
        constraints = [
            models.UniqueConstraint(fields=["guard_endpoint", "outcome", "rule"], name="guard_count_once")
        ]

    def __str__(self) -> str:
        return f"{self.outcome} {self.rule}: {self.count}"


class HeldDelete(models.Model):
    """A name with its set identifier that an instance asked to delete, and that waits for a person.

    As long as it is held or kept, the instance is shown the record sets as if it wanted them.
    """

    class Status(models.TextChoices):
        HELD = "held", "Held"
        RELEASED = "released", "Released: the instance may delete it"
        KEPT = "kept", "Kept: the instance may not delete it"
        DELETED = "deleted", "Deleted"
        WANTED = "wanted", "Wanted again"

    # The record sets stay as they are.
    STOPPING = (Status.HELD, Status.KEPT)
    # A person may still say that they stay: the instance did not delete what was released.
    KEEPABLE = (Status.HELD, Status.RELEASED)

    guard_endpoint = models.ForeignKey(GuardEndpoint, on_delete=models.CASCADE, related_name="held_deletes")
    name = models.CharField(max_length=253)
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    record_types = models.JSONField(default=list)
    rule = models.CharField(max_length=20, choices=GuardRule.choices)
    reason = models.CharField(max_length=500)
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.HELD)
    asked_at = models.DateTimeField()
    last_asked_at = models.DateTimeField()
    count = models.PositiveBigIntegerField(default=1)
    decided_by = models.CharField(max_length=200, blank=True, default="")
    decided_at = models.DateTimeField(null=True, blank=True)
    decision_reason = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("-last_asked_at", "name", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["guard_endpoint", "name", "set_identifier"], name="held_delete_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["guard_endpoint", "status", "name"],
                name="held_delete_stopping",
                condition=models.Q(status__in=["held", "kept"]),
            )
        ]

    def __str__(self) -> str:
        return f"Delete of {self.name}"
