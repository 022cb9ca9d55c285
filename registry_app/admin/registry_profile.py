"""Registry profiles: how instances write their claims. The encryption key goes in and never comes out."""

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from registry_app.admin.fields import AddressInput, SecretField
from registry_app.admin.forms import ConfigForm, ConfigPage, answer_probe
from registry_app.admin.wording import NOTHING
from registry_app.inventory.registry_profile import (
    RegistryReport,
    change_registry_profile,
    delete_registry_profile,
    probe_registry,
    register_registry_profile,
)
from registry_app.models import RegistryProfile
from registry_app.queries.access import may_administer
from registry_app.queries.actor import actor_of
from registry_app.queries.dependents import find_profile_dependents
from registry_app.queries.provider import build_is_set
from registry_app.queries.registry_export import describe_export

_CLAIMS = ("name", "kind", "providers")
_TXT = ("prefix", "suffix", "wildcard_replacement")
_KUBERNETES = ("cluster", "namespace", "is_rebuilt")
_TABLE = ("table", "region", "endpoint_url", "access_key_id")

_AWS_SECRETS = ("secret_access_key", "forget_secret_access_key", "session_token", "forget_session_token")

# How a setting is shown where its column does not say it.
_TITLES = {"access_key_id": "Access key"}
_WHEN_EMPTY = {"endpoint_url": "the service's own"}
_IS_SET = {
    "encryption_key": "has_key",
    "secret_access_key": "has_access_key",
    "session_token": "has_session_token",
}


class RegistryProfileForm(ConfigForm):
    encryption_key = SecretField(
        label="encryption key",
        help_text="--txt-encrypt-aes-key: 32 characters or base64, or env:NAME or file:NAME. Never shown "
        "again. Leave it empty to keep the stored one.",
    )

    secret_access_key = SecretField(
        label="secret access key",
        help_text="Or env:NAME or file:NAME. Never shown again. Leave it empty to keep the stored one. An "
        "endpoint at another host deletes it.",
    )

    session_token = SecretField(
        label="session token",
        help_text="For temporary credentials: the token, or env:NAME or file:NAME. Never shown again. "
        "Leave it empty to keep the stored one. A new access key, or an endpoint at another host, deletes "
        "it.",
    )

    sections = (
        ("What it is", _CLAIMS),
        (
            "TXT records, and how claims in the database are shown",
            (*_TXT, "encryption_key", "forget_encryption_key", "keeps_txt"),
        ),
        ("ConfigMap and DNSRecord objects", _KUBERNETES),
        ("DynamoDB", (*_TABLE, *_AWS_SECRETS)),
    )

    class Meta:
        model = RegistryProfile
        fields = (*_CLAIMS, *_TXT, "keeps_txt", *_KUBERNETES, *_TABLE)
        widgets: ClassVar = {"endpoint_url": AddressInput}


@admin.register(RegistryProfile)
class RegistryProfilePageAdmin(ConfigPage[RegistryProfile]):
    list_display = ("name", "kind", "prefix_shown", "suffix_shown", "wildcard_shown", "encrypts_shown")
    form_class = RegistryProfileForm
    register = staticmethod(register_registry_profile)
    change = staticmethod(change_registry_profile)
    delete = staticmethod(delete_registry_profile)
    find_dependents = staticmethod(find_profile_dependents)
    noun = "registry profile"
    meaning_of_deletion = "This deletes the registry profile and its secrets from dnsadmin. No claim changes."
    page_template = "dnsadmin/config.html"
    pages = {**ConfigPage.pages, "test": "<int:pk>/test/"}
    empty_text = "No registry profile is registered: claims are read in ExternalDNS's default format."

    def find_rows(self, request: HttpRequest) -> QuerySet[RegistryProfile]:
        rows = super().find_rows(request).prefetch_related("cluster")
        return rows.annotate(
            has_key=build_is_set("encryption_key"),
            has_access_key=build_is_set("secret_access_key"),
            has_session_token=build_is_set("session_token"),
        )

    @admin.display(description="prefix")
    def prefix_shown(self, row: RegistryProfile) -> str:
        return row.prefix or NOTHING

    @admin.display(description="suffix")
    def suffix_shown(self, row: RegistryProfile) -> str:
        return row.suffix or NOTHING

    @admin.display(description="wildcard replacement")
    def wildcard_shown(self, row: RegistryProfile) -> str:
        return row.wildcard_replacement or NOTHING

    @admin.display(description="encryption key")
    def encrypts_shown(self, row: RegistryProfile) -> str:
        return "set" if getattr(row, "has_key", False) else "not set"

    def facts(self, row: RegistryProfile) -> list[tuple[str, object]]:
        providers = ", ".join(row.providers.values_list("name", flat=True)) or "all"
        owner_ids = row.instances.order_by("owner__owner_id").values_list("owner__owner_id", flat=True)
        owners = ", ".join(owner_ids.distinct()[:50]) or NOTHING
        return [
            ("Kind", row.get_kind_display()),
            *(self._describe(row, name) for name in row.registry.settings),
            ("Tried at providers" if row.registry.is_in_zone else "Provider", providers),
            ("Used by owners", owners),
            *([("Scheduled export", describe_export(row))] if row.registry.is_behind_guard else []),
        ]

    def _describe(self, row: RegistryProfile, name: str) -> tuple[str, object]:
        title = _TITLES.get(name) or str(label_for_field(name, RegistryProfile)).capitalize()
        if name in _IS_SET:
            return title, "set" if getattr(row, _IS_SET[name], False) else "not set"
        value = getattr(row, name)
        if isinstance(value, bool):
            return title, "yes" if value else "no"
        return title, str(value or _WHEN_EMPTY.get(name, NOTHING))

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Read the store's claims once, and show what was found; nothing changes."""
        row = self.find_row(request, pk)
        return answer_probe(self, request, row, lambda actor: probe_registry(actor, pk), _describe_report)

    def page_context(self, request: HttpRequest, row: RegistryProfile) -> dict[str, Any]:
        has_store = row.registry.has_store and may_administer(actor_of(request))
        test = self.url_of("test", row.pk) if has_store else ""
        return {**super().page_context(request, row), "test": test}


def _describe_report(report: RegistryReport) -> list[tuple[str, object]]:
    owners = ", ".join(f"{owner_id} ({count})" for owner_id, count in report.owners)
    return [
        ("Claims", report.claim_count),
        ("Invalid rows", report.problem_count),
        ("Owners", owners or NOTHING),
    ]
