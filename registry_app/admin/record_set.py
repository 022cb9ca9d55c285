"""Record sets: the list over all providers, and the page of one."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.admin.filters import (
    build_choice_filter,
    build_row_filter,
    build_search_filter,
    build_text_filter,
)
from registry_app.admin.list_page import OwnerList, ago_column, column
from registry_app.admin.transfer_form import sign_selection
from registry_app.admin.wording import NOTHING, format_badge, format_foreign, format_targets, link_to
from registry_app.models import (
    DesiredEndpoint,
    Grant,
    Owner,
    OwnershipState,
    Provider,
    RecordSet,
    Transfer,
)
from registry_app.queries.access import may_act_somewhere
from registry_app.queries.actor import actor_of
from registry_app.queries.guard_endpoint import find_desired_set, is_stale, list_who_wants
from registry_app.queries.named_row import build_prefix_query, build_suffix_query, read_prefix
from registry_app.queries.owner import find_look_alikes
from registry_app.queries.provider import describe_freshness
from registry_app.queries.record_set import fetch_record_set_page
from registry_app.queries.record_set_index import choose_index
from registry_app.queries.search import search_record_sets
from registry_app.transfer.plan.transfer_request import Selection

_Answer = HttpResponseRedirect | None
_SHOWN_TYPES = ("A", "AAAA", "CNAME", "TXT", "MX", "NS", "SRV", "PTR", "NAPTR", "DNAME")
_MOST_WHO_WANT = 50
# The parameters of the list that the transfer form takes, too: what a selection says without naming rows.
_SELECTABLE = frozenset({"owner", "provider", "type", "state", "name_suffix"})
_OF_STATE = {
    OwnershipState.OWNED: (Transfer.Kind.TRANSFER, Transfer.Kind.RELEASE, Transfer.Kind.REFORMAT),
    OwnershipState.UNMANAGED: (Transfer.Kind.ADOPT,),
    OwnershipState.CONFLICT: (Transfer.Kind.TRANSFER, Transfer.Kind.RELEASE),
    OwnershipState.UNKNOWN: (),
}


class MissingFilter(build_choice_filter("missing", "missing", [("yes", "Missing"), ("no", "Present")])):  # type: ignore[misc]  # a class made by a factory
    @property
    def typed(self) -> str:
        text: str = super().typed
        return {"true": "yes", "false": "no"}.get(text.lower(), text)  # as the API has it

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        wanted = {"yes": Q(missing_since__isnull=False), "no": Q(missing_since__isnull=True)}
        return queryset.filter(wanted[self.typed]) if self.typed in wanted else queryset


def _build_action(kind: Transfer.Kind, label: str) -> Any:
    """An action of the list: the form for a transfer of what was picked."""

    @admin.action(description=label)
    def begin(
        page: "RecordSetPageAdmin", request: HttpRequest, picked: QuerySet[RecordSet]
    ) -> HttpResponseRedirect | None:
        return page.begin_transfer(request, kind, picked)

    return begin


@admin.register(RecordSet)
class RecordSetPageAdmin(OwnerList[RecordSet]):
    list_display = (
        "name_shown",
        "type_shown",
        "targets_shown",
        "ttl_shown",
        "owner_shown",
        "state_shown",
        "provider_shown",
        "seen_shown",
    )
    list_filter = (
        build_search_filter(search_record_sets, "name, target, resource or owner"),
        build_text_filter(
            "name begins with",
            "name_prefix",
            lambda text: build_prefix_query("name", read_prefix(text)),
            hint="www.example.org",
        ),
        build_text_filter("at or below", "name_suffix", build_suffix_query, hint="example.org"),
        build_row_filter("owner", "owner", Owner),
        build_row_filter("provider", "provider", Provider),
        build_choice_filter(
            "type", "type", [(name, name) for name in _SHOWN_TYPES], column="record_type", takes_several=True
        ),
        build_choice_filter("state", "state", OwnershipState.choices, takes_several=True),
        MissingFilter,
    )
    more_columns = ("resource_shown", "first_seen_shown", "changed_shown")
    old_filters = {"below": "name_suffix", "name": "name_prefix"}
    list_select_related = ("provider", "owner")
    list_per_page = 100  # so many fit one preview page too: what is picked at once is seen at once
    actions = ("transfer_picked", "adopt_picked", "release_picked", "reformat_picked")
    page_template = "dnsadmin/record_set.html"
    type_shown = column("type", lambda row: format_foreign(row.record_type))
    targets_shown = column(
        "targets", lambda row: format_html('<bdi class="dn-targets">{}</bdi>', format_targets(row.targets))
    )
    ttl_shown = column("TTL", lambda row: str(row.ttl) if row.ttl else NOTHING)
    resource_shown = column("resource", lambda row: format_foreign(row.resource) or NOTHING)
    first_seen_shown = ago_column("first_seen_at", "first seen")
    changed_shown = ago_column("changed_at", "changed")
    provider_shown = column("provider", lambda row: link_to(row.provider))

    def prepare(self, rows: QuerySet[RecordSet]) -> QuerySet[RecordSet]:
        return choose_index(rows)

    def owners_of(self, row: RecordSet) -> tuple[Owner | None]:
        return (row.owner,)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        # Below a name, the order of the index that finds them: sorting a whole zone by name would not scale.
        return ("name_reversed", "id") if request.GET.get("name_suffix") else ("name", "id")

    def empty_reason(self, request: HttpRequest) -> str:
        providers = Provider.objects
        if not providers.exists():
            return "There are no record sets yet, because no provider is registered. Register the first one."
        if not providers.filter(accepted_at__isnull=False).exists():
            return "There are no record sets yet. The first sync is running, or it failed. See Providers."
        return "The providers hold no record sets."

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        may_request = may_act_somewhere(actor_of(request), Grant.Action.REQUEST)
        return dict(super().get_actions(request)) if may_request else {}

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        if not may_act_somewhere(actor_of(request), Grant.Action.REQUEST):
            return []
        chosen = {key: value for key, value in request.GET.items() if value}
        is_bounded = bool(chosen.keys() & {"owner", "name_suffix"})
        if not is_bounded or chosen.keys() - _SELECTABLE - {"p"}:
            return []
        query = {key: value for key, value in chosen.items() if key in _SELECTABLE}
        address = reverse("admin:registry_app_transfer_request")
        return [("Transfer all that match", f"{address}?{urlencode(query)}")]

    # --- columns

    @admin.display(description="name")
    def name_shown(self, row: RecordSet) -> SafeString:
        identifier = f" ({format_foreign(row.set_identifier)})" if row.set_identifier else ""
        return format_html('<bdi class="dn-name">{}{}</bdi>', format_foreign(row.name), identifier)

    @admin.display(description="owner")
    def owner_shown(self, row: RecordSet) -> SafeString | str:
        if row.owner is None:
            return NOTHING
        return format_html("{} {}", link_to(row.owner), self.mark(row, row.owner))

    @admin.display(description="state")
    def state_shown(self, row: RecordSet) -> SafeString:
        badge = format_badge(row.state, row.get_state_display())
        if row.missing_since is None:
            return badge
        return format_html("{} {}", badge, format_badge("missing", "Missing"))

    @admin.display(description="mirror of")
    def seen_shown(self, row: RecordSet) -> SafeString:
        seen = row.missing_since or row.provider.accepted_at
        line = describe_freshness(row.provider, timezone.now()).removeprefix("mirror of ")
        moment = seen.isoformat(timespec="seconds") if seen else ""
        return format_html('<span title="{}">{}</span>', moment, line)

    # --- acts on a selection

    transfer_picked = _build_action(Transfer.Kind.TRANSFER, "Transfer to another owner")
    adopt_picked = _build_action(Transfer.Kind.ADOPT, "Adopt (first claim)")
    release_picked = _build_action(Transfer.Kind.RELEASE, "Release (remove the claim)")
    reformat_picked = _build_action(Transfer.Kind.REFORMAT, "Re-format claims")

    def begin_transfer(
        self, request: HttpRequest, kind: Transfer.Kind, picked: QuerySet[RecordSet]
    ) -> _Answer:
        # The stock form can ask for "all across pages"; ours picks by filter instead, without naming rows.
        ids = tuple(picked.values_list("pk", flat=True)[: self.list_per_page + 1])
        if len(ids) > self.list_per_page:
            messages.error(
                request,
                "Nothing was requested. Select record sets on one page, or transfer all that match a filter.",
            )
            return None
        return HttpResponseRedirect(build_transfer_url(kind, Selection(record_set_ids=ids)))

    # --- the page of one

    def page_context(self, request: HttpRequest, row: RecordSet) -> dict[str, Any]:
        page = fetch_record_set_page(row)
        # What is missing has no claim to write: nothing can be asked for until it is back.
        is_there = row.missing_since is None
        may_request = is_there and may_act_somewhere(actor_of(request), Grant.Action.REQUEST)
        selection = Selection(record_set_ids=(row.pk,))
        owners = [row.owner, *(claim.owner for claim in page.claims)]
        return {
            "row": row,
            "page": page,
            "look_alikes": find_look_alikes(owner.owner_id for owner in owners if owner),
            "freshness": describe_freshness(row.provider, timezone.now()),
            "is_guarded": row.provider.guard_endpoints.exists(),
            "wanted_by": _describe_who_wants(row),
            "acts": [
                (kind.label, build_transfer_url(kind, selection))
                for kind in _OF_STATE[OwnershipState(row.state)]
                if may_request
            ],
        }


def _describe_who_wants(row: RecordSet) -> list[tuple[DesiredEndpoint, bool]]:
    """The desired endpoints with its name and type, each with whether that is stale."""
    now = timezone.now()
    shown = []
    for each in list_who_wants(row)[:_MOST_WHO_WANT]:
        desired = find_desired_set(each.guard_endpoint)
        shown.append((each, desired is None or is_stale(desired, now)))
    return shown


def build_transfer_url(kind: str, selection: Selection) -> str:
    """The address of the form for a transfer of `selection`."""
    query = urlencode({"kind": kind, "picked": sign_selection(selection)})
    return f"{reverse('admin:registry_app_transfer_request')}?{query}"
