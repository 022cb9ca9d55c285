"""Sync runs: visits, and what each found."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from registry_app.api.body import StrictSerializer
from registry_app.api.reference import ProviderFilterField, ProviderReference, with_provider
from registry_app.api.row_serializer import RowSerializer
from registry_app.api.view_set import NounViewSet, find_row, read_parameters
from registry_app.models import SyncRun


class SyncRunParameters(StrictSerializer):
    """Filters of the list."""

    provider = ProviderFilterField(required=False, help_text="Id or name.")
    status = serializers.ChoiceField(choices=SyncRun.Status.choices, required=False)
    trigger = serializers.ChoiceField(choices=SyncRun.Trigger.choices, required=False)


class SyncRunAnswer(RowSerializer[SyncRun]):
    """One visit to one provider."""

    provider = ProviderReference()

    class Meta:
        model = SyncRun
        fields = (
            "id",
            "provider",
            "trigger",
            "requested_by",
            "status",
            "started_at",
            "finished_at",
            "fetch_milliseconds",
            "store_milliseconds",
            "body_bytes",
            "seen",
            "created",
            "changed",
            "vanished",
            "returned",
            "purged",
            "set_aside",
            "claims",
            "error_code",
            "error",
        )


class SyncRunViews(NounViewSet):
    """Visits."""

    queryset = with_provider(SyncRun.objects.all())

    @extend_schema(parameters=[SyncRunParameters], responses=SyncRunAnswer(many=True))
    def list(self, request: Request) -> Response:
        """List visits, newest first."""
        values = read_parameters(SyncRunParameters, request.query_params)
        return self.answer_page(self.get_queryset().filter(**values), SyncRunAnswer)

    @extend_schema(responses=SyncRunAnswer)
    def retrieve(self, request: Request, pk: int) -> Response:
        """One visit."""
        return Response(SyncRunAnswer(find_row(self.get_queryset(), pk=pk)).data)
