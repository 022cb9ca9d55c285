"""Clusters: where owners run."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse

from registry_app.admin.fields import AddressInput, SecretField
from registry_app.admin.forms import ConfigForm, ConfigPage, answer_probe
from registry_app.admin.list_page import column
from registry_app.admin.wording import NOTHING
from registry_app.inventory.cluster import (
    ClusterReport,
    change_cluster,
    delete_cluster,
    probe_cluster,
    register_cluster,
)
from registry_app.models import Cluster, Owner
from registry_app.queries.access import may_administer
from registry_app.queries.actor import actor_of
from registry_app.queries.dependents import find_cluster_dependents
from registry_app.queries.provider import build_is_set

_WHERE = ("name", "environment", "description")
_API = ("api_url", "ca_certificate", "client_certificate")


class ClusterForm(ConfigForm):
    token = SecretField(
        label="token",
        help_text="A service account's token, or env:NAME or file:NAME. Never shown again. Leave it empty to "
        "keep the stored one. A new API address deletes it.",
    )
    client_key = SecretField(label="client key (PEM)", lines=True, help_text="Never shown again.")

    sections = (
        ("Where it is", _WHERE),
        (
            "Its Kubernetes API, if claims are stored there",
            ("api_url", "token", "forget_token", *_API[1:], "client_key", "forget_client_key"),
        ),
    )

    class Meta:
        model = Cluster
        fields = (*_WHERE, *_API)
        widgets: ClassVar = {"api_url": AddressInput}


@admin.register(Cluster)
class ClusterPageAdmin(ConfigPage[Cluster]):
    list_display = ("name", "environment", "owners_shown", "description")
    form_class = ClusterForm
    register = staticmethod(register_cluster)
    change = staticmethod(change_cluster)
    delete = staticmethod(delete_cluster)
    find_dependents = staticmethod(find_cluster_dependents)
    noun = "cluster"
    meaning_of_deletion = (
        "This deletes the cluster and its credentials from dnsadmin. Nothing changes in the cluster itself."
    )
    page_template = "dnsadmin/cluster.html"
    pages = {**ConfigPage.pages, "test": "<int:pk>/test/"}
    empty_text = "No cluster is registered. Register one to say where an owner runs."
    owners_shown = column("owners", lambda row: str(getattr(row, "owner_count", 0)))

    def find_rows(self, request: HttpRequest) -> QuerySet[Cluster]:
        rows = super().find_rows(request).annotate(owner_count=Count("instances__owner", distinct=True))
        return rows.annotate(has_token=build_is_set("token"))

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask the cluster's Kubernetes API for its version, and show the answer; nothing changes."""
        row = self.find_row(request, pk)
        return answer_probe(self, request, row, lambda actor: probe_cluster(actor, pk), describe_report)

    def page_context(self, request: HttpRequest, row: Cluster) -> dict[str, Any]:
        test = self.url_of("test", row.pk) if row.api_url and may_administer(actor_of(request)) else ""
        return {
            **super().page_context(request, row),
            "owners": Owner.objects.filter(instances__cluster=row).distinct()[:200],
            "test": test,
        }

    def facts(self, row: Cluster) -> list[tuple[str, object]]:
        return [
            ("Environment", row.environment or NOTHING),
            ("Description", row.description or NOTHING),
            ("Kubernetes API", row.api_url or NOTHING),
            ("Token", "set" if getattr(row, "has_token", False) else "not set"),
            ("Client certificate", "set" if row.client_certificate else "not set"),
        ]


def describe_report(report: ClusterReport) -> list[tuple[str, object]]:
    """The result of a successful test, as label and value."""
    return [("Kubernetes", report.version)]
