"""Pages of configuration: a list, a page, and a form that registers or changes one row."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Generic

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import URLPattern

from registry_app.actor import Actor
from registry_app.admin.answer import answer_form
from registry_app.admin.fields import NAME_OF, SecretField, ThemedForm, describe_suggestions, dress, suggest
from registry_app.admin.list_page import ListPage
from registry_app.admin.site import Row
from registry_app.queries.access import may_administer
from registry_app.queries.actor import actor_of

_FORGET = "forget_"
_LONGEST_SEARCH = 255


class ConfigForm(forms.ModelForm):  # type: ignore[type-arg]  # a runtime class, not generic
    """A form over one row. A secret left empty keeps what is stored; a tick beside it forgets it."""

    sections: ClassVar[Sequence[tuple[str, Sequence[str]]]] = ()

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        secrets = [name for name, field in self.fields.items() if isinstance(field, SecretField)]
        for name in secrets:
            if self.instance.pk is None:
                continue
            label = f"Delete the stored {self.fields[name].label or name}"
            self.fields[_FORGET + name] = forms.BooleanField(label=label, required=False)
        dress(self)

    def grouped(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Titles and fields in the order a person fills them in."""
        sections = self.sections or (("", tuple(self.fields)),)
        shown = ((title, [self[name] for name in names if name in self.fields]) for title, names in sections)
        return [(title, fields) for title, fields in shown if fields]

    def values(self) -> dict[str, Any]:
        """What a new row is made of."""
        return {name: value for name, value in self.cleaned_data.items() if not self._is_kept(name, value)}

    def changes(self) -> dict[str, Any]:
        """What differs from the row as it was read."""
        wanted = self.values()
        changes = {name: wanted[name] for name in self.changed_data if name in wanted}
        for name in self.fields:
            if name.startswith(_FORGET) and self.cleaned_data[name]:
                changes.setdefault(name.removeprefix(_FORGET), "")
        return changes

    def _is_kept(self, name: str, value: Any) -> bool:
        if name.startswith(_FORGET):
            return True
        return isinstance(self.fields[name], SecretField) and not value


class ConfigPage(ListPage[Row], Generic[Row]):
    """A noun of configuration. `register`, `change` and `delete` are the mutations of the inventory;
    `find_dependents` says why a row cannot be deleted now, one sentence each."""

    form_class: ClassVar[type[ConfigForm]]
    noun: ClassVar[str]
    meaning_of_deletion: ClassVar[str] = ""
    register_template: ClassVar[str] = "dnsadmin/form.html"

    register: ClassVar[Callable[..., Any]]
    change: ClassVar[Callable[..., Any]]
    delete: ClassVar[Callable[..., None]]
    find_dependents: ClassVar[Callable[..., list[str]]]
    pages = {"register": "register/", "edit": "<int:pk>/edit/", "remove": "<int:pk>/remove/"}

    def get_urls(self) -> list[URLPattern]:
        # Rows that have no name of their own are chosen by no field: nothing searches for them.
        search = [self.build_path("search/", "search")] if self.model in NAME_OF else []
        return search + super().get_urls()

    def note_saved(self, request: HttpRequest, row: Row, values: Mapping[str, Any]) -> None:
        """Warn whoever saved a row with these values."""

    def list_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        if not may_administer(actor_of(request)):
            return []
        return [(f"Register {self.noun}", self.url_of("register"))]

    def page_links(self, request: HttpRequest, row: Row) -> list[tuple[str, str]]:
        if not may_administer(actor_of(request)):
            return []
        return [("Change", self.url_of("edit", row.pk)), ("Delete", self.url_of("remove", row.pk))]

    def page_context(self, request: HttpRequest, row: Row) -> dict[str, Any]:
        return {"row": row, "links": self.page_links(request, row), "facts": self.facts(row)}

    def facts(self, row: Row) -> list[tuple[str, object]]:
        """Label and value of what the page of a row says, in order."""
        return []

    def register_initial(self, request: HttpRequest) -> dict[str, Any]:
        """What the form of a new row begins with."""
        return dict(request.GET.items())

    def register_context(self, request: HttpRequest) -> dict[str, Any]:
        """What the page of that form shows beside it."""
        return {}

    def register_view(self, request: HttpRequest) -> HttpResponse:
        self.refuse_to_show(request, "register")
        initial = None if request.method == "POST" else self.register_initial(request)
        form = self.form_class(request.POST or None, initial=initial)

        def act(actor: Actor) -> str:
            row = self.register(actor, form.values())
            self.note_saved(request, row, form.values())
            return self.url_of("change", row.pk)

        title = f"Register {self.noun}"
        return answer_form(
            self,
            request,
            form,
            act,
            title=title,
            submit=title,
            done="Registered.",
            context=self.register_context(request),
            template=self.register_template,
        )

    def edit_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.find_row(request, pk)
        self.refuse_to_show(request, "change")
        read_at = request.POST.get("read_at") or row.updated_at.isoformat()  # type: ignore[attr-defined]  # as every configuration row
        title = f"Change {row}"
        form = self.form_class(request.POST or None, instance=row)

        def act(actor: Actor) -> str:
            changed = self.change(actor, pk, form.changes(), expected_updated_at=read_moment(read_at))
            self.note_saved(request, changed, form.changes())
            return self.url_of("change", pk)

        context = {"read_at": read_at, "back": self.url_of("change", pk)}
        return answer_form(self, request, form, act, title=title, done="Saved.", context=context)

    def search_view(self, request: HttpRequest) -> JsonResponse:
        """The names of the first rows that contain `q`, for the fields that choose one."""
        text = request.GET.get("q", "").strip().replace("\0", "")[:_LONGEST_SEARCH]
        names = suggest(self.model._default_manager.all(), NAME_OF[self.model], text)
        return JsonResponse({"names": names, "notes": describe_suggestions(self.model, names)})

    def remove_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Say what deleting means and what prevents it; delete when the form is sent."""
        self.refuse_to_show(request, "delete")
        row = self.find_row(request, pk)
        read_at = request.POST.get("read_at") or row.updated_at.isoformat()  # type: ignore[attr-defined]  # as above

        def act(actor: Actor) -> str:
            self.delete(actor, pk, expected_updated_at=read_moment(read_at))
            return self.url_of("changelist")

        context = {
            "read_at": read_at,
            "back": self.url_of("change", pk),
            "meaning": self.meaning_of_deletion,
            "dependents": self.find_dependents(row),
        }
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
        """No form for who may not send it. What is sent all the same, the mutation refuses."""
        if request.method != "POST" and not may_administer(actor_of(request)):
            raise PermissionDenied(f"Only an administrator may {verb} {self.opts.verbose_name_plural}.")


def read_moment(text: str) -> datetime | None:
    """The moment a form was read at, as the form carries it; None for what is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
