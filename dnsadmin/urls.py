"""The addresses of the web admin and the API, and what answers where no view does."""

import sys

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView

from registry_app.admin.accounts import change_own_password
from registry_app.admin.columns import show_columns
from registry_app.admin.error_pages import show_broken
from registry_app.admin.explain import show_explanation
from registry_app.admin.search import show_search
from registry_app.api.problem import answer_outside_a_view

admin.autodiscover()

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/password_change/", admin.site.admin_view(change_own_password, cacheable=True)),
    path("admin/columns/<slug:page>/", admin.site.admin_view(show_columns), name="columns"),
    path("admin/explain/", admin.site.admin_view(show_explanation), name="explain"),
    path("admin/find/", admin.site.admin_view(show_search), name="find"),
    path("admin/", admin.site.urls),
    path("api/v1/", include("registry_app.api.urls")),
]

_PAGES = "registry_app.admin.error_pages"
handler400 = f"{_PAGES}.show_bad_request"
handler403 = f"{_PAGES}.show_forbidden"
handler404 = f"{_PAGES}.show_not_found"
handler500 = "dnsadmin.urls.answer_failure"


def answer_failure(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`, which is called while the exception is being handled."""
    error = sys.exception()
    if request.path.startswith("/api/"):
        return answer_outside_a_view(error)
    return show_broken(request, error)
