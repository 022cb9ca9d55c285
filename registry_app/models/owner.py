"""Owner: one ExternalDNS instance and the string it signs with."""

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import models

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import raise_if_owner_unwritable
from providers.wire.canonical_name import InvalidName, canonical_name
from registry_app.models.cluster import Cluster
from registry_app.models.deletion import NotDeleted, build_unique_name
from registry_app.models.registry_profile import RegistryProfile


class Owner(models.Model):
    """An owner id. Discovered in claims, or registered by a person who says where it runs and how."""

    class Status(models.TextChoices):
        DISCOVERED = "discovered", "Seen in claims, not registered"
        REGISTERED = "registered", "Registered"
        DECOMMISSIONED = "decommissioned", "Decommissioned"

    class Policy(models.TextChoices):
        """ExternalDNS's --policy: what the instance does at its next sync."""

        UNKNOWN = "unknown", "Unknown"
        SYNC = "sync", "sync (deletes what it owns and no longer wants)"
        UPSERT_ONLY = "upsert-only", "upsert-only (never deletes)"
        CREATE_ONLY = "create-only", "create-only (only creates)"

    owner_id = models.CharField(max_length=255)
    status = models.CharField(max_length=15, choices=Status.choices, default=Status.DISCOVERED)
    policy = models.CharField(max_length=12, choices=Policy.choices, default=Policy.UNKNOWN)
    cluster = models.ForeignKey(
        Cluster, null=True, blank=True, on_delete=models.SET_NULL, related_name="owners"
    )
    team = models.ForeignKey(Group, null=True, blank=True, on_delete=models.SET_NULL, related_name="owners")
    registry_profile = models.ForeignKey(
        RegistryProfile, null=True, blank=True, on_delete=models.PROTECT, related_name="owners"
    )
    name_patterns = models.JSONField(
        default=list,
        blank=True,
        help_text="Suffixes of the names this owner is responsible for, as in a domain filter.",
    )
    description = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = NotDeleted()
    with_deleted = models.Manager["Owner"]()

    class Meta:
        ordering = ("owner_id",)
        base_manager_name = "with_deleted"  # reached through a foreign key: history names what was deleted
        constraints = [
            build_unique_name("owner_id", "owner_id_once", "An owner"),
            models.CheckConstraint(name="owner_id_not_empty", condition=~models.Q(owner_id="")),
        ]

    def __str__(self) -> str:
        return self.owner_id

    def clean(self) -> None:
        try:
            raise_if_owner_unwritable(self.owner_id)
        except UnwritableLabel as error:
            raise ValidationError({"owner_id": str(error)}) from error
        self.name_patterns = _canonical_patterns(self.name_patterns)


def _canonical_patterns(patterns: object) -> list[str]:
    """Suffixes in canonical spelling; one that begins with a dot matches only names below it."""
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        raise ValidationError({"name_patterns": "This is a list of suffixes such as example.org."})
    canonical: list[str] = []
    for pattern in patterns:
        dot = "." if pattern.startswith(".") else ""
        try:
            canonical.append(dot + canonical_name(pattern.removeprefix(".")))
        except InvalidName as error:
            raise ValidationError({"name_patterns": f"{pattern!r}: {error}"}) from error
    return canonical
