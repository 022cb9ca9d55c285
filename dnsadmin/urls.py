"""The addresses of the web admin and the API."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from registry_app.admin.accounts import change_own_password

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/password_change/", admin.site.admin_view(change_own_password, cacheable=True)),
    path("admin/", admin.site.urls),
    path("api/v1/", include("registry_app.api.urls")),
]

_PAGES = "registry_app.admin.error_pages"
handler400 = f"{_PAGES}.show_bad_request"
handler403 = f"{_PAGES}.show_forbidden"
handler404 = f"{_PAGES}.show_not_found"
handler500 = "dnsadmin.failure.answer_failure"
