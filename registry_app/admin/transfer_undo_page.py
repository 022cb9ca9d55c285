"""The preview of an undo, and the request for it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from registry_app.admin.answer import read_posted, refuse
from registry_app.admin.list_page import ListPage
from registry_app.admin.transfer_request_page import build_plan_context, read_number
from registry_app.errors import DnsadminError
from registry_app.models import Transfer
from registry_app.queries.actor import actor_of
from registry_app.transfer.request_transfer import UndoRequest, preview_undo, request_undo


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
    """What the form, or a link to another page of the preview, says that the former owner wants."""
    values = request.POST if request.method == "POST" else request.GET
    return values.get("target_intent", Transfer.TargetIntent.UNKNOWN)
