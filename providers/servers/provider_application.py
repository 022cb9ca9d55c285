"""The webhook protocol, version 1, and the plugin protocol before it, for any backend."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Protocol

import msgspec

from providers.backends.backend import Backend
from providers.backends.errors import BackendError, Reason, RefusedChange, describe
from providers.servers.wanted_endpoints import correct_wanted, find_unfit, leave_out_unfit
from providers.servers.wsgi_application import (
    MOST_BODY_BYTES,
    Answer,
    Observer,
    Refusal,
    Request,
    RequiredCredential,
    WsgiApplication,
    format_for_log,
    plain_answer,
)
from providers.wire.endpoint import Endpoint
from providers.wire.errors import TooManyItems, WireError
from providers.wire.json_codec import (
    PLUGIN_MEDIA_TYPE,
    WEBHOOK_MEDIA_TYPE,
    decode_change_set_strict,
    decode_endpoints_strict,
    encode_domain_filter,
    encode_endpoints,
)
from providers.wire.poison import safe_text

Call = Callable[[Request], Answer]

_LOG = logging.getLogger("providers.servers")
_MOST_LINES = 100


class RefusalObserver(Protocol):
    """Somebody who counts what was left out."""

    def left_out(self, kind: str, reasons: Sequence[Reason]) -> None:
        """Changes of one request (`change`), or wanted endpoints that were corrected (`endpoint`)."""
        ...


class ProviderApplication(WsgiApplication):
    """Strict about what it accepts: a wrong or missing `Accept` is 406, a wrong `Content-Type` 415.

    4xx is kept for 401, for 413, for a body that is no change set or no list of endpoints (400), and for what
    no ExternalDNS asks (another path, method or media type): it ends its process. What cannot be done of a
    change set is left out, and answered with 500. `applied_status` says that all of it was applied.
    """

    media_type: ClassVar[str]
    applied_status: ClassVar[int]

    def __init__(
        self,
        backend: Backend,
        *,
        base_path: str = "",
        credential: RequiredCredential | None = None,
        most_items: int = 200_000,
        most_body_bytes: int = MOST_BODY_BYTES,
        observers: Sequence[Observer] = (),
        refusal_observers: Sequence[RefusalObserver] = (),
    ) -> None:
        super().__init__(most_body_bytes=most_body_bytes, observers=observers)
        base = base_path.rstrip("/")
        if base and not base.startswith("/"):
            raise ValueError("A base path begins with a slash.")
        self.backend = backend
        self._credential = credential
        self._most_items = most_items
        self._refusal_observers = tuple(refusal_observers)
        # A tuple of frozen values that comes again is the same answer: it is encoded once.
        self._encoded: tuple[tuple[Endpoint, ...], bytes] = ((), encode_endpoints(()))
        self._routes = {f"{base}{path}": calls for path, calls in self.routes().items()}

    def routes(self) -> dict[str, Mapping[str, Call]]:
        """Paths below the base, each with its calls by method."""
        negotiate: Mapping[str, Call] = {"GET": self._negotiate}
        return {
            # Both spellings are answered as they are: behind a redirect a POST would turn into a GET.
            "": negotiate,
            "/": negotiate,
            "/records": {"GET": self._records, "POST": self._apply_changes},
            "/adjustendpoints": {"POST": self._adjust_endpoints},
        }

    def negotiated_body(self) -> bytes:
        """What the negotiate call says beside the media type."""
        raise NotImplementedError

    def answer(self, request: Request) -> Answer:
        """Answer one request. Whatever the backend or the body does wrong ends in a status and a sentence."""
        if self._credential is not None and not self._credential.is_carried_by(request):
            return plain_answer(
                401, "A valid credential is required.", ("WWW-Authenticate", self._credential.challenge)
            )
        try:
            return self._call_for(request)(request)
        except TooManyItems as error:
            return plain_answer(413, f"{error} Nothing was applied.")
        except WireError as error:
            return plain_answer(400, f"{error} Nothing was applied.")
        except BackendError as error:
            return plain_answer(500, str(error))

    def read_asked(self, request: Request) -> bytes:
        """The body of a question that has an answer. Raises Refusal."""
        self._raise_if_not_accepted(request)
        self._raise_if_other_content(request)
        return request.body

    def typed_answer(self, body: bytes) -> Answer:
        """200 in the protocol's media type."""
        return Answer(200, (("Content-Type", self.media_type), ("Vary", "Content-Type")), body)

    def _call_for(self, request: Request) -> Call:
        calls = self._routes.get(request.path)
        if calls is None:
            paths = ", ".join(sorted(path for path in self._routes if path))
            raise Refusal(404, f"There is nothing here; paths are {paths}.")
        call = calls.get(request.method)
        if call is None:
            raise Refusal(400, f"This path takes only {' and '.join(calls)}.")
        return call

    def _negotiate(self, request: Request) -> Answer:
        self._raise_if_not_accepted(request)
        return self.typed_answer(self.negotiated_body())

    def _records(self, request: Request) -> Answer:
        self._raise_if_not_accepted(request)
        endpoints = self.backend.records()
        known, body = self._encoded
        if endpoints is not known:
            body = encode_endpoints(endpoints)
            if isinstance(endpoints, tuple):
                self._encoded = endpoints, body
        return self.typed_answer(body)

    def _adjust_endpoints(self, request: Request) -> Answer:
        wanted = decode_endpoints_strict(self.read_asked(request), max_items=self._most_items)
        found = self.backend.find_problems(wanted)
        problems = [find_unfit(each) or problem for each, problem in zip(wanted, found, strict=True)]
        corrected = correct_wanted(wanted, problems, self.backend.adjust, self.backend.records)
        _log_refused("Cannot hold what is wanted", corrected.refused)
        self._count("endpoint", [each.error.reason for each in corrected.refused])
        return self.typed_answer(encode_endpoints(corrected.endpoints))

    def _apply_changes(self, request: Request) -> Answer:
        self._raise_if_other_content(request)
        change_set = decode_change_set_strict(request.body, max_items=self._most_items)
        fit, refused = leave_out_unfit(change_set)
        texts = []
        try:
            if not fit.is_empty():
                self.backend.apply(fit)
        except BackendError as error:
            refused += error.refused
            texts.append(str(error))
            if not error.refused:
                self._count("change", [error.reason])
        _log_refused("Left out", refused)
        self._count("change", [each.error.reason for each in refused])
        if fit is not change_set:
            texts += dict.fromkeys(str(each.error) for each in refused if each.error.reason is Reason.INVALID)
        # 5xx whatever the reason: on any 4xx an ExternalDNS ends, and with it all the others it looks after.
        return plain_answer(500, " ".join(texts)) if texts else Answer(self.applied_status)

    def _count(self, kind: str, reasons: Sequence[Reason]) -> None:
        for observer in self._refusal_observers if reasons else ():
            observer.left_out(kind, reasons)

    def _raise_if_not_accepted(self, request: Request) -> None:
        accepted = [each.strip() for each in request.headers.get("accept", "").split(",")]
        if self.media_type not in accepted:
            raise Refusal(406, f"Only {self.media_type} is spoken here; send it as Accept.")

    def _raise_if_other_content(self, request: Request) -> None:
        if request.headers.get("content-type") != self.media_type:
            raise Refusal(415, f"Only {self.media_type} is read here; send it as Content-Type.")


class WebhookApplication(ProviderApplication):
    """Negotiation gives the backend's domain filter; a change set that was applied is 204."""

    media_type = WEBHOOK_MEDIA_TYPE
    applied_status = 204

    def negotiated_body(self) -> bytes:
        return encode_domain_filter(self.backend.domain_filter())


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


def _log_refused(what: str, refused: Sequence[RefusedChange]) -> None:
    """One line for each change that was left out or endpoint that can never be held, with the reason."""
    for each in refused[:_MOST_LINES]:
        name, text = safe_text(describe(each.key)), format_for_log(str(each.error))
        _LOG.warning("%s: %s (%s): %s", what, name, each.error.reason, text)
    if len(refused) > _MOST_LINES:
        _LOG.warning("%s: and %d more.", what, len(refused) - _MOST_LINES)
