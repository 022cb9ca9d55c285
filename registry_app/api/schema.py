"""What the OpenAPI document says of every operation beside its own words."""

from typing import Any, Literal

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from registry_app.api.problem import CONTENT_TYPE


class Problem(serializers.Serializer[Any]):
    """What happened, what is true now, what to do (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField(help_text="The three sentences as one text.")
    code = serializers.CharField(help_text="Stable; what a program looks at.")
    happened = serializers.CharField()
    now = serializers.CharField()
    todo = serializers.CharField()
    request_id = serializers.CharField(help_text="The id under which the log has it.")
    fields = serializers.DictField(  # type: ignore[assignment]  # the name of the member, not the serializer's own
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="What is wrong with which field, by dotted path.",
    )
    confirmation_text = serializers.CharField(
        required=False, help_text="With the code `confirmation_needed`: what to send as `confirmation`."
    )


class NounSchema(AutoSchema):
    """Adds the problem document as the answer of every status that is not listed."""

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        bodies["default"] = self._get_response_for_code(  # type: ignore[no-untyped-call]  # untyped there
            Problem, "default", media_types=[CONTENT_TYPE], direction=direction
        )
        return bodies
