"""The transfer form in three steps (select, preview, request), and the undo."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from registry_app.admin.forms import read_posted, refuse
from registry_app.admin.list_page import ListPage
from registry_app.admin.transfer_form import (
    Draft,
    TransferForm,
    build_initial,
    build_initial_from_draft,
    compute_item_digest,
    read_draft,
    read_selection,
    sign_draft,
)
from registry_app.errors import DnsadminError
from registry_app.models import Owner, Transfer, TransferItem
from registry_app.queries.actor import actor_of
from registry_app.queries.transfer import find_already_requested
from registry_app.transfer.plan.preview import preview_transfer
from registry_app.transfer.plan.provider_plan import PlannedItem, ProviderPlan
from registry_app.transfer.request_transfer import UndoRequest, preview_undo, request_transfer, request_undo

ITEMS_A_PAGE = 100
_FORM = "dnsadmin/transfer_form.html"
_PREVIEW = "dnsadmin/transfer_preview.html"


@dataclass(frozen=True)
class PreviewLine:
    """One line of a preview; `is_new` if it was not there, or not like this, when last looked at."""

    item: PlannedItem
    verdict: str
    is_new: bool


def answer_transfer_request(page: ListPage[Any], request: HttpRequest) -> HttpResponse:
    """Every step of the form. `step` says which button was pressed."""
    if request.method != "POST":
        return _show_form(page, request, TransferForm(initial=_read_query(request)))
    step = request.POST.get("step", "preview")
    if step == "preview":
        form = TransferForm(request.POST)
        if not form.is_valid():
            return _show_form(page, request, form, status=422)
        return _preview(page, request, form.to_draft(), form)
    try:
        draft = read_draft(request.POST.get("draft", ""))
    except DnsadminError as error:
        status = refuse(request, error)
        return _show_form(page, request, TransferForm(), status=status)
    if step == "edit":
        return _show_form(page, request, TransferForm(initial=build_initial_from_draft(draft)))
    if step == "request":
        return _request(page, request, draft)
    if step in ("take_others", "leave_others"):
        draft = replace(draft, whole_names=step == "take_others")
    return _preview(page, request, draft, None)


def _request(page: ListPage[Any], request: HttpRequest, draft: Draft) -> HttpResponse:
    confirmation = read_posted(request, "confirmation")
    actor = actor_of(request)
    try:
        transfers = request_transfer(actor, replace(draft, confirmation=confirmation))
    except DnsadminError as error:
        if already := find_already_requested(actor, draft.fingerprints):
            messages.info(
                request, "This was already requested: this is the transfer. Nothing was requested twice."
            )
            return redirect(_address_of(already))
        status = refuse(request, error)
        return _preview(page, request, draft, None, status=status)
    messages.success(request, f"Requested: {_count(sum(t.item_count for t in transfers), 'record set')}.")
    return redirect(_address_of(transfers))


def _preview(
    page: ListPage[Any], request: HttpRequest, draft: Draft, form: TransferForm | None, *, status: int = 200
) -> HttpResponse:
    """Show the plans of the request. A refusal shows the form again, as it was filled in."""
    try:
        plans = preview_transfer(actor_of(request), draft)
    except DnsadminError as error:
        form = form or TransferForm(initial=build_initial_from_draft(draft))
        return _show_form(page, request, form, status=refuse(request, error, form if form.is_bound else None))
    context = build_preview_context(draft, plans, read_number(request.POST.get("page", "")))
    context["confirmation"] = read_posted(request, "confirmation")
    return page.show(request, _PREVIEW, f"{context['kind_label']}: preview", context, status=status)


def build_preview_context(draft: Draft, plans: Sequence[ProviderPlan], number: int) -> dict[str, Any]:
    """The context of the preview: counts, and one page of lines."""
    return {
        **build_plan_context(plans, number, known=frozenset(draft.digests)),
        "draft": draft,
        "token": sign_draft(draft.seen(plans)),
        "kind_label": Transfer.Kind(draft.kind).label,
        "intent_label": Transfer.TargetIntent(draft.target_intent).label,
        "target": Owner.objects.filter(owner_id=draft.target_owner_id).first(),
        "moved": _describe_move(draft, plans),
    }


def build_plan_context(
    plans: Sequence[ProviderPlan], number: int, *, known: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Page `number` of the lines of some plans, with their counts, confirmations and refusals."""
    lines = [(plan, item) for plan in plans for item in plan.items]
    shown = Paginator(lines, ITEMS_A_PAGE).get_page(number)
    confirmations = dict.fromkeys(plan.confirmation_text for plan in plans if plan.confirmation_text)
    return {
        "plans": [(plan, _lines_of(plan, list(shown), known)) for plan in plans],
        "paging": shown,
        "included": sum(len(plan.included) for plan in plans),
        "left_out": sum(len(plan.left_out) for plan in plans),
        "added": sum(item.is_added for plan in plans for item in plan.included),
        "left_behind": sum(len(plan.left_behind) for plan in plans),
        "confirmations": list(confirmations),
        "verdicts": _sum_verdicts(plans),
        "is_refused": any(not refusal.is_warning for plan in plans for refusal in plan.refusals),
    }


def _lines_of(
    plan: ProviderPlan, shown: Sequence[tuple[ProviderPlan, PlannedItem]], known: frozenset[str]
) -> list[PreviewLine]:
    return [
        PreviewLine(
            item=item,
            verdict=TransferItem.Verdict(item.verdict).label if item.verdict else "",
            is_new=bool(known) and compute_item_digest(item) not in known,
        )
        for its_plan, item in shown
        if its_plan is plan
    ]


def _describe_move(draft: Draft, plans: Sequence[ProviderPlan]) -> str:
    """What changed since the plan was last shown; empty if nothing did, or it was never shown."""
    now = {plan.provider.pk: plan.fingerprint for plan in plans}
    if not draft.fingerprints or draft.fingerprints == now:
        return ""
    if not draft.digests:
        return "The plan changed since you saw it. It is too large to show which lines changed."
    current = [compute_item_digest(item) for plan in plans for item in plan.items]
    gone = len(set(draft.digests) - set(current))
    new = len(set(current) - set(draft.digests))
    if not (gone or new):
        return "The plan changed since you saw it, but its lines are the same."
    return (
        f"The plan changed since you saw it: {_count(new, 'line')} new or different (marked), "
        f"{_count(gone, 'line')} removed."
    )


def _sum_verdicts(plans: Sequence[ProviderPlan]) -> list[tuple[str, str, int]]:
    counts: Counter[str] = Counter()
    for plan in plans:
        counts.update(plan.verdict_counts)
    return [(str(v.value), str(v.label), counts[v.value]) for v in TransferItem.Verdict if counts[v.value]]


def _show_form(
    page: ListPage[Any], request: HttpRequest, form: TransferForm, *, status: int = 200
) -> HttpResponse:
    picked = form["picked"].value()
    context = {"form": form, "picked_count": _count_picked(picked) if picked else 0}
    return page.show(request, _FORM, "Transfer", context, status=status)


def _count_picked(text: str) -> int:
    try:
        selection = read_selection(text)
    except DnsadminError:
        return 0
    return len(selection.record_set_ids) + len(selection.claim_ids)


def _read_query(request: HttpRequest) -> dict[str, Any]:
    initial = build_initial(request.GET)
    owner = str(initial.get("owner", ""))
    if owner.isascii() and owner.isdigit():
        # Lists filter by row; an owner id may be a number too, and then wins.
        by_row = Owner.objects.filter(pk=int(owner)).values_list("owner_id", flat=True).first()
        is_id = Owner.objects.filter(owner_id=owner).exists()
        initial["owner"] = owner if is_id or by_row is None else by_row
    return initial


def _address_of(transfers: Sequence[Transfer]) -> str:
    if len(transfers) == 1:
        return reverse("admin:registry_app_transfer_change", args=[transfers[0].pk])
    group = transfers[0].group
    return f"{reverse('admin:registry_app_transfer_changelist')}?group={group}"


def read_number(text: str) -> int:
    """A page number as it was sent; 1 for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def answer_undo(page: ListPage[Any], request: HttpRequest, row: Transfer) -> HttpResponse:
    """Show what an undo would write; on POST, request it."""
    actor, back, status = actor_of(request), page.url_of("change", row.pk), 200
    typed = {name: read_posted(request, name) for name in ("reason", "confirmation", "fingerprint")}
    intent = _read_intent(request)
    if request.method == "POST" and request.POST.get("step") != "preview":
        try:
            undo = request_undo(actor, row.public_id, UndoRequest(**typed, target_intent=intent))
        except DnsadminError as error:
            status = refuse(request, error)
        else:
            messages.success(request, "The undo was requested. It is a separate transfer.")
            return redirect(page.url_of("change", undo.pk))
    try:
        plan = preview_undo(actor, row.public_id, target_intent=intent)
    except DnsadminError as error:
        if status == 200:
            refuse(request, error)
        return redirect(back)
    context = {
        **build_plan_context([plan], read_number(request.GET.get("page", ""))),
        "row": row,
        "typed": typed,
        "intent": intent,
        "intents": Transfer.TargetIntent.choices,
        "back": back,
    }
    return page.show(request, "dnsadmin/transfer_undo.html", f"Undo of #{row.pk}", context, status=status)


def _read_intent(request: HttpRequest) -> str:
    """What the former owner wants, from the form or a link to another page of the preview."""
    values = request.POST if request.method == "POST" else request.GET
    return values.get("target_intent", Transfer.TargetIntent.UNKNOWN)
