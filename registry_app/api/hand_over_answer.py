"""The bodies of requests for hand-overs, and how hand-overs are shown: their state, names and previews."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry_app.api.fields import OwnerIdField, ProviderField, ProviderReference
from registry_app.api.request import StrictSerializer
from registry_app.api.transfer_answer import AllowedActionAnswer, ConsentsAnswer
from registry_app.api.transfer_request import build_side_field
from registry_app.hand_over.request_hand_over import ALLOWED, HandOverPlan, HandOverRequest
from registry_app.hand_over.waves import DIVISIONS, Waves
from registry_app.models import HandOver, HandOverItem, Owner
from registry_app.queries.actor import actor_of
from registry_app.queries.hand_over import list_allowed_actions

_FINGERPRINT_LENGTH = 64
_MOST_NAMED = 10_000
_MOST_WAVES = 100


class HandOverBody(StrictSerializer):
    """A request, as it goes to the preview and to the act. Without `names`, `name_suffix` and `namespace` all
    names of the old owner at the provider go."""

    provider = ProviderField(help_text="Id or name.")
    from_owner = OwnerIdField(queryset=Owner.objects.all(), help_text="Owner id.")
    to_owner = OwnerIdField(queryset=Owner.objects.all(), help_text="Owner id.")
    ends_at = serializers.DateTimeField(help_text="What was not moved by then stays. Within 90 days.")
    reason = serializers.CharField(default="", allow_blank=True, max_length=5000)
    ticket = serializers.CharField(default="", allow_blank=True, max_length=200)
    names = serializers.ListField(
        child=serializers.CharField(max_length=1024), default=list, max_length=_MOST_NAMED
    )
    name_suffix = serializers.CharField(
        required=False, max_length=1024, help_text="This name and everything below it."
    )
    namespace = serializers.CharField(
        required=False, max_length=253, help_text="Names with resources in this namespace, by their claims."
    )
    waves_by = serializers.ChoiceField(
        choices=[each for each in DIVISIONS if each],
        required=False,
        help_text="How names are divided into waves; without it all go at once.",
    )
    wave_size = serializers.IntegerField(
        default=0, min_value=0, max_value=10**6, help_text="Names (number) or percent (share) of each wave."
    )
    wave_values = serializers.ListField(
        child=serializers.CharField(max_length=1024),
        default=list,
        max_length=_MOST_WAVES,
        help_text="The suffix or namespace of each wave, in order. Other names go in a last wave.",
    )
    allowed_verdicts = serializers.ListField(
        child=serializers.ChoiceField(choices=[(each.value, each.label) for each in ALLOWED]),
        default=list,
        max_length=len(ALLOWED),
        help_text="What the next sync of the new owner may do to what moves. Default: both.",
    )


class HandOverRequestBody(HandOverBody):
    """A request that was reviewed has the fingerprint of its preview."""

    fingerprint = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=_FINGERPRINT_LENGTH,
        help_text="`fingerprint` of the preview: refused if the plan changed since. Without it the hand-over "
        "waits for an approval, whatever the provider's policy.",
    )


def build_hand_over_request(values: dict[str, Any]) -> HandOverRequest:
    """The request as the use case takes it."""
    return HandOverRequest(
        provider=values["provider"],
        from_owner=values["from_owner"],
        to_owner=values["to_owner"],
        ends_at=values["ends_at"],
        reason=values["reason"],
        ticket=values["ticket"],
        names=tuple(values["names"]),
        name_suffix=values.get("name_suffix", ""),
        namespace=values.get("namespace", ""),
        waves=Waves(values.get("waves_by", ""), values["wave_size"], tuple(values["wave_values"])),
        allowed_verdicts=tuple(values["allowed_verdicts"]) or tuple(ALLOWED),
    )


class HandOverApprovalBody(StrictSerializer):
    """Approval of what was seen."""

    fingerprint = serializers.CharField(
        max_length=_FINGERPRINT_LENGTH, help_text="`fingerprint` of the hand-over you reviewed."
    )
    side = build_side_field()


class PlannedNameAnswer(serializers.Serializer[Any]):
    """A name that would go, and in which wave."""

    name = serializers.CharField()
    wave = serializers.IntegerField()


class HandOverPreviewAnswer(serializers.Serializer[Any]):
    """What would be requested. `names` are the first of `name_count`, by wave. Nothing was written."""

    fingerprint = serializers.CharField()
    name_count = serializers.IntegerField()
    wave_count = serializers.IntegerField()
    warnings = serializers.ListField(child=serializers.CharField())
    names = PlannedNameAnswer(many=True)


def build_preview_answer(plan: HandOverPlan, limit: int) -> dict[str, Any]:
    """The values of a preview, with the first `limit` names."""
    ordered = sorted(plan.waves.items(), key=lambda pair: (pair[1], pair[0]))
    return {
        "fingerprint": plan.fingerprint,
        "name_count": len(ordered),
        "wave_count": max(plan.waves.values()),
        "warnings": list(plan.warnings),
        "names": [{"name": name, "wave": wave} for name, wave in ordered[:limit]],
    }


class HandOverAnswer(ConsentsAnswer):
    """A hand-over, and how far its names are."""

    id = serializers.UUIDField(source="public_id")
    number = serializers.IntegerField(source="pk", help_text="What people see: #12.")
    provider = ProviderReference()
    from_owner = OwnerIdField(read_only=True)
    to_owner = OwnerIdField(read_only=True)
    allowed_verdicts = serializers.ListField(child=serializers.CharField())
    requested_by = serializers.CharField(source="requested_by_name")
    approved_by = serializers.CharField(source="approved_by_name")
    name_count = serializers.SerializerMethodField()
    state_counts = serializers.SerializerMethodField(help_text="How many names are in each state.")

    class Meta:
        model = HandOver
        fields: tuple[str, ...] = (
            "id",
            "number",
            "provider",
            "from_owner",
            "to_owner",
            "status",
            "status_reason",
            "reason",
            "ticket",
            "allowed_verdicts",
            "fingerprint",
            "approval_policy",
            "wave",
            "wave_count",
            "name_count",
            "state_counts",
            "requested_by",
            "approved_by",
            "approved_at",
            "consents",
            "consents_missing",
            "created_at",
            "updated_at",
            "ends_at",
            "finished_at",
        )

    def get_name_count(self, row: HandOver) -> int:
        return sum(self.context["counts"][row.pk].values())

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField()))
    def get_state_counts(self, row: HandOver) -> Any:
        return self.context["counts"][row.pk]


class HandOverDetail(HandOverAnswer):
    """A hand-over and what you may do with it."""

    allowed_actions = serializers.SerializerMethodField()

    class Meta(HandOverAnswer.Meta):
        fields = (*HandOverAnswer.Meta.fields, "allowed_actions")

    @extend_schema_field(AllowedActionAnswer(many=True))
    def get_allowed_actions(self, row: HandOver) -> Any:
        actions = list_allowed_actions(actor_of(self.context["request"]), row)
        return AllowedActionAnswer(actions, many=True).data


class HandOverEndpointAnswer(serializers.Serializer[Any]):
    """A record set at a name."""

    record_type = serializers.CharField()
    set_identifier = serializers.CharField()
    targets = serializers.ListField(child=serializers.CharField())
    ttl = serializers.IntegerField(source="record_ttl", help_text="Seconds; 0 is not configured.")


class LiveRecordSetAnswer(serializers.Serializer[Any]):
    """A record set as the mirror has it."""

    record_type = serializers.CharField(source="endpoint.record_type")
    set_identifier = serializers.CharField(source="endpoint.set_identifier")
    targets = serializers.ListField(child=serializers.CharField(), source="endpoint.targets")
    ttl = serializers.IntegerField(source="endpoint.record_ttl")
    owner = serializers.CharField(source="owner_id", help_text="Owner id; empty if nobody owns it.")


class HandOverItemAnswer(serializers.Serializer[Any]):
    """A name of a hand-over: how far it is, what the new owner wants there, and what is live."""

    name = serializers.CharField(source="item.name")
    wave = serializers.IntegerField(source="item.wave")
    state = serializers.ChoiceField(choices=HandOverItem.State.choices, source="item.state")
    reason = serializers.CharField(source="item.reason")
    transfer = serializers.UUIDField(
        source="item.transfer.public_id",
        default=None,
        allow_null=True,
        help_text="The last transfer that moved it, or tried to.",
    )
    changed_at = serializers.DateTimeField(source="item.changed_at")
    wanted = HandOverEndpointAnswer(many=True)
    live = LiveRecordSetAnswer(many=True)
    kept = serializers.CharField(
        help_text="Why the guard keeps it as it is: it is frozen or pinned. Empty if it does not."
    )
