"""Instance: one running ExternalDNS, and what is known of its flags."""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator
from django.db import models

from providers.wire.endpoint import KNOWN_RECORD_TYPES
from registry_app.models.cluster import Cluster
from registry_app.models.owner import Owner, read_suffixes
from registry_app.models.provider import Provider
from registry_app.models.registry_profile import RegistryProfile

_MOST_ENTRIES = 1_000
_LONGEST_CACHE = 7 * 24 * 3600


class InstancePolicy(models.TextChoices):
    """ExternalDNS's --policy: what the instance does at its next sync."""

    UNKNOWN = "unknown", "Unknown"
    SYNC = "sync", "sync (deletes what it owns and no longer wants)"
    UPSERT_ONLY = "upsert-only", "upsert-only (never deletes)"
    CREATE_ONLY = "create-only", "create-only (only creates)"


class Instance(models.Model):
    """One running ExternalDNS that signs with the id of its owner. Several may share one owner id.

    An empty value means: not known. With no provider it counts at every provider, with no domain filter
    or managed types it may act on every name or type, with no registry profile it writes claims as
    ExternalDNS does by default.
    """

    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, related_name="instances")
    name = models.CharField(max_length=100, help_text="A name for people. Empty: the name of its cluster.")
    cluster = models.ForeignKey(
        Cluster, null=True, blank=True, on_delete=models.PROTECT, related_name="instances"
    )
    provider = models.ForeignKey(
        Provider,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="instances",
        help_text="The provider it writes through. Empty: unknown, so it is assumed at every provider.",
    )
    policy = models.CharField(
        max_length=12, choices=InstancePolicy.choices, default=InstancePolicy.UNKNOWN, help_text="--policy"
    )
    registry_profile = models.ForeignKey(
        RegistryProfile,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="instances",
        help_text="How it writes its claims. Empty: ExternalDNS's defaults.",
    )
    domain_include = models.JSONField(
        "domain filter", default=list, blank=True, help_text="--domain-filter. Empty: every name."
    )
    domain_exclude = models.JSONField(
        "excluded domains", default=list, blank=True, help_text="--exclude-domains"
    )
    managed_types = models.JSONField(
        "managed record types",
        default=list,
        blank=True,
        help_text="--managed-record-types, such as A, AAAA, CNAME. Empty: not known.",
    )
    claim_cache_seconds = models.PositiveIntegerField(
        "caches claims for (seconds)",
        null=True,
        blank=True,
        validators=[MaxValueValidator(_LONGEST_CACHE)],
        help_text="--txt-cache-interval: how long it uses claims that it read before. 0: no cache. Empty: "
        "unknown.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("id",)
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "name"],
                name="instance_once",
                violation_error_message="Its owner has another instance of this name.",
            ),
            models.CheckConstraint(name="instance_name_not_empty", condition=~models.Q(name="")),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.owner}"

    def clean(self) -> None:
        self.domain_include = read_suffixes("domain_include", self.domain_include)
        self.domain_exclude = read_suffixes("domain_exclude", self.domain_exclude)
        for name in ("domain_include", "domain_exclude"):
            if len(getattr(self, name)) > _MOST_ENTRIES:
                raise ValidationError({name: f"Give at most {_MOST_ENTRIES} suffixes."})
        self.managed_types = _read_types(self.managed_types)


def _read_types(kinds: object) -> list[str]:
    """Record types in upper case, sorted, each once."""
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise ValidationError({"managed_types": "This is a list of record types such as A."})
    found = sorted({kind.strip().upper() for kind in kinds if kind.strip()})
    if not set(found) <= set(KNOWN_RECORD_TYPES):
        raise ValidationError({"managed_types": f"Name any of {', '.join(KNOWN_RECORD_TYPES)}, or none."})
    return found
