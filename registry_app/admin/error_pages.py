"""The error pages: what happened, what is true now, what to do, and the id of the request."""

from typing import Final

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import DisallowedHost, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from registry_app.admin.wording import format_span
from registry_app.errors import DATABASE_ERRORS
from registry_app.queries.access import may_read
from registry_app.queries.actor import actor_of, request_id_of

_NOTHING_CHANGED: Final = "Nothing was changed."


def show_bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400. Outside the theme, because the host name itself may be wrong."""
    if isinstance(exception, DisallowedHost):
        return _show_plain(
            request,
            400,
            "Unknown host name",
            "dnsadmin does not serve the host name in this address.",
            "Use a host name that dnsadmin serves. An operator adds host names to DNSADMIN_ALLOWED_HOSTS.",
        )
    return _show_plain(
        request,
        400,
        "This request is not valid",
        "The address or the form names something that does not exist, such as a filter of another list.",
        "Open the list again and use the filters above it.",
    )


def show_forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403: a person without the right."""
    return _show(
        request,
        403,
        "You may not do this",
        _read_reason(exception, PermissionDenied) or "Your account has no right to this page.",
        "Ask an administrator for a grant. The page Grants shows who may do what.",
    )


def show_expired_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: a form that the browser's session no longer belongs to."""
    return _show(
        request,
        403,
        "This form has expired",
        "It was opened before you logged in or out, or the browser sends no cookies.",
        "Go back, reload the page, and send it again.",
    )


def show_locked_out(
    request: HttpRequest, _response: HttpResponse | None = None, _credentials: object = None
) -> HttpResponse:
    """429: too many wrong passwords. It says the same whether there is such a user or not."""
    return _show_plain(
        request,
        429,
        "Too many failed logins",
        f"This user name is locked for your address for {format_span(settings.AXES_COOLOFF_TIME)}.",
        "Wait, then log in again. Or ask an operator to run: manage.py dnsadmin_unlock NAME",
    )


def show_too_many_logins(request: HttpRequest, wait: float) -> HttpResponse:
    """429: too many logins from one address, whatever the user names."""
    seconds = max(1, round(wait))
    response = _show_plain(
        request,
        429,
        "Too many logins from this address",
        f"There were more than {settings.DNSADMIN_LOGINS_PER_MINUTE} within a minute.",
        f"Wait {seconds} s, then log in again. An operator can raise DNSADMIN_LOGINS_PER_MINUTE.",
    )
    response["Retry-After"] = str(seconds)
    return response


def show_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404: no such address, or no such row."""
    return _show(
        request,
        404,
        "Page not found",
        _read_reason(exception, Http404) or "There is no page at this address.",
        "Look for it in its list. Old entries may have been removed.",
    )


def show_broken(request: HttpRequest, error: BaseException | None = None) -> HttpResponse:
    """500, or 503 without the database. It reads nothing from the database, which may be what is broken."""
    if isinstance(error, DATABASE_ERRORS):
        response = _show_plain(
            request,
            503,
            "The database does not respond",
            "dnsadmin cannot read or write anything now. The log has the reason under the request id below.",
            "Try again in a moment. If it continues, tell an operator: the database is down, "
            "full or not migrated.",
            now="The request had no effect, unless only the response was lost. Workers continue when "
            "the database is back.",
        )
        response["Retry-After"] = "5"
        return response
    return _show_plain(
        request,
        500,
        "This page failed",
        "dnsadmin had an unexpected error. The log has it under the request id below.",
        "Try again. If it continues, give an operator the request id.",
        now="No page sends anything to a provider. Workers continue what they started.",
    )


def _show(request: HttpRequest, status: int, title: str, happened: str, todo: str) -> HttpResponse:
    """A page inside the theme, for people who may see it."""
    if not hasattr(request, "user") or not may_read(actor_of(request)) or not request.user.is_staff:
        return _show_plain(request, status, title, happened, todo)
    values = {**admin.site.each_context(request), **_describe(title, happened, todo), "is_fullwidth": "1"}
    return render(request, "dnsadmin/error.html", values, status=status)


def _show_plain(
    request: HttpRequest, status: int, title: str, happened: str, todo: str, *, now: str = _NOTHING_CHANGED
) -> HttpResponse:
    return render(None, "dnsadmin/error_plain.html", _describe(title, happened, todo, now), status=status)


def _describe(title: str, happened: str, todo: str, now: str = _NOTHING_CHANGED) -> dict[str, object]:
    trouble = {"happened": happened, "now": now, "todo": todo}
    return {"trouble": trouble, "title": title, "request_id": request_id_of()}


def _read_reason(exception: Exception | None, kind: type[Exception]) -> str:
    """The sentence of our own refusal; the resolver's own 404 lists all addresses."""
    if not isinstance(exception, kind) or not exception.args:
        return ""
    reason = exception.args[0]
    return reason if isinstance(reason, str) else ""
