"""The columns that a person chose for a list."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.exceptions import NotRegistered
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, QueryDict
from django.shortcuts import redirect

from registry_app.admin.filtered_list import name_column
from registry_app.admin.forms import refuse
from registry_app.admin.list_page import ListPage
from registry_app.errors import DnsadminError
from registry_app.inventory.saved_filter import choose_columns
from registry_app.queries.actor import actor_of


def show_columns(request: HttpRequest, page: str) -> HttpResponse:
    """Store what was chosen, or nothing with `reset`, and go back to the list."""
    found = _find_list(page)
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if not found.has_view_permission(request):
        raise PermissionDenied
    known = [name_column(each) for each in found.all_columns[1:]]
    wanted = [] if "reset" in request.POST else [n for n in known if n in request.POST.getlist("columns")]
    usual = [name_column(each) for each in found.list_display[1:]]
    try:
        choose_columns(actor_of(request), page, [] if wanted == usual else wanted)
    except DnsadminError as error:
        refuse(request, error)
    # Only what follows the question mark is theirs to say.
    query = QueryDict(request.POST.get("back", "").replace("\0", "")).urlencode()
    return redirect(f"{found.url_of('changelist')}{'?' if query else ''}{query}")


def _find_list(page: str) -> ListPage[Any]:
    """The list whose model has this name. Raises Http404."""
    try:
        found = admin.site.get_model_admin(apps.get_model("registry_app", page))
    except (LookupError, NotRegistered):
        found = None
    if not isinstance(found, ListPage):
        raise Http404("There is no such list.")
    return found
