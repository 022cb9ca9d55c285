"""Form fields in the dress of the theme."""

from typing import Any

from django import forms
from django.core.validators import ProhibitNullCharactersValidator

from registry_app.admin.search_fields import as_search_field
from registry_app.admin.site import CHECKBOX_CSS, INPUT_CSS, SELECT_CSS, TEXTAREA_CSS

_TEXT_WIDGETS = (forms.TextInput, forms.NumberInput, forms.PasswordInput, forms.DateTimeInput)


def dress(form: forms.BaseForm) -> None:
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
        dress(self)


class LinesField(forms.CharField):
    """Several values, one a line; commas and spaces separate too. Empty lines do not count."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return list(value)
        text = super().to_python(value) or ""
        # The stock check looks at text only, and what comes out of here is a list.
        ProhibitNullCharactersValidator()(text)
        return list(dict.fromkeys(text.replace(",", " ").split()))

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, (list, tuple)) else value


class MomentField(forms.DateTimeField):
    """A moment in UTC, with the browser's own picker."""

    def __init__(self, **options: Any):
        widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
        super().__init__(widget=widget, **options)


class SecretField(forms.CharField):
    """A secret: it goes in and never comes back out. Left empty, what is stored stays."""

    def __init__(self, *, lines: bool = False, **options: Any):
        widget = WriteOnlyTextarea() if lines else forms.PasswordInput(attrs={"autocomplete": "new-password"})
        super().__init__(required=False, widget=widget, strip=False, **options)


class WriteOnlyTextarea(forms.Textarea):
    """A text area that never shows its value, not even after an error."""

    def format_value(self, value: Any) -> str:
        return ""
