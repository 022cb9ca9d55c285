"""SavedFilter and ChosenColumns: how a person likes to see lists."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models


class SavedFilter(models.Model):
    """The filters of one list under a name, for its user and whoever is in `group`. `list_name` and the
    names in `filters` are those of the API."""

    list_name = models.CharField("list", max_length=30)
    name = models.CharField(max_length=100)
    filters = models.JSONField(default=dict)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_filters", editable=False
    )
    group = models.ForeignKey(
        Group,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name="shared with",
        help_text="Its members see it, too. Nobody but you can change it.",
    )
    is_pinned = models.BooleanField(
        "pinned", default=False, help_text="It is on the dashboard of everybody who sees it."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("name", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["user", "list_name", "name"],
                name="saved_filter_once",
                violation_error_code="name",
                violation_error_message="You have a filter of this list with this name.",
            )
        ]

    def __str__(self) -> str:
        return self.name


class ChosenColumns(models.Model):
    """The columns of one list that a person wants to see, by their names."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    list_name = models.CharField(max_length=30)
    columns = models.JSONField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "list_name"], name="chosen_columns_once")]
