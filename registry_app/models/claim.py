"""Claim: one ownership statement found in a registry."""

from django.db import models

from registry_app.models.owner import Owner
from registry_app.models.provider import Provider
from registry_app.models.registry_profile import RegistryProfile


class Claim(models.Model):
    """One heritage target of one TXT endpoint, as the last accepted snapshot had it.

    It claims (`record_name`, `record_type`, `set_identifier`) of its provider; an empty record type
    is the legacy format, which claims every type but AAAA. `identity` (16 bytes) is the digest of
    its place and its raw text; `digest` covers what is compared at a sync.
    """

    class Format(models.TextChoices):
        NEW = "new", "New"
        LEGACY = "legacy", "Legacy"

    class Verdict(models.TextChoices):
        EFFECTIVE = "effective", "Effective"
        SUPERSEDED = "superseded", "Superseded by a new-format claim"
        OBSOLETE = "obsolete", "Obsolete cname- claim of an alias"
        CONFLICTING = "conflicting", "Another claim names another owner"
        OVERRULED = "overruled", "ExternalDNS uses another claim"
        IGNORED = "ignored", "ExternalDNS ignores it"
        ORPHAN = "orphan", "There is no record set at the claimed name"
        UNREADABLE = "unreadable", "Unreadable"

    provider = models.ForeignKey(Provider, on_delete=models.CASCADE, related_name="claims")
    identity = models.BinaryField(max_length=16)
    txt_name = models.CharField(max_length=253)
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    raw = models.TextField(help_text="The TXT target as read, quotes included.")
    format = models.CharField(max_length=6, choices=Format.choices)
    verdict = models.CharField(max_length=11, choices=Verdict.choices)
    record_name = models.CharField(max_length=253)
    record_type = models.CharField(max_length=20, blank=True, default="")
    owner = models.ForeignKey(
        Owner, null=True, blank=True, on_delete=models.PROTECT, related_name="claims", db_index=False
    )
    resource = models.TextField(blank=True, default="")
    labels = models.JSONField(default=dict, blank=True)
    registry_profile = models.ForeignKey(
        RegistryProfile,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="claims",
        db_index=False,
    )
    is_encrypted = models.BooleanField(default=False)
    problem = models.TextField(blank=True, default="")
    digest = models.BinaryField(max_length=16)
    first_seen_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ("txt_name", "id")
        indexes = [
            models.Index(fields=["provider", "record_name"], name="claim_by_record"),
            models.Index(fields=["owner", "provider"], name="claim_by_owner"),
            models.Index(
                fields=["provider", "verdict"],
                name="claim_not_effective",
                condition=~models.Q(verdict="effective"),
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["provider", "identity"], name="claim_once"),
        ]

    def __str__(self) -> str:
        return f"{self.txt_name} → {self.record_name} {self.record_type or 'any type'}"
