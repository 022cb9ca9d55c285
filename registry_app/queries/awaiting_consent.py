"""Transfers and hand-overs that wait for a consent that somebody may give."""

from typing import TypeVar

from django.db.models import Q, QuerySet

from registry_app.actor import Actor
from registry_app.clock import fetch_now
from registry_app.models import Grant, HandOver, Provider, Transfer
from registry_app.queries.access import may_act_somewhere
from registry_app.queries.consent import list_choices

AnyReviewed = TypeVar("AnyReviewed", Transfer, HandOver)
_BOTH_SIDES = Provider.ApprovalPolicy.BOTH_SIDES


def select_awaiting_consent(actor: Actor, rows: QuerySet[AnyReviewed]) -> QuerySet[AnyReviewed]:
    """Those of `rows` for which `actor` may consent now, for one of their sides. Database read: each one that
    waits for consents is looked at, of which there are as many as people left undecided."""
    if not may_act_somewhere(actor, Grant.Action.APPROVE):
        return rows.none()
    asks = Q(approval_policy=_BOTH_SIDES) | Q(provider__approval_policy=_BOTH_SIDES)
    is_open = Q(**{f"{'expires_at' if rows.model is Transfer else 'ends_at'}__gt": fetch_now()})
    waiting = rows.filter(asks & is_open, status="requested").order_by().values("pk")
    # As a list shows them they may lack columns.
    whole = rows.model._default_manager.filter(pk__in=waiting).select_related("provider")
    return rows.filter(pk__among=[row.pk for row in whole if list_choices(actor, row)])
