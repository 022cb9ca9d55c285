"""Exports: all rows of a list, with its filters and in its order, as a file that is written while the
database is read. Nothing of it is held in memory but one slice."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import structlog
from django.db.models import Model, QuerySet
from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.views import APIView

from registry_app.actor import Actor
from registry_app.api.export_format import ExportFormat, Row, list_columns
from registry_app.api.request import bad_parameters
from registry_app.inventory.note_export import note_export
from registry_app.models import Provider
from registry_app.queries.keyset import iterate_slices
from registry_app.queries.zone_file import iterate_zone_file

_PARAMETER = "format"
_ZONE_FILE = "zone-file"
# Names of providers are in names of files.
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
# A statement each; a row of a list is a few hundred bytes to a few thousand.
_SLICE = 1_000
_LOG = structlog.get_logger(__name__)
FILE = OpenApiResponse(OpenApiTypes.STR, "The file.")
FORMAT = OpenApiParameter(
    _PARAMETER,
    enum=[each.value for each in ExportFormat],
    default=ExportFormat.NDJSON.value,
    description="`ndjson`: an object a line. `csv`: RFC 4180 with a header; texts that a spreadsheet would "
    "take for formulas begin with an apostrophe, lists and objects are JSON. Both end with a closing line, "
    "which says how many rows there are: without it the file is not complete.",
)
FILES = {(200, each.media_type): FILE for each in ExportFormat}


class Exports(APIView):
    """Mixed into the view of a noun: its list as a file."""

    @extend_schema(parameters=[FORMAT], responses=FILES)
    @action(detail=False, methods=["get"])
    def export(self, request: Request, **_place: Any) -> StreamingHttpResponse:
        """Export the list: all rows with its filters, in its order, as they are read. The audit trail has an
        entry for each export."""
        name = str(getattr(request.resolver_match, "route", "")).split("/")[-3]
        return _answer_export(request, name, lambda parameters: begin_export(self, name, parameters))

    def answer_export(
        self,
        rows: QuerySet[Any],
        shape: type[serializers.BaseSerializer[Any]],
        name: str,
        *,
        size: int = _SLICE,
        complete: Callable[[list[Any]], Any] = list,
    ) -> StreamingHttpResponse:
        """All of `rows`, which belong to one object, in the order of the view as a file; `size` of them are
        read at once, and `complete` reads what is shown beside them."""
        view: Any = self
        slices = iterate_slices(rows, view.keyset, size)
        found = (shape(complete(each), many=True).data for each in slices)
        subject = rows.model

        def begin(parameters: Mapping[str, str]) -> Iterator[bytes]:
            return _begin(view.actor, subject, name, parameters, shape, found)

        return _answer_export(view.request, name, begin)

    def read_exported(self, rows: Any) -> Iterator[Sequence[Row]]:
        """The rows of a list as the list shows them, in slices."""
        view: Any = self
        for each in rows if isinstance(rows, list) else [rows]:
            for found in iterate_slices(each, view.keyset, _SLICE):
                yield view.show_all(found)


def begin_export(view: Any, name: str, parameters: Mapping[str, str]) -> Iterator[bytes]:
    """The pieces of a file of the rows of one list: reading them reads the database. The parameters are
    checked and the audit entry is written before. Raises InvalidParameter, NotAllowed."""
    read_format(parameters)
    rows = view.filter_queryset(view.get_queryset())
    shape = view.get_serializer_class()
    return _begin(view.actor, view.queryset.model, name, parameters, shape, view.read_exported(rows))


def _begin(
    actor: Actor,
    subject: type[Model],
    name: str,
    parameters: Mapping[str, str],
    shape: Callable[[], Any],
    rows: Iterator[Sequence[Row]],
) -> Iterator[bytes]:
    export_format = read_format(parameters)
    filters = {key: value for key, value in parameters.items() if key != _PARAMETER}
    note_export(actor, subject, name=name, export_format=export_format.value, filters=filters)
    return log_end(actor, name, export_format.format_rows(list_columns(shape()), rows))


def _answer_export(
    request: Request, name: str, begin: Callable[[Mapping[str, str]], Iterator[bytes]]
) -> StreamingHttpResponse:
    parameters = request.query_params.dict()
    export_format = read_format(parameters)
    # The headers alone take nothing away.
    pieces = iter(()) if request.method == "HEAD" else begin(parameters)
    return answer_file(pieces, f"{name}.{export_format.value}", export_format.media_type)


def begin_zone_file(actor: Actor, provider: Provider) -> Iterator[bytes]:
    """The pieces of the zone file of a provider's mirror, with the audit entry before. Raises NotAllowed."""
    note_export(actor, provider, name=_ZONE_FILE, export_format="zone", filters={})
    return log_end(actor, _ZONE_FILE, iterate_zone_file(actor, provider))


def read_format(parameters: Mapping[str, str]) -> ExportFormat:
    """How the file is to be written. Raises InvalidParameter."""
    try:
        return ExportFormat(parameters.get(_PARAMETER, ExportFormat.NDJSON.value))
    except ValueError:
        known = " or ".join(each.value for each in ExportFormat)
        raise bad_parameters({_PARAMETER: [f"Give {known}."]}) from None


def log_end(actor: Actor, name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The same pieces, and a log line at their end: whole, or because the reader left or the database did."""
    size, is_whole = 0, False
    try:
        for piece in pieces:
            size += len(piece)
            yield piece
        is_whole = True
    finally:
        _LOG.info("export.ended", list=name, actor=actor.name, bytes=size, is_whole=is_whole)


def answer_file(pieces: Iterator[bytes], file_name: str, media_type: str) -> StreamingHttpResponse:
    """A response that is sent while it is made, to be saved under this name with the time in it."""
    stem, _dot, suffix = _UNFIT.sub("-", file_name).rpartition(".")
    moment = timezone.now().strftime("%Y%m%dT%H%M%SZ")
    headers = {
        "Content-Type": f"{media_type}; charset=utf-8",
        "Content-Disposition": f'attachment; filename="{stem}-{moment}.{suffix}"',
        # nginx would gather it otherwise.
        "X-Accel-Buffering": "no",
    }
    return StreamingHttpResponse(pieces, headers=headers)
