"""Users and groups: Django's own screens in the theme, with their changes in our audit trail too."""

from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.db import models, transaction
from django.http import HttpRequest

from registry_app.admin.actor import actor_of
from registry_app.admin.site import ThemedGroupAdmin, ThemedUserAdmin
from registry_app.audit import record_audit

_RIGHTS: Final = ("is_active", "is_staff", "is_superuser", "groups")
_HELP: Final = {
    "is_active": "Take this away instead of deleting the user: the audit trail still names them.",
    "is_staff": "May log in here, and see everything but secrets.",
    "is_superuser": "An administrator: may do everything, but not approve their own requests.",
    "groups": "Grants say what each group may do.",
}

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
    """Who may log in, and in which groups. Grants say what a group may do; Django's own permissions are
    asked nowhere, so they are not shown."""

    list_display = ("username", "email", "first_name", "last_name", "is_staff", "is_superuser", "is_active")
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        ("Rights", {"fields": _RIGHTS}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "usable_password", "password1", "password2")}),
        ("Rights", {"fields": ("is_staff", "groups")}),
    )

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        # A person is added to log in; what it may do beyond looking, its groups say.
        return {"is_staff": True, **super().get_changeform_initial_data(request)}

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **options)
        if field is not None and db_field.name in _HELP:
            field.help_text = _HELP[db_field.name]
        return field


@admin.register(Group)
class GroupPageAdmin(_Audited, ThemedGroupAdmin):
    """A group is a name that grants are given to."""

    fields = ("name",)
    filter_horizontal = ()
