"""Owners: the ids that ExternalDNS instances sign with."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from registry_app.api.fields import NameField, RowIdField, RowSerializer, SearchField
from registry_app.api.request import StrictModelSerializer, StrictSerializer
from registry_app.api.view_set import ConfigurationViewSet, Mutations, describe
from registry_app.inventory.owner import change_owner, delete_owner, register_owner
from registry_app.models import Cluster, InstancePolicy, Owner, RegistryProfile
from registry_app.queries.instance import WITH_PROFILES, find_only_instance
from registry_app.queries.keyset import Keyset
from registry_app.queries.named_row import build_prefix_query
from registry_app.queries.owner import OwnerCount, count_by_provider, find_look_alikes
from registry_app.queries.readable import readable
from registry_app.queries.search import search_owners


class OwnerCountAnswer(serializers.Serializer[Any]):
    """What an owner has at one provider."""

    provider = RowIdField()
    record_sets = serializers.IntegerField()


class OwnerAnswer(RowSerializer[Owner]):
    """An owner, with its record sets per provider. Policy, cluster and registry profile are those of its only
    instance; of an owner with several they are null, and `instances` says how many it has."""

    policy = serializers.SerializerMethodField()
    cluster = serializers.SerializerMethodField()
    team = serializers.SlugRelatedField[Any](slug_field="name", read_only=True, allow_null=True)
    registry_profile = serializers.SerializerMethodField()
    instances = serializers.SerializerMethodField()
    name_patterns = serializers.ListField(child=serializers.CharField())
    looks_like = serializers.SerializerMethodField(
        help_text="The registered owner id for which this one, which nobody registered, may be taken."
    )
    counts = serializers.SerializerMethodField()

    class Meta:
        model = Owner
        fields = (
            "id",
            "owner_id",
            "looks_like",
            "status",
            "policy",
            "cluster",
            "team",
            "registry_profile",
            "instances",
            "name_patterns",
            "description",
            "counts",
            "created_at",
            "updated_at",
        )

    @extend_schema_field(serializers.ChoiceField(choices=InstancePolicy.choices, allow_null=True))
    def get_policy(self, row: Owner) -> str | None:
        only = find_only_instance(row)
        if only is not None:
            return only.policy
        return None if self.get_instances(row) else InstancePolicy.UNKNOWN.value

    def get_cluster(self, row: Owner) -> str | None:
        only = find_only_instance(row)
        return only.cluster.name if only is not None and only.cluster else None

    def get_registry_profile(self, row: Owner) -> str | None:
        only = find_only_instance(row)
        return only.registry_profile.name if only is not None and only.registry_profile else None

    def get_instances(self, row: Owner) -> int:
        return len(row.instances.all())

    def get_looks_like(self, row: Owner) -> str | None:
        found: dict[str, str] = self.context["look_alikes"]
        return found.get(row.owner_id)

    @extend_schema_field(OwnerCountAnswer(many=True))
    def get_counts(self, row: Owner) -> Any:
        counts: dict[int, list[OwnerCount]] = self.context["counts"]
        return OwnerCountAnswer(counts.get(row.pk, []), many=True).data


class OwnerBody(StrictModelSerializer):
    """The fields of an owner; cluster, team and registry profile by name.

    Policy, cluster and registry profile are those of its only instance. Of an owner with several instances,
    change the instance itself: here they are refused (409, `several_instances`).
    """

    policy = serializers.ChoiceField(choices=InstancePolicy.choices, required=False)
    cluster = NameField(Cluster.objects.all())
    team = NameField(Group.objects.all())
    registry_profile = NameField(RegistryProfile.objects.all())
    name_patterns = serializers.ListField(
        child=serializers.CharField(max_length=255), required=False, max_length=100
    )

    keep_record_sets = serializers.BooleanField(
        write_only=True,
        required=False,
        help_text="To decommission an owner that still owns record sets: leave them with it. Otherwise that "
        "is refused (409, `owner_still_owns`), with their number.",
    )

    # Whoever names an owner knows it; DISCOVERED, the model's default, is for those seen in claims.
    status = serializers.ChoiceField(choices=Owner.Status.choices, default=Owner.Status.REGISTERED)

    class Meta:
        model = Owner
        fields = (
            "owner_id",
            "status",
            "policy",
            "cluster",
            "team",
            "registry_profile",
            "name_patterns",
            "description",
            "keep_record_sets",
        )
        # Whether it is registered already, the mutation says: one that was only seen has a row, too.
        extra_kwargs = {"owner_id": {"trim_whitespace": False, "validators": ()}}


class OwnerParameters(StrictSerializer):
    owner_id = serializers.CharField(required=False, help_text="Exactly this owner id.")
    owner_id_prefix = serializers.CharField(required=False, help_text="Those that begin so.")
    status = serializers.ChoiceField(choices=Owner.Status.choices, required=False)
    cluster = serializers.SlugRelatedField(
        slug_field="name",
        queryset=Cluster.objects.all(),
        required=False,
        help_text="The name of one where an instance of it runs.",
    )
    q = SearchField("owner id or description")


@describe(
    list="List owners by owner id, with their record sets per provider.",
    retrieve="One owner.",
    create="Register an owner, also one that was only seen in claims or was decommissioned.",
    partial_update="Change an owner.",
    destroy="Delete an owner that owns nothing. Refused (409, `in_use`) while something depends on it.",
)
class OwnerViews(ConfigurationViewSet):
    queryset = Owner.objects.select_related("team").prefetch_related(WITH_PROFILES, "instances__cluster")
    keyset = Keyset(("owner_id", "id"))
    serializer_class = OwnerAnswer
    parameters_class = OwnerParameters
    body_class = OwnerBody
    lookup_value_converter = "owner"
    name_field = "owner_id"
    mutations = Mutations(register_owner, change_owner, delete_owner)

    def filter_queryset(self, queryset: Any) -> Any:
        filters = self.read_filters()
        prefix, cluster = filters.pop("owner_id_prefix", None), filters.pop("cluster", None)
        text = filters.pop("q", "")
        rows = queryset.filter(**filters)
        rows = search_owners(rows, text) if text else rows
        if cluster is not None:
            # Once, however many of its instances run there.
            rows = rows.filter(pk__in=readable(self.actor, cluster.instances.all()).values("owner"))
        return rows if prefix is None else rows.filter(build_prefix_query("owner_id", prefix))

    def find_context(self, rows: Sequence[Owner]) -> dict[str, Any]:
        return {
            "counts": count_by_provider(self.actor, [owner.pk for owner in rows]),
            "look_alikes": find_look_alikes(owner.owner_id for owner in rows),
        }
