"""Grants: what a group may do with which record sets."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from registry_app.actor import Actor
from registry_app.admin.fields import ThemedForm
from registry_app.admin.filters import build_choice_filter, build_row_filter
from registry_app.admin.forms import answer_form, build_act_view
from registry_app.admin.list_page import ListPage, column
from registry_app.inventory.grant import add_grant, remove_grant
from registry_app.models import Grant, Owner, Provider
from registry_app.queries.access import may_administer
from registry_app.queries.actor import actor_of


class GrantForm(ThemedForm):
    group = forms.ModelChoiceField(Group.objects.all())
    action = forms.ChoiceField(choices=Grant.Action.choices)
    provider = forms.ModelChoiceField(Provider.objects.all(), required=False, empty_label="Any provider")
    owner = forms.ModelChoiceField(Owner.objects.all(), required=False, empty_label="Any owner")
    name_suffix = forms.CharField(
        required=False, max_length=253, label="At or below", help_text="Such as example.org. Empty: any name."
    )


@admin.register(Grant)
class GrantPageAdmin(ListPage[Grant]):
    list_display = ("group", "action_shown", "provider_shown", "owner_shown", "suffix_shown")
    list_filter = (
        build_row_filter("group", "group", Group),
        build_choice_filter("action", "action", Grant.Action.choices),
    )
    list_select_related = ("group", "provider", "owner")
    page_template = "dnsadmin/grant.html"
    pages = {"give": "give/", "take": "<int:pk>/take/"}
    form_page = "give"
    empty_text = "There are no grants yet. Only administrators can change anything. Everybody can read."
    action_shown = column("may", lambda row: row.get_action_display())
    provider_shown = column("provider", lambda row: str(row.provider or "any"))
    owner_shown = column("owner", lambda row: str(row.owner or "any"))
    suffix_shown = column("at or below", lambda row: row.name_suffix or "any name")

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [("Add a grant", self.url_of("give"))] if may_administer(actor_of(request)) else []

    def page_context(self, request: HttpRequest, row: Grant) -> dict[str, Any]:
        return {
            "row": row,
            "take_url": self.url_of("take", row.pk),
            "may_administer": may_administer(actor_of(request)),
            "facts": [
                ("Group", row.group),
                ("May", self.action_shown(row)),
                ("Provider", self.provider_shown(row)),
                ("Owner", self.owner_shown(row)),
                ("At or below", self.suffix_shown(row)),
            ],
        }

    def give_view(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST" and not may_administer(actor_of(request)):
            raise PermissionDenied("Only an administrator may add a grant.")
        form = GrantForm(request.POST or None)

        def act(actor: Actor) -> str:
            return self.url_of("change", add_grant(actor, form.cleaned_data).pk)

        return answer_form(self, request, form, act, title="Add a grant", submit="Add", done="Added.")

    take_view = build_act_view(remove_grant, "The grant was removed.", back="changelist")
