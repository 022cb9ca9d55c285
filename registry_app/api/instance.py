"""Instances: each running ExternalDNS, and what is known of its flags. Loops are among them."""

from dataclasses import asdict
from typing import Any

from django.db.models import CharField, IntegerField, Q, Value
from rest_framework import serializers

from providers.wire.endpoint import KNOWN_RECORD_TYPES
from registry_app.api.fields import (
    NameField,
    OwnerFilterField,
    OwnerIdField,
    ProviderField,
    ProviderFilterField,
    ProviderReference,
    with_provider,
)
from registry_app.api.request import StrictModelSerializer, StrictSerializer
from registry_app.api.view_set import ConfigurationViewSet, Mutations, describe
from registry_app.inventory.instance import change_instance, delete_instance, register_instance
from registry_app.models import (
    PROVIDER_SECRETS,
    Cluster,
    Instance,
    InstancePolicy,
    Loop,
    Owner,
    RegistryProfile,
)
from registry_app.queries.instance import build_loop_facts
from registry_app.queries.keyset import Keyset
from registry_app.queries.named_row import build_prefix_query
from registry_app.queries.readable import readable

_MOST_ENTRIES = 1_000
_SETTINGS = (
    "owner",
    "name",
    "cluster",
    "provider",
    "policy",
    "registry_profile",
    "domain_include",
    "domain_exclude",
    "managed_types",
    "claim_cache_seconds",
)
_KINDS = (("external-dns", "ExternalDNS"), ("loop", "A loop of dnsadmin's own"))


def _kind(name: str) -> Value:
    return Value(name, output_field=CharField())


class InstanceAnswer(serializers.Serializer[Any]):
    """An instance. A loop is one too: it has no id here, and is changed under /loops/."""

    id = serializers.IntegerField(allow_null=True, help_text="Null for a loop.")
    kind = serializers.ChoiceField(choices=_KINDS)
    loop = serializers.IntegerField(allow_null=True, help_text="The id of the loop that it is.")
    owner = serializers.CharField(source="owner.owner_id")
    name = serializers.CharField()
    cluster = serializers.CharField(source="cluster.name", allow_null=True)
    provider = ProviderReference(
        allow_null=True, help_text="The provider it writes through; null: unknown, assumed at every provider."
    )
    policy = serializers.ChoiceField(choices=InstancePolicy.choices)
    registry_profile = serializers.CharField(
        source="registry_profile.name",
        allow_null=True,
        help_text="Null: ExternalDNS's defaults; of a loop, what its owner's instances say.",
    )
    domain_include = serializers.ListField(child=serializers.CharField())
    domain_exclude = serializers.ListField(child=serializers.CharField())
    managed_types = serializers.ListField(child=serializers.CharField(), help_text="Empty: not known.")
    claim_cache_seconds = serializers.IntegerField(
        allow_null=True, help_text="--txt-cache-interval in seconds; null: not known."
    )
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: Any) -> Any:
        if not isinstance(instance, Loop):
            return super().to_representation(instance)
        facts = asdict(build_loop_facts(instance, instance.owner.owner_id))
        rows = {"owner": instance.owner, "provider": instance.provider}
        times = {"created_at": instance.created_at, "updated_at": instance.updated_at}
        return super().to_representation(
            {**facts, "id": None, "kind": "loop", "loop": instance.pk, **rows, **times}
        )


class InstanceBody(StrictModelSerializer):
    """The fields of an instance: its owner by owner id, provider by id or name, cluster
    and registry profile by name."""

    owner = OwnerIdField(queryset=Owner.objects.all())
    name = serializers.CharField(
        required=False, allow_blank=True, max_length=100, help_text="Left out: the name of its cluster."
    )
    cluster = NameField(Cluster.objects.all())
    provider = ProviderField(required=False, allow_null=True, help_text="Id or name.")
    registry_profile = NameField(RegistryProfile.objects.all())
    domain_include = serializers.ListField(
        child=serializers.CharField(max_length=255), required=False, max_length=_MOST_ENTRIES
    )
    domain_exclude = serializers.ListField(
        child=serializers.CharField(max_length=255), required=False, max_length=_MOST_ENTRIES
    )
    managed_types = serializers.ListField(
        child=serializers.CharField(max_length=20), required=False, max_length=len(KNOWN_RECORD_TYPES)
    )

    class Meta:
        model = Instance
        fields = _SETTINGS
        # Two of one name are refused by the mutation, which chooses a name where none is given.
        validators: list[Any] = []


class InstanceParameters(StrictSerializer):
    owner = OwnerFilterField(required=False, help_text="Owner id.")
    owner_id_prefix = serializers.CharField(required=False, help_text="Owner ids that begin so.")
    cluster = serializers.SlugRelatedField(
        slug_field="name", queryset=Cluster.objects.all(), required=False, help_text="Its name."
    )
    provider = ProviderFilterField(
        required=False, help_text="Those that are known to write through it, by id or name."
    )


@describe(
    list="List instances in the order they were registered, then the loops that run.",
    retrieve="One instance.",
    create="Register an instance of an owner.",
    partial_update="Change an instance. Its owner stays. Approvals of transfers "
    "that depend on it are cancelled.",
    destroy="Delete an instance that does not run any more. Its owner stays, and what that owns.",
)
class InstanceViews(ConfigurationViewSet):
    queryset = (
        Instance.objects.annotate(kind=_kind("external-dns"), loop=Value(None, output_field=IntegerField()))
        .select_related("owner", "provider")
        .defer(*PROVIDER_SECRETS)
        .prefetch_related("cluster", "registry_profile")
    )
    keyset = Keyset(("kind", "id"))
    serializer_class = InstanceAnswer
    parameters_class = InstanceParameters
    body_class = InstanceBody
    mutations = Mutations(register_instance, change_instance, delete_instance)

    def filter_queryset(self, queryset: Any) -> Any:
        filters = self.read_filters()
        prefix = filters.pop("owner_id_prefix", "")
        begins = build_prefix_query("owner__owner_id", prefix) if prefix else Q()
        rows = [queryset.filter(begins, **filters)]
        if "cluster" not in filters:
            loops = readable(self.actor, with_provider(Loop.objects.select_related("owner")))
            loops = loops.filter(begins, is_enabled=True, **filters)
            rows.append(loops.annotate(kind=_kind("loop")))
        return rows
