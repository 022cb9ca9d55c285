"""Clusters: where owners run."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from registry_app.actor import Actor
from registry_app.admin.config_page import ConfigForm, ConfigPage
from registry_app.admin.wording import NOTHING
from registry_app.inventory.change_cluster import change_cluster
from registry_app.inventory.register_cluster import register_cluster
from registry_app.models import Cluster


class ClusterForm(ConfigForm):
    class Meta:
        model = Cluster
        fields = ("name", "environment", "description")


@admin.register(Cluster)
class ClusterPageAdmin(ConfigPage[Cluster]):
    list_display = ("name", "environment", "owners_shown", "description")
    sortable_by = ()
    form_class = ClusterForm
    noun = "cluster"
    page_template = "dnsadmin/cluster.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Cluster]:
        return super().get_queryset(request).annotate(owner_count=Count("owners"))

    def empty_reason(self, request: HttpRequest) -> str:
        return "No cluster is registered. Register one to say where an owner runs."

    @admin.display(description="owners")
    def owners_shown(self, row: Cluster) -> str:
        return str(getattr(row, "owner_count", 0))

    def register(self, actor: Actor, values: Mapping[str, Any]) -> Cluster:
        return register_cluster(actor, values)

    def change(
        self, actor: Actor, pk: int, changes: Mapping[str, Any], *, expected_updated_at: datetime | None
    ) -> Cluster:
        return change_cluster(actor, pk, changes, expected_updated_at=expected_updated_at)

    def page_context(self, request: HttpRequest, row: Cluster) -> dict[str, Any]:
        return {**super().page_context(request, row), "owners": row.owners.all()[:200]}

    def facts(self, row: Cluster) -> list[tuple[str, object]]:
        return [("Environment", row.environment or NOTHING), ("Description", row.description or NOTHING)]
