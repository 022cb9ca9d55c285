"""The first page: what needs attention, what there is, how fresh it is, what happened last."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from registry_app.admin.saved_filter import describe_pinned
from registry_app.models import Finding
from registry_app.queries.access import may_administer, may_operate, may_read
from registry_app.queries.actor import actor_of
from registry_app.queries.dashboard import Attention, fetch_dashboard
from registry_app.queries.running_parts import fetch_running_parts


def build_index(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """The theme's hook for the context of its first page."""
    actor = actor_of(request)
    if not may_read(actor):
        return context
    board = fetch_dashboard(actor, timezone.now())
    return {
        **context,
        "title": "Dashboard",
        "is_fullwidth": "1",
        "board": board,
        "parts": fetch_running_parts(),
        "attention": [(line, _address_of(line)) for line in board.attention],
        "findings": [
            (_list_findings(kind), worst, Finding.Severity(worst).label, label, amount)
            for kind, label, worst, amount in board.findings
        ],
        "pinned": describe_pinned(request),
        "record_sets_url": reverse("admin:registry_app_recordset_changelist"),
        "register_url": reverse("admin:registry_app_provider_register"),
        "may_administer": may_administer(actor),
        "may_accept_all": all(
            may_operate(actor, provider)
            for provider, _ in board.providers
            if provider.restored_at is not None
        ),
        "accept_all_url": reverse("admin:registry_app_provider_accept_all_restored"),
    }


def _address_of(line: Attention) -> str:
    noun, _colon, kind = line.kind.partition(":")
    if line.pk is not None:
        return reverse(f"admin:registry_app_{noun}_change", args=[line.pk])
    if noun == "helddelete":
        return f"{reverse('admin:registry_app_helddelete_changelist')}?guard_endpoint={kind}"
    return _list_findings(kind)


def _list_findings(kind: str) -> str:
    """The address of the list of the findings that were counted."""
    return f"{reverse('admin:registry_app_finding_changelist')}?kind={kind}&state={Finding.State.OPEN.value}"
