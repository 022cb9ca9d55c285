"""How forms and buttons are answered, and the pages of configuration."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Generic

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect
from django.urls import URLPattern

from registry_app.actor import Actor
from registry_app.admin.fields import (
    NAME_OF,
    SecretField,
    ThemedForm,
    apply_theme,
    describe_suggestions,
    suggest,
)
from registry_app.admin.list_page import ListPage
from registry_app.admin.site import Row
from registry_app.errors import DnsadminError, InvalidRequest, NotAllowed, NotFound
from registry_app.queries.access import may_administer
from registry_app.queries.actor import actor_of, note_refusal
from registry_app.queries.readable import readable

_FORGET = "forget_"
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
    """Show a form; when it is sent and valid, act, show `done` and go to the address that `act` returns.

    A refusal shows the form again with everything that was typed, secrets excepted.
    """
    status = 422 if request.method == "POST" else 200
    if request.method == "POST" and form.is_valid():
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
    """Do the one thing of a button, and go back to the page with the button."""
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
    """The posted reason, by its name."""
    return {"reason": read_posted(request, "reason")}


def read_posted(request: HttpRequest, name: str) -> str:
    """A posted text that no form reads, without the NULs no database takes."""
    return request.POST.get(name, "").replace("\0", "")


def refuse(request: HttpRequest, error: DnsadminError, form: forms.BaseForm | None = None) -> int:
    """Show a refusal beside the fields it is about. Returns its HTTP status."""
    note_refusal(error.code)
    request_id = actor_of(request).request_id
    trailer = f" (Request {request_id}.)" if request_id else ""
    messages.error(request, f"{error}{trailer}")
    if form is not None and isinstance(error, InvalidRequest):
        for name, problems in error.fields.items():
            form.add_error(name if name in form.fields else None, problems)
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 409)


def answer_probe(
    page: ListPage[Any],
    request: HttpRequest,
    row: Any,
    probe: Callable[[Actor], Any],
    describe: Callable[[Any], list[tuple[str, object]]],
) -> HttpResponse:
    """Test the connection of a row, and show the result; nothing changes."""
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


class ConfigForm(forms.ModelForm):  # type: ignore[type-arg]  # a runtime class, not generic
    """A form over one row. A secret left empty keeps what is stored; a tick beside it deletes it."""

    sections: ClassVar[Sequence[tuple[str, Sequence[str]]]] = ()

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for name, field in list(self.fields.items()):
            if isinstance(field, SecretField) and self.instance.pk is not None:
                label = f"Delete the stored {field.label or name}"
                self.fields[_FORGET + name] = forms.BooleanField(label=label, required=False)
        apply_theme(self)

    def grouped(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Titles and fields in the order a person fills them in."""
        sections = self.sections or (("", tuple(self.fields)),)
        shown = ((title, [self[name] for name in names if name in self.fields]) for title, names in sections)
        return [(title, fields) for title, fields in shown if fields]

    def values(self) -> dict[str, Any]:
        """The values of a new row."""
        return {
            name: value
            for name, value in self.cleaned_data.items()
            if not name.startswith(_FORGET) and (value or not isinstance(self.fields[name], SecretField))
        }

    def changes(self) -> dict[str, Any]:
        """What differs from the row as it was read."""
        wanted = self.values()
        changes = {name: wanted[name] for name in self.changed_data if name in wanted}
        for name in self.fields:
            if name.startswith(_FORGET) and self.cleaned_data[name]:
                changes.setdefault(name.removeprefix(_FORGET), "")
        return changes


class ConfigPage(ListPage[Row], Generic[Row]):
    """A noun of configuration: a list, a page, and forms for one row. `register`, `change` and `delete` are
    mutations; `find_dependents` says why a row cannot be deleted now, one sentence each."""

    form_class: ClassVar[type[ConfigForm]]
    noun: ClassVar[str]
    # What making a row is called, and that it was done.
    register_verb: ClassVar[tuple[str, str]] = ("Register", "Registered.")
    meaning_of_deletion: ClassVar[str] = ""
    register_template: ClassVar[str] = "dnsadmin/form.html"
    register: ClassVar[Callable[..., Any]]
    change: ClassVar[Callable[..., Any]]
    delete: ClassVar[Callable[..., None]]
    find_dependents: ClassVar[Callable[..., list[str]]]
    pages = {"register": "register/", "edit": "<int:pk>/edit/", "remove": "<int:pk>/remove/"}
    form_page = "register"

    def get_urls(self) -> list[URLPattern]:
        # Rows that have no name of their own are chosen by no field: nothing searches for them.
        search = [self.build_path("search/", "search")] if self.model in NAME_OF else []
        return search + super().get_urls()

    def note_saved(self, request: HttpRequest, row: Row, values: Mapping[str, Any]) -> None:
        """Warn whoever saved a row with these values."""

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        links = [(f"Register {self.noun}", self.url_of("register"))]
        return links if may_administer(actor_of(request)) else []

    def page_links(self, request: HttpRequest, row: Row) -> list[tuple[str, str]]:
        links = [("Change", self.url_of("edit", row.pk)), ("Delete", self.url_of("remove", row.pk))]
        return links if may_administer(actor_of(request)) else []

    def page_context(self, request: HttpRequest, row: Row) -> dict[str, Any]:
        return {"row": row, "links": self.page_links(request, row), "facts": self.facts(row)}

    def facts(self, row: Row) -> list[tuple[str, object]]:
        """Label and value of what the page of a row says, in order."""
        raise NotImplementedError

    def register_initial(self, request: HttpRequest) -> dict[str, Any]:
        """The initial values of the form of a new row."""
        return request.GET.dict()

    def register_context(self, request: HttpRequest) -> dict[str, Any]:
        """The context of the page of that form."""
        return {}

    def register_view(self, request: HttpRequest) -> HttpResponse:
        self.refuse_to_show(request, "register")
        initial = None if request.method == "POST" else self.register_initial(request)
        form = self.form_class(request.POST or None, initial=initial)

        def act(actor: Actor) -> str:
            row = self.register(actor, form.values())
            self.note_saved(request, row, form.values())
            return self.url_of("change", row.pk)

        verb, done = self.register_verb
        title = f"{verb} {self.noun}"
        return answer_form(
            self,
            request,
            form,
            act,
            title=title,
            submit=title,
            done=done,
            context=self.register_context(request),
            template=self.register_template,
        )

    def edit_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.find_row(request, pk)
        self.refuse_to_show(request, "change")
        read_at = read_version(request, row)
        form = self.form_class(request.POST or None, instance=row)

        def act(actor: Actor) -> str:
            changed = self.change(actor, pk, form.changes(), expected_updated_at=read_moment(read_at))
            self.note_saved(request, changed, form.changes())
            return self.url_of("change", pk)

        context = {"read_at": read_at, "back": self.url_of("change", pk)}
        return answer_form(self, request, form, act, title=f"Change {row}", done="Saved.", context=context)

    def rows_to_search(self) -> QuerySet[Any]:
        """The rows that fields choose among, with the column of `NAME_OF`."""
        return self.model._default_manager.all()

    def search_view(self, request: HttpRequest) -> JsonResponse:
        """The names of the first rows that contain `q`, for the fields that choose one."""
        text = request.GET.get("q", "").strip().replace("\0", "")[:255]
        rows = readable(actor_of(request), self.rows_to_search())
        names = suggest(rows, NAME_OF[self.model], text)
        return JsonResponse({"names": names, "notes": describe_suggestions(self.model, names)})

    def remove_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what deleting means and what prevents it; delete when the form is sent."""
        self.refuse_to_show(request, "delete")
        row = self.find_row(request, pk)
        read_at = read_version(request, row)

        def act(actor: Actor) -> str:
            self.delete(actor, pk, expected_updated_at=read_moment(read_at))
            return self.url_of("changelist")

        about = {"meaning": self.meaning_of_deletion, "dependents": self.find_dependents(row)}
        context = {"read_at": read_at, "back": self.url_of("change", pk), **about}
        return answer_form(
            self,
            request,
            ThemedForm(request.POST if request.method == "POST" else None),
            act,
            title=f"Delete {row}",
            submit=f"Delete {self.noun}",
            done="Deleted.",
            context=context,
            template="dnsadmin/remove.html",
        )

    def refuse_to_show(self, request: HttpRequest, verb: str) -> None:
        """Show no form to who may not send it; the mutation refuses what is sent anyway."""
        if request.method != "POST" and not may_administer(actor_of(request)):
            raise PermissionDenied(f"Only an administrator may {verb} {self.opts.verbose_name_plural}.")


def read_version(request: HttpRequest, row: Any) -> str:
    """The version of the row that the form shows: the change of a newer one is refused."""
    return request.POST.get("read_at") or str(row.updated_at.isoformat())


def read_moment(text: str) -> datetime | None:
    """The time of such a version; None for any other text."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
