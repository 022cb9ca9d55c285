"""The OpenAPI document: what it says of every operation beside its own words, and its views."""

from functools import cache
from threading import Lock
from typing import Any, ClassVar, Literal

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent, force_instance
from drf_spectacular.utils import OpenApiParameter
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from registry_app.api.dry_run import DRY_RUN, DRY_RUN_HEADER, NO_DRY_RUN
from registry_app.api.precondition import ETAG, IF_NONE_MATCH
from registry_app.api.problem import CONTENT_TYPE
from registry_app.api.request import AcceptAlone, raise_if_unknown

# How every id of a row is shown, in addresses, answers and requests alike (`RowIdField` says the same).
_ROW_ID = {"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**63 - 1}
# What is sent while it is made has no digest, so no ETag.
STREAMED = frozenset(
    {"export", "zone_file", "export_items", "export_steps", "export_events", "export_endpoints"}
)
Direction = Literal["request", "response"]
# What every operation may answer, and what those answer that have what is named.
_PROBLEMS = {
    "400": ("BadRequest", "The query string, a header or the body cannot be read."),
    "401": ("NoToken", "There is no token, or it is unknown, expired or revoked."),
    "403": ("NotAllowed", "The token, or its user, may not do this."),
    "429": ("TooManyRequests", "Too many requests. `Retry-After` says how many seconds to wait."),
}
_PROBLEMS_OF_OBJECTS = {"404": ("NotFound", "There is no such object, or it was deleted.")}
_PROBLEMS_OF_WRITES = {
    "409": ("Refused", "A rule refuses it, a confirmation is missing, or somebody else was first."),
    "413": ("BodyTooLarge", "The body is too large."),
    "415": ("NotJson", "The body is not `application/json`."),
    "422": ("Invalid", "The request is not valid. `fields` names the fields, as the request did."),
}
_PROBLEMS_OF_VERSIONS = {
    "412": ("VersionMoved", "`If-Match` names another version than the stored one."),
    "428": ("VersionMissing", "There is no `If-Match`."),
}


class Problem(serializers.Serializer[Any]):
    """What happened, what is true now, what to do (RFC 9457)."""

    sometimes_absent: ClassVar = frozenset({"fields", "confirmation_text"})

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="The three sentences as one text.")
    code = serializers.CharField(help_text="Stable; what a program looks at.")
    happened = serializers.CharField()
    now = serializers.CharField()
    todo = serializers.CharField()
    request_id = serializers.CharField(help_text="The id under which the log has it.")
    fields = serializers.DictField(  # type: ignore[assignment]  # the name of the member, not the serializer's own
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="What is wrong with which field, by dotted path.",
    )
    confirmation_text = serializers.CharField(
        required=False, help_text="With the code `confirmation_needed`: what to send as `confirmation`."
    )


class NounSchema(AutoSchema):
    """Adds to every operation what all have: a summary, the problems it may answer, and the dry run to
    those that write. Fields of answers are always there; texts of requests that may not be empty say so."""

    def get_summary(self) -> str | None:
        """The first sentence of its description."""
        return " ".join(self.get_description().split()).partition(". ")[0].removesuffix(".")

    def get_override_parameters(self) -> list[Any]:
        given: list[Any] = super().get_override_parameters()
        view: Any = self.view  # a NounViewSet, which has this schema
        if view.action in ("list", "export") and view.parameters_class is not None:
            given = [*given, view.parameters_class]
        if view.action in STREAMED:
            return given
        if not self._writes():
            return [*given, IF_NONE_MATCH, ETAG]
        if view.action in view.contacting:
            return [*given, NO_DRY_RUN]
        return [*given, DRY_RUN, DRY_RUN_HEADER]

    def get_request_serializer(self) -> Any:
        view: Any = self.view
        takes_row = view.action in ("create", "partial_update")
        return view.body_class if takes_row else super().get_request_serializer()

    def query_parameters(self) -> frozenset[str]:
        """The names this operation takes in its query string."""
        names = {parameter["name"] for parameter in self._get_pagination_parameters()}  # type: ignore[no-untyped-call]  # untyped there
        for parameter in self.get_override_parameters():
            if not isinstance(parameter, OpenApiParameter):
                names.update(force_instance(parameter).fields)  # type: ignore[no-untyped-call]  # as above
            elif parameter.location == OpenApiParameter.QUERY:
                names.add(parameter.name)
        return frozenset(names)

    def _writes(self) -> bool:
        return self.method not in ("GET", "HEAD")

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        if self._writes() and "200" not in bodies:
            (done,) = bodies.values()
            headers = self._get_response_headers_for_code("200")
            bodies["200"] = {**done, "headers": headers, "description": "With `dry_run=true`."}
        view: Any = self.view
        if not self._writes() and view.action not in STREAMED:
            bodies["304"] = {"description": "The response is one that `If-None-Match` names."}
        problems = self._problems().items()
        bodies.update((status, self._refer_to_problem(name, text)) for status, (name, text) in problems)
        bodies["default"] = self._refer_to_problem("Problem", "The error, for every other status.")
        return bodies

    def _problems(self) -> dict[str, tuple[str, str]]:
        headers = {each.name for each in self.get_override_parameters() if isinstance(each, OpenApiParameter)}
        return {
            **_PROBLEMS,
            **(_PROBLEMS_OF_OBJECTS if "{" in self.path or self._writes() else {}),
            **(_PROBLEMS_OF_WRITES if self._writes() else {}),
            **(_PROBLEMS_OF_VERSIONS if "If-Match" in headers else {}),
        }

    def _refer_to_problem(self, name: str, text: str) -> dict[str, Any]:
        """Each problem is in the document once: written out for each operation, they would be most of it."""
        shape = self.resolve_serializer(Problem, "response").ref
        answer = {"description": text, "content": {CONTENT_TYPE: {"schema": shape}}}
        component = ResolvedComponent(  # type: ignore[no-untyped-call]  # as above
            name, ResolvedComponent.RESPONSE, schema=answer, object=name
        )
        self.registry.register_on_missing(component)
        reference: dict[str, Any] = component.ref
        return reference

    def _resolve_path_parameters(self, variables: Any) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = super()._resolve_path_parameters(variables)  # type: ignore[no-untyped-call]  # as above
        for parameter in parameters:
            if parameter["schema"] == {"type": "integer"}:
                parameter["schema"] = dict(_ROW_ID)
        return parameters

    def _map_serializer_field(self, field: Any, *args: Any, **options: Any) -> dict[str, Any]:
        shape: dict[str, Any] = super()._map_serializer_field(field, *args, **options)  # type: ignore[no-untyped-call]  # as above
        is_id = isinstance(field, serializers.IntegerField) and field.field_name in ("id", "sequence")
        return {**shape, **_ROW_ID, "type": shape["type"]} if is_id else shape  # the type may be null, too

    def _process_override_parameters(self, direction: Direction = "request") -> dict[Any, Any]:
        parameters: dict[Any, Any] = super()._process_override_parameters(direction)  # type: ignore[no-untyped-call]  # as above
        for parameter in parameters.values():
            if parameter and parameter["schema"].pop("deprecated", False):
                parameter["deprecated"] = True
        return parameters

    def _map_basic_serializer(self, serializer: Any, direction: Direction) -> dict[str, Any]:
        shape: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]  # as above
        for old in getattr(serializer, "renamed", ()):
            shape["properties"][old]["deprecated"] = True
        if direction == "response" and shape.get("properties"):
            absent: frozenset[str] = getattr(serializer, "sometimes_absent", frozenset())
            shape["required"] = sorted(set(shape["properties"]) - absent)
        return shape

    def _get_serializer_field_meta(self, field: Any, direction: Direction) -> dict[str, Any]:
        meta: dict[str, Any] = super()._get_serializer_field_meta(field, direction)  # type: ignore[no-untyped-call]  # as above
        if direction == "request" and isinstance(field, serializers.CharField) and not field.allow_blank:
            meta["minLength"] = 1
        return meta


@cache
def known_parameters(view: type[Any], action: str, method: str) -> frozenset[str]:
    """The names that this action takes in its query string: those that the document names, no others."""
    described = getattr(getattr(view, action), "kwargs", {})
    bases = (described["schema"], NounSchema) if "schema" in described else (NounSchema,)
    schema: NounSchema = type("DescribedSchema", bases, {})()
    instance = view()
    instance.action, instance.request, instance.kwargs = action, None, {}
    schema.view, schema.method = instance, method
    return schema.query_parameters()


class KnownParameters(APIView):
    """Mixed into a view before its class: refuses every parameter it does not know."""

    known: ClassVar[frozenset[str]]

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        raise_if_unknown(request.query_params, self.known)

    def handle_exception(self, exc: Exception) -> Response:
        """A problem is JSON, whatever the view shows otherwise."""
        response = super().handle_exception(exc)
        renderer = JSONRenderer()
        self.request.accepted_renderer, self.request.accepted_media_type = renderer, renderer.media_type
        return response


class DocumentView(KnownParameters, SpectacularAPIView):
    """The document as YAML, or as `format` or Accept say."""

    known = frozenset({"format"})
    # While it is made, the schema of each view holds which operation it is at: two threads would mix them up.
    _making: ClassVar[Lock] = Lock()

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with self._making:
            return super().dispatch(request, *args, **kwargs)


class ViewerView(KnownParameters, SpectacularSwaggerSplitView):
    """The viewer, and its script."""

    content_negotiation_class = AcceptAlone
    known = frozenset({"script"})
