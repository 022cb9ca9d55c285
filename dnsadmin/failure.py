"""What no view answered for: told as a page to people, as a problem to programs."""

import sys

from django.http import HttpRequest, HttpResponse

from registry_app.admin.error_pages import show_broken
from registry_app.api.problem import answer_outside_a_view


def answer_failure(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`, which is called while the exception is being handled."""
    error = sys.exception()
    if request.path.startswith("/api/"):
        return answer_outside_a_view(error)
    return show_broken(request, error)
