"""What every noun of the API shares: actor, scopes, pages and strict parameters; and If-Match for
configuration."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, ClassVar, Protocol, TypeVar

from django.db import models
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from registry_app.actor import Actor
from registry_app.api.authentication import RequestThrottle
from registry_app.api.dry_run import DryRuns, is_dry_run, mark_dry_run, raise_if_not_possible
from registry_app.api.export import Exports
from registry_app.api.idempotency import IDEMPOTENCY_KEY, LOCATION, idempotent
from registry_app.api.pagination import KeysetPagination
from registry_app.api.precondition import (
    ETAG,
    IF_MATCH,
    add_etag,
    build_etag,
    raise_if_unreadable,
    read_expected_version,
    version_moved,
)
from registry_app.api.request import (
    AcceptAlone,
    StrictJsonParser,
    raise_if_unknown,
    read_body,
    read_parameters,
)
from registry_app.api.row_shape import find_shape
from registry_app.api.schema import STREAMED, NounSchema, known_parameters
from registry_app.errors import InvalidRequest, NotAllowed, NotFound, StateMoved
from registry_app.queries.access import may_read
from registry_app.queries.actor import actor_of, request_id_of
from registry_app.queries.keyset import BY_NAME, NEWEST_FIRST, Keyset
from registry_app.queries.named_row import find_named_row
from registry_app.queries.readable import readable

Row = TypeVar("Row", bound=models.Model)
Views = TypeVar("Views", bound="type[NounViewSet]")


class NounViewSet(Exports, DryRuns, GenericViewSet[Any]):
    """The actions on one noun: its list, one row, and what the class adds. It translates; the functions that
    it calls have the rules.

    `serializer_class` is the shape of a row, `detail_class` that of one row alone where it shows more, and
    `parameters_class` that of the list's filters, where it has any.
    `name_field` is the column of the name by which an address may name a row instead of its id.
    `scopes` names the scope a token needs for each action; what is not named there needs `read`.
    `contacting` names the actions that ask another host: they refuse `dry_run=true`.
    `field_names` has this API's names for the fields of those functions. Every parameter that
    the OpenAPI document does not name for an action is refused.
    """

    schema = NounSchema()
    parser_classes = (StrictJsonParser,)
    pagination_class = KeysetPagination
    throttle_classes = (RequestThrottle,)
    content_negotiation_class = AcceptAlone
    # OPTIONS would describe serializers these views do not have; the schema describes everything.
    metadata_class = None
    lookup_value_converter = "int"
    name_field: ClassVar[str] = ""
    keyset: Keyset = NEWEST_FIRST
    parameters_class: ClassVar[type[serializers.BaseSerializer[Any]] | None] = None
    detail_class: ClassVar[type[serializers.BaseSerializer[Any]] | None] = None
    scopes: ClassVar[Mapping[str, str]] = {}
    contacting: ClassVar[frozenset[str]] = frozenset()
    field_names: ClassVar[Mapping[str, str]] = {}

    # Who asks, where that is not whoever sent the request.
    given_actor: Actor | None = None

    @property
    def actor(self) -> Actor:
        return self.given_actor or actor_of(self.request)

    def get_queryset(self) -> models.QuerySet[Any]:
        """The rows of `find_rows` that the actor may read. Which of them may be written, the mutation says: a
        token that may write and not read is answered with what it wrote."""
        rows = self.find_rows()
        return readable(self.actor, rows) if self.needed_scope == "read" else rows

    @property
    def needed_scope(self) -> str:
        """The scope that a token needs for this action."""
        return self.scopes.get(self.action, "read")

    def find_rows(self) -> models.QuerySet[Any]:
        """All rows of the noun."""
        return super().get_queryset()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        actor, scope = self.actor, self.needed_scope
        if not actor.has_scope(scope):
            raise NotAllowed(
                f"This token does not have the scope {scope!r}.",
                todo="Use a token that has it.",
                code="missing_scope",
            )
        if scope == "read" and not may_read(actor):
            raise NotAllowed("You may not read this.", todo="Ask an administrator of dnsadmin.")
        if str(request.method).lower() in self.action_map:  # another method is refused next
            raise_if_unknown(
                request.query_params, known_parameters(type(self), self.action, str(request.method))
            )
            raise_if_unreadable(request)
            raise_if_not_possible(request, contacts=self.action in self.contacting)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: FBT001, FBT002 - its signature there
        # A file is what it is, whatever Accept says.
        return super().perform_content_negotiation(request, force or self.action in STREAMED)

    def handle_exception(self, exc: Exception) -> Response:
        """A refusal names the fields of the request."""
        if isinstance(exc, InvalidRequest):
            exc.fields = {self.field_names.get(name, name): texts for name, texts in exc.fields.items()}
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        finalized = super().finalize_response(request, response, *args, **kwargs)
        finalized["X-Request-Id"] = request_id_of()
        finalized["Cache-Control"] = "no-store"
        if is_dry_run(request):
            mark_dry_run(finalized)
        elif isinstance(finalized, Response):  # what is streamed has no digest before its end
            add_etag(request, finalized)
        return finalized

    def get_object(self) -> Any:
        """The row that the address names. Raises NotFound."""
        rows, place = self.get_queryset(), self.kwargs[self.lookup_url_kwarg or self.lookup_field]
        if self.name_field:
            return _raise_if_none(find_named_row(rows, self.name_field, place), rows)
        return find_row(rows, **{self.lookup_field: place})

    def filter_queryset(self, queryset: models.QuerySet[Any]) -> Any:
        """The rows of the list that the query string asks for; several lists are one after the other."""
        return queryset.filter(**self.read_filters())

    def read_filters(self) -> dict[str, Any]:
        """The filters of the list. Raises InvalidParameter."""
        shape = self.parameters_class
        return {} if shape is None else read_parameters(shape, self.request.query_params)

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        row_class = super().get_serializer_class()
        return row_class if self.action in ("list", "export") else self.detail_class or row_class

    def find_context(self, rows: Sequence[Any]) -> dict[str, Any]:
        """The serializer context for these rows, read once for all of them."""
        return {}

    def compute(self, shown: Sequence[dict[str, Any]]) -> None:
        """Put what the serializer names in `computed` into the rows of a page, where the columns are."""

    def answer_page(
        self, rows: Any, serializer: type[serializers.BaseSerializer[Any]] | None = None
    ) -> Response:
        """One page of `rows`, each as the noun is shown, or by another serializer."""
        shape = find_shape(serializer or self.get_serializer_class())
        paginator: Any = self.paginator
        shown: Any
        if shape is not None:
            shown = paginator.paginate_values(rows, self.request, self.keyset, shape)
            if serializer is None:
                self.compute(shown)
        elif serializer is None:
            shown = self.show_all(self.paginate_queryset(rows) or [])
        else:
            shown = serializer(self.paginate_queryset(rows) or [], many=True).data
        return self.get_paginated_response(shown)

    def show(self, row: Any) -> dict[str, Any]:
        """One row as the noun is shown."""
        shown: dict[str, Any] = self.show_all([row])[0]
        return shown

    def show_all(self, rows: Sequence[Any]) -> Any:
        """These rows as a list shows them."""
        context = {"request": self.request, **self.find_context(rows)}
        return self.get_serializer_class()(rows, many=True, context=context).data

    def list(self, request: Request, **_place: Any) -> Response:
        return self.answer_page(self.filter_queryset(self.get_queryset()))

    def retrieve(self, request: Request, **_place: Any) -> Response:
        return Response(self.show(self.get_object()))


def describe(**sentences: str) -> Callable[[Views], Views]:
    """Describe the inherited actions of a class in the OpenAPI document."""
    return extend_schema_view(**{name: extend_schema(description=text) for name, text in sentences.items()})


def post_action(
    body: type[serializers.BaseSerializer[Any]],
    answer: Any,
    *,
    detail: bool = True,
    path: str | None = None,
    headers: Sequence[OpenApiParameter] = (),
    deprecated: bool | None = None,
) -> Callable[[Callable[..., Response | None]], Callable[..., Response]]:
    """Make a method a POST action that writes once for each Idempotency-Key. The method gets the values of
    the body and what the address names. Where it returns nothing, the response is the row."""

    def decorate(method: Callable[..., Response | None]) -> Callable[..., Response]:
        @wraps(method)
        def answer_post(view: NounViewSet, request: Request, /, **place: Any) -> Response:
            return method(view, read_body(body, request), **place) or view.retrieve(request)

        post = action(detail=detail, methods=["post"], url_path=path)(idempotent()(answer_post))
        describe_post = extend_schema(
            parameters=[IDEMPOTENCY_KEY, *headers], request=body, responses=answer, deprecated=deprecated
        )
        return describe_post(post)

    return decorate


def find_row(rows: models.QuerySet[Row], **identity: Any) -> Row:
    """The one row. Raises NotFound."""
    return _raise_if_none(rows.filter(**identity).first(), rows)


def _raise_if_none(row: Row | None, rows: models.QuerySet[Row]) -> Row:
    if row is None:
        noun = rows.model._meta.verbose_name
        raise NotFound(f"There is no such {noun}.", todo="Look it up in the list.")
    return row


class Change(Protocol):
    """A `change_...` function of the inventory."""

    def __call__(
        self,
        actor: Actor,
        row_id: int,
        changes: dict[str, Any],
        /,
        *,
        expected_updated_at: datetime | None = None,
    ) -> Any: ...


class Delete(Protocol):
    """A `delete_...` function of the inventory."""

    def __call__(
        self, actor: Actor, row_id: int, /, *, expected_updated_at: datetime | None = None
    ) -> None: ...


@dataclass(frozen=True)
class Mutations:
    """The functions of the inventory that write rows of one noun."""

    register: Callable[[Actor, dict[str, Any]], Any]
    change: Change
    delete: Delete


class ConfigurationViewSet(NounViewSet):
    """Rows people register and change, each with a version."""

    keyset = BY_NAME
    scopes: ClassVar = {
        "create": "admin",
        "partial_update": "admin",
        "destroy": "admin",
        "connection_tests": "admin",
    }
    contacting = frozenset({"connection_tests"})
    body_class: ClassVar[type[serializers.BaseSerializer[Any]]]
    mutations: ClassVar[Mutations]

    def answer_row(self, row: Any, status: int = 200) -> Response:
        """One row with its ETag, and where it is if it is new."""
        headers = {"ETag": build_etag(row)}
        if status == 201:
            headers["Location"] = self.reverse_action("detail", [row.pk])
        return Response(self.show(row), status=status, headers=headers)

    def answer_saved(self, row_id: int, values: Mapping[str, Any], status: int = 200) -> Response:
        """One row after it was registered or changed with these values."""
        return self.answer_row(find_row(self.get_queryset(), pk=row_id), status)

    def retrieve(self, request: Request, **_place: Any) -> Response:
        return self.answer_row(self.get_object())

    @extend_schema(parameters=[IDEMPOTENCY_KEY, LOCATION])
    @idempotent()
    def create(self, request: Request) -> Response:
        values = read_body(self.body_class, request)
        return self.answer_saved(self.mutations.register(self.actor, values).pk, values, status=201)

    @extend_schema(parameters=[IF_MATCH, ETAG])
    def partial_update(self, request: Request, **_place: Any) -> Response:
        row = self.get_object()
        expected = read_expected_version(request, row)
        changes = read_body(self.body_class, request, instance=row, partial=True)
        try:
            self.mutations.change(self.actor, row.pk, changes, expected_updated_at=expected)
        except StateMoved as error:
            raise version_moved(error) from error
        return self.answer_saved(row.pk, changes)

    @extend_schema(parameters=[IF_MATCH], request=None, responses={204: None})
    def destroy(self, request: Request, **_place: Any) -> Response:
        row = self.get_object()
        expected = read_expected_version(request, row)
        try:
            self.mutations.delete(self.actor, row.pk, expected_updated_at=expected)
        except StateMoved as error:
            raise version_moved(error) from error
        return Response(status=204)
