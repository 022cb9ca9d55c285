"""Record sets: the mirror, read only."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.export import FILES, FORMAT
from registry_app.api.fields import (
    DnsNameField,
    NamePrefixField,
    ObjectOrNullField,
    OwnerFilterField,
    OwnerIdField,
    ProviderFilterField,
    ProviderReference,
    RowSerializer,
    SearchField,
    WordsField,
    with_provider,
)
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.models import Claim, Owner, OwnershipState, RecordEvent, RecordSet
from registry_app.queries.keyset import BY_NAME, Keyset
from registry_app.queries.owner import find_look_alikes
from registry_app.queries.readable import readable
from registry_app.queries.record_set import RecordSetFilter, fetch_record_set_page, filter_record_sets
from registry_app.queries.record_set_index import choose_index
from registry_app.queries.record_set_rows import RecordSetRow, iterate_record_set_rows

_LOOKS_LIKE = "The registered owner id for which the owner, which nobody registered, may be taken."
_BY_SUFFIX = Keyset(("name_reversed", "id"))


class RecordSetParameters(StrictSerializer):
    owner = OwnerFilterField(required=False, help_text="Owner id.")
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    type = WordsField(required=False, help_text="Record types, comma-separated: `A,AAAA`.")
    state = WordsField(
        required=False,
        choices=tuple(OwnershipState.values),
        help_text="Ownership states, comma-separated: owned, unmanaged, conflict, unknown.",
    )
    name = DnsNameField(required=False, help_text="Exactly this name, in any spelling.")
    name_prefix = NamePrefixField(required=False, help_text="Names that begin so.")
    name_suffix = DnsNameField(required=False, help_text="This name and everything below it.")
    name__suffix = DnsNameField(required=False, help_text="The old name of `name_suffix`.")
    updated_since = serializers.DateTimeField(required=False, help_text="Changed at or after, ISO 8601.")
    missing = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text="Whether the last snapshot lacks it."
    )
    q = SearchField("name, targets, resource or owner id")

    renamed = {"name__suffix": "name_suffix"}


class LooksLike:
    """Mixed into the answer of a row with an owner. The view puts `look_alikes` for all its rows into the
    context."""

    context: dict[str, Any]

    def get_owner_looks_like(self, row: RecordSet | Claim) -> str | None:
        found: dict[str, str] = self.context["look_alikes"]
        return found.get(row.owner.owner_id) if row.owner else None


class RecordSetAnswer(LooksLike, RowSerializer[RecordSet]):
    """A record set and its owner."""

    computed: ClassVar = {"owner_looks_like": "owner__status"}

    provider = ProviderReference()
    owner = OwnerIdField(read_only=True, allow_null=True)
    owner_looks_like = serializers.SerializerMethodField(help_text=_LOOKS_LIKE)
    targets = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = RecordSet
        fields: tuple[str, ...] = (
            "id",
            "provider",
            "name",
            "record_type",
            "set_identifier",
            "targets",
            "ttl",
            "provider_specific",
            "state",
            "owner",
            "owner_looks_like",
            "resource",
            "first_seen_at",
            "changed_at",
            "missing_since",
        )


class ClaimAnswer(LooksLike, RowSerializer[Claim]):
    """One ownership statement, raw and read."""

    owner = OwnerIdField(read_only=True, allow_null=True)
    owner_looks_like = serializers.SerializerMethodField(help_text=_LOOKS_LIKE)
    registry_profile = serializers.SlugRelatedField[Any](slug_field="name", read_only=True, allow_null=True)
    labels = serializers.DictField(child=serializers.CharField())

    class Meta:
        model = Claim
        fields = (
            "id",
            "txt_name",
            "raw",
            "format",
            "verdict",
            "record_name",
            "record_type",
            "set_identifier",
            "owner",
            "owner_looks_like",
            "resource",
            "labels",
            "registry_profile",
            "is_encrypted",
            "problem",
            "first_seen_at",
            "changed_at",
        )


class BeliefAnswer(serializers.Serializer[Any]):
    """The owner that the instances of one registry profile find."""

    registry_profile = serializers.CharField(
        source="profile", help_text="Its name; empty: ExternalDNS's default settings, registered by nobody."
    )
    owner = serializers.CharField()
    by = serializers.ChoiceField(
        source="source",
        choices=["claim", "label"],
        help_text="`label`: the provider returns it with the record set.",
    )
    txt_name = serializers.CharField(source="place", help_text="Empty for rows of a store, and for labels.")


class RecordSetDetail(RecordSetAnswer):
    """A record set with every claim on it, and why its owner is its owner."""

    claims = ClaimAnswer(many=True)
    why = serializers.CharField(help_text="One sentence: who owns it, and which claim says so.")
    labels = serializers.DictField(
        child=serializers.CharField(),
        help_text="What the provider returns with it; ExternalDNS uses `owner`, too.",
    )
    beliefs = BeliefAnswer(many=True, help_text="Which owner ExternalDNS finds, for each registry profile.")
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="What names an owner and is ignored by ExternalDNS, and why."
    )
    events = serializers.CharField(help_text="Where its history is.")

    class Meta(RecordSetAnswer.Meta):
        fields = (*RecordSetAnswer.Meta.fields, "claims", "why", "labels", "beliefs", "warnings", "events")


class RecordEventAnswer(RowSerializer[RecordEvent]):
    """One line of the history of a record set."""

    before = ObjectOrNullField(read_only=True)
    after = ObjectOrNullField(read_only=True)

    class Meta:
        model = RecordEvent
        fields = (
            "id",
            "kind",
            "at",
            "before",
            "after",
            "writer",
            "sync_run_id",
            "transfer_id",
            "loop_run_id",
            "guard_endpoint",
        )


@describe(list="List record sets by name, or, under `name_suffix`, by the labels of the name from the right.")
class RecordSetViews(NounViewSet):
    queryset = with_provider(RecordSet.objects.select_related("owner"))
    serializer_class = RecordSetAnswer
    parameters_class = RecordSetParameters

    def filter_queryset(self, queryset: Any) -> Any:
        values = self.read_filters()
        self.keyset = _BY_SUFFIX if "name_suffix" in values else BY_NAME
        wanted = RecordSetFilter(
            owner=values.get("owner"),
            provider=values.get("provider"),
            types=tuple(word.upper() for word in values.get("type", ())),
            states=values.get("state", ()),
            name=values.get("name", ""),
            name_prefix=values.get("name_prefix", ""),
            name_suffix=values.get("name_suffix", ""),
            updated_since=values.get("updated_since"),
            is_missing=values.get("missing"),
            text=values.get("q", ""),
        )
        return choose_index(filter_record_sets(queryset, wanted))

    def find_context(self, rows: Sequence[RecordSet | Claim]) -> dict[str, Any]:
        return {"look_alikes": find_look_alikes(row.owner.owner_id for row in rows if row.owner)}

    def compute(self, shown: Sequence[dict[str, Any]]) -> None:
        registered = (None, Owner.Status.REGISTERED)
        found = find_look_alikes(row["owner"] for row in shown if row["owner_looks_like"] not in registered)
        for row in shown:
            row["owner_looks_like"] = found.get(row["owner"])

    def read_exported(self, rows: Any) -> Iterator[list[RecordSetRow]]:
        return iterate_record_set_rows(rows, self.keyset)

    @extend_schema(responses=RecordSetDetail)
    def retrieve(self, request: Request, **place: Any) -> Response:
        """One record set, every claim on it, and why its owner is its owner."""
        record_set = self.get_object()
        page = fetch_record_set_page(record_set)
        context = self.find_context([record_set, *page.claims])
        answer = dict(RecordSetAnswer(record_set, context=context).data)
        answer["claims"] = ClaimAnswer(page.claims, many=True, context=context).data
        answer["why"] = page.why
        answer["labels"] = record_set.labels
        answer["beliefs"] = BeliefAnswer(page.beliefs, many=True).data
        answer["warnings"] = page.warnings
        answer["events"] = self.reverse_action("events", [record_set.pk])
        return Response(answer)

    @extend_schema(responses=RecordEventAnswer(many=True))
    @action(detail=True)
    def events(self, request: Request, pk: int) -> Response:
        """The history of one record set, newest first."""
        return self.answer_page(readable(self.actor, self._find_events()), RecordEventAnswer)

    @extend_schema(parameters=[FORMAT], responses=FILES)
    @action(detail=True, url_path="events/export")
    def export_events(self, request: Request, pk: int) -> StreamingHttpResponse:
        """Export the history of one record set, newest first."""
        rows = readable(self.actor, self._find_events())
        return self.answer_export(rows, RecordEventAnswer, "record-set-events")

    def _find_events(self) -> QuerySet[RecordEvent]:
        record_set = self.get_object()
        return RecordEvent.objects.filter(
            provider=record_set.provider_id,
            name=record_set.name,
            record_type=record_set.record_type,
            set_identifier=record_set.set_identifier,
        )
