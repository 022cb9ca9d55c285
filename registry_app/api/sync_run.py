"""Sync runs, and what each found."""

from rest_framework import serializers

from registry_app.api.fields import ProviderFilterField, ProviderReference, RowSerializer, with_provider
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.models import SyncRun


class SyncRunParameters(StrictSerializer):
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    status = serializers.ChoiceField(choices=SyncRun.Status.choices, required=False)
    trigger = serializers.ChoiceField(choices=SyncRun.Trigger.choices, required=False)


class SyncRunAnswer(RowSerializer[SyncRun]):
    """One sync of one provider, or several that found nothing new, one after the other."""

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
            "sync_count",
            "repeated_until",
            "fetch_milliseconds",
            "store_milliseconds",
            "body_bytes",
            "items_read",
            "whole_reading",
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


@describe(
    list="List syncs, newest first. Scheduled ones that found nothing new share a row.",
    retrieve="One sync.",
)
class SyncRunViews(NounViewSet):
    queryset = with_provider(SyncRun.objects.all())
    serializer_class = SyncRunAnswer
    parameters_class = SyncRunParameters
