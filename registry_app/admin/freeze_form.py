"""The form of a new freeze or pin."""

import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError

from registry_app.admin.fields import LinesField, MomentField, ThemedForm
from registry_app.inventory.freeze import Window
from registry_app.models import Freeze, Owner, Provider
from registry_app.queries.weekly_window import MOST_MINUTES, WEEKDAYS

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LENGTH = re.compile(r"\A(\d{1,3}):([0-5]\d)\Z").match
_WINDOW = ("weekdays", "window_start", "window_length", "time_zone")


class LengthField(forms.CharField):
    """Hours and minutes, such as 64:00; as minutes."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        found = _LENGTH(text)
        minutes = int(found[1]) * 60 + int(found[2]) if found else 0
        if not 0 < minutes <= MOST_MINUTES:
            raise ValidationError("Give hours and minutes, such as 7:30; a week (168:00) at most.")
        return minutes


class FreezeForm(ThemedForm):
    """What is frozen or pinned, why, from when to when; and the weekly window."""

    kind = forms.ChoiceField(choices=Freeze.Kind.choices, required=False, initial=Freeze.Kind.FREEZE)
    provider = forms.ModelChoiceField(Provider.objects.all(), required=False, empty_label="All providers")
    owner = forms.ModelChoiceField(Owner.objects.all(), required=False, empty_label="All owners")
    names = LinesField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Exact names, one per line. Neither names nor suffixes: all names.",
    )
    name_suffixes = LinesField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One per line. example.org is that name and all below it, .example.org only what is below.",
    )
    reason = forms.CharField(widget=forms.Textarea(attrs={"rows": 3}))
    starts_at = MomentField(label="Starts (UTC)", required=False, help_text="Empty: now.")
    ends_at = MomentField(label="Ends (UTC)", required=False, help_text="Empty: until it is lifted.")
    window_use = forms.ChoiceField(
        label="In force",
        choices=(("", "Always"), *Freeze.WindowUse.choices),
        required=False,
        help_text="Inside: frozen every weekend, for example. Outside: changes only in the window.",
    )
    weekdays = forms.MultipleChoiceField(
        label="Window begins on",
        choices=tuple(zip(WEEKDAYS, _DAYS, strict=True)),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    window_start = forms.TimeField(
        label="Window begins at", required=False, widget=forms.TextInput(attrs={"placeholder": "16:00"})
    )
    window_length = LengthField(
        label="Window lasts",
        required=False,
        help_text="Hours and minutes: from Friday 16:00 it is 64:00 to Monday 08:00.",
    )
    time_zone = forms.CharField(
        required=False, max_length=64, initial="UTC", help_text="Of the window, such as Europe/Berlin."
    )

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.get("window_use"):
            for name in _WINDOW:
                # Midnight is a time, and every time is true.
                if name not in self.errors and not values.get(name):
                    self.add_error(name, "A weekly window needs it.")
            if "time_zone" not in self.errors and values["time_zone"] not in available_timezones():
                self.add_error("time_zone", "There is no such time zone. Europe/Berlin is one, and UTC.")
        return values

    def values(self) -> dict[str, Any]:
        """What `freeze` takes."""
        values = dict(self.cleaned_data)
        provider = values.pop("provider")
        window = _read_window(values)
        kept = {name: values[name] for name in values if name not in (*_WINDOW, "window_use", "kind")}
        kind = values["kind"] or Freeze.Kind.FREEZE
        return {**kept, "kind": kind, "provider_id": provider.pk if provider else None, "window": window}


def _read_window(values: Mapping[str, Any]) -> Window | None:
    if not values["window_use"]:
        return None
    return Window(
        in_force=values["window_use"],
        weekdays=values["weekdays"],
        start=values["window_start"].replace(second=0, microsecond=0),
        minutes=values["window_length"],
        time_zone=values["time_zone"],
    )


def describe_window(row: Freeze) -> str:
    """Such as `inside: Friday from 16:00 for 64:00 h, Europe/Berlin`; empty without a window."""
    if not row.window_use or row.window_start is None or row.window_minutes is None:
        return ""
    days = ", ".join(_DAYS[WEEKDAYS.index(each)] for each in row.window_weekdays)
    length = f"{row.window_minutes // 60}:{row.window_minutes % 60:02}"
    use, start = row.get_window_use_display(), f"{row.window_start:%H:%M}"
    return f"{use}: {days} {start}, {length} h ({row.window_time_zone})"
