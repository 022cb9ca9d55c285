"""Freeze: nothing is sent while it lasts."""

from django.db import models

from registry_app.models.provider import Provider


class Freeze(models.Model):
    """A freeze window, of one provider or (provider empty) of all. Open-ended without `ends_at`."""

    provider = models.ForeignKey(
        Provider, null=True, blank=True, on_delete=models.CASCADE, related_name="freezes"
    )
    reason = models.TextField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True, blank=True)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)
        constraints = [
            models.CheckConstraint(
                name="freeze_ends_after_start",
                condition=models.Q(ends_at__isnull=True) | models.Q(ends_at__gte=models.F("starts_at")),
            )
        ]

    def __str__(self) -> str:
        return f"Freeze of {self.provider or 'all providers'}"
