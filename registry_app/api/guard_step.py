"""Change sets that the guard sent for instances, and what was read back. Read only."""

from typing import Any

from rest_framework import serializers

from registry_app.api.desired_endpoint import GuardEndpointFilterField, GuardEndpointReference
from registry_app.api.fields import EndpointKeyAnswer, ProviderFilterField, ProviderReference, RowSerializer
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.models import GuardStep
from registry_app.queries.guard_decision import list_guard_steps


class GuardStepParameters(StrictSerializer):
    guard_endpoint = GuardEndpointFilterField(required=False, help_text="Id or slug.")
    provider = ProviderFilterField(required=False, help_text="Id or name.")
    status = serializers.ChoiceField(choices=GuardStep.Status.choices, required=False)


class GuardStepAnswer(RowSerializer[GuardStep]):
    """One change set. `guard_endpoint` is null after it was deleted; `slug` stays. `deletes` and `retargets`
    count record sets."""

    guard_endpoint = GuardEndpointReference(allow_null=True)
    provider = ProviderReference()
    status = serializers.ChoiceField(choices=GuardStep.Status.choices)

    class Meta:
        model = GuardStep
        fields: tuple[str, ...] = (
            "id",
            "guard_endpoint",
            "slug",
            "provider",
            "status",
            "deletes",
            "retargets",
            "stored_at",
            "answered_at",
            "answer",
            "read_back_at",
        )


class GuardItemAnswer(EndpointKeyAnswer):
    """A record set of a change set, or a claim: `verified`, `not_shown` (as before), `other`, or nothing
    yet."""

    action = serializers.CharField(help_text="`create`, `update` or `delete`.")
    is_claim = serializers.BooleanField()
    outcome = serializers.CharField()


class GuardStepDetail(GuardStepAnswer):
    """A change set with its exact bytes, and what became of each record set and claim."""

    items: Any = GuardItemAnswer(many=True)

    class Meta(GuardStepAnswer.Meta):
        fields = (*GuardStepAnswer.Meta.fields, "body_digest", "change_set", "items")


@describe(
    list="List change sets that the guard sent, newest first.",
    retrieve="One change set, and what became of each record set and claim in it.",
)
class GuardStepViews(NounViewSet):
    queryset = list_guard_steps()
    serializer_class = GuardStepAnswer
    detail_class = GuardStepDetail
    parameters_class = GuardStepParameters
