"""How forms and buttons are answered: done, or refused with what happened, what is true now and what to
do."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect

from registry_app.actor import Actor
from registry_app.admin.list_page import ListPage
from registry_app.errors import DnsadminError, InvalidRequest, NotAllowed, NotFound
from registry_app.queries.actor import actor_of

# Refusals not named here are conflicts with the current state (409).
_STATUS = ((NotAllowed, 403), (NotFound, 404), (InvalidRequest, 422))


def answer_form(
    page: ListPage[Any],
    request: HttpRequest,
    form: forms.BaseForm,
    act: Callable[[Actor], str],
    *,
    title: str,
    submit: str = "Save",
    done: str = "",
    context: dict[str, Any] | None = None,
    template: str = "dnsadmin/form.html",
) -> HttpResponse:
    """Show a form; when it comes back valid, act, say `done` and go to the address `act` returns.

    A refusal shows the form again with everything that was typed, secrets excepted.
    """
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                target = act(actor_of(request))
            except DnsadminError as error:
                status = refuse(request, error, form)
            else:
                if done:
                    messages.success(request, done)
                return redirect(target)
    values = {"form": form, "submit": submit, **(context or {})}
    return page.show(request, template, title, values, status=status)


def answer_act(request: HttpRequest, act: Callable[[Actor], object], *, done: str, back: str) -> HttpResponse:
    """Do one thing a button asks for, and go back to where the button is."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        act(actor_of(request))
    except DnsadminError as error:
        refuse(request, error)
    else:
        messages.success(request, done)
    return redirect(back)


def build_act_view(
    act: Callable[..., object],
    done: str,
    *,
    read: Callable[[HttpRequest], dict[str, Any]] | None = None,
    back: str = "change",
) -> Callable[..., HttpResponse]:
    """A view that does one thing with the row in the address, with what `read` takes from the form, and goes
    back to the page of the row, or to the list."""

    def view(page: ListPage[Any], request: HttpRequest, pk: int, **place: int) -> HttpResponse:
        def act_on_row(actor: Actor) -> object:
            return act(actor, pk, *place.values(), **(read(request) if read else {}))

        address = page.url_of(back, *([pk] if back == "change" else []))
        return answer_act(request, act_on_row, done=done, back=address)

    return view


def read_reason(request: HttpRequest) -> dict[str, str]:
    """The posted reason."""
    return {"reason": read_posted(request, "reason")}


def read_posted(request: HttpRequest, name: str) -> str:
    """A posted text that no form reads, without the NULs no database takes."""
    return request.POST.get(name, "").replace("\0", "")


def refuse(request: HttpRequest, error: DnsadminError, form: forms.BaseForm | None = None) -> int:
    """Show a refusal beside the fields it is about. Returns its HTTP status."""
    request_id = actor_of(request).request_id
    trailer = f" (Request {request_id}.)" if request_id else ""
    messages.error(request, f"{error}{trailer}")
    if form is not None and isinstance(error, InvalidRequest):
        for name, problems in error.fields.items():
            form.add_error(name if name in form.fields else None, problems)
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 409)


class Report(Protocol):
    """What a test of a connection found."""

    @property
    def is_ok(self) -> bool: ...


_Report = TypeVar("_Report", bound=Report)


def answer_probe(
    page: ListPage[Any],
    request: HttpRequest,
    row: Any,
    probe: Callable[[Actor], _Report],
    describe: Callable[[_Report], list[tuple[str, object]]],
) -> HttpResponse:
    """Test the connection to where `row` says, and show what was found; nothing changes."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    back = page.url_of("change", row.pk)
    try:
        report = probe(actor_of(request))
    except DnsadminError as error:
        refuse(request, error)
        return redirect(back)
    context = {"row": row, "report": report, "facts": describe(report) if report.is_ok else [], "back": back}
    return page.show(request, "dnsadmin/probe_report.html", f"Connection of {row}", context)
