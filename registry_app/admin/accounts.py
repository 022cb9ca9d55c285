"""Users and groups: Django's own screens in the theme, with their changes in our audit trail too."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.db import models, transaction
from django.http import HttpRequest

from registry_app.admin.actor import actor_of
from registry_app.admin.site import ThemedGroupAdmin, ThemedUserAdmin
from registry_app.audit import record_audit

admin.site.unregister(User)
admin.site.unregister(Group)


class _Audited:
    """Django names the fields that changed, never their values: no password comes near the trail."""

    def log_addition(self, request: HttpRequest, obj: models.Model, message: Any) -> LogEntry:
        _record(request, obj, "added", message)
        entry: LogEntry = super().log_addition(request, obj, message)  # type: ignore[misc]  # a ModelAdmin's
        return entry

    def log_change(self, request: HttpRequest, obj: models.Model, message: Any) -> LogEntry:
        _record(request, obj, "changed", message)
        entry: LogEntry = super().log_change(request, obj, message)  # type: ignore[misc]  # a ModelAdmin's
        return entry

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            _record(request, row, "deleted", [])
        return super().log_deletions(request, queryset)  # type: ignore[misc]  # a ModelAdmin's


def _record(request: HttpRequest, row: models.Model, verb: str, message: Any) -> None:
    with transaction.atomic():
        record_audit(actor_of(request), f"{row._meta.model_name}.{verb}", row, after={"what": message})


@admin.register(User)
class UserPageAdmin(_Audited, ThemedUserAdmin):
    pass


@admin.register(Group)
class GroupPageAdmin(_Audited, ThemedGroupAdmin):
    pass
