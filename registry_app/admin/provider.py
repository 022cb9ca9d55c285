"""Providers: the list, the page of one, its form, and what can be asked of it."""

from collections.abc import Mapping
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from registry_app.actor import Actor
from registry_app.admin.fields import AddressInput, LinesField, SecretField
from registry_app.admin.filters import build_choice_filter
from registry_app.admin.forms import ConfigForm, ConfigPage, answer_act, build_act_view, read_reason, refuse
from registry_app.admin.list_page import build_column, column
from registry_app.admin.wording import NOTHING, format_ago, format_badge, format_due, format_foreign
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

_WHERE = ("name", "url", "protocol", "description", "is_enabled")
_SHOWN_CREDENTIALS = ("authentication", "username", "ca_certificate", "client_certificate")
_QUERY = ("url_query", "forget_url_query")
_CERTIFICATES = ("ca_certificate", "client_certificate", "client_key", "forget_client_key")
_SYNCS = (
    "interval_seconds",
    "deadline_seconds",
    "max_body_bytes",
    "max_items",
    "allow_empty",
    "hold_missing_percent",
    "hold_owners_changed_percent",
)
_WRITES = (
    "approval_policy",
    "max_transfer_count",
    "max_transfer_percent",
    "write_mode",
    "allowed_properties",
    "batch_size",
    "read_back_seconds",
    "capitalized_changes",
)
_FILTER_WORDS = {
    "include": "only at or below",
    "exclude": "not at or below",
    "regex_include": "only names that match",
    "regex_exclude": "not names that match",
}


class ProviderForm(ConfigForm):
    secret = SecretField(
        label="secret",
        help_text="Password or token, or env:NAME or file:NAME. Never shown again. Leave it empty to keep "
        "the stored one. A URL at another host deletes it.",
    )
    url_query = SecretField(
        label="URL query",
        help_text="The part of the URL after the ?, if it has one. Never shown again. A URL at another host "
        "deletes it.",
    )
    client_key = SecretField(label="client key (PEM)", lines=True, help_text="Never shown again.")
    allowed_properties = LinesField(
        label="allowed provider-specific properties",
        required=False,
        help_text="What instances behind the guard may set, such as alias, one per line. Empty: any.",
    )

    sections = (
        ("Where it is", _WHERE),
        ("Credentials", ("authentication", "username", "secret", "forget_secret", *_QUERY, *_CERTIFICATES)),
        ("How it is read", _SYNCS),
        ("How it is written to", _WRITES),
    )

    class Meta:
        model = Provider
        fields = (*_WHERE, *_SHOWN_CREDENTIALS, *_SYNCS, *_WRITES)
        widgets = {"url": AddressInput}


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
    form_class = ProviderForm
    register = staticmethod(register_provider)
    change = staticmethod(change_provider)
    delete = staticmethod(delete_provider)
    find_dependents = staticmethod(find_provider_dependents)
    noun = "provider"
    meaning_of_deletion = (
        "This deletes the provider's mirror (record sets, claims, history and findings), its secrets "
        "and its grants from dnsadmin. Nothing changes at the provider. Finished transfers keep its "
        "name."
    )
    page_template = "dnsadmin/provider.html"
    pages = {
        **ConfigPage.pages,
        "sync": "<int:pk>/sync/",
        "test": "<int:pk>/test/",
        "accept_restored": "<int:pk>/accept-restored/",
        "accept_all_restored": "accept-restored/",
        "approval_confirm": "<int:pk>/approval/confirm/",
        "approval_cancel": "<int:pk>/approval/cancel/",
        "directory": "directory/",
    }
    empty_text = (
        "No provider is registered. Register the address of the first webhook server to see its records."
    )
    register_template = "dnsadmin/provider_register.html"
    freshness_shown = column("mirror", lambda row: describe_freshness(row, timezone.now()))
    next_shown = column("next sync", lambda row: format_due(row.next_sync_at) if row.is_enabled else NOTHING)
    approval_shown = column("approval", lambda row: row.get_approval_policy_display())

    def find_rows(self, request: HttpRequest) -> QuerySet[Provider]:
        return providers_for_display()

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [*super().list_links(request), ("Known providers", self.url_of("directory"))]

    def register_initial(self, request: HttpRequest) -> dict[str, Any]:
        known = find_known_provider(request.GET.get("known", ""))
        return {**(known.initial() if known else {}), **super().register_initial(request)}

    def register_context(self, request: HttpRequest) -> dict[str, Any]:
        known = find_known_provider(request.GET.get("known", ""))
        return {"known": known, "directory": self.url_of("directory")}

    def directory_view(self, request: HttpRequest) -> HttpResponse:
        """The publicly known webhook providers, each with a link to a form with its settings."""
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

    # --- mutations

    def note_saved(self, request: HttpRequest, row: Provider, values: Mapping[str, Any]) -> None:
        for warning in list_warnings(row, values):
            messages.warning(request, warning)

    sync_view = build_act_view(
        request_sync, "Sync requested. It starts within seconds. Reload the page to see it."
    )
    accept_restored_view = build_act_view(
        accept_restored, "Accepted. dnsadmin may write to this provider again.", read=read_reason
    )
    approval_confirm_view = build_act_view(
        confirm_looser_approval,
        "Confirmed. The looser approval policy applies to transfers that are requested from now on.",
    )
    approval_cancel_view = build_act_view(
        cancel_looser_approval, "Cancelled. The approval policy does not change."
    )

    def accept_all_restored_view(self, request: HttpRequest) -> HttpResponse:
        """Accept all providers that gave a snapshot since the restore; the others are named."""

        def act(actor: Actor) -> None:
            _, left = accept_all_restored(actor, **read_reason(request))
            for provider, reason in left:
                messages.warning(request, f"{provider.name} is not accepted yet. {reason}")

        done = (
            "Accepted. dnsadmin may write again to every provider that returned a snapshot since the restore."
        )
        return answer_act(request, act, done=done, back=reverse("admin:index"))

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
        page = fetch_provider_page(actor_of(request), row, now)
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
            ("Holds a snapshot", _describe_limits(row)),
            ("Writes", f"{row.get_write_mode_display()}; {row.effective_batch_size} record sets at a time"),
            ("Allowed properties", ", ".join(map(format_foreign, row.allowed_properties)) or "any"),
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


def _describe_limits(row: Provider) -> str:
    return (
        f"with more than {row.hold_missing_percent} % of the record sets missing, or more than "
        f"{row.hold_owners_changed_percent} % of the owners changed"
    )


def _describe_filter(stored: Mapping[str, Any]) -> str:
    given = [(words, stored[key]) for key, words in _FILTER_WORDS.items() if stored.get(key)]
    parts = [f"{words} {', '.join(map(str, v)) if isinstance(v, list) else v}" for words, v in given]
    return "; ".join(parts) or "none: everything"
