"""The form of one declared endpoint."""

from typing import Any

from django import forms
from django.core.validators import ProhibitNullCharactersValidator

from providers.wire.endpoint import KNOWN_RECORD_TYPES
from registry_app.admin.fields import ThemedForm
from registry_app.models import DeclaredEndpoint

_MAX_TTL = 2**31 - 1


class WholeLinesField(forms.CharField):
    """Several texts, one a line, spaces inside them kept."""

    widget = forms.Textarea

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        ProhibitNullCharactersValidator()(text)
        return [line.strip() for line in text.splitlines() if line.strip()]

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, (list, tuple)) else value


class DeclaredEndpointForm(ThemedForm):
    name = forms.CharField(max_length=1024)
    record_type = forms.ChoiceField(choices=[(kind, kind) for kind in KNOWN_RECORD_TYPES])
    targets = WholeLinesField(help_text="One a line.")
    ttl = forms.IntegerField(
        label="TTL (seconds)", min_value=0, max_value=_MAX_TTL, initial=0, help_text="0: not configured."
    )
    set_identifier = forms.CharField(max_length=255, required=False)
    provider_specific = WholeLinesField(required=False, help_text="One a line: name=value.")
    resource = forms.CharField(max_length=500, required=False, help_text="The label `resource` of its claim.")

    def clean_provider_specific(self) -> list[list[str]]:
        lines: list[str] = self.cleaned_data["provider_specific"]
        if any("=" not in line for line in lines):
            raise forms.ValidationError("Each line is name=value.")
        return [list(line.split("=", 1)) for line in lines]

    def values(self) -> dict[str, Any]:
        """As the mutation takes them."""
        return dict(self.cleaned_data)

    @staticmethod
    def initial_of(row: DeclaredEndpoint) -> dict[str, Any]:
        """What the form of a declared endpoint begins with."""
        return {
            "name": row.name,
            "record_type": row.record_type,
            "targets": row.targets,
            "ttl": row.ttl,
            "set_identifier": row.set_identifier,
            "provider_specific": ["=".join(pair) for pair in row.provider_specific],
            "resource": row.resource,
        }
