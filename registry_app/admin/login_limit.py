"""So many tries to sign in a minute from one address, whoever they are for."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from registry_app.admin.error_pages import show_too_many_logins
from registry_app.queries.rate import count_request, name_address


class LoginLimit:
    """Beside the lock-out of one name from one address: many names are tried from one address as well."""

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse]) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "POST" and request.path == reverse("admin:login"):
            address = name_address(str(request.META.get("REMOTE_ADDR", "")))
            wait = count_request("logins", address, settings.DNSADMIN_LOGINS_PER_MINUTE)
            if wait is not None:
                return show_too_many_logins(request, wait)
        return self._answer(request)
