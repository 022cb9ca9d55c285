"""Freeze: nothing is sent while it lasts. A pin is a freeze for instances alone."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from providers.wire.canonical_name import InvalidName, canonical_name
from registry_app.models.owner import Owner, read_suffixes
from registry_app.models.provider import Provider

_MOST_SHOWN = 3


class Freeze(models.Model):
    """A freeze or a pin of what matches all that it names: a provider, an owner, names. What is empty matches
    everything; without any it is of everything. Of `names` and `name_suffixes` one has to match.

    Open-ended without `ends_at`. With a weekly window it is in force inside or outside that window, between
    its start and its end.
    """

    class Kind(models.TextChoices):
        FREEZE = "freeze", "Freeze: no instance, transfer or loop changes anything"
        PIN = "pin", "Pin: instances change nothing; transfers and loops may"

    class WindowUse(models.TextChoices):
        INSIDE = "inside", "Inside its weekly window"
        OUTSIDE = "outside", "Outside its weekly window"

    kind = models.CharField(max_length=6, choices=Kind.choices, default=Kind.FREEZE)
    provider = models.ForeignKey(
        Provider, null=True, blank=True, on_delete=models.CASCADE, related_name="freezes"
    )
    owner = models.ForeignKey(Owner, null=True, blank=True, on_delete=models.CASCADE, related_name="freezes")
    names = models.JSONField(default=list, blank=True, help_text="Exact names.")
    name_suffixes = models.JSONField(
        default=list, blank=True, help_text="Suffixes, as in a domain filter: .example.org is only below it."
    )
    reason = models.TextField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True, blank=True)
    window_use = models.CharField(max_length=7, choices=WindowUse.choices, blank=True, default="")
    window_weekdays = models.JSONField(default=list, blank=True, help_text="On which it begins: mon to sun.")
    window_start = models.TimeField(null=True, blank=True)
    window_minutes = models.PositiveIntegerField(null=True, blank=True)
    window_time_zone = models.CharField(max_length=64, blank=True, default="")
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(
                name="freeze_ends_after_start",
                condition=Q(ends_at__isnull=True) | Q(ends_at__gte=models.F("starts_at")),
            ),
            models.CheckConstraint(
                name="freeze_window_is_whole",
                condition=Q(window_use="") | Q(window_start__isnull=False, window_minutes__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{'Pin' if self.kind == self.Kind.PIN else 'Freeze'} of {self.subject}"

    @property
    def has_names(self) -> bool:
        """Whether it is of some names alone."""
        return bool(self.names or self.name_suffixes)

    @property
    def is_narrowed(self) -> bool:
        """Whether it is of less than all of a provider, or of all providers."""
        return self.has_names or self.owner_id is not None

    @property
    def subject(self) -> str:
        """What is frozen, such as `all providers`, or `www.example.org of blue-cluster at blue-zone`."""
        if not self.is_narrowed:
            return str(self.provider or "all providers")
        owner = f" of {self.owner}" if self.owner else ""
        where = f" at {self.provider}" if self.provider else ""
        return f"{self._describe_names() or 'everything'}{owner}{where}"

    @property
    def window(self) -> dict[str, Any] | None:
        """Its weekly window as the API has it; None: it has none. `in_force` is its `WindowUse`."""
        if not self.window_use or self.window_start is None:
            return None
        return {
            "in_force": self.window_use,
            "weekdays": self.window_weekdays,
            "start": f"{self.window_start:%H:%M}",
            "minutes": self.window_minutes,
            "time_zone": self.window_time_zone,
        }

    def _describe_names(self) -> str:
        shown = [
            *self.names,
            *(f"*{each}" if each.startswith(".") else f"{each} and below" for each in self.name_suffixes),
        ]
        more = f" and {len(shown) - _MOST_SHOWN} more" if len(shown) > _MOST_SHOWN else ""
        return f"{', '.join(shown[:_MOST_SHOWN])}{more}"

    def clean(self) -> None:
        self.names = _read_names(self.names)
        self.name_suffixes = read_suffixes("name_suffixes", self.name_suffixes)


def _read_names(names: object) -> list[str]:
    """Names in canonical spelling, each once. Raises ValidationError."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValidationError({"names": "This is a list of names such as www.example.org."})
    try:
        return list(dict.fromkeys(map(canonical_name, names)))
    except InvalidName as error:
        raise ValidationError({"names": str(error)}) from error
