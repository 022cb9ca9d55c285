"""What both protocols have in common, spoken for any backend. Knows requests and answers, no sockets."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from providers.backends.backend import Backend
from providers.backends.errors import BackendError, ChangeImpossible
from providers.servers.authentication import RequiredCredential
from providers.servers.exchange import Answer, Request, plain_answer
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.errors import TooManyItems, WireError
from providers.wire.json_codec import (
    decode_change_set_strict,
    decode_endpoints_strict,
    encode_endpoints,
)
from providers.wire.poison import find_poison

Call = Callable[[Request], Answer]


class Refusal(Exception):
    """A request that is not answered as asked, with the status that says so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class ProviderApplication:
    """Strict about what it accepts: a wrong or missing `Accept` is 406, a wrong `Content-Type` 415.

    5xx is kept for what may pass (ExternalDNS tries again), 4xx for what never will (it stops).
    `applied_status` is what tells a client that a change set was applied.
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
    ) -> None:
        base = base_path.rstrip("/")
        if base and not base.startswith("/"):
            raise ValueError("A base path begins with a slash.")
        self.backend = backend
        self._credential = credential
        self._most_items = most_items
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
        except Refusal as refusal:
            return plain_answer(refusal.status, str(refusal))
        except TooManyItems as error:
            return plain_answer(413, f"{error} Nothing was applied.")
        except WireError as error:
            return plain_answer(400, f"{error} Nothing was applied.")
        except ChangeImpossible as error:
            return plain_answer(400, str(error))
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
        endpoints = decode_endpoints_strict(self.read_asked(request), max_items=self._most_items)
        return self.typed_answer(encode_endpoints(self.backend.adjust(endpoints)))

    def _apply_changes(self, request: Request) -> Answer:
        self._raise_if_other_content(request)
        change_set = decode_change_set_strict(request.body, max_items=self._most_items)
        _raise_if_poisoned(change_set)
        if not change_set.is_empty():
            self.backend.apply(change_set)
        return Answer(self.applied_status)

    def _raise_if_not_accepted(self, request: Request) -> None:
        accepted = [each.strip() for each in request.headers.get("accept", "").split(",")]
        if self.media_type not in accepted:
            raise Refusal(406, f"Only {self.media_type} is spoken here; send it as Accept.")

    def _raise_if_other_content(self, request: Request) -> None:
        if request.headers.get("content-type") != self.media_type:
            raise Refusal(415, f"Only {self.media_type} is read here; send it as Content-Type.")


def _raise_if_poisoned(change_set: ChangeSet) -> None:
    """What is to be held must be fit for every reader. What is to go may be as odd as it is."""
    for list_name, endpoints in (("create", change_set.create), ("updateNew", change_set.update_new)):
        for position, endpoint in enumerate(endpoints):
            poison = find_poison(endpoint)
            if poison is not None:
                place = f"$.{list_name}[{position}].{poison.field}".removesuffix(".")
                raise Refusal(400, f"{place}: {poison.reason}. Nothing was applied.")
