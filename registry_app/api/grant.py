"""Grants: what groups may do with which record sets, read only."""

from django.contrib.auth.models import Group
from rest_framework import serializers

from registry_app.api.fields import OwnerIdField, ProviderReference, RowSerializer
from registry_app.api.request import StrictSerializer
from registry_app.api.view_set import NounViewSet, describe
from registry_app.models import PROVIDER_SECRETS, Grant


class GrantAnswer(RowSerializer[Grant]):
    """What a group may do. Without a provider or an owner it is for all of them, without a suffix for every
    name."""

    group = serializers.CharField(source="group.name")
    provider = ProviderReference(allow_null=True)
    owner = OwnerIdField(read_only=True, allow_null=True)

    class Meta:
        model = Grant
        fields = ("id", "group", "action", "provider", "owner", "name_suffix")


class GrantParameters(StrictSerializer):
    group = serializers.SlugRelatedField(
        slug_field="name", queryset=Group.objects.all(), required=False, help_text="The name of a group."
    )
    action = serializers.ChoiceField(choices=Grant.Action.choices, required=False)


@describe(list="List grants, newest first.", retrieve="One grant.")
class GrantViews(NounViewSet):
    queryset = Grant.objects.select_related("group", "provider", "owner").defer(*PROVIDER_SECRETS)
    serializer_class = GrantAnswer
    parameters_class = GrantParameters
