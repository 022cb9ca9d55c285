"""Guard endpoints: where instances talk to the guard, in which mode, and what each posted last."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.admin.fields import LinesField, SearchField
from registry_app.admin.filters import build_choice_filter, build_row_filter
from registry_app.admin.forms import ConfigForm, ConfigPage, build_act_view, read_posted, read_reason, refuse
from registry_app.admin.guard_counts import describe_counts, describe_held, describe_rules, list_links_of
from registry_app.admin.guard_flags import build_flags, build_values
from registry_app.admin.list_page import badge_column, column
from registry_app.admin.wording import NOTHING, format_ago, format_badge, link_to
from registry_app.errors import DnsadminError
from registry_app.inventory.guard_endpoint import (
    change_guard_endpoint,
    change_guard_mode,
    delete_guard_endpoint,
    issue_guard_credential,
    register_guard_endpoint,
    remove_guard_credential,
)
from registry_app.models import GuardEndpoint, Instance, Owner, Provider
from registry_app.models.provider import MEBIBYTE
from registry_app.queries.access import may_administer
from registry_app.queries.actor import actor_of
from registry_app.queries.dependents import find_guard_dependents
from registry_app.queries.guard_endpoint import find_desired_set, is_stale, list_guard_endpoints
from registry_app.queries.instance import list_labelled_instances

_SHOWN_ENDPOINTS = 50
_LIMITS = ("networks", "deadline_seconds", "max_body_bytes", "has_own_view")
_RULES = ("refuses_batch", "shared_names")
_HOLDS = ("delete_percent", "most_deletes", "window_seconds")


class GuardEndpointForm(ConfigForm):
    instance = SearchField(
        list_labelled_instances(), help_text="The ExternalDNS that talks to the guard here: NAME of OWNER_ID."
    )
    networks = LinesField(
        required=False, help_text="CIDR networks the instance may come from, one per line. Empty: any."
    )

    shared_names = LinesField(
        required=False,
        help_text="Suffixes of names at which the instance may have record sets with a set identifier beside "
        "another owner's, one per line. The guard endpoint of the other owner has to list them too.",
    )

    sections = (
        ("Who talks to which provider", ("slug", "provider", "instance", "mode")),
        ("Limits", _LIMITS),
        ("What enforce refuses", _RULES),
        ("Which deletes enforce holds for a person", _HOLDS),
    )

    class Meta:
        model = GuardEndpoint
        fields = ("slug", "provider", "instance", "mode", *_LIMITS, *_RULES, *_HOLDS)

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        row: Any = self.instance  # the row; the field of this name is among `fields` alone
        if row.pk is not None:
            for name in ("provider", "instance", "mode"):  # they stay, or are changed by themselves
                del self.fields[name]


def link_to_instance(row: Instance) -> SafeString:
    """A link to the page of an instance."""
    address = reverse("admin:registry_app_instance_change", args=[row.pk])
    return format_html('<a class="dn-link" href="{}">{}</a>', address, row.name)


def link_to_guard_endpoint(row: GuardEndpoint) -> SafeString:
    """A link to the page of a guard endpoint."""
    address = reverse("admin:registry_app_guardendpoint_change", args=[row.pk])
    return format_html('<a class="dn-link" href="{}">{}</a>', address, row.slug)


def format_freshness(row: GuardEndpoint) -> SafeString:
    """Whether what the instance wants is still known."""
    desired = find_desired_set(row)
    if desired is None:
        return format_badge("new", "Nothing posted yet")
    return (
        format_badge("stale", "Stale") if is_stale(desired, timezone.now()) else format_badge("ok", "Current")
    )


@admin.register(GuardEndpoint)
class GuardEndpointPageAdmin(ConfigPage[GuardEndpoint]):
    list_display = (
        "slug",
        "instance_shown",
        "owner_shown",
        "provider_shown",
        "mode_shown",
        "last_post_shown",
        "count_shown",
        "fresh_shown",
    )
    list_filter = (
        build_row_filter("owner", "owner", Owner, column="instance__owner_id"),
        build_row_filter("provider", "provider", Provider),
        build_choice_filter("mode", "mode", GuardEndpoint.Mode.choices),
    )
    list_select_related = False
    form_class = GuardEndpointForm
    register = staticmethod(register_guard_endpoint)
    change = staticmethod(change_guard_endpoint)
    delete = staticmethod(delete_guard_endpoint)
    find_dependents = staticmethod(find_guard_dependents)
    noun = "guard endpoint"
    meaning_of_deletion = (
        "The guard answers 503 at this path from then on: an ExternalDNS that still talks to it changes "
        "nothing, and does not start again. What the instance wants, its decisions and its held deletes are "
        "deleted from dnsadmin. The instance, the provider, all record sets and the change sets that were "
        "sent stay."
    )
    page_template = "dnsadmin/guard_endpoint.html"
    pages = {
        **ConfigPage.pages,
        "mode": "<int:pk>/mode/",
        "issue": "<int:pk>/credential/",
        "unissue": "<int:pk>/credential/remove/",
    }
    empty_text = (
        "No guard endpoint is registered. Register one for an instance, and start that ExternalDNS with the "
        "flags that its page shows: dnsadmin then shows what the instance wants and changes. In the mode "
        "observe everything is sent, and in the mode enforce only what is the instance's own."
    )
    instance_shown = column("instance", lambda row: link_to_instance(row.instance))
    owner_shown = column("owner", lambda row: link_to(row.instance.owner))
    provider_shown = column("provider", lambda row: link_to(row.provider))
    mode_shown = badge_column("mode", "mode")
    fresh_shown = column("what it wants", format_freshness)

    def find_rows(self, request: HttpRequest) -> QuerySet[GuardEndpoint]:
        return list_guard_endpoints().order_by("slug")

    @admin.display(description="posted last")
    def last_post_shown(self, row: GuardEndpoint) -> SafeString:
        desired = find_desired_set(row)
        return format_ago(desired.last_seen_at if desired else None)

    @admin.display(description="endpoints")
    def count_shown(self, row: GuardEndpoint) -> str:
        desired = find_desired_set(row)
        return str(desired.endpoint_count) if desired else NOTHING

    def page_context(self, request: HttpRequest, row: GuardEndpoint) -> dict[str, Any]:
        desired = find_desired_set(row)
        listed = reverse("admin:registry_app_desiredendpoint_changelist")
        return {
            **super().page_context(request, row),
            "may_change": may_administer(actor_of(request)),
            "modes": [(value, label) for value, label in GuardEndpoint.Mode.choices if value != row.mode],
            "desired": desired,
            "desired_facts": self._describe_desired(row),
            "endpoints": row.desired_endpoints.order_by("name", "pk")[:_SHOWN_ENDPOINTS],
            "all_endpoints": f"{listed}?guard_endpoint={row.pk}",
            "counts": describe_counts(row),
            "held": describe_held(row),
            "flags": build_flags(row),
            "values": build_values(row),
        }

    def page_links(self, request: HttpRequest, row: GuardEndpoint) -> list[tuple[str, str]]:
        return [*super().page_links(request, row), *list_links_of(row)]

    def facts(self, row: GuardEndpoint) -> list[tuple[str, object]]:
        return [
            ("Mode", row.get_mode_display()),
            ("Instance", link_to_instance(row.instance)),
            ("Owner", link_to(row.instance.owner)),
            ("Cluster", link_to(row.instance.cluster) if row.instance.cluster else "Not known"),
            ("Provider", link_to(row.provider)),
            ("Credential", f"user {row.username}" if row.username else "none: nobody is asked for one"),
            ("Networks", ", ".join(map(str, row.networks)) or "any"),
            ("Deadline", f"{row.deadline_seconds} s"),
            ("Largest body", f"{row.max_body_bytes / MEBIBYTE:.4g} MiB"),
            *describe_rules(row),
            ("Reads", "the names of its owner" if row.has_own_view else "every name of the provider"),
        ]

    def _describe_desired(self, row: GuardEndpoint) -> list[tuple[str, object]]:
        desired = find_desired_set(row)
        if desired is None:
            return []
        interval = (
            f"{desired.interval_seconds} s" if desired.interval_seconds is not None else "not known yet"
        )
        return [
            ("State", format_freshness(row)),
            ("Posted last", format_ago(desired.last_seen_at)),
            ("The same since", format_ago(desired.first_seen_at)),
            ("Posted so", "once" if desired.seen_count == 1 else f"{desired.seen_count} times in a row"),
            ("Interval", interval),
            ("Endpoints", str(desired.endpoint_count)),
            ("Set aside", f"{desired.set_aside} that cannot be read" if desired.set_aside else "none"),
        ]

    mode_view = build_act_view(
        change_guard_mode,
        "The mode was changed. It counts from the instance's next request.",
        read=lambda request: {"mode": read_posted(request, "mode"), **read_reason(request)},
    )
    unissue_view = build_act_view(
        remove_guard_credential, "Removed. The instance may come without a credential from now on."
    )

    def issue_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Issue a credential; the response to it is the only one that shows the password."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            username = read_posted(request, "username").strip()
            row, password = issue_guard_credential(actor_of(request), pk, username=username)
        except DnsadminError as error:
            refuse(request, error)
            return redirect(self.url_of("change", pk))
        context = {
            "row": row,
            "password": password,
            "flags": build_flags(row, password=password),
            "values": build_values(row, password=password),
            "back": self.url_of("change", pk),
        }
        return self.show(request, "dnsadmin/guard_credential.html", f"Credential of {row}", context)
