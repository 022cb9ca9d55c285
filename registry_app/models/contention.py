"""Contention: names at a provider where what instances want and what is owned do not agree."""

from django.db import models

from registry_app.models.owner import Owner
from registry_app.models.provider import Provider


class Contention(models.Model):
    """One name with its set identifier at a provider, and one way in which wishes and ownership differ there.

    Computed from desired sets and the mirror, and replaced when these change. `since` is when it was first
    computed so. `wanted_by` is [{guard_endpoint, slug, instance, owner, types, since, mode, is_stale}],
    `owned_by` [{owner, state, types}] with an empty owner for a record set without one. `suggestion` is a
    request as a finding has it. `digest` (16 bytes) covers all that is compared.
    """

    class Kind(models.TextChoices):
        SEVERAL_OWNERS = "several_owners", "Wanted by several owners"
        SEVERAL_INSTANCES = "several_instances", "Wanted by several instances of one owner"
        OWNED_BY_OTHER = "owned_by_other", "Wanted by one owner, owned by another"
        NOT_OWNED = "not_owned", "Wanted, and owned by nobody"
        UNWANTED = "unwanted", "Owned, and wanted by nobody"
        ABSENT = "absent", "Wanted, and not there"

    provider = models.ForeignKey(
        Provider, on_delete=models.CASCADE, related_name="contentions", db_index=False
    )
    kind = models.CharField(max_length=17, choices=Kind.choices)
    name = models.CharField(max_length=253)
    name_reversed = models.CharField(max_length=253)
    set_identifier = models.CharField(max_length=255, blank=True, default="")
    record_types = models.JSONField(default=list)
    wanted_by = models.JSONField(default=list)
    owned_by = models.JSONField(default=list)
    is_stale = models.BooleanField(default=False, help_text="A desired set that it rests on is stale.")
    advice = models.TextField(help_text="What solves it.")
    suggestion = models.JSONField(default=dict, blank=True)
    since = models.DateTimeField()
    digest = models.BinaryField(max_length=16)
    owners = models.ManyToManyField(Owner, through="ContentionOwner", related_name="contentions")

    class Meta:
        ordering = ("name", "id")
        verbose_name_plural = "contention"
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "kind", "name", "set_identifier"], name="contention_once"
            )
        ]
        indexes = [
            models.Index(fields=["name", "id"], name="contention_by_name"),
            models.Index(fields=["name_reversed"], name="contention_by_suffix"),
            models.Index(fields=["kind", "name"], name="contention_by_kind"),
        ]

    def __str__(self) -> str:
        identifier = f" ({self.set_identifier})" if self.set_identifier else ""
        return f"{self.name}{identifier}: {self.get_kind_display()}"


class ContentionOwner(models.Model):
    """An owner that a contention names: it wants the name, or owns what is there."""

    contention = models.ForeignKey(Contention, on_delete=models.CASCADE, related_name="+", db_index=False)
    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, related_name="+", db_index=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["contention", "owner"], name="contention_owner_once")]
        indexes = [models.Index(fields=["owner", "contention"], name="contention_of_owner")]

    def __str__(self) -> str:
        return f"{self.owner} in {self.contention}"


class ContentionCheck(models.Model):
    """When the contention of a provider was computed, from what, and how long that took.

    `inputs` is a digest of what it was computed from. `left_out` counts, by kind, what is beyond the most
    that is kept. While a worker computes it, no other begins before `busy_until`. History up to the event
    `events_seen` was searched for changes that did not pass the guard.
    """

    provider = models.OneToOneField(
        Provider, primary_key=True, on_delete=models.CASCADE, related_name="contention_check"
    )
    inputs = models.CharField(max_length=64, blank=True, default="")
    computed_at = models.DateTimeField(null=True)
    busy_until = models.DateTimeField(null=True)
    milliseconds = models.PositiveIntegerField(default=0)
    left_out = models.JSONField(default=dict)
    events_seen = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"Contention at {self.provider}"
