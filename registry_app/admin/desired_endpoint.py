"""Desired endpoints: what instances want, as they posted it to the guard last."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.admin.filters import build_choice_filter, build_row_filter, build_text_filter
from registry_app.admin.guard_endpoint import format_freshness, link_to_guard_endpoint, link_to_instance
from registry_app.admin.list_page import ListPage, ago_column, column
from registry_app.admin.wording import NOTHING, format_foreign, format_json, format_targets, link_to
from registry_app.models import DesiredEndpoint, GuardEndpoint, Owner, Provider
from registry_app.queries.guard_endpoint import list_desired_endpoints
from registry_app.queries.named_row import build_suffix_query

_SHOWN_TYPES = ("A", "AAAA", "CNAME", "TXT", "MX", "NS", "SRV", "PTR", "NAPTR", "DNAME")


@admin.register(DesiredEndpoint)
class DesiredEndpointPageAdmin(ListPage[DesiredEndpoint]):
    list_display = (
        "name_shown",
        "type_shown",
        "targets_shown",
        "endpoint_shown",
        "owner_shown",
        "provider_shown",
        "since_shown",
        "fresh_shown",
    )
    list_filter = (
        build_row_filter("guard endpoint", "guard_endpoint", GuardEndpoint),
        build_row_filter("owner", "owner", Owner, column="guard_endpoint__instance__owner_id"),
        build_row_filter("provider", "provider", Provider, column="guard_endpoint__provider_id"),
        build_choice_filter("type", "type", [(name, name) for name in _SHOWN_TYPES], column="record_type"),
        build_text_filter("at or below", "name_suffix", build_suffix_query, hint="example.org"),
    )
    list_select_related = False
    page_template = "dnsadmin/facts.html"
    empty_text = (
        "No instance posted what it wants. Register a guard endpoint, and start the instance's ExternalDNS "
        "with the flags that its page shows. The next loop of the instance posts everything."
    )
    type_shown = column("type", lambda row: format_foreign(row.record_type))
    targets_shown = column(
        "targets", lambda row: format_html('<bdi class="dn-targets">{}</bdi>', format_targets(row.targets))
    )
    endpoint_shown = column("guard endpoint", lambda row: link_to_guard_endpoint(row.guard_endpoint))
    owner_shown = column("owner", lambda row: link_to(row.guard_endpoint.instance.owner))
    provider_shown = column("provider", lambda row: link_to(row.guard_endpoint.provider))
    since_shown = ago_column("changed_at", "wanted so since")
    fresh_shown = column("known", lambda row: format_freshness(row.guard_endpoint))

    def find_rows(self, request: HttpRequest) -> QuerySet[DesiredEndpoint]:
        return list_desired_endpoints().order_by("name", "pk")

    @admin.display(description="name")
    def name_shown(self, row: DesiredEndpoint) -> SafeString:
        identifier = f" ({format_foreign(row.set_identifier)})" if row.set_identifier else ""
        return format_html('<bdi class="dn-name">{}{}</bdi>', format_foreign(row.name), identifier)

    def page_context(self, request: HttpRequest, row: DesiredEndpoint) -> dict[str, Any]:
        about = row.guard_endpoint
        properties = format_json(row.provider_specific) if row.provider_specific else NOTHING
        return {
            "row": row,
            "facts": [
                ("Name", self.name_shown(row)),
                ("Type", format_foreign(row.record_type)),
                ("Targets", ", ".join(map(format_foreign, row.targets)) or NOTHING),
                ("TTL", f"{row.ttl} s" if row.ttl else "not configured"),
                ("Provider-specific", properties),
                ("Resource", format_foreign(row.resource) or NOTHING),
                ("Guard endpoint", link_to_guard_endpoint(about)),
                ("Instance", link_to_instance(about.instance)),
                ("Owner", link_to(about.instance.owner)),
                ("Provider", link_to(about.provider)),
                ("Known", format_freshness(about)),
                ("First wanted", self._ago(row, "first_seen_at")),
                ("Wanted so since", self.since_shown(row)),
                ("Record set", _link_to_record_sets(row)),
            ],
        }

    @staticmethod
    def _ago(row: DesiredEndpoint, name: str) -> Any:
        return ago_column(name, name)(None, row)


def _link_to_record_sets(row: DesiredEndpoint) -> SafeString:
    """The record sets of that name at the provider, whether there are any or not."""
    query = urlencode({"provider": row.guard_endpoint.provider_id, "name_suffix": row.name})
    address = f"{reverse('admin:registry_app_recordset_changelist')}?{query}"
    return format_html(
        '<a class="dn-link" href="{}">What the provider has at or below this name</a>', address
    )
