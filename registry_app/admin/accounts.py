"""Users, groups and logins: Django's own pages in the theme, with their changes in our audit trail too."""

from collections.abc import Callable
from typing import Any, Final

from axes.admin import AccessAttemptAdmin
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from registry_app.admin.error_pages import show_too_many_logins
from registry_app.admin.site import ThemedGroupAdmin, ThemedUserAdmin
from registry_app.audit import record_audit
from registry_app.queries.actor import actor_of
from registry_app.queries.rate import count_request, name_address

_RIGHTS: Final = ("is_active", "is_staff", "is_superuser", "groups")
_HELP: Final = {
    "is_active": "Clear this instead of deleting the user: the audit trail still names them.",
    "is_staff": "May log in and see everything except secrets.",
    "is_superuser": "An administrator: may do everything except approve their own requests.",
    "groups": "Grants say what each group may do.",
}

# What the audit trail keeps of a user, a group, a lock-out.
_KEPT: Final = (
    *("username", "email", "first_name", "last_name", "is_active", "is_staff", "is_superuser"),
    *("name", "ip_address", "failures_since_start"),
)
_KEPT_LISTS: Final = ("groups", "user_permissions", "permissions")
_BEFORE: Final = "dnsadmin.account_before"

admin.site.unregister(AccessAttempt)
admin.site.unregister(User)
admin.site.unregister(Group)


class _Audited:
    """Audits changes with their values before and after; of a password only that it changed."""

    def save_model(self, request: HttpRequest, obj: models.Model, form: Any, change: bool) -> None:  # noqa: FBT001 - a ModelAdmin's
        if change:
            request.META[_BEFORE] = read_account(type(obj)._default_manager.get(pk=obj.pk))
        super().save_model(request, obj, form, change)  # type: ignore[misc]  # a ModelAdmin's

    def log_addition(self, request: HttpRequest, obj: models.Model, message: Any) -> LogEntry:
        _record(request, obj, "added", message, after=read_account(obj))
        entry: LogEntry = super().log_addition(request, obj, message)  # type: ignore[misc]  # a ModelAdmin's
        return entry

    def log_change(self, request: HttpRequest, obj: models.Model, message: Any) -> LogEntry:
        before: dict[str, Any] = request.META.pop(_BEFORE, {})
        after = read_account(obj)
        moved = [name for name in before if before[name] != after[name]]
        _record(
            request,
            obj,
            "changed",
            message,
            before={name: before[name] for name in moved},
            after={name: after[name] for name in moved},
        )
        entry: LogEntry = super().log_change(request, obj, message)  # type: ignore[misc]  # a ModelAdmin's
        return entry

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        for row in queryset:
            _record(request, row, "deleted", [], before=read_account(row))
        return super().log_deletions(request, queryset)  # type: ignore[misc]  # a ModelAdmin's


def read_account(row: models.Model) -> dict[str, Any]:
    """What the audit trail keeps of a user, a group or a lock-out: names and rights, no secret."""
    row = type(row)._default_manager.get(pk=row.pk)
    values = {name: getattr(row, name) for name in _KEPT if hasattr(row, name)}
    for name in _KEPT_LISTS:
        if hasattr(row, name):
            values[name] = sorted(str(each) for each in getattr(row, name).all())
    return values


def _record(
    request: HttpRequest,
    row: models.Model,
    verb: str,
    message: Any,
    *,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    what = {"what": message} if message else {}
    with transaction.atomic():
        record_audit(
            actor_of(request),
            f"{row._meta.model_name}.{verb}",
            row,
            before=before,
            after={**what, **(after or {})},
        )


def change_own_password(request: HttpRequest) -> HttpResponse:
    """Django's own page, with an audit entry when the password changed."""
    rows = User.objects.filter(username=request.user.get_username())
    with transaction.atomic():
        before = rows.values_list("password", flat=True).get()
        response = admin.site.password_change(request)
        if rows.values_list("password", flat=True).get() != before:
            record_audit(actor_of(request), "user.password_changed", rows.get())
    return response


@admin.register(User)
class UserPageAdmin(_Audited, ThemedUserAdmin):
    """Who may log in, and in which groups. Grants say what a group may do; Django's own permissions have no
    effect, so they are not shown."""

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


@admin.register(AccessAttempt)
class LockOutPageAdmin(_Audited, AccessAttemptAdmin):  # type: ignore[misc]  # untyped there
    """Failed logins: deleting the row of a name unlocks it."""


class LoginLimit:
    """Limits logins from one address, whatever the user names. The lock-out is for one name from one
    address."""

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse]) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "POST" and request.path == reverse("admin:login"):
            address = name_address(str(request.META.get("REMOTE_ADDR", "")))
            wait = count_request("logins", address, settings.DNSADMIN_LOGINS_PER_MINUTE)
            if wait is not None:
                return show_too_many_logins(request, wait)
        return self._answer(request)
