"""Registry profiles: how instances write their claims. The encryption key goes in and never comes out."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from registry_app.actor import Actor
from registry_app.admin.config_page import ConfigForm, ConfigPage
from registry_app.admin.fields import SecretField
from registry_app.admin.wording import NOTHING
from registry_app.inventory.change_registry_profile import change_registry_profile
from registry_app.inventory.register_registry_profile import register_registry_profile
from registry_app.models import RegistryProfile
from registry_app.queries.provider_page import build_is_set


class RegistryProfileForm(ConfigForm):
    encryption_key = SecretField(
        label="encryption key",
        help_text="--txt-encrypt-aes-key: 32 characters or base64, or env:NAME or file:NAME. Never shown "
        "again; left empty, a stored one stays.",
    )

    class Meta:
        model = RegistryProfile
        fields = ("name", "kind", "prefix", "suffix", "wildcard_replacement", "providers")


@admin.register(RegistryProfile)
class RegistryProfilePageAdmin(ConfigPage[RegistryProfile]):
    list_display = ("name", "kind", "prefix_shown", "suffix_shown", "wildcard_shown", "encrypts_shown")
    sortable_by = ()
    form_class = RegistryProfileForm
    noun = "registry profile"
    page_template = "dnsadmin/config.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[RegistryProfile]:
        rows = super().get_queryset(request).defer("encryption_key")
        return rows.annotate(has_key=build_is_set("encryption_key"))

    def empty_reason(self, request: HttpRequest) -> str:
        return "No registry profile is registered: claims are read in ExternalDNS's default format."

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

    def register(self, actor: Actor, values: Mapping[str, Any]) -> RegistryProfile:
        return register_registry_profile(actor, values)

    def change(
        self, actor: Actor, pk: int, changes: Mapping[str, Any], *, expected_updated_at: datetime | None
    ) -> RegistryProfile:
        return change_registry_profile(actor, pk, changes, expected_updated_at=expected_updated_at)

    def facts(self, row: RegistryProfile) -> list[tuple[str, object]]:
        providers = ", ".join(row.providers.values_list("name", flat=True)) or "all"
        owners = ", ".join(row.owners.values_list("owner_id", flat=True)[:50]) or NOTHING
        return [
            ("Kind", row.get_kind_display()),
            ("Prefix", row.prefix or NOTHING),
            ("Suffix", row.suffix or NOTHING),
            ("Wildcard replacement", row.wildcard_replacement or NOTHING),
            ("Encryption key", self.encrypts_shown(row)),
            ("Tried at providers", providers),
            ("Used by owners", owners),
        ]
