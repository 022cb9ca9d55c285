"""The plugin protocol, the webhook's predecessor, spoken for any backend."""

from collections.abc import Mapping

import msgspec

from providers.servers.provider_application import Call, ProviderApplication
from providers.servers.wsgi_application import Answer, Refusal, Request
from providers.wire.json_codec import PLUGIN_MEDIA_TYPE


class _PropertyValues(msgspec.Struct, frozen=True):
    """The question: do two values of one provider-specific property mean the same?"""

    name: str = ""
    previous: str = ""
    current: str = ""


class PluginApplication(ProviderApplication):
    """Negotiation says nothing beside the media type; 200 is the one success of every call."""

    media_type = PLUGIN_MEDIA_TYPE
    applied_status = 200

    def routes(self) -> dict[str, Mapping[str, Call]]:
        return {**super().routes(), "/propertyvaluesequal": {"POST": self._property_values_equal}}

    def negotiated_body(self) -> bytes:
        return b""

    def _property_values_equal(self, request: Request) -> Answer:
        body = self.read_asked(request)
        try:
            asked = msgspec.json.decode(body, type=_PropertyValues)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refusal(400, "An object with name, previous and current was expected.") from error
        equals = self.backend.property_values_equal(asked.name, asked.previous, asked.current)
        return self.typed_answer(msgspec.json.encode({"equals": equals}))
