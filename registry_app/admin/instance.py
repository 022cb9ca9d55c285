"""Instances: each running ExternalDNS, and what is known of its flags."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from registry_app.admin.fields import LinesField
from registry_app.admin.filters import build_row_filter, build_text_filter
from registry_app.admin.forms import ConfigForm, ConfigPage
from registry_app.admin.list_page import column
from registry_app.admin.wording import link_to
from registry_app.inventory.instance import change_instance, delete_instance, register_instance
from registry_app.models import Cluster, Instance, Loop, Provider
from registry_app.queries.dependents import find_instance_dependents
from registry_app.queries.instance import list_labelled_instances
from registry_app.queries.named_row import build_prefix_query

DEFAULTS = "ExternalDNS's defaults"
_UNKNOWN = "Not known"
_EVERY_PROVIDER = "Unknown: assumed at every provider"
_WHERE = ("owner", "name", "cluster", "provider")
_FLAGS = (
    "policy",
    "registry_profile",
    "domain_include",
    "domain_exclude",
    "managed_types",
    "claim_cache_seconds",
)


class InstanceForm(ConfigForm):
    domain_include = LinesField(
        label="Domain filter",
        required=False,
        help_text="As in --domain-filter, one per line. Empty: every name.",
    )
    domain_exclude = LinesField(
        label="Excluded domains", required=False, help_text="As in --exclude-domains, one per line."
    )
    managed_types = LinesField(
        required=False, help_text="As in --managed-record-types, such as A, AAAA, CNAME. Empty: not known."
    )

    sections = (("Where it runs", _WHERE), ("Its flags, if known", _FLAGS))

    class Meta:
        model = Instance
        fields = (*_WHERE, *_FLAGS)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            del self.fields["owner"]  # it stays
        else:
            self.fields["name"].required = False


def describe_filter(row: Instance) -> str:
    """The domain filter in one line."""
    included = ", ".join(map(str, row.domain_include[:5])) or "Every name"
    more = f" and {len(row.domain_include) - 5} more" if len(row.domain_include) > 5 else ""
    but = f", but not {', '.join(map(str, row.domain_exclude[:5]))}" if row.domain_exclude else ""
    return f"{included}{more}{but}"


@admin.register(Instance)
class InstancePageAdmin(ConfigPage[Instance]):
    list_display = ("name", "owner", "cluster_shown", "provider_shown", "policy", "filter_shown")
    list_filter = (
        build_text_filter(
            "owner id begins with",
            "owner_id_prefix",
            lambda text: build_prefix_query("owner__owner_id", text),
        ),
        build_row_filter("cluster", "cluster", Cluster),
        build_row_filter("provider", "provider", Provider),
    )
    old_filters = {"owner_id": "owner_id_prefix"}
    list_select_related = False
    form_class = InstanceForm
    register = staticmethod(register_instance)
    change = staticmethod(change_instance)
    delete = staticmethod(delete_instance)
    find_dependents = staticmethod(find_instance_dependents)
    noun = "instance"
    meaning_of_deletion = (
        "Delete an instance that no longer runs. Its owner and the owner's record sets stay. This "
        "deletes only the entry in dnsadmin: an ExternalDNS that still runs continues. Approvals "
        "that depend on the instance are cancelled."
    )
    page_template = "dnsadmin/config.html"
    empty_text = (
        "No instance is registered. Register one to say where an owner runs and with which "
        "flags. The verdicts of a transfer depend on them."
    )
    cluster_shown = column("cluster", lambda row: row.cluster.name if row.cluster else _UNKNOWN)
    provider_shown = column("provider", lambda row: row.provider.name if row.provider else _UNKNOWN)
    filter_shown = column("domain filter", describe_filter)

    def find_rows(self, request: HttpRequest) -> QuerySet[Instance]:
        rows = super().find_rows(request).select_related("owner")
        return rows.prefetch_related("cluster", "provider", "registry_profile")

    def rows_to_search(self) -> QuerySet[Instance]:
        return list_labelled_instances()

    def register_initial(self, request: HttpRequest) -> dict[str, Any]:
        return {"policy": Instance._meta.get_field("policy").default, **super().register_initial(request)}

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        loops = Loop.objects.filter(is_enabled=True).count()
        links = super().list_links(request)
        if loops:
            links.append((f"Loops of dnsadmin's own: {loops}", reverse("admin:registry_app_loop_changelist")))
        return links

    def facts(self, row: Instance) -> list[tuple[str, object]]:
        return [
            ("Owner", link_to(row.owner)),
            ("Cluster", link_to(row.cluster) if row.cluster else _UNKNOWN),
            ("Writes through", link_to(row.provider) if row.provider else _EVERY_PROVIDER),
            ("Policy", row.get_policy_display()),
            ("Registry profile", row.registry_profile or DEFAULTS),
            ("Domain filter", describe_filter(row)),
            ("Managed types", ", ".join(map(str, row.managed_types)) or _UNKNOWN),
            ("Caches claims", describe_cache(row)),
            ("Guard endpoints", _link_to_guard_endpoints(row)),
        ]

    def page_links(self, request: HttpRequest, row: Instance) -> list[tuple[str, str]]:
        links = super().page_links(request, row)
        if not links:
            return links
        chosen = {"instance": row.pk} | ({"provider": row.provider_id} if row.provider_id else {})
        address = reverse("admin:registry_app_guardendpoint_register")
        return [*links, ("Register a guard endpoint", f"{address}?{urlencode(chosen)}")]


def _link_to_guard_endpoints(row: Instance) -> SafeString | str:
    """Where it talks to the guard."""
    found = [
        (reverse("admin:registry_app_guardendpoint_change", args=[pk]), slug)
        for pk, slug in row.guard_endpoints.values_list("pk", "slug")
    ]
    return format_html_join(", ", '<a class="dn-link" href="{}">{}</a>', found) or "None"


def describe_instance(row: Instance) -> dict[str, object]:
    """One line of the list on the page of an owner."""
    return {
        "row": row,
        "cluster": row.cluster or _UNKNOWN,
        "provider": row.provider or _UNKNOWN,
        "policy": row.policy,
        "profile": row.registry_profile or DEFAULTS,
        "filter": describe_filter(row),
    }


def describe_cache(row: Instance) -> str:
    """For how long it uses claims that it read before."""
    if row.claim_cache_seconds is None:
        return _UNKNOWN
    return f"for {row.claim_cache_seconds} s" if row.claim_cache_seconds else "no"
