"""API tokens: shown once, by their owner; revoked at once."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from registry_app.admin.fields import LinesField, MomentField, ThemedForm
from registry_app.admin.forms import build_act_view, refuse
from registry_app.admin.list_page import ListPage, ago_column, column
from registry_app.admin.wording import format_badge
from registry_app.errors import DnsadminError
from registry_app.inventory.token import issue_token, revoke_token
from registry_app.models import ApiToken, Owner
from registry_app.queries.actor import actor_of


class TokenForm(ThemedForm):
    name = forms.CharField(max_length=100, help_text="So that you recognise it later.")
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in ApiToken.SCOPES],
        widget=forms.CheckboxSelectMultiple,
        help_text="A token can do what you can, within these.",
    )
    owners = forms.ModelMultipleChoiceField(
        Owner.objects.all(), required=False, help_text="Only these owners. None chosen: every owner."
    )
    networks = LinesField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="CIDR networks it may be used from, one per line. Empty: any.",
    )
    expires_at = MomentField(label="Expires (UTC)", required=False)


@admin.register(ApiToken)
class ApiTokenPageAdmin(ListPage[ApiToken]):
    list_display = (
        "name",
        "user",
        "state_shown",
        "scopes_shown",
        "expires_shown",
        "used_shown",
        "created_shown",
    )
    list_select_related = ("user",)
    page_template = "dnsadmin/token.html"
    pages = {"issue": "issue/", "revoke": "<int:pk>/revoke/"}
    form_page = "issue"
    empty_text = "You have no API tokens."
    expires_shown = ago_column("expires_at", "expires")
    used_shown = ago_column("last_used_at", "last use")
    created_shown = ago_column("created_at", "issued")
    scopes_shown = column("scopes", lambda row: ", ".join(map(str, row.scopes)))

    def find_rows(self, request: HttpRequest) -> QuerySet[ApiToken]:
        return super().find_rows(request).defer("secret_hash")

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [("Issue a token", self.url_of("issue")), ("How to use the API", reverse("api-docs"))]

    @admin.display(description="state")
    def state_shown(self, row: ApiToken) -> SafeString:
        if row.revoked_at is not None:
            return format_badge("over", "Revoked")
        if row.expires_at is not None and row.expires_at <= timezone.now():
            return format_badge("over", "Expired")
        return format_badge("ok", "Valid")

    def page_context(self, request: HttpRequest, row: ApiToken) -> dict[str, Any]:
        owners = ", ".join(row.owners.values_list("owner_id", flat=True)[:100])
        return {
            "row": row,
            "revoke_url": self.url_of("revoke", row.pk),
            "facts": [
                ("Public id", row.public_id),
                ("State", self.state_shown(row)),
                ("User", row.user),
                ("Issued by", row.issued_by or "not known"),
                ("Scopes", self.scopes_shown(row)),
                ("Owners", owners or "any"),
                ("Networks", ", ".join(map(str, row.networks)) or "any"),
                ("Issued", self.created_shown(row)),
                ("Expires", self.expires_shown(row)),
                ("Last use", self.used_shown(row)),
            ],
        }

    def issue_view(self, request: HttpRequest) -> HttpResponse:
        """The form; the response to it is the only one that shows the token."""
        form = TokenForm(request.POST or None)
        status = 200 if request.method != "POST" else 422
        if request.method == "POST" and form.is_valid():
            try:
                return self._issue(request, form.cleaned_data)
            except DnsadminError as error:
                status = refuse(request, error, form)
        context = {"form": form, "submit": "Issue"}
        return self.show(request, "dnsadmin/form.html", "Issue a token", context, status=status)

    def _issue(self, request: HttpRequest, values: dict[str, Any]) -> HttpResponse:
        actor = actor_of(request)
        token, text = issue_token(
            actor,
            user_id=actor.user_id or 0,
            name=values["name"],
            scopes=values["scopes"],
            owner_ids=[owner.owner_id for owner in values["owners"]],
            networks=values["networks"],
            expires_at=values["expires_at"],
        )
        messages.success(request, "Issued. Copy it now: it is not stored and not shown again.")
        context = {"row": token, "text": text, "back": self.url_of("changelist")}
        return self.show(request, "dnsadmin/token_issued.html", f"Token {token}", context)

    revoke_view = build_act_view(revoke_token, "Revoked.", back="changelist")
