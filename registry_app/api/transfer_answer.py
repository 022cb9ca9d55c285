"""Transfers as responses show them: state, progress, items and steps."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry_app.api.fields import (
    ObjectOrNullField,
    ObjectsOrNullField,
    OwnerIdField,
    ProviderReference,
    RowSerializer,
)
from registry_app.api.transfer_request import (
    AddedAnswer,
)
from registry_app.models import Consented, Transfer, TransferItem, TransferStep
from registry_app.queries.actor import actor_of
from registry_app.queries.consent import list_consents, list_missing_sides
from registry_app.queries.transfer import allowed_actions, progress


class ConsentAnswer(serializers.Serializer[Any]):
    """A consent that was given under the policy `both_sides`."""

    side = serializers.ChoiceField(
        choices=Consented.Side.choices, help_text="`giver`: for the current owner; `taker`: for the new one."
    )
    by = serializers.CharField()
    at = serializers.DateTimeField()


class ConsentsAnswer(RowSerializer[Any]):
    """What a transfer and a hand-over show of consents."""

    consents = serializers.SerializerMethodField(
        help_text="The consents under the policy `both_sides`, the first one first. The second is the "
        "approval: `approved_by` and `approved_at` are the same."
    )
    consents_missing = serializers.SerializerMethodField(
        help_text="The sides that it waits for: nobody consented for them yet."
    )

    @extend_schema_field(ConsentAnswer(many=True))
    def get_consents(self, row: Any) -> Any:
        return ConsentAnswer(list_consents(row), many=True).data

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(choices=Consented.Side.choices)))
    def get_consents_missing(self, row: Any) -> Any:
        return list_missing_sides(row)


class TransferAnswer(ConsentsAnswer):
    """A transfer and its state."""

    id = serializers.UUIDField(source="public_id")
    number = serializers.IntegerField(source="pk", help_text="What people see: #12.")
    provider = ProviderReference()
    source_owner = OwnerIdField(read_only=True, allow_null=True)
    target_owner = OwnerIdField(read_only=True, allow_null=True)
    undo_of = serializers.UUIDField(source="undo_of.public_id", default=None, allow_null=True)
    undo_of_number = serializers.IntegerField(source="undo_of_id", allow_null=True)
    requested_by = serializers.CharField(source="requested_by_name")
    approved_by = serializers.CharField(source="approved_by_name")

    class Meta:
        model = Transfer
        fields: tuple[str, ...] = (
            "id",
            "number",
            "group",
            "kind",
            "provider",
            "source_owner",
            "target_owner",
            "undo_of",
            "undo_of_number",
            "status",
            "status_reason",
            "target_intent",
            "reason",
            "ticket",
            "plan_fingerprint",
            "approval_policy",
            "requested_by",
            "approved_by",
            "approved_at",
            "consents",
            "consents_missing",
            "item_count",
            "created_at",
            "updated_at",
            "expires_at",
            "started_at",
            "finished_at",
        )


class AllowedActionAnswer(serializers.Serializer[Any]):
    """Something you may do now, and what follows from it."""

    action = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the name of the member, not the field's own label
    consequence = serializers.CharField()
    needs_reason = serializers.BooleanField()
    side = serializers.CharField(help_text="`side` of the body of `approve/`; empty: leave it out.")


class ProgressAnswer(serializers.Serializer[Any]):
    """How far it is."""

    total = serializers.IntegerField()
    verified = serializers.IntegerField()
    failed = serializers.IntegerField()
    needs_operator = serializers.IntegerField()
    pending = serializers.IntegerField()
    percent = serializers.IntegerField()
    is_moving = serializers.BooleanField()
    summary = serializers.CharField()


class LeftOutAnswer(serializers.Serializer[Any]):
    """A record set that was asked for and is not part of the plan, and why."""

    name = serializers.CharField()
    type = serializers.CharField()
    problem = serializers.CharField()


class TransferDetail(TransferAnswer):
    """A transfer with its progress and what you may do with it."""

    left_out = LeftOutAnswer(many=True)
    progress = serializers.SerializerMethodField()
    allowed_actions = serializers.SerializerMethodField()

    class Meta(TransferAnswer.Meta):
        fields = (*TransferAnswer.Meta.fields, "left_out", "progress", "allowed_actions")

    @extend_schema_field(ProgressAnswer)
    def get_progress(self, row: Transfer) -> Any:
        return ProgressAnswer(progress(row)).data

    @extend_schema_field(AllowedActionAnswer(many=True))
    def get_allowed_actions(self, row: Transfer) -> Any:
        actions = allowed_actions(actor_of(self.context["request"]), row)
        return AllowedActionAnswer(actions, many=True).data


class RequestedAnswer(serializers.Serializer[Any]):
    """One transfer for each provider the selection touches, all of one group."""

    group = serializers.UUIDField()
    transfers = TransferAnswer(many=True)
    added_count = serializers.IntegerField(
        help_text="How many record sets were added: other types at selected names."
    )
    added = AddedAnswer(many=True, help_text="The first 200 of them; `items/` of each transfer has all.")


class TransferItemAnswer(RowSerializer[TransferItem]):
    """One record set of a transfer: its claims before and after, and how it went."""

    record_before = ObjectOrNullField(read_only=True, help_text="The record set, as reviewed; never written.")
    before = serializers.ListField(child=serializers.DictField(), read_only=True)
    after = serializers.ListField(child=serializers.DictField(), read_only=True)

    class Meta:
        model = TransferItem
        fields = (
            "ordinal",
            "batch",
            "name",
            "record_type",
            "set_identifier",
            "record_before",
            "before",
            "after",
            "is_added",
            "verdict",
            "verdict_reason",
            "status",
            "status_reason",
        )


class TransferStepAnswer(RowSerializer[TransferStep]):
    """One change set: what was about to be sent, what came back, what was read afterwards."""

    registry_profile = serializers.SlugRelatedField[Any](slug_field="name", read_only=True, allow_null=True)
    read_back = ObjectsOrNullField(read_only=True, help_text="What was read afterwards, by place.")

    class Meta:
        model = TransferStep
        fields = (
            "id",
            "phase",
            "registry_profile",
            "batch",
            "attempt",
            "status",
            "change_set",
            "stored_at",
            "answered_at",
            "answer",
            "read_back",
            "read_back_at",
        )
