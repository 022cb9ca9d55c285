"""The search page: what holds a text, of several nouns, and the way to the list of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from registry_app.admin.wording import format_badge, format_foreign
from registry_app.models import PROVIDER_SECRETS, Finding, Owner, RecordSet
from registry_app.queries.access import may_read
from registry_app.queries.actor import actor_of
from registry_app.queries.readable import readable
from registry_app.queries.search import (
    explain_unsearchable,
    search_findings,
    search_owners,
    search_record_sets,
    search_transfers,
)
from registry_app.queries.transfer import transfers_for_display

_MOST_SHOWN = 5


@dataclass(frozen=True)
class _Noun:
    """What is searched for: all rows in the order of their list, and how one is shown after its name."""

    title: str
    rows: Callable[[], QuerySet[Any]]
    search: Callable[[QuerySet[Any], str], QuerySet[Any]]
    describe: Callable[[Any], Sequence[object]]
    name: Callable[[Any], str] = str


@dataclass(frozen=True)
class Found:
    """The first rows of one noun: address, name, and what else is said of each; and the list of all."""

    title: str
    rows: Sequence[tuple[str, str, Sequence[object]]]
    has_more: bool
    list_url: str


_NOUNS = (
    _Noun(
        "Record sets",
        lambda: (
            RecordSet.objects.select_related("provider", "owner")
            .defer(*PROVIDER_SECRETS)
            .order_by("name", "id")
        ),
        search_record_sets,
        lambda row: (
            format_badge(row.state, row.get_state_display()),
            ", ".join(map(str, row.targets[:3])),
            row.owner or "",
            row.provider,
        ),
    ),
    _Noun(
        "Owners",
        lambda: Owner.objects.order_by("owner_id"),
        search_owners,
        lambda row: (format_badge(row.status, row.get_status_display()), row.description[:200]),
    ),
    _Noun(
        "Transfers",
        lambda: transfers_for_display().order_by("-id"),
        search_transfers,
        lambda row: (format_badge(row.status, row.get_status_display()), row.reason[:200]),
        lambda row: f"#{row.pk} {row.get_kind_display()}",
    ),
    _Noun(
        "Findings",
        lambda: (
            Finding.objects.select_related("provider")
            .defer(*PROVIDER_SECRETS)
            .exclude(state=Finding.State.RESOLVED)
        ),
        search_findings,
        lambda row: (format_badge(row.severity, row.get_severity_display()), row.explanation[:200]),
    ),
)


def show_search(request: HttpRequest) -> HttpResponse:
    """The page. What is found nowhere is not on it."""
    actor = actor_of(request)
    if not may_read(actor):
        raise PermissionDenied
    text = request.GET.get("q", "").strip().replace("\0", "\N{REPLACEMENT CHARACTER}")
    problem = explain_unsearchable(text)
    context = {
        **admin.site.each_context(request),
        "title": "Search",
        "is_fullwidth": "1",
        "searched": text,
        "explained": urlencode({"name": text}),
        "problem": problem,
        "found": [] if problem else [each for noun in _NOUNS if (each := _find(request, noun, text)).rows],
    }
    return TemplateResponse(request, "dnsadmin/search.html", context)


def _find(request: HttpRequest, noun: _Noun, text: str) -> Found:
    rows = noun.search(readable(actor_of(request), noun.rows()), text)
    first = list(rows[: _MOST_SHOWN + 1])
    model = rows.model._meta.model_name
    return Found(
        noun.title,
        [
            (
                reverse(f"admin:registry_app_{model}_change", args=[row.pk]),
                noun.name(row),
                [
                    each if isinstance(each, SafeString) else format_foreign(each)
                    for each in noun.describe(row)
                    if each
                ],
            )
            for row in first[:_MOST_SHOWN]
        ],
        len(first) > _MOST_SHOWN,
        f"{reverse(f'admin:registry_app_{model}_changelist')}?{urlencode({'q': text})}",
    )
