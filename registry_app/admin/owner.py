"""Owners: who signs claims, where they run, and what they own."""

from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from registry_app.actor import Actor
from registry_app.admin.fields import LinesField, ThemedForm
from registry_app.admin.filters import (
    build_choice_filter,
    build_row_filter,
    build_search_filter,
    build_text_filter,
)
from registry_app.admin.forms import ConfigForm, ConfigPage, answer_form, read_moment, read_version
from registry_app.admin.instance import DEFAULTS, describe_instance
from registry_app.admin.list_page import OwnerList, badge_column, column
from registry_app.admin.wording import NOTHING, format_ago, format_badge, format_foreign
from registry_app.inventory.owner import INSTANCE_FIELDS, change_owner, delete_owner, register_owner
from registry_app.models import (
    PROVIDER_SECRETS,
    Cluster,
    Finding,
    Grant,
    InstancePolicy,
    Owner,
    Provider,
    RegistryProfile,
)
from registry_app.queries.access import may_act_somewhere, may_administer
from registry_app.queries.actor import actor_of
from registry_app.queries.dependents import find_owner_dependents
from registry_app.queries.instance import WITH_PROFILES
from registry_app.queries.named_row import build_prefix_query
from registry_app.queries.owner import count_by_provider, describe_owned, find_look_alikes
from registry_app.queries.search import search_owners

_OWN: Final = ("owner_id", "status", "team", "name_patterns", "description")
_SEVERAL: Final = "several"
_MOST_SHOWN = 200


class OwnerForm(ConfigForm):
    name_patterns = LinesField(
        required=False,
        help_text="Suffixes of the names this owner is responsible for, one per line, as in --domain-filter.",
    )

    # Of its only instance; an owner with several says them on the pages of these.
    policy = forms.ChoiceField(choices=InstancePolicy.choices, required=False)
    cluster = forms.ModelChoiceField(Cluster.objects.all(), required=False)
    registry_profile = forms.ModelChoiceField(RegistryProfile.objects.all(), required=False)

    sections = (("", _OWN), ("The instance that uses it", INSTANCE_FIELDS))

    class Meta:
        model = Owner
        fields = _OWN

    def __init__(self, *args: Any, **kwargs: Any):
        owner: Owner | None = kwargs.get("instance")
        rows = list(owner.instances.all()[:2]) if owner is not None else []
        of_instance: dict[str, Any] = {"policy": InstancePolicy.UNKNOWN}
        if len(rows) == 1:
            of_instance = {name: getattr(rows[0], name) for name in INSTANCE_FIELDS}
        super().__init__(*args, **{**kwargs, "initial": {**of_instance, **(kwargs.get("initial") or {})}})
        if len(rows) > 1:
            for name in INSTANCE_FIELDS:
                del self.fields[name]


@admin.register(Owner)
class OwnerPageAdmin(OwnerList[Owner], ConfigPage[Owner]):
    list_display = (
        "owner_id_shown",
        "status_shown",
        "cluster_shown",
        "profile_shown",
        "policy_shown",
        "counts_shown",
    )
    list_filter = (
        build_search_filter(search_owners, "owner id or description"),
        build_text_filter(
            "owner id begins with", "owner_id_prefix", lambda text: build_prefix_query("owner_id", text)
        ),
        build_choice_filter("status", "status", Owner.Status.choices),
        build_row_filter("cluster", "cluster", Cluster, column="instances__cluster"),
    )
    more_columns = ("team_shown", "description_shown")
    old_filters = {"id": "owner_id_prefix"}
    list_select_related = ("team",)
    form_class = OwnerForm
    register = staticmethod(register_owner)
    change = staticmethod(change_owner)
    delete = staticmethod(delete_owner)
    find_dependents = staticmethod(find_owner_dependents)
    noun = "owner"
    meaning_of_deletion = (
        "This deletes the owner and its grants from dnsadmin. Nothing changes at any provider. "
        "Finished transfers keep the owner id."
    )
    page_template = "dnsadmin/owner.html"
    pages = {**ConfigPage.pages, "decommission": "<int:pk>/decommission/"}
    empty_text = "No owner was seen in a claim yet, and none is registered."
    status_shown = badge_column("status", "status")
    team_shown = column("team", lambda row: str(row.team or NOTHING))
    description_shown = column("description", lambda row: format_foreign(row.description) or NOTHING)

    def find_rows(self, request: HttpRequest) -> QuerySet[Owner]:
        # An owner with several instances in the cluster of a filter is one owner.
        return super().find_rows(request).prefetch_related(WITH_PROFILES, "instances__cluster").distinct()

    def register_initial(self, request: HttpRequest) -> dict[str, Any]:
        # Discovered is for owners that nobody registered.
        return {"status": Owner.Status.REGISTERED, **super().register_initial(request)}

    def owners_of(self, row: Owner) -> tuple[Owner]:
        return (row,)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        # One query for the whole page: the counts ride on the rows that are shown.
        rows = list(changes.result_list)
        counts = describe_counts(actor_of(request), [row.pk for row in rows])
        for row in rows:
            row.counts_text = counts.get(row.pk, NOTHING)
        changes.result_list = rows
        return changes

    @admin.display(description="owner id")
    def owner_id_shown(self, row: Owner) -> SafeString:
        mark = self.mark(row, row)
        return format_html('<bdi class="dn-name">{}</bdi> {}', format_foreign(row.owner_id), mark)

    @admin.display(description="policy")
    def policy_shown(self, row: Owner) -> str:
        # As in --policy; the owner's page says what each does.
        found = {instance.policy for instance in row.instances.all()} or {InstancePolicy.UNKNOWN.value}
        return found.pop() if len(found) == 1 else _SEVERAL

    @admin.display(description="cluster")
    def cluster_shown(self, row: Owner) -> str:
        found = sorted({instance.cluster.name for instance in row.instances.all() if instance.cluster})
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        return f"{', '.join(found[:3])}{more}" or NOTHING

    @admin.display(description="registry profile")
    def profile_shown(self, row: Owner) -> str:
        found = {str(instance.registry_profile or DEFAULTS) for instance in row.instances.all()} or {DEFAULTS}
        return found.pop() if len(found) == 1 else _SEVERAL

    @admin.display(description="record sets")
    def counts_shown(self, row: Owner) -> SafeString | str:
        counts: SafeString | str = getattr(row, "counts_text", NOTHING)
        return counts

    def decommission_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what the owner still owns, and the options; leave it with the owner when the form is sent."""
        self.refuse_to_show(request, "decommission")
        row = self.find_row(request, pk)
        read_at = read_version(request, row)

        def act(actor: Actor) -> str:
            changes = {"status": Owner.Status.DECOMMISSIONED, "keep_record_sets": True}
            self.change(actor, pk, changes, expected_updated_at=read_moment(read_at))
            return self.url_of("change", pk)

        form = reverse("admin:registry_app_transfer_request")
        context = {
            "read_at": read_at,
            "back": self.url_of("change", pk),
            "owned": describe_owned(actor_of(request), row),
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

    def page_context(self, request: HttpRequest, row: Owner) -> dict[str, Any]:
        counts = count_by_provider(actor_of(request), [row.pk]).get(row.pk, [])
        names = dict(Provider.objects.values_list("pk", "name"))
        instances = row.instances.prefetch_related("cluster", "provider", "registry_profile")
        return {
            **super().page_context(request, row),
            "look_alikes": find_look_alikes([row.owner_id]),
            "counts": [
                (
                    names.get(count.provider, NOTHING),
                    count.record_sets,
                    list_record_sets(row.pk, count.provider),
                )
                for count in counts
            ],
            "instances": [describe_instance(each) for each in instances.order_by("name", "pk")[:_MOST_SHOWN]],
            "loops": row.loops.filter(is_enabled=True).select_related("provider").defer(*PROVIDER_SECRETS),
            "register_instance": self._instance_form(request, row),
            "total": sum(count.record_sets for count in counts),
            "all_findings": f"{reverse('admin:registry_app_finding_changelist')}?owner={row.pk}",
            "findings": row.findings.exclude(state=Finding.State.RESOLVED)[:20],
        }

    def _instance_form(self, request: HttpRequest, row: Owner) -> str:
        """The address of the form for another instance; empty without the right to use it."""
        if not may_administer(actor_of(request)):
            return ""
        return f"{reverse('admin:registry_app_instance_register')}?{urlencode({'owner': row.pk})}"

    def page_links(self, request: HttpRequest, row: Owner) -> list[tuple[str, str]]:
        if not may_act_somewhere(actor_of(request), Grant.Action.REQUEST):
            return self._configuration_links(request, row)
        everything = urlencode({"kind": "transfer", "owner": row.owner_id})
        reformat = urlencode({"kind": "reformat", "owner": row.owner_id})
        form = reverse("admin:registry_app_transfer_request")
        hand_over = reverse("admin:registry_app_handover_request")
        return [
            ("Transfer everything of this owner", f"{form}?{everything}"),
            ("Hand over", f"{hand_over}?{urlencode({'from_owner': row.owner_id})}"),
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
            ("Team", row.team or NOTHING),
            ("Names it is responsible for", ", ".join(map(str, row.name_patterns)) or NOTHING),
            ("Description", row.description or NOTHING),
            ("First seen", format_ago(row.created_at)),
        ]


def describe_counts(actor: Actor, owner_pks: list[int]) -> dict[int, SafeString]:
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
        for pk, counts in count_by_provider(actor, owner_pks).items()
    }


def list_record_sets(owner_pk: int, provider_pk: int) -> str:
    """The list of what an owner has at a provider."""
    query = urlencode({"owner": owner_pk, "provider": provider_pk})
    return f"{reverse('admin:registry_app_recordset_changelist')}?{query}"
