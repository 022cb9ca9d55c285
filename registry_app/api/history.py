"""What a provider had at a moment, and what differs between two moments."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.fields import DnsNameField, ObjectOrNullField, WordsField
from registry_app.api.pagination import parse_cursor, parse_limit
from registry_app.api.request import StrictSerializer, read_parameters
from registry_app.clock import fetch_now
from registry_app.queries.keyset import BY_NAME
from registry_app.queries.past_record_set import (
    Difference,
    PastFilter,
    PastRecordSet,
    iterate_differences,
    iterate_record_sets_at,
)

_USUALLY = timedelta(hours=1)
_Found = TypeVar("_Found", PastRecordSet, Difference)


class _PastParameters(StrictSerializer):
    owner = serializers.CharField(required=False, help_text="Owner id: what was this owner's.")
    name = DnsNameField(required=False, help_text="Exactly this name, in any spelling.")
    name_suffix = DnsNameField(required=False, help_text="This name and everything below it.")
    type = WordsField(required=False, help_text="Record types, comma-separated: `A,AAAA`.")


class RecordSetsAtParameters(_PastParameters):
    at = serializers.DateTimeField(required=False, help_text="The moment, ISO 8601; left out: now.")


class DifferencesParameters(_PastParameters):
    since = serializers.DateTimeField(
        required=False, help_text="The first moment, ISO 8601; left out: an hour before the second."
    )
    until = serializers.DateTimeField(required=False, help_text="The second moment; left out: now.")
    writer = serializers.CharField(
        required=False, help_text="What this writer changed: a guard endpoint, an owner id, or `dnsadmin`."
    )


class PastRecordSetAnswer(serializers.Serializer[Any]):
    """A record set as it was."""

    name = serializers.CharField()
    record_type = serializers.CharField()
    set_identifier = serializers.CharField()
    targets = serializers.ListField(child=serializers.CharField())
    ttl = serializers.IntegerField()
    provider_specific = serializers.ListField(child=serializers.DictField(child=serializers.CharField()))
    labels = serializers.DictField(child=serializers.CharField())
    state = serializers.CharField()
    owner = serializers.CharField(help_text="Owner id. Empty: nobody's.")
    resource = serializers.CharField()


class DifferenceAnswer(serializers.Serializer[Any]):
    """A record set that is not what it was. Null: it was not there."""

    name = serializers.CharField()
    record_type = serializers.CharField()
    set_identifier = serializers.CharField()
    before = ObjectOrNullField()
    after = ObjectOrNullField()
    changed_at = serializers.DateTimeField(help_text="Its last change in that time.")
    writers = serializers.ListField(
        child=serializers.CharField(), help_text="Who changed it, as far as anybody can tell."
    )


class HistoryActions:
    """Mixed into the views of providers."""

    @extend_schema(parameters=[RecordSetsAtParameters], responses=PastRecordSetAnswer(many=True))
    @action(detail=True, url_path="history/record-sets")
    def history_record_sets(self, request: Request, pk: str) -> Response:
        """What the provider had at a moment, by name, as the syncs until then had found it. A page ends with
        a whole name, so it may have some rows more than `limit`."""
        values = read_parameters(RecordSetsAtParameters, request.query_params)
        provider, after = self.get_object(), _read_position(request)  # type: ignore[attr-defined]  # of the views
        at, wanted = values.get("at") or fetch_now(), _read_filter(values)
        found = iterate_record_sets_at(provider, at, wanted, after_name=after)
        rows = self._take_page(request, found)
        return self._answer([{**each.key._asdict(), **each.values} for each in rows])

    @extend_schema(parameters=[DifferencesParameters], responses=DifferenceAnswer(many=True))
    @action(detail=True, url_path="history/differences")
    def history_differences(self, request: Request, pk: str) -> Response:
        """What differs between two moments, by name. What changed and changed back is no difference. A page
        ends with a whole name, so it may have some rows more than `limit`."""
        values = read_parameters(DifferencesParameters, request.query_params)
        provider, after = self.get_object(), _read_position(request)  # type: ignore[attr-defined]  # of the views
        until, wanted = values.get("until") or fetch_now(), _read_filter(values)
        since = values.get("since") or max(until - _USUALLY, provider.created_at)
        found = iterate_differences(provider, since, until, wanted, after_name=after)
        rows = self._take_page(request, found)
        return self._answer(
            [
                {
                    **each.key._asdict(),
                    "before": each.before,
                    "after": each.after,
                    "changed_at": each.changed_at,
                    "writers": list(each.writers),
                }
                for each in rows
            ]
        )

    def _take_page(self, request: Request, found: Iterable[_Found]) -> list[_Found]:
        """The rows of the first names, and where the next page begins."""
        limit = parse_limit(request.query_params)
        rows: list[_Found] = []
        for each in found:
            if len(rows) >= limit and each.key.name != rows[-1].key.name:
                paginator: Any = self.paginator  # type: ignore[attr-defined]  # of the views
                paginator.end_after(request, BY_NAME, (rows[-1].key.name, 0))
                break
            rows.append(each)
        return rows

    def _answer(self, rows: list[dict[str, Any]]) -> Response:
        paginator: Any = self.paginator  # type: ignore[attr-defined]  # of the views
        answer: Response = paginator.get_paginated_response(rows)
        return answer


def _read_filter(values: dict[str, Any]) -> PastFilter:
    return PastFilter(
        owner_id=values.get("owner", ""),
        name=values.get("name", ""),
        name_suffix=values.get("name_suffix", ""),
        types=tuple(word.upper() for word in values.get("type", ())),
        writer=values.get("writer", ""),
    )


def _read_position(request: Request) -> str:
    """The name after which the page begins. Raises InvalidParameter."""
    cursor = request.query_params.get("cursor")
    return "" if cursor is None else str(parse_cursor(BY_NAME, cursor)[0])
