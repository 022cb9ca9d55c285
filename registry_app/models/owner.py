"""Owner: the id that ExternalDNS instances sign with, and what we know about it."""

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import models

from providers.registries.errors import UnwritableLabel
from providers.registries.labels import raise_if_owner_unwritable
from providers.wire.canonical_name import InvalidName, canonical_name
from registry_app.models.deletion import NotDeleted, build_unique_name


class Owner(models.Model):
    """An owner id. Discovered in claims, or registered by a person.

    Where it runs, and how, its instances say: usually one, sometimes several, none where nobody said.
    """

    class Status(models.TextChoices):
        DISCOVERED = "discovered", "Seen in claims, not registered"
        REGISTERED = "registered", "Registered"
        DECOMMISSIONED = "decommissioned", "Decommissioned"

    owner_id = models.CharField(max_length=255)
    status = models.CharField(max_length=15, choices=Status.choices, default=Status.DISCOVERED)
    team = models.ForeignKey(Group, null=True, blank=True, on_delete=models.SET_NULL, related_name="owners")
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
        self.name_patterns = read_suffixes("name_patterns", self.name_patterns)


def read_suffixes(field: str, suffixes: object) -> list[str]:
    """Suffixes in canonical spelling, each once; one that begins with a dot matches only names below it.

    Raises ValidationError for `field`.
    """
    if not isinstance(suffixes, list) or not all(isinstance(suffix, str) for suffix in suffixes):
        raise ValidationError({field: "This is a list of suffixes such as example.org."})
    canonical: list[str] = []
    for suffix in suffixes:
        dot = "." if suffix.startswith(".") else ""
        try:
            canonical.append(dot + canonical_name(suffix.removeprefix(".")))
        except InvalidName as error:
            raise ValidationError({field: f"{suffix!r}: {error}"}) from error
    return list(dict.fromkeys(canonical))
