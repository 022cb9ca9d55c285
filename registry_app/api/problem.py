"""Errors as RFC 9457 problems: the one place where our codes become statuses."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpResponse
from django.urls import Resolver404, resolve
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from registry_app.api.authentication import count_without_token
from registry_app.errors import (
    DATABASE_ERRORS,
    ConfirmationNeeded,
    DnsadminError,
    InvalidRequest,
    LeaseLost,
    NotAllowed,
    NotFound,
    RefusedBySafety,
    SecretUnavailable,
    StateMoved,
)
from registry_app.loop.run_loop import ProviderTrouble
from registry_app.queries.actor import note_refusal, request_id_of

CONTENT_TYPE = "application/problem+json"
_RETRY_SECONDS = 5
_WHOLE_BODY = "body"
_LOG = structlog.get_logger(__name__)
_CODES_OF_FRAMEWORK: tuple[tuple[type[exceptions.APIException], str, str], ...] = (
    (exceptions.NotAuthenticated, "not_authenticated", "Send a token: `Authorization: Bearer dnsa_...`."),
    (exceptions.AuthenticationFailed, "authentication_failed", "Use a valid token."),
    (exceptions.PermissionDenied, "not_allowed", "Ask an administrator of dnsadmin."),
    (exceptions.NotFound, "not_found", "Look it up in the list."),
    (exceptions.MethodNotAllowed, "method_not_allowed", "See /api/v1/docs/ for what this address takes."),
    (exceptions.NotAcceptable, "not_acceptable", "Ask for application/json."),
    (exceptions.UnsupportedMediaType, "unsupported_media_type", "Send application/json."),
    (exceptions.Throttled, "throttled", "Wait as long as Retry-After says."),
    (exceptions.ParseError, "malformed_body", "Correct it and send it again."),
)


class PreconditionFailed(StateMoved):
    """`If-Match` names another version than the stored one."""

    code = "precondition_failed"


class PreconditionRequired(InvalidRequest):
    """A change was sent without the version it was made from."""

    code = "precondition_required"


class InvalidParameter(InvalidRequest):
    """The query string or a header cannot be read as what it should be."""

    code = "invalid_parameter"


class MalformedBody(InvalidRequest):
    """The body is not JSON, or not strict JSON."""

    code = "malformed_body"


class BodyTooLarge(InvalidRequest):
    """The body is larger than any request needs."""

    code = "body_too_large"


# The first class that fits decides: a special class is before the class it inherits from.
_STATUSES: tuple[tuple[type[DnsadminError], HTTPStatus], ...] = (
    (PreconditionFailed, HTTPStatus.PRECONDITION_FAILED),
    (PreconditionRequired, HTTPStatus.PRECONDITION_REQUIRED),
    (InvalidParameter, HTTPStatus.BAD_REQUEST),
    (MalformedBody, HTTPStatus.BAD_REQUEST),
    (BodyTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (InvalidRequest, HTTPStatus.UNPROCESSABLE_ENTITY),
    (NotAllowed, HTTPStatus.FORBIDDEN),
    (NotFound, HTTPStatus.NOT_FOUND),
    (StateMoved, HTTPStatus.CONFLICT),
    (ProviderTrouble, HTTPStatus.BAD_GATEWAY),
    (RefusedBySafety, HTTPStatus.CONFLICT),
    (LeaseLost, HTTPStatus.SERVICE_UNAVAILABLE),
    (SecretUnavailable, HTTPStatus.INTERNAL_SERVER_ERROR),
)


def build_problem_response(exc: Exception, context: Mapping[str, Any]) -> Response:
    """The response to an error in a view. It contains only our own sentences."""
    if isinstance(exc, exceptions.ValidationError):
        exc = InvalidRequest("The request is not valid.", fields=flatten_problems(exc.detail))
    if isinstance(exc, DnsadminError):
        return _response_to_own(exc)
    if isinstance(exc, Http404):
        exc = exceptions.NotFound()
    if isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied()
    if isinstance(exc, exceptions.APIException):
        return _response_to_framework(_limit_refusals(exc, context))
    if not isinstance(exc, RequestDataTooBig):
        _LOG.error("api.failed", exc_info=exc)
    return _response_to_unexpected(exc)


def _limit_refusals(error: exceptions.APIException, context: Mapping[str, Any]) -> exceptions.APIException:
    """Limit how often a minute an address without a valid token gets this refusal."""
    request = context.get("request")
    if request is None or not isinstance(
        error, exceptions.NotAuthenticated | exceptions.AuthenticationFailed
    ):
        return error
    wait = count_without_token(request)
    return error if wait is None else exceptions.Throttled(wait=wait)


def answer_outside_a_view(error: BaseException | None) -> HttpResponse:
    """The response to an error outside any view, where nothing renders a problem.

    Django logs it.
    """
    problem = _response_to_unexpected(error)
    answer = HttpResponse(
        JSONRenderer().render(problem.data), status=problem.status_code, headers=problem.headers
    )
    answer["Content-Type"] = CONTENT_TYPE
    return answer


def flatten_problems(detail: Any, path: str = "") -> dict[str, list[str]]:
    """A serializer's nested errors by dotted path: `selection.names.0`."""
    if isinstance(detail, Mapping):
        nested = [(f"{path}.{key}" if path else str(key), value) for key, value in detail.items()]
    elif isinstance(detail, list) and any(isinstance(entry, Mapping | list) for entry in detail):
        nested = [(f"{path}.{index}", value) for index, value in enumerate(detail) if value]
    else:
        entries = detail if isinstance(detail, list) else [detail]
        return {_name_place(path): [str(entry) for entry in entries]}
    problems: dict[str, list[str]] = {}
    for nested_path, value in nested:
        problems.update(flatten_problems(value, nested_path))
    return problems


def _name_place(path: str) -> str:
    """A problem that is not about one field is about the object that contains the fields; the outermost is
    the body."""
    return path.removesuffix("__all__").removesuffix("non_field_errors").rstrip(".") or _WHOLE_BODY


def _response_to_own(error: DnsadminError) -> Response:
    status = next(
        (status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR
    )
    members: dict[str, Any] = {}
    if isinstance(error, InvalidRequest) and error.fields:
        members["fields"] = {_name_place(path): texts for path, texts in error.fields.items()}
    if isinstance(error, ConfirmationNeeded):
        members["confirmation_text"] = error.confirmation_text
    headers = {"Retry-After": str(_RETRY_SECONDS)} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    sentences = (error.happened, error.now, error.todo)
    return _build_response(status, error.code, sentences, members=members, headers=headers)


def _response_to_framework(error: exceptions.APIException) -> Response:
    code, todo = next(
        ((code, todo) for kind, code, todo in _CODES_OF_FRAMEWORK if isinstance(error, kind)), ("error", "")
    )
    headers: dict[str, str] = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if (wait := getattr(error, "wait", None)) is not None:
        headers["Retry-After"] = str(max(1, round(wait)))
    sentences = (str(error.detail), "Nothing was changed.", todo)
    return _build_response(HTTPStatus(error.status_code), code, sentences, headers=headers)


def _response_to_unexpected(error: BaseException | None) -> Response:
    """An unexpected error: answered without its text, which may contain a secret, and with the request id."""
    if isinstance(error, RequestDataTooBig):
        return _response_to_own(BodyTooLarge("The request is too large."))
    if isinstance(error, DATABASE_ERRORS):
        sentences = (
            "The database did not respond, or not in time.",
            "The request had no effect, unless only the response was lost.",
            "Send the same request again, with an Idempotency-Key if it writes.",
        )
        headers = {"Retry-After": str(_RETRY_SECONDS)}
        return _build_response(
            HTTPStatus.SERVICE_UNAVAILABLE, "database_unavailable", sentences, headers=headers
        )
    sentences = (
        "Something failed inside dnsadmin.",
        "The request may have had no effect.",
        "Check the result before you send it again, and tell an administrator the request id.",
    )
    return _build_response(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", sentences)


def _build_response(
    status: HTTPStatus,
    code: str,
    sentences: tuple[str, str, str],
    *,
    members: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    note_refusal(code)
    happened, now, todo = sentences
    problem: dict[str, Any] = {
        "type": f"urn:dnsadmin:problem:{code}",
        "title": status.phrase,
        "status": status.value,
        "detail": " ".join(part for part in sentences if part),
        "code": code,
        "happened": happened,
        "now": now,
        "todo": todo,
        "request_id": request_id_of(),
        **(members or {}),
    }
    return Response(problem, status=status.value, headers=headers, content_type=CONTENT_TYPE)


@extend_schema(exclude=True)
class UnknownAddress(APIView):
    """Answers 404 to every unknown address, and 308 (method and body stay) where only the last slash is
    missing."""

    authentication_classes = ()
    permission_classes = ()
    parser_classes = ()

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        if address := _address_with_slash(request):
            self.address = address
            return
        raise exceptions.NotFound("There is nothing at this address.")

    def http_method_not_allowed(self, request: Request, *args: object, **kwargs: object) -> Response:  # type: ignore[override]  # as above
        """Every method: none is defined here."""
        return Response(status=HTTPStatus.PERMANENT_REDIRECT, headers={"Location": self.address})

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
