"""Addresses that are not there, told in our own words; those that only lack their last slash lead on."""

from http import HTTPStatus

from django.urls import Resolver404, resolve
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView


@extend_schema(exclude=True)
class UnknownAddress(APIView):
    """Answers 404 to everything, and 308 (method and body stay) where a slash was forgotten."""

    authentication_classes = ()
    permission_classes = ()
    parser_classes = ()

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        if leads_on := _address_with_slash(request):
            self.leads_on = leads_on
            return
        raise NotFound("There is nothing at this address.")

    def http_method_not_allowed(self, request: Request, *args: object, **kwargs: object) -> Response:  # type: ignore[override]  # as above
        """Every method: none is defined here."""
        return Response(status=HTTPStatus.PERMANENT_REDIRECT, headers={"Location": self.leads_on})

    options = http_method_not_allowed


def _address_with_slash(request: Request) -> str:
    if request.path_info.endswith("/"):
        return ""
    try:
        match = resolve(f"{request.path_info}/")
    except Resolver404:
        return ""
    if getattr(match.func, "cls", None) is UnknownAddress:
        return ""
    query = request.META.get("QUERY_STRING", "")
    return f"{request.path}/{'?' if query else ''}{query}"
