"""Saved filters: one's own, and those that are shared with one's groups."""

from typing import Any, ClassVar

from django.contrib.auth.models import Group
from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry_app.api.fields import NameField, RowSerializer
from registry_app.api.request import StrictModelSerializer, StrictSerializer
from registry_app.api.view_set import ConfigurationViewSet, Mutations, describe
from registry_app.inventory.saved_filter import change_saved_filter, delete_saved_filter, save_filter
from registry_app.models import SavedFilter
from registry_app.queries.saved_filter import LISTS, build_api_query, build_page_query

_LISTS = [(name, name) for name in LISTS]


class SavedFilterAnswer(RowSerializer[SavedFilter]):
    """A saved filter, with the addresses that reproduce it."""

    list = serializers.ChoiceField(source="list_name", choices=_LISTS)
    filters = serializers.DictField(child=serializers.CharField())
    user = serializers.CharField(source="user.username", help_text="Who saved it, and alone changes it.")
    group = serializers.SlugRelatedField[Any](slug_field="name", read_only=True, allow_null=True)
    path = serializers.SerializerMethodField(help_text="Of the list of the API with these filters.")
    page = serializers.SerializerMethodField(help_text="Of the list of the web admin with these filters.")

    class Meta:
        model = SavedFilter
        fields = (
            "id",
            "name",
            "list",
            "filters",
            "user",
            "group",
            "is_pinned",
            "path",
            "page",
            "created_at",
            "updated_at",
        )

    @extend_schema_field(str)
    def get_path(self, row: SavedFilter) -> str:
        return f"{reverse(f'{LISTS[row.list_name].page}-list')}?{build_api_query(row)}"

    @extend_schema_field(str)
    def get_page(self, row: SavedFilter) -> str:
        address = reverse(f"admin:registry_app_{LISTS[row.list_name].page}_changelist")
        return f"{address}?{build_page_query(row)}"


class SavedFilterBody(StrictModelSerializer):
    """A filter of one's own. `filters` are parameters of the list: names and texts."""

    list = serializers.ChoiceField(
        source="list_name", choices=_LISTS, help_text="It stays; another list needs another filter."
    )
    filters = serializers.DictField(child=serializers.CharField(max_length=255), allow_empty=False)
    group = NameField(Group.objects.all(), help_text="A group that you are in: its members see it, too.")

    class Meta:
        model = SavedFilter
        fields = ("name", "list", "filters", "group", "is_pinned")


class SavedFilterParameters(StrictSerializer):
    list = serializers.ChoiceField(choices=_LISTS, source="list_name", required=False)


@describe(
    list="List saved filters by name: your own, and those shared with your groups; administrators, all.",
    retrieve="One saved filter.",
    create="Save a filter of your own.",
    partial_update="Change a filter of your own.",
    destroy="Delete a filter of your own; administrators, anybody's.",
)
class SavedFilterViews(ConfigurationViewSet):
    queryset = SavedFilter.objects.select_related("user", "group")
    serializer_class = SavedFilterAnswer
    parameters_class = SavedFilterParameters
    body_class = SavedFilterBody
    mutations = Mutations(save_filter, change_saved_filter, delete_saved_filter)
    scopes: ClassVar = {"create": "plan", "partial_update": "plan", "destroy": "plan"}
    field_names: ClassVar = {"list_name": "list"}
