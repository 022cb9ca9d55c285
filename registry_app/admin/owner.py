"""Owners: who signs claims, where they run, and what they hold."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from registry_app.actor import Actor
from registry_app.admin.actor import actor_of
from registry_app.admin.answer import answer_form
from registry_app.admin.config_page import ConfigForm, ConfigPage, read_moment
from registry_app.admin.fields import LinesField, ThemedForm
from registry_app.admin.filters import TextFilter, build_choice_filter, build_row_filter
from registry_app.admin.wording import NOTHING, format_ago, format_badge, format_foreign
from registry_app.inventory.change_owner import change_owner
from registry_app.inventory.deletion import delete_owner
from registry_app.inventory.register_owner import register_owner
from registry_app.models import Cluster, Finding, Grant, Owner, Provider
from registry_app.queries.access import may_act_somewhere
from registry_app.queries.dependents import find_owner_dependents
from registry_app.queries.name_range import build_prefix_query
from registry_app.queries.owner_counts import count_by_provider, describe_owned

_DEFAULTS: Final = "ExternalDNS's defaults"


class OwnerIdFilter(TextFilter):
    title = "owner id begins with"
    parameter_name = "id"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(build_prefix_query("owner_id", self.typed)) if self.typed else queryset


class OwnerForm(ConfigForm):
    name_patterns = LinesField(
        required=False,
        help_text="Suffixes of the names this owner is responsible for, one a line, as in --domain-filter.",
    )

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
        )


@admin.register(Owner)
class OwnerPageAdmin(ConfigPage[Owner]):
    list_display = (
        "owner_id_shown",
        "status_shown",
        "cluster",
        "profile_shown",
        "policy_shown",
        "counts_shown",
    )
    list_filter = (
        OwnerIdFilter,
        build_choice_filter("status", "status", Owner.Status.choices),
        build_row_filter("cluster", "cluster", Cluster),
    )
    list_select_related = False
    sortable_by = ()
    form_class = OwnerForm
    noun = "owner"
    meaning_of_deletion = (
        "The owner and the grants for it are deleted here. "
        "Nothing is changed at any provider. Finished transfers keep its owner id."
    )
    page_template = "dnsadmin/owner.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Owner]:
        return super().get_queryset(request).prefetch_related("cluster", "registry_profile")

    def register_initial(self, request: HttpRequest) -> dict[str, Any]:
        # Discovered is what nobody said anything of.
        return {"status": Owner.Status.REGISTERED, **super().register_initial(request)}

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        # One query for the whole page: the counts ride on the rows that are shown.
        rows = list(changes.result_list)
        counts = describe_counts([row.pk for row in rows])
        for row in rows:
            row.counts_text = counts.get(row.pk, NOTHING)
        changes.result_list = rows
        return changes

    def empty_reason(self, request: HttpRequest) -> str:
        return "No owner was seen in a claim yet, and none is registered."

    @admin.display(description="owner id")
    def owner_id_shown(self, row: Owner) -> SafeString:
        return format_html('<bdi class="dn-name">{}</bdi>', format_foreign(row.owner_id))

    @admin.display(description="status")
    def status_shown(self, row: Owner) -> SafeString:
        return format_badge(row.status, row.get_status_display())

    @admin.display(description="policy")
    def policy_shown(self, row: Owner) -> str:
        # As in --policy; what each does stands on the owner's page.
        return row.policy

    @admin.display(description="registry profile")
    def profile_shown(self, row: Owner) -> str:
        return str(row.registry_profile or _DEFAULTS)

    @admin.display(description="record sets")
    def counts_shown(self, row: Owner) -> SafeString | str:
        counts: SafeString | str = getattr(row, "counts_text", NOTHING)
        return counts

    def register(self, actor: Actor, values: Mapping[str, Any]) -> Owner:
        return register_owner(actor, values)

    def change(
        self, actor: Actor, pk: int, changes: Mapping[str, Any], *, expected_updated_at: datetime | None
    ) -> Owner:
        return change_owner(actor, pk, changes, expected_updated_at=expected_updated_at)

    def urls_beside(self) -> list[URLPattern]:
        return [
            *super().urls_beside(),
            self.page_path("<int:pk>/decommission/", self.decommission_view, "decommission"),
        ]

    def decommission_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Say what the owner still owns, and what can become of it; leave it with the owner when sent."""
        self.refuse_to_show(request, "decommission")
        row = self.find_row(request, pk)
        read_at = request.POST.get("read_at") or row.updated_at.isoformat()

        def act(actor: Actor) -> str:
            changes = {"status": Owner.Status.DECOMMISSIONED, "keep_record_sets": True}
            self.change(actor, pk, changes, expected_updated_at=read_moment(read_at))
            return self.url_of("change", pk)

        form = reverse("admin:registry_app_transfer_request")
        context = {
            "read_at": read_at,
            "back": self.url_of("change", pk),
            "owned": describe_owned(row),
            "transfer": f"{form}?{urlencode({'kind': 'transfer', 'owner': row.owner_id})}",
            "release": f"{form}?{urlencode({'kind': 'release', 'owner': row.owner_id})}",
        }
        return answer_form(
            self,
            request,
            ThemedForm(request.POST if request.method == "POST" else None),
            act,
            title=f"Decommission {row}",
            done="Decommissioned.",
            context=context,
            template="dnsadmin/owner_decommission.html",
        )

    def delete(self, actor: Actor, pk: int, *, expected_updated_at: datetime | None) -> None:
        delete_owner(actor, pk, expected_updated_at=expected_updated_at)

    def find_dependents(self, row: Owner) -> list[str]:
        return find_owner_dependents(row)

    def page_context(self, request: HttpRequest, row: Owner) -> dict[str, Any]:
        counts = count_by_provider([row.pk]).get(row.pk, [])
        names = dict(Provider.objects.values_list("pk", "name"))
        return {
            **super().page_context(request, row),
            "counts": [
                (
                    names.get(count.provider, NOTHING),
                    count.record_sets,
                    list_record_sets(row.pk, count.provider),
                )
                for count in counts
            ],
            "total": sum(count.record_sets for count in counts),
            "all_findings": f"{reverse('admin:registry_app_finding_changelist')}?owner={row.pk}",
            "findings": row.findings.exclude(state=Finding.State.RESOLVED)[:20],
        }

    def page_links(self, request: HttpRequest, row: Owner) -> list[tuple[str, str]]:
        if not may_act_somewhere(actor_of(request), Grant.Action.REQUEST):
            return self._configuration_links(request, row)
        everything = urlencode({"kind": "transfer", "owner": row.owner_id})
        reformat = urlencode({"kind": "reformat", "owner": row.owner_id})
        form = reverse("admin:registry_app_transfer_request")
        return [
            ("Transfer everything of this owner", f"{form}?{everything}"),
            ("Re-format its claims", f"{form}?{reformat}"),
            *self._configuration_links(request, row),
        ]

    def _configuration_links(self, request: HttpRequest, row: Owner) -> list[tuple[str, str]]:
        links = super().page_links(request, row)
        if links and row.status != Owner.Status.DECOMMISSIONED:
            links.append(("Decommission", self.url_of("decommission", row.pk)))
        return links

    def facts(self, row: Owner) -> list[tuple[str, object]]:
        return [
            ("Status", format_badge(row.status, row.get_status_display())),
            ("Policy", row.get_policy_display()),
            ("Cluster", row.cluster or NOTHING),
            ("Team", row.team or NOTHING),
            ("Registry profile", row.registry_profile or _DEFAULTS),
            ("Names it is responsible for", ", ".join(map(str, row.name_patterns)) or NOTHING),
            ("Description", row.description or NOTHING),
            ("First seen", format_ago(row.created_at)),
        ]


def describe_counts(owner_pks: list[int]) -> dict[int, SafeString]:
    """`12 at samples-a, 3 at samples-b` for each owner, in two queries for all of them."""
    names = dict(Provider.objects.values_list("pk", "name"))
    return {
        pk: format_html_join(
            ", ",
            '<a class="dn-link" href="{}">{} at {}</a>',
            (
                (list_record_sets(pk, count.provider), count.record_sets, names.get(count.provider, NOTHING))
                for count in counts
            ),
        )
        for pk, counts in count_by_provider(owner_pks).items()
    }


def list_record_sets(owner_pk: int, provider_pk: int) -> str:
    """Where what an owner holds at a provider is listed."""
    query = urlencode({"owner": owner_pk, "provider": provider_pk})
    return f"{reverse('admin:registry_app_recordset_changelist')}?{query}"
