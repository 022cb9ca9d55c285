"""Decisions of the guard: what instances asked for that was refused or held, or would be."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.admin.filters import build_choice_filter, build_row_filter, build_text_filter
from registry_app.admin.guard_endpoint import link_to_guard_endpoint, link_to_instance
from registry_app.admin.list_page import ListPage, ago_column, badge_column, column
from registry_app.admin.wording import format_ago, format_foreign, link_to
from registry_app.models import GuardDecision, GuardEndpoint, GuardRule, HeldDelete, Owner, Provider
from registry_app.queries.guard_decision import list_guard_decisions
from registry_app.queries.guard_endpoint import build_below_query

GUARD_ENDPOINT_FILTER = build_row_filter("guard endpoint", "guard_endpoint", GuardEndpoint)
OWNER_FILTER = build_row_filter("owner", "owner", Owner, column="guard_endpoint__instance__owner_id")
PROVIDER_FILTER = build_row_filter("provider", "provider", Provider, column="guard_endpoint__provider_id")
RULE_FILTER = build_choice_filter("rule", "rule", GuardRule.choices)
BELOW_FILTER = build_text_filter("at or below", "name_suffix", build_below_query, hint="example.org")


def format_asked_name(row: GuardDecision | HeldDelete) -> SafeString:
    """A name with its set identifier, as an instance wrote them."""
    identifier = f" ({format_foreign(row.set_identifier)})" if row.set_identifier else ""
    return format_html('<bdi class="dn-name">{}{}</bdi>', format_foreign(row.name), identifier)


def describe_guarded(row: GuardEndpoint) -> list[tuple[str, object]]:
    """Who asked, as facts."""
    return [
        ("Guard endpoint", link_to_guard_endpoint(row)),
        ("Instance", link_to_instance(row.instance)),
        ("Owner", link_to(row.instance.owner)),
        ("Provider", link_to(row.provider)),
    ]


@admin.register(GuardDecision)
class GuardDecisionPageAdmin(ListPage[GuardDecision]):
    list_display = (
        "name_shown",
        "outcome_shown",
        "rule_shown",
        "asked_shown",
        "reason_shown",
        "endpoint_shown",
        "count",
        "last_shown",
    )
    list_filter = (
        GUARD_ENDPOINT_FILTER,
        OWNER_FILTER,
        PROVIDER_FILTER,
        build_choice_filter("outcome", "outcome", GuardDecision.Outcome.choices),
        RULE_FILTER,
        BELOW_FILTER,
    )
    list_select_related = False
    page_template = "dnsadmin/facts.html"
    empty_text = (
        "The guard refused and held nothing. In the mode observe it sends everything, and shows here what "
        "the mode enforce would refuse or hold."
    )
    name_shown = column("name", format_asked_name)
    outcome_shown = badge_column("outcome", "outcome")
    rule_shown = column("rule", lambda row: row.get_rule_display())
    asked_shown = column("asked for", lambda row: format_foreign(row.asked))
    reason_shown = column("why", lambda row: format_foreign(row.reason))
    endpoint_shown = column("guard endpoint", lambda row: link_to_guard_endpoint(row.guard_endpoint))
    last_shown = ago_column("last_at", "last")

    def find_rows(self, request: HttpRequest) -> QuerySet[GuardDecision]:
        return list_guard_decisions().order_by("-last_at", "-pk")

    def page_context(self, request: HttpRequest, row: GuardDecision) -> dict[str, Any]:
        return {
            "row": row,
            "facts": [
                ("Name", self.name_shown(row)),
                ("Outcome", self.outcome_shown(row)),
                ("Rule", self.rule_shown(row)),
                ("Why", format_foreign(row.reason)),
                ("Asked for", format_foreign(row.asked)),
                ("How often", "once" if row.count == 1 else f"{row.count} times"),
                ("First", format_ago(row.first_at)),
                ("Last", format_ago(row.last_at)),
                *describe_guarded(row.guard_endpoint),
            ],
        }
