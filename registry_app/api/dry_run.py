"""`dry_run=true`: the request is answered as the real one would be, and leaves nothing behind.

The whole request runs in a transaction that is rolled back, so that every check is the real check. Hooks
that wait for a commit (tasks) do not run. Contacting another host cannot be rolled back: operations that
must do so refuse.
"""

from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from registry_app.api.problem import InvalidParameter
from registry_app.api.request import bad_parameters

NAME = "dry_run"
HEADER = "X-Dry-Run"
# They name what the rollback takes away again.
_HEADERS_OF_WHAT_IS_KEPT = ("Location", "ETag")

DRY_RUN = OpenApiParameter(
    NAME,
    bool,
    default=False,
    description="`true`: all checks are made, nothing is stored or sent, and no provider is contacted. The "
    "response is 200 with `X-Dry-Run: true` and the body the real request would give; ids, numbers "
    "and times in it are not kept.",
)
NO_DRY_RUN = OpenApiParameter(
    NAME,
    bool,
    default=False,
    description="`true` is refused: this operation contacts another host, which cannot be tried without "
    "doing it.",
)
DRY_RUN_HEADER = OpenApiParameter(
    HEADER, bool, OpenApiParameter.HEADER, response=[200], description="Only with `dry_run=true`."
)


def is_dry_run(request: Request | HttpRequest) -> bool:
    """Whether this request must leave nothing behind."""
    return request.GET.get(NAME) == "true"


def raise_if_not_possible(request: Request, *, contacts: bool) -> None:
    """Raise InvalidParameter where `dry_run` is neither true nor false, or cannot be done."""
    given = request.GET.get(NAME, "false")
    if given not in ("true", "false"):
        raise bad_parameters({NAME: ["Give true or false."]})
    if contacts and given == "true":
        raise InvalidParameter(
            "This operation contacts another host, which cannot be tried without doing it.",
            fields={NAME: ["Leave it out."]},
            todo="Send it without dry_run. It reads there and writes nothing.",
            code="dry_run_impossible",
        )


class DryRuns(APIView):
    """Mixed into a view before APIView."""

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Answer the request; a dry run in a transaction that is rolled back, whatever comes of it."""
        if not is_dry_run(request):
            return super().dispatch(request, *args, **kwargs)
        with transaction.atomic():
            response = super().dispatch(request, *args, **kwargs)
            transaction.set_rollback(True)
        return response


def mark_dry_run(response: Response) -> None:
    """Mark the response of a dry run, without headers that name what was not kept."""
    if response.status_code >= 300:
        return
    response.status_code = 200
    response[HEADER] = "true"
    for name in _HEADERS_OF_WHAT_IS_KEPT:
        response.headers.pop(name, None)
