"""Form fields in the theme, and fields that choose a row by its name."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from registry_app.admin.site import CHECKBOX_CSS, INPUT_CSS, SELECT_CSS, TEXTAREA_CSS
from registry_app.models import Cluster, GuardEndpoint, Instance, Owner, Provider, RegistryProfile
from registry_app.queries.owner import find_look_alikes

MOST_SUGGESTED = 50
_LONGEST_ID = 18
_DASHES = "---------"  # Django's own label of no choice
# The column that people know a row by.
NAME_OF: dict[type[Model], str] = {
    Owner: "owner_id",
    Provider: "name",
    Cluster: "name",
    RegistryProfile: "name",
    Instance: "label",  # of `list_labelled_instances`
    GuardEndpoint: "slug",
    Group: "name",
}
_TEXT_WIDGETS = (forms.TextInput, forms.NumberInput, forms.PasswordInput, forms.DateTimeInput)


class _Typed(str):
    """A text that a person typed, not the initial primary key of a form."""

    __slots__ = ()


class SearchInput(forms.TextInput):
    """A text field with a list of suggestions, searched at `address` while somebody types."""

    def __init__(self, rows: "QuerySet[Any]", column: str) -> None:
        super().__init__(attrs={"autocomplete": "off", "spellcheck": "false"})
        self.rows, self.column = rows, column

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        list_id = f"{(attrs or {}).get('id', f'id_{name}')}_suggestions"
        shown = {**(attrs or {}), "list": list_id}
        if address := build_search_address(self.rows.model):
            shown["data-search"] = address
        field = super().render(name, value, shown, renderer)
        names = suggest(self.rows, self.column)
        return format_html("{}{}", field, build_suggestions(list_id, self.rows.model, names))


class SearchField(forms.ModelChoiceField):  # type: ignore[type-arg]  # a runtime class, not generic
    """One row by its name. A form may begin with, and a program may send, its primary key instead."""

    def __init__(self, queryset: "QuerySet[Any]", *, nothing: str = "", **options: Any) -> None:
        self.rows = queryset
        self.column = NAME_OF[queryset.model]
        super().__init__(queryset, widget=SearchInput(queryset, self.column), **options)
        if nothing:
            self.widget.attrs["placeholder"] = nothing

    def bound_data(self, data: Any, initial: Any) -> Any:
        return _Typed(data) if isinstance(data, str) else data

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, _Typed) or value is None:
            return value
        if isinstance(value, Model):
            return str(getattr(value, self.column))
        row = _find(self.rows, self.column, [str(value)]).get(str(value))
        return str(getattr(row, self.column)) if row is not None else str(value)

    def to_python(self, value: Any) -> Any:
        if value in self.empty_values:
            return None
        text = str(value)
        ProhibitNullCharactersValidator()(text)
        row = _find(self.rows, self.column, [text]).get(text)
        if row is None:
            raise ValidationError(build_unknown_text(self.rows, self.column, text))
        return row

    def has_changed(self, initial: Any, data: Any) -> bool:
        return str(self.prepare_value(initial) or "") != str(data or "")


class SearchManyField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # as above
    """Any number of rows by their names, one a line."""

    def __init__(self, queryset: "QuerySet[Any]", **options: Any) -> None:
        self.rows = queryset
        self.column = NAME_OF[queryset.model]
        super().__init__(queryset, widget=_Lines(attrs={"rows": 4, "spellcheck": "false"}), **options)

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, str) or value is None:
            return value
        texts = [str(getattr(row, self.column)) if isinstance(row, Model) else str(row) for row in value]
        found = _find(self.rows, self.column, texts)
        return "\n".join(str(getattr(found[text], self.column)) if text in found else text for text in texts)

    def clean(self, value: Any) -> Any:
        texts = [line.rstrip("\r") for line in str(value or "").split("\n") if line.strip()]
        for text in texts:
            ProhibitNullCharactersValidator()(text)
        if not texts:
            return super().clean([])
        found = _find(self.rows, self.column, texts)
        unknown = [text for text in texts if text not in found]
        if unknown:
            raise ValidationError(
                [build_unknown_text(self.rows, self.column, text) for text in unknown[:MOST_SUGGESTED]]
            )
        return self.rows.filter(pk__in=[row.pk for row in found.values()])

    def has_changed(self, initial: Any, data: Any) -> bool:
        before = str(self.prepare_value(initial) or "").split("\n")
        return set(filter(None, before)) != {
            line.rstrip("\r") for line in str(data or "").split("\n") if line
        }


class _Lines(forms.Textarea):
    """Also takes what a program sends as several values of one name."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        values = data.getlist(name) if hasattr(data, "getlist") else data.get(name)
        return "\n".join(map(str, values)) if isinstance(values, list) else values


def as_search_field(field: forms.Field) -> forms.Field:
    """A search field for a choice among rows of which there can be many; any other field as it is."""
    if not isinstance(field, forms.ModelChoiceField) or isinstance(field, SearchField | SearchManyField):
        return field
    if field.queryset is None or field.queryset.model not in NAME_OF:
        return field
    options: dict[str, Any] = {
        "required": field.required,
        "label": field.label,
        "help_text": field.help_text,
        "initial": field.initial,
    }
    if isinstance(field, forms.ModelMultipleChoiceField):
        return SearchManyField(field.queryset, **options)
    is_dashes = field.empty_label == _DASHES
    return SearchField(field.queryset, nothing="" if is_dashes else str(field.empty_label or ""), **options)


def suggest(rows: "QuerySet[Any]", column: str, containing: str = "") -> list[str]:
    """The names of the first rows, or of the first that contain a text."""
    found = rows.filter(**{f"{column}__icontains": containing}) if containing else rows
    return list(found.order_by(column).values_list(column, flat=True)[:MOST_SUGGESTED])


def describe_suggestions(model: type[Model], names: Iterable[str]) -> dict[str, str]:
    """A note for each name that looks like another one."""
    if model is not Owner:
        return {}
    found = find_look_alikes(names)
    return {name: f"looks like {original}, is not registered" for name, original in found.items()}


def build_suggestions(list_id: str, model: type[Model], names: Sequence[str]) -> SafeString:
    """The list of suggestions that a text field names."""
    notes = describe_suggestions(model, names)
    pairs = ((name, notes.get(name, "")) for name in names)
    options = format_html_join("", '<option value="{}">{}</option>', pairs)
    return format_html('<datalist id="{}">{}</datalist>', list_id, options)


def build_search_address(model: type[Model]) -> str:
    """The address that returns suggestions; empty for rows without a list of ours."""
    if model is Group:
        return ""
    return reverse(f"admin:registry_app_{model._meta.model_name}_search")


def build_unknown_text(rows: "QuerySet[Any]", column: str, text: str) -> str:
    """The error for an unknown name, with names like it."""
    noun = rows.model._meta.verbose_name
    shown = text[:100]
    close = suggest(rows, column, text.strip())[:5] if text.strip() else []
    return f"There is no {noun} {shown!r}." + (f" Did you mean: {', '.join(close)}?" if close else "")


def _find(rows: "QuerySet[Any]", column: str, texts: Iterable[str]) -> dict[str, Any]:
    """The rows of these names; a number that is nobody's name is a primary key."""
    wanted = list(texts)
    found = {str(getattr(row, column)): row for row in rows.filter(**{f"{column}__in": wanted})}
    ids = [text for text in wanted if text not in found and is_id(text)]
    if ids:
        by_id = rows.in_bulk([int(text) for text in ids])
        found.update((text, by_id[int(text)]) for text in ids if int(text) in by_id)
    return found


def is_id(text: str) -> bool:
    """Whether a text can be a primary key."""
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_ID


def apply_theme(form: forms.BaseForm) -> None:
    """Give every widget of `form` its classes, and tie its help and errors to it for screen readers."""
    for name, chosen in form.fields.items():
        form.fields[name] = as_search_field(chosen)
    for name, field in form.fields.items():
        css = _css_of(field.widget)
        if css:
            field.widget.attrs["class"] = css
        if isinstance(field.widget, forms.Textarea) and field.widget.attrs.get("rows") == "10":
            field.widget.attrs["rows"] = "4"
        if field.help_text:
            field.widget.attrs.setdefault("aria-describedby", f"id_{name}_help")


def _css_of(widget: Any) -> str:
    if isinstance(widget, forms.CheckboxInput):
        return CHECKBOX_CSS
    if isinstance(widget, forms.RadioSelect | forms.CheckboxSelectMultiple):
        return "dn-choices"
    if isinstance(widget, forms.SelectMultiple):
        return INPUT_CSS
    if isinstance(widget, forms.Select):
        return SELECT_CSS
    if isinstance(widget, forms.Textarea):
        return TEXTAREA_CSS
    return INPUT_CSS if isinstance(widget, _TEXT_WIDGETS) else ""


class ThemedForm(forms.Form):
    """A plain form that looks like the rest."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        apply_theme(self)


class LinesField(forms.CharField):
    """Several values, one a line; commas and spaces separate too. Empty lines do not count."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return list(value)
        text = super().to_python(value) or ""
        # The stock check looks at text only, and what comes out of here is a list.
        ProhibitNullCharactersValidator()(text)
        return self.split(text)

    def split(self, text: str) -> list[str]:
        return list(dict.fromkeys(text.replace(",", " ").split()))

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, (list, tuple)) else value


class MomentField(forms.DateTimeField):
    """A moment in UTC, with the browser's own picker."""

    def __init__(self, **options: Any):
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
        super().__init__(widget=widget, **options)


class SecretField(forms.CharField):
    """A secret, which is never shown. Left empty, the stored one stays."""

    def __init__(self, *, lines: bool = False, **options: Any):
        widget = WriteOnlyTextarea() if lines else forms.PasswordInput(attrs={"autocomplete": "new-password"})
        super().__init__(required=False, widget=widget, strip=False, **options)


class WriteOnlyTextarea(forms.Textarea):
    """A text area that never shows its value, not even after an error."""

    def format_value(self, value: Any) -> str:
        return ""


class AddressInput(forms.TextInput):
    """An address whose `user:password@` and `?query` are not written back into the page."""

    def format_value(self, value: Any) -> str | None:
        text: str | None = super().format_value(value)
        if text is None:
            return None
        text = text.partition("?")[0]
        if "@" not in text:
            return text
        scheme, separator, rest = text.rpartition("//")
        return scheme + separator + rest.rpartition("@")[2]
