"""What every noun of the API shares: who asks, what their token may do, pages, strict parameters."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from django.db import models
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from registry_app.actor import Actor
from registry_app.api.body import StrictJsonParser
from registry_app.api.dry_run import DryRuns, is_dry_run, mark_dry_run, raise_if_not_possible
from registry_app.api.pagination import NEWEST_FIRST, Keyset, KeysetPagination
from registry_app.api.precondition import prepare_condition, raise_if_unreadable
from registry_app.api.query_string import raise_if_unknown, read_parameters
from registry_app.api.schema import NounSchema, known_parameters
from registry_app.api.throttle import RequestThrottle
from registry_app.errors import InvalidRequest, NotAllowed, NotFound
from registry_app.queries.access import may_read
from registry_app.queries.actor import actor_of, request_id_of
from registry_app.queries.named_row import find_named_row

Row = TypeVar("Row", bound=models.Model)
Views = TypeVar("Views", bound="type[NounViewSet]")


class AcceptAlone(DefaultContentNegotiation):
    """`format` in the query string chooses nothing: it is a parameter like any other, and unknown."""

    def filter_renderers(self, renderers: Any, format: str) -> Any:  # noqa: A002  # its name there
        return renderers


class NounViewSet(DryRuns, GenericViewSet[Any]):
    """The actions on one noun: its list, one row, and what the class adds. It translates; rules are asked of
    the functions it calls.

    `serializer_class` is the shape of a row, `detail_class` that of one row alone where it shows more, and
    `parameters_class` that of the list's filters, where it has any.
    `name_field` is the column of the name by which an address may name a row instead of its id.
    `scopes` names the scope a token needs for each action; what is not named there needs `read`.
    `contacting` names the actions that ask another host: they refuse `dry_run=true`.
    `field_names` says how this API calls the fields that the functions call otherwise. Every parameter that
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

    @property
    def actor(self) -> Actor:
        return actor_of(self.request)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        actor = self.actor
        scope = self.scopes.get(self.action, "read")
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

    def handle_exception(self, exc: Exception) -> Response:
        """A refusal names the fields as the request did."""
        if isinstance(exc, InvalidRequest):
            exc.fields = {self.field_names.get(name, name): told for name, told in exc.fields.items()}
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        finalized = super().finalize_response(request, response, *args, **kwargs)
        finalized["X-Request-Id"] = request_id_of()
        finalized["Cache-Control"] = "no-store"
        if is_dry_run(request):
            mark_dry_run(finalized)
        else:
            prepare_condition(request, finalized)
        return finalized

    def get_object(self) -> Any:
        """The row that the address names, or NotFound in the words of its noun."""
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
        return row_class if self.action == "list" else self.detail_class or row_class

    def find_context(self, rows: Sequence[Any]) -> dict[str, Any]:
        """What the answer needs to know of these rows, asked for once."""
        return {}

    def answer_page(self, rows: Any, shape: type[serializers.BaseSerializer[Any]] | None = None) -> Response:
        """One page of `rows`, each as the noun is shown, or in another shape."""
        page = self.paginate_queryset(rows) or []
        shown = self._show_all(page) if shape is None else shape(page, many=True).data
        return self.get_paginated_response(shown)

    def show(self, row: Any) -> dict[str, Any]:
        """One row as the noun is shown."""
        shown: dict[str, Any] = self._show_all([row])[0]
        return shown

    def _show_all(self, rows: Sequence[Any]) -> Any:
        context = {"request": self.request, **self.find_context(rows)}
        return self.get_serializer_class()(rows, many=True, context=context).data

    def list(self, request: Request, **_place: Any) -> Response:
        return self.answer_page(self.filter_queryset(self.get_queryset()))

    def retrieve(self, request: Request, **_place: Any) -> Response:
        return Response(self.show(self.get_object()))


def describe(**sentences: str) -> Callable[[Views], Views]:
    """Say in the OpenAPI document what each action that a class only inherits does."""
    return extend_schema_view(**{name: extend_schema(description=text) for name, text in sentences.items()})


def read_body(
    shape: type[serializers.BaseSerializer[Any]], request: Request, **options: Any
) -> dict[str, Any]:
    """The body as `shape` has it. Raises ValidationError, which is answered with the fields."""
    serializer = shape(data=request.data, **options)
    serializer.is_valid(raise_exception=True)
    values: dict[str, Any] = serializer.validated_data
    return values


def find_row(rows: models.QuerySet[Row], **identity: Any) -> Row:
    """The one row, or NotFound in the words of its noun."""
    return _raise_if_none(rows.filter(**identity).first(), rows)


def _raise_if_none(row: Row | None, rows: models.QuerySet[Row]) -> Row:
    if row is None:
        noun = rows.model._meta.verbose_name
        raise NotFound(f"There is no such {noun}.", todo="Look it up in the list.")
    return row
