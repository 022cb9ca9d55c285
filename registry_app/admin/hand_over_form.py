"""The request form of a hand-over: fill in, preview, request. The signed draft travels between the steps."""

from collections import Counter
from datetime import timedelta
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from registry_app.admin.fields import LinesField, MomentField, ThemedForm
from registry_app.admin.forms import refuse
from registry_app.admin.list_page import ListPage
from registry_app.errors import DnsadminError, InvalidRequest
from registry_app.hand_over.request_hand_over import (
    ALLOWED,
    HandOverPlan,
    HandOverRequest,
    preview_hand_over,
    request_hand_over,
)
from registry_app.hand_over.waves import Waves
from registry_app.models import Grant, HandOver, Owner, Provider, TransferItem
from registry_app.queries.access import may_act_somewhere
from registry_app.queries.actor import actor_of
from registry_app.queries.hand_over import find_already_requested
from registry_app.queries.hand_over_items import list_moved_names

_SALT: Final = "dnsadmin.hand_over"
_NAMES_A_PAGE = 100
_MOST_NAMES = 10_000
_USUAL = timedelta(days=7)
_LINKED = ("provider", "from_owner", "to_owner", "name_suffix", "reason", "ticket")
_DIVISIONS = [
    ("", "All names at once"),
    ("number", "So many names each"),
    ("share", "So many percent of the names each"),
    ("suffix", "By suffix"),
    ("namespace", "By namespace"),
]
_VERDICTS = [
    ("both", "It may change what it gets: retarget it, or another type"),
    (TransferItem.Verdict.NO_OP.value, "It must want exactly what is there"),
]


class HandOverForm(ThemedForm):
    """A request. The preview checks what is allowed."""

    provider = forms.ModelChoiceField(Provider.objects.all())
    from_owner = forms.ModelChoiceField(
        Owner.objects.all(), label="Old owner", to_field_name="owner_id", help_text="Who has the names now."
    )
    to_owner = forms.ModelChoiceField(
        Owner.objects.exclude(status=Owner.Status.DECOMMISSIONED),
        label="New owner",
        to_field_name="owner_id",
        help_text="Each name moves when an instance of this owner wants it.",
    )
    names = LinesField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="One per line, in any spelling. Empty: all names of the old owner at the provider.",
    )
    name_suffix = forms.CharField(
        label="Only at or below", required=False, max_length=253, help_text="For example example.org"
    )
    namespace = forms.CharField(
        label="Only of namespace",
        required=False,
        max_length=253,
        help_text="Names whose claims name a resource of this namespace.",
    )
    waves_by = forms.ChoiceField(label="Waves", choices=_DIVISIONS, required=False)
    wave_size = forms.IntegerField(label="Names or percent of each wave", required=False, min_value=1)
    wave_values = LinesField(
        label="Suffix or namespace of each wave",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="One per line, in their order. Other names go in a last wave.",
    )
    verdicts = forms.ChoiceField(
        label="What the new owner may do",
        choices=_VERDICTS,
        initial="both",
        widget=forms.RadioSelect,
        help_text="A name that its next sync would delete never moves.",
    )
    ends_at = MomentField(label="Ends (UTC)", help_text="What was not moved by then stays. Within 90 days.")
    reason = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 2}), help_text="It is recorded in the audit trail."
    )
    ticket = forms.CharField(required=False, max_length=200)

    def clean_names(self) -> list[str]:
        names: list[str] = self.cleaned_data["names"]
        if len(names) > _MOST_NAMES:
            raise forms.ValidationError(f"At most {_MOST_NAMES} names at once; these are {len(names)}.")
        return names

    def to_draft(self) -> dict[str, Any]:
        """The values as texts and numbers, by the names of the fields."""
        values = dict(self.cleaned_data)
        rows = {name: values[name].pk for name in ("provider", "from_owner", "to_owner")}
        return {**values, **rows, "ends_at": values["ends_at"].isoformat()}


def answer_hand_over_request(page: ListPage[Any], request: HttpRequest) -> HttpResponse:
    """Every step of the form. `step` says which button was pressed."""
    if request.method != "POST":
        if not may_act_somewhere(actor_of(request), Grant.Action.REQUEST):
            raise PermissionDenied("You need a grant to request transfers for a hand-over.")
        return _show_form(page, request, HandOverForm(initial=_read_query(request)))
    step = request.POST.get("step", "preview")
    if step == "preview":
        form = HandOverForm(request.POST)
        if not form.is_valid():
            return _show_form(page, request, form, status=422)
        return _preview(page, request, form.to_draft(), form)
    try:
        draft = read_draft(request.POST.get("draft", ""))
    except DnsadminError as error:
        return _show_form(page, request, HandOverForm(), status=refuse(request, error))
    if step == "edit":
        return _show_form(page, request, HandOverForm(initial=_build_initial(draft)))
    if step == "request":
        return _request(page, request, draft)
    return _preview(page, request, draft, None)


def sign_draft(draft: dict[str, Any]) -> str:
    return signing.Signer(salt=_SALT).sign_object(draft, compress=True)


def read_draft(text: str) -> dict[str, Any]:
    """Raises InvalidRequest if this is not a draft we signed."""
    try:
        draft: dict[str, Any] = signing.Signer(salt=_SALT).unsign_object(text)
    except (signing.BadSignature, ValueError) as error:
        raise InvalidRequest(
            "The form was incomplete or changed on its way.", todo="Start again from the list of hand-overs."
        ) from error
    return draft


def _request(page: ListPage[Any], request: HttpRequest, draft: dict[str, Any]) -> HttpResponse:
    fingerprint = str(draft.get("fingerprint", ""))
    try:
        row = request_hand_over(actor_of(request), _build_request(draft), fingerprint=fingerprint)
    except DnsadminError as error:
        if already := find_already_requested(actor_of(request), fingerprint):
            messages.info(request, "This was already requested. Nothing was requested twice.")
            return redirect(page.url_of("change", already.pk))
        return _preview(page, request, draft, None, status=refuse(request, error))
    messages.success(request, "Requested." if row.status == HandOver.Status.REQUESTED else "It runs now.")
    return redirect(page.url_of("change", row.pk))


def _preview(
    page: ListPage[Any],
    request: HttpRequest,
    draft: dict[str, Any],
    form: HandOverForm | None,
    *,
    status: int = 200,
) -> HttpResponse:
    """Show which names would go. A refusal shows the form again, as it was filled in."""
    try:
        asked = _build_request(draft)
        plan = preview_hand_over(actor_of(request), asked)
    except DnsadminError as error:
        form = form or HandOverForm(initial=_build_initial(draft))
        return _show_form(page, request, form, status=refuse(request, error, form if form.is_bound else None))
    context = _build_context(asked, plan, draft, _read_number(request.POST.get("page", "")))
    return page.show(request, "dnsadmin/hand_over_preview.html", "Hand-over: preview", context, status=status)


def _build_context(
    asked: HandOverRequest, plan: HandOverPlan, draft: dict[str, Any], number: int
) -> dict[str, Any]:
    ordered = sorted(plan.waves.items(), key=lambda pair: (pair[1], pair[0]))
    seen = draft.get("fingerprint")
    return {
        "asked": asked,
        "plan": plan,
        "token": sign_draft({**draft, "fingerprint": plan.fingerprint}),
        "has_moved": bool(seen) and seen != plan.fingerprint,
        "name_count": len(ordered),
        "waves": sorted(Counter(plan.waves.values()).items()),
        "paging": Paginator(ordered, _NAMES_A_PAGE).get_page(number),
    }


def _build_request(draft: dict[str, Any]) -> HandOverRequest:
    """Raises InvalidRequest where a row is gone by now."""
    ends_at = parse_datetime(draft["ends_at"])
    provider = Provider.objects.filter(pk=draft["provider"]).first()
    owners = Owner.objects.in_bulk([draft["from_owner"], draft["to_owner"]])
    from_owner, to_owner = owners.get(draft["from_owner"]), owners.get(draft["to_owner"])
    if ends_at is None or provider is None or from_owner is None or to_owner is None:
        raise InvalidRequest("The provider or an owner was deleted.", todo="Choose others.")
    return HandOverRequest(
        provider=provider,
        from_owner=from_owner,
        to_owner=to_owner,
        ends_at=ends_at,
        reason=draft["reason"],
        ticket=draft["ticket"],
        names=tuple(draft["names"]),
        name_suffix=draft["name_suffix"],
        namespace=draft["namespace"],
        waves=Waves(draft["waves_by"], draft["wave_size"] or 0, tuple(draft["wave_values"])),
        allowed_verdicts=tuple(ALLOWED) if draft["verdicts"] == "both" else (draft["verdicts"],),
    )


def _build_initial(draft: dict[str, Any]) -> dict[str, Any]:
    return {**draft, "ends_at": parse_datetime(draft["ends_at"])}


def _show_form(
    page: ListPage[Any], request: HttpRequest, form: HandOverForm, *, status: int = 200
) -> HttpResponse:
    return page.show(request, "dnsadmin/hand_over_form.html", "Hand-over", {"form": form}, status=status)


def _read_query(request: HttpRequest) -> dict[str, Any]:
    """The values that a link gives the form; `back` is the number of a hand-over to bring back."""
    ends_at = (timezone.now() + _USUAL).replace(second=0, microsecond=0)
    initial: dict[str, Any] = {"ends_at": ends_at, "names": request.GET.getlist("names")}
    initial |= {name: request.GET[name] for name in _LINKED if name in request.GET}
    back = HandOver.objects.filter(pk=_read_number(request.GET.get("back", ""))).first()
    if "back" not in request.GET or back is None:
        return initial
    return {
        **initial,
        "provider": back.provider_id,
        "from_owner": back.to_owner_id,
        "to_owner": back.from_owner_id,
        "names": list_moved_names(back)[:_MOST_NAMES],
        "reason": f"Bring back what hand-over #{back.pk} moved.",
    }


def _read_number(text: str) -> int:
    """A number as it was sent; 1 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1
