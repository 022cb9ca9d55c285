"""ApprovalChange: a looser approval policy of a provider that somebody asked for."""

from django.conf import settings
from django.db import models

from registry_app.models.provider import Provider


class ApprovalChange(models.Model):
    """From which policy to which, who asked, and what became of it.

    `effective_at` is when it holds by itself, where there was no other administrator to confirm it; empty
    where one has to. `asked_by_issuer` is who issued the token it was asked with, or whoever asked.
    """

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        EFFECTIVE = "effective", "Effective"
        CANCELLED = "cancelled", "Cancelled"

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="approval_changes")
    from_policy = models.CharField(max_length=12, choices=Provider.ApprovalPolicy.choices)
    to_policy = models.CharField(max_length=12, choices=Provider.ApprovalPolicy.choices)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.PENDING)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_by_issuer = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_by_name = models.CharField(max_length=200)
    asked_at = models.DateTimeField()
    effective_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by_name = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                fields=["provider"], name="approval_change_pending_once", condition=models.Q(status="pending")
            )
        ]

    def __str__(self) -> str:
        return f"Looser approval of {self.provider}"
