"""The bodies of requests for transfers and of decisions about them, and previews."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry_app.api.fields import (
    EndpointKeyAnswer,
    ObjectOrNullField,
    OneOrMoreWordsField,
    ProviderIdField,
    ProviderReference,
    RowIdField,
)
from registry_app.api.request import StrictSerializer
from registry_app.models import Consented, Transfer
from registry_app.transfer.plan.provider_plan import ProviderPlan
from registry_app.transfer.plan.transfer_request import MOST_NAMED, Selection, TransferRequest

_FINGERPRINT_LENGTH = 64
_KINDS = [choice for choice in Transfer.Kind.choices if choice[0] != Transfer.Kind.UNDO]
_DECISIONS = ("look_again", "keep_as_is", "send_again")


class SelectionBody(StrictSerializer):
    """Which record sets; for a clean-up, which claims. Every field given narrows the others.

    An empty text is refused, not taken for no filter: what a program left out by mistake must not make the
    selection wider.
    """

    record_set_ids = serializers.ListField(child=RowIdField(), default=list, max_length=MOST_NAMED)
    claim_ids = serializers.ListField(child=RowIdField(), default=list, max_length=MOST_NAMED)
    names = serializers.ListField(
        child=serializers.CharField(max_length=1024), default=list, max_length=MOST_NAMED
    )
    owner = serializers.CharField(
        required=False, max_length=255, trim_whitespace=False, help_text="Everything of this owner id."
    )
    provider = ProviderIdField(default=None, allow_null=True, help_text="Id or name.")
    name_suffix = serializers.CharField(
        required=False, max_length=1024, help_text="This name and everything below it."
    )
    type = OneOrMoreWordsField(required=False, help_text="Record types, such as `A`.")
    types = serializers.ListField(
        child=serializers.CharField(max_length=20),
        required=False,
        max_length=50,
        help_text="The old name of `type`.",
    )
    state = OneOrMoreWordsField(
        required=False, help_text="Ownership states; for a clean-up, verdicts of claims."
    )
    states = serializers.ListField(
        child=serializers.CharField(max_length=20),
        required=False,
        max_length=20,
        help_text="The old name of `state`.",
    )

    renamed = {"types": "type", "states": "state"}


class TransferBody(StrictSerializer):
    """A request, as it goes to the preview and to the act."""

    kind = serializers.ChoiceField(choices=_KINDS)
    selection = SelectionBody()
    target_owner = serializers.CharField(
        default="", allow_blank=True, max_length=255, trim_whitespace=False, help_text="Owner id."
    )
    target_intent = serializers.ChoiceField(
        choices=Transfer.TargetIntent.choices, default=Transfer.TargetIntent.UNKNOWN
    )
    whole_names = serializers.BooleanField(
        default=True,
        help_text="A transfer takes the other types of the same owner at each name and set identifier with "
        "it, whatever `selection` narrows. With false they stay, and `confirmation` is needed.",
    )
    reason = serializers.CharField(default="", allow_blank=True, max_length=5000)
    ticket = serializers.CharField(default="", allow_blank=True, max_length=200)
    confirmation = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=255,
        help_text="`confirmation_text` of the preview, where it asks for one.",
    )
    fingerprints = serializers.DictField(
        child=serializers.CharField(max_length=_FINGERPRINT_LENGTH),
        default=dict,
        help_text="Provider, by id or name, to `fingerprint` of the preview: refused if the plan changed "
        "since. Without them the transfers wait for an approval, whatever the provider's policy.",
    )

    def validate_fingerprints(self, given: dict[str, str]) -> dict[int, str]:
        provider = ProviderIdField()
        found = {provider.run_validation(key): fingerprint for key, fingerprint in given.items()}
        if len(found) < len(given):
            raise serializers.ValidationError("A provider is named twice.")
        return found


def build_side_field() -> serializers.ChoiceField:
    """For whom an approval is, where each side consents by itself."""
    return serializers.ChoiceField(
        choices=Consented.Side.choices,
        required=False,
        help_text="For whom you consent, under the policy `both_sides`: `giver`, the current owner, or "
        "`taker`, the new one. Needed only if you may consent for both. Under other policies leave it out.",
    )


class ApprovalBody(StrictSerializer):
    """Approval of what was seen."""

    fingerprint = serializers.CharField(
        max_length=_FINGERPRINT_LENGTH, help_text="`plan_fingerprint` of the transfer you reviewed."
    )
    side = build_side_field()


class UndoPreviewBody(StrictSerializer):
    """What the former owner's ExternalDNS wants, as far as it is known."""

    target_intent = serializers.ChoiceField(
        choices=Transfer.TargetIntent.choices,
        default=Transfer.TargetIntent.UNKNOWN,
        help_text="What the former owner's ExternalDNS wants of these record sets.",
    )


class UndoBody(UndoPreviewBody):
    """Why it is undone."""

    reason = serializers.CharField(max_length=5000)
    confirmation = serializers.CharField(
        default="", allow_blank=True, max_length=255, help_text="`confirmation_text` of the preview."
    )
    fingerprint = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=_FINGERPRINT_LENGTH,
        help_text="`fingerprint` of the preview: refused if the plan changed since. Without it the undo "
        "waits for an approval, whatever the provider's policy.",
    )


class DecisionBody(StrictSerializer):
    """What to do with a transfer that needs an operator."""

    decision = serializers.ChoiceField(choices=[(name, name) for name in _DECISIONS])
    reason = serializers.CharField(max_length=5000)


def build_transfer_request(values: dict[str, Any]) -> TransferRequest:
    """The request as the transfer package takes it."""
    chosen = values["selection"]
    selection = Selection(
        record_set_ids=tuple(chosen["record_set_ids"]),
        claim_ids=tuple(chosen["claim_ids"]),
        names=tuple(chosen["names"]),
        owner_id=chosen.get("owner", ""),
        provider_id=chosen["provider"],
        name_suffix=chosen.get("name_suffix", ""),
        record_types=tuple(word.upper() for word in chosen.get("type", ())),
        states=tuple(chosen.get("state", ())),
    )
    return TransferRequest(
        kind=values["kind"],
        selection=selection,
        target_owner_id=values["target_owner"],
        target_intent=values["target_intent"],
        whole_names=values["whole_names"],
        reason=values["reason"],
        ticket=values["ticket"],
        confirmation=values["confirmation"],
        fingerprints=values["fingerprints"],
    )


class RefusalAnswer(serializers.Serializer[Any]):
    """Why a plan cannot be requested (as a warning: cannot be sent right now)."""

    code = serializers.CharField()
    happened = serializers.CharField()
    now = serializers.CharField()
    todo = serializers.CharField()
    is_warning = serializers.BooleanField()


class PlannedItemAnswer(EndpointKeyAnswer):
    """What would become of the claims of one record set. With a `problem` it is left out."""

    record_before = ObjectOrNullField(read_only=True)
    before = serializers.ListField(child=serializers.DictField())
    after = serializers.ListField(child=serializers.DictField())
    verdict = serializers.CharField()
    verdict_reason = serializers.CharField()
    problem = serializers.CharField()
    problem_code = serializers.CharField()
    is_added = serializers.BooleanField(help_text="It was added: another type at a selected name.")


class ProviderPlanAnswer(serializers.Serializer[Any]):
    """What the request comes to at one provider. `items` are the first of `item_count`."""

    provider = ProviderReference()
    fingerprint = serializers.CharField()
    approval_policy = serializers.CharField()
    confirmation_text = serializers.CharField(help_text="What to send as `confirmation`; empty: nothing.")
    verdict_counts = serializers.DictField(child=serializers.IntegerField())
    refusals = RefusalAnswer(many=True)
    warnings = RefusalAnswer(many=True)
    item_count = serializers.SerializerMethodField()
    added_count = serializers.SerializerMethodField(
        help_text="How many of the items were added: other types at selected names."
    )
    items = serializers.SerializerMethodField()

    def get_item_count(self, plan: ProviderPlan) -> int:
        return len(plan.items)

    def get_added_count(self, plan: ProviderPlan) -> int:
        return sum(item.is_added for item in plan.included)

    @extend_schema_field(PlannedItemAnswer(many=True))
    def get_items(self, plan: ProviderPlan) -> Any:
        shown = plan.items[: self.context["limit"]]
        return PlannedItemAnswer(shown, many=True).data


class PreviewAnswer(serializers.Serializer[Any]):
    """One plan for each provider. Nothing was written, no provider was asked."""

    plans = ProviderPlanAnswer(many=True)


class AddedAnswer(serializers.Serializer[Any]):
    """A record set that nobody picked and that goes along: another type at a picked name."""

    transfer = serializers.UUIDField(source="transfer__public_id")
    name = serializers.CharField()
    type = serializers.CharField(source="record_type")
    set_identifier = serializers.CharField()
