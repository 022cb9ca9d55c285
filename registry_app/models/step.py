"""What every stored request has, whoever sends it."""

from enum import StrEnum

from django.db import models

from registry_app.models.registry_profile import RegistryProfile


class StepStatus(StrEnum):
    """The statuses that the write engine sets. Each kind of step adds its own for what was read back."""

    STORED = "stored"
    SENDING = "sending"
    ANSWERED = "answered"
    UNKNOWN = "unknown"
    NOT_SENT = "not_sent"


# Sent, perhaps sent, or answered: only a read-back shows the outcome.
UNSETTLED = (StepStatus.SENDING, StepStatus.ANSWERED, StepStatus.UNKNOWN)
NEVER_SENT = (StepStatus.STORED, StepStatus.NOT_SENT)


class Step(models.Model):
    """One request: what was about to be sent, stored before it was sent (I5).

    It goes to the provider, or, with `registry_profile`, to that profile's store: `change_set` then holds
    the rows, from what to what.
    """

    registry_profile = models.ForeignKey(
        RegistryProfile, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    status = models.CharField(max_length=14, default=StepStatus.STORED.value)
    change_set = models.TextField(help_text="The exact body, as JSON text.")
    body_digest = models.CharField(max_length=64)
    epoch = models.PositiveBigIntegerField()
    stored_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True, blank=True)
    answer = models.TextField(
        blank=True, default="", help_text="The provider's response, in dnsadmin's words."
    )
    read_back_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def store(self) -> str:
        """The primary key of the registry profile whose store it goes to, as text; empty: the provider."""
        return "" if self.registry_profile_id is None else str(self.registry_profile_id)

    @property
    def crash_prefix(self) -> str:
        """What the names of its crash points begin with."""
        raise NotImplementedError
