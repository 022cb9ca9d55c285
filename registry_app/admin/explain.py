"""The page of a name: everything that is known of it, at every provider, and what was there at a moment."""

from datetime import UTC, datetime

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.dateparse import parse_datetime

from registry_app.errors import InvalidRequest
from registry_app.queries.access import may_read
from registry_app.queries.actor import actor_of
from registry_app.queries.explain_name import explain_name


def show_explanation(request: HttpRequest) -> HttpResponse:
    """The form, and what is known of the name that was typed."""
    actor = actor_of(request)
    if not may_read(actor):
        raise PermissionDenied
    name, at_text = (request.GET.get(key, "").strip().replace("\0", "") for key in ("name", "at"))
    at, problem, found = _read_moment(at_text), "", None
    if at_text and at is None:
        problem = "That is no moment. Enter one such as 2026-11-22 10:00; it is UTC."
    elif name:
        try:
            found = explain_name(actor, name, at=at)
        except InvalidRequest as error:
            problem = str(error)
    context = {
        **admin.site.each_context(request),
        "title": "Explain a name",
        "is_fullwidth": "1",
        "typed": {"name": name, "at": at_text},
        "at": at,
        "problem": problem,
        "found": found,
    }
    return TemplateResponse(request, "dnsadmin/explain.html", context)


def _read_moment(text: str) -> datetime | None:
    """UTC where it has no offset; None for what is no moment."""
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment
