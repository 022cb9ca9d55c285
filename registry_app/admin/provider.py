"""Providers: the list, the page of one, its form, and what can be asked of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.actor import Actor
from registry_app.admin.answer import answer_act, read_posted, refuse
from registry_app.admin.config_page import ConfigPage
from registry_app.admin.filters import build_choice_filter
from registry_app.admin.list_page import build_column
from registry_app.admin.provider_form import ProviderForm
from registry_app.admin.wording import NOTHING, format_ago, format_badge, format_due
from registry_app.errors import DnsadminError
from registry_app.inventory.approval_change import cancel_looser_approval, confirm_looser_approval
from registry_app.inventory.provider import change_provider, delete_provider, register_provider
from registry_app.inventory.provider_directory import (
    describe_source,
    find_known_provider,
    list_known_providers,
)
from registry_app.inventory.provider_probe import probe_provider
from registry_app.models import OwnershipState, Provider
from registry_app.queries.access import may_administer, may_operate
from registry_app.queries.actor import actor_of
from registry_app.queries.approval_change import find_pending_change, find_reason_not_to_confirm
from registry_app.queries.dependents import find_provider_dependents
from registry_app.queries.provider import (
    describe_freshness,
    fetch_provider_page,
    list_warnings,
    providers_for_display,
)
from registry_app.reconcile.request_sync import request_sync
from registry_app.restore.accept_restored import accept_all_restored, accept_restored, find_reason_to_wait

_FILTER_WORDS = {
    "include": "only at or below",
    "exclude": "not at or below",
    "regex_include": "only names that match",
    "regex_exclude": "not names that match",
}


@admin.register(Provider)
class ProviderPageAdmin(ConfigPage[Provider]):
    list_display = (
        "name",
        "status_shown",
        "freshness_shown",
        build_column("record_set_count", "record sets"),
        build_column("claim_count", "claims"),
        "next_shown",
        "approval_shown",
    )
    list_filter = (build_choice_filter("status", "status", Provider.Status.choices),)
    sortable_by = ()
    form_class = ProviderForm
    noun = "provider"
    meaning_of_deletion = (
        "This deletes the provider's mirror (record sets, claims, history and findings), its secrets "
        "and its grants from dnsadmin. Nothing changes at the provider. Finished transfers keep its "
        "name."
    )
    page_template = "dnsadmin/provider.html"
    register_template = "dnsadmin/provider_register.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Provider]:
        return providers_for_display()

    def empty_reason(self, request: HttpRequest) -> str:
        return (
            "No provider is registered. Register the address of the first webhook server to see its records."
        )

    def urls_beside(self) -> list[URLPattern]:
        return [
            *super().urls_beside(),
            self.page_path("<int:pk>/sync/", self.sync_view, "sync"),
            self.page_path("<int:pk>/test/", self.test_view, "test"),
            self.page_path("<int:pk>/accept-restored/", self.accept_restored_view, "accept_restored"),
            self.page_path("accept-restored/", self.accept_all_view, "accept_all_restored"),
            self.page_path("<int:pk>/approval/confirm/", self.confirm_approval_view, "approval_confirm"),
            self.page_path("<int:pk>/approval/cancel/", self.cancel_approval_view, "approval_cancel"),
            self.page_path("directory/", self.directory_view, "directory"),
        ]

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [*super().list_links(request), ("Known providers", self.url_of("directory"))]

    def register_initial(self, request: HttpRequest) -> dict[str, Any]:
        known = find_known_provider(request.GET.get("known", ""))
        return {**(known.initial() if known else {}), **super().register_initial(request)}

    def register_context(self, request: HttpRequest) -> dict[str, Any]:
        known = find_known_provider(request.GET.get("known", ""))
        return {"known": known, "directory": self.url_of("directory")}

    def directory_view(self, request: HttpRequest) -> HttpResponse:
        """The publicly known webhook providers, each a way to a form with its settings."""
        context = {
            "providers": list_known_providers(),
            "source": describe_source(),
            "register": self.url_of("register") if may_administer(actor_of(request)) else "",
        }
        return self.show(request, "dnsadmin/provider_directory.html", "Known providers", context)

    # --- columns

    @admin.display(description="status")
    def status_shown(self, row: Provider) -> SafeString:
        badge = format_badge(row.status, row.get_status_display())
        return badge if row.is_enabled else format_html("{} {}", badge, format_badge("off", "Sync off"))

    @admin.display(description="mirror")
    def freshness_shown(self, row: Provider) -> str:
        return describe_freshness(row, timezone.now())

    @admin.display(description="next sync")
    def next_shown(self, row: Provider) -> SafeString | str:
        return format_due(row.next_sync_at) if row.is_enabled else NOTHING

    @admin.display(description="approval")
    def approval_shown(self, row: Provider) -> str:
        return row.get_approval_policy_display()

    # --- mutations

    def register(self, actor: Actor, values: Mapping[str, Any]) -> Provider:
        return register_provider(actor, values)

    def change(
        self, actor: Actor, pk: int, changes: Mapping[str, Any], *, expected_updated_at: datetime | None
    ) -> Provider:
        return change_provider(actor, pk, changes, expected_updated_at=expected_updated_at)

    def note_saved(self, request: HttpRequest, row: Provider, said: Mapping[str, Any]) -> None:
        for warning in list_warnings(row, said):
            messages.warning(request, warning)

    def delete(self, actor: Actor, pk: int, *, expected_updated_at: datetime | None) -> None:
        delete_provider(actor, pk, expected_updated_at=expected_updated_at)

    def find_dependents(self, row: Provider) -> list[str]:
        return find_provider_dependents(row)

    def sync_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        back = self.url_of("change", pk)
        done = "Sync requested. It starts within seconds. Reload the page to see it."
        return answer_act(request, lambda actor: request_sync(actor, pk), done=done, back=back)

    def accept_restored_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        reason = read_posted(request, "reason")
        done = "Accepted. dnsadmin may write to this provider again."
        back = self.url_of("change", pk)
        return answer_act(
            request, lambda actor: accept_restored(actor, pk, reason=reason), done=done, back=back
        )

    def accept_all_view(self, request: HttpRequest) -> HttpResponse:
        """Accept all providers that gave a snapshot since the restore; the others are named."""

        def act(actor: Actor) -> None:
            _, left = accept_all_restored(actor, reason=read_posted(request, "reason"))
            for provider, reason in left:
                messages.warning(request, f"{provider.name} is not accepted yet. {reason}")

        done = (
            "Accepted. dnsadmin may write again to every provider that returned a snapshot since the restore."
        )
        return answer_act(request, act, done=done, back=reverse("admin:index"))

    def confirm_approval_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        done = "Confirmed. The looser approval policy applies to transfers that are requested from now on."
        back = self.url_of("change", pk)
        return answer_act(request, lambda actor: confirm_looser_approval(actor, pk), done=done, back=back)

    def cancel_approval_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        done = "Cancelled. The approval policy does not change."
        back = self.url_of("change", pk)
        return answer_act(request, lambda actor: cancel_looser_approval(actor, pk), done=done, back=back)

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask the provider what ExternalDNS would ask, and show the answer; nothing changes."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = self.find_row(request, pk)
        try:
            report = probe_provider(actor_of(request), pk)
        except DnsadminError as error:
            refuse(request, error)
            return redirect(self.url_of("change", pk))
        if report.is_ok:
            messages.success(request, "The provider responded. Nothing was changed.")
        context = {"row": row, "report": report, "back": self.url_of("change", pk)}
        return self.show(request, "dnsadmin/connection_report.html", f"Connection to {row}", context)

    # --- the page of one

    def page_context(self, request: HttpRequest, row: Provider) -> dict[str, Any]:
        now = timezone.now()
        page = fetch_provider_page(row, now)
        labels = dict(OwnershipState.choices)
        freeze_form = f"{reverse('admin:registry_app_freeze_start')}?provider={row.pk}"
        return {
            **super().page_context(request, row),
            "page": page,
            "states": [(state, labels[state], amount) for state, amount in page.states.items()],
            "freshness": describe_freshness(row, now),
            "may_operate": may_operate(actor_of(request), row),
            "reason_to_wait": find_reason_to_wait(row) if row.restored_at else None,
            **self._approval_context(actor_of(request), row),
            "freeze_form": freeze_form,
            "all_findings": f"{reverse('admin:registry_app_finding_changelist')}?provider={row.pk}",
        }

    def _approval_context(self, actor: Actor, row: Provider) -> dict[str, Any]:
        change = find_pending_change(row.pk)
        return {
            "approval_change": change,
            "may_confirm_approval": change is not None and not find_reason_not_to_confirm(actor, change),
            "may_cancel_approval": may_administer(actor),
        }

    def facts(self, row: Provider) -> list[tuple[str, object]]:
        lease = format_html("held by {} until {}", row.lease_holder, format_ago(row.lease_until))
        return [
            ("Address", row.url),
            ("Protocol", row.get_protocol_display()),
            ("Description", row.description or NOTHING),
            ("Authentication", self._describe_credentials(row)),
            ("Sync", f"every {row.interval_seconds} s" if row.is_enabled else "off"),
            ("Next sync", self.next_shown(row)),
            ("Last sync", format_ago(row.last_sync_at)),
            ("Lease", lease if row.lease_holder else "free"),
            ("Domain filter", _describe_filter(row.domain_filter)),
            ("Writes", f"{row.get_write_mode_display()}; {row.effective_batch_size} record sets at a time"),
            ("Approval", row.get_approval_policy_display()),
            (
                "Largest transfer",
                f"{row.max_transfer_count}, and {row.max_transfer_percent} % of what it holds",
            ),
        ]

    def _describe_credentials(self, row: Provider) -> str:
        parts = [row.get_authentication_display()]
        if row.username:
            parts.append(f"user {row.username}")
        parts.append("secret set" if getattr(row, "has_secret", False) else "no secret")
        if getattr(row, "has_url_query", False):
            parts.append("URL query set")
        if row.client_certificate:
            parts.append("client certificate")
        return ", ".join(parts)


def _join(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _describe_filter(stored: Mapping[str, Any]) -> str:
    parts = [f"{words} {_join(stored[key])}" for key, words in _FILTER_WORDS.items() if stored.get(key)]
    return "; ".join(parts) or "none: everything"
