"""The webhook protocol, version 1, spoken for any backend. Knows requests and answers, no sockets."""

from collections.abc import Callable, Mapping

from providers.backends.backend import Backend
from providers.backends.errors import BackendError, ChangeImpossible
from providers.servers.authentication import RequiredCredential
from providers.servers.exchange import Answer, Request, plain_answer
from providers.wire.change_set import ChangeSet
from providers.wire.errors import TooManyItems, WireError
from providers.wire.json_codec import (
    decode_change_set_strict,
    decode_endpoints_strict,
    encode_domain_filter,
    encode_endpoints,
)
from providers.wire.media_type import WEBHOOK_MEDIA_TYPE
from providers.wire.poison import find_poison

_Call = Callable[[Request], Answer]


class Refusal(Exception):
    """A request that is not answered as asked, with the status that says so."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class WebhookApplication:
    """Strict about what it accepts: a wrong or missing `Accept` is 406, a wrong `Content-Type` 415.

    5xx is kept for what may pass (ExternalDNS tries again), 4xx for what never will (it stops).
    """

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
        self._backend = backend
        self._credential = credential
        self._most_items = most_items
        negotiate: Mapping[str, _Call] = {"GET": self._negotiate}
        self._routes: dict[str, Mapping[str, _Call]] = {
            # Both spellings are answered as they are: behind a redirect a POST would turn into a GET.
            base: negotiate,
            f"{base}/": negotiate,
            f"{base}/records": {"GET": self._records, "POST": self._apply_changes},
            f"{base}/adjustendpoints": {"POST": self._adjust_endpoints},
        }

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

    def _call_for(self, request: Request) -> _Call:
        calls = self._routes.get(request.path)
        if calls is None:
            raise Refusal(404, "There is nothing here; paths are /, /records and /adjustendpoints.")
        call = calls.get(request.method)
        if call is None:
            raise Refusal(400, f"This path takes only {' and '.join(calls)}.")
        return call

    def _negotiate(self, request: Request) -> Answer:
        _raise_if_not_accepted(request)
        return _webhook_answer(encode_domain_filter(self._backend.domain_filter()))

    def _records(self, request: Request) -> Answer:
        _raise_if_not_accepted(request)
        return _webhook_answer(encode_endpoints(self._backend.records()))

    def _adjust_endpoints(self, request: Request) -> Answer:
        _raise_if_not_accepted(request)
        _raise_if_other_content(request)
        endpoints = decode_endpoints_strict(request.body, max_items=self._most_items)
        return _webhook_answer(encode_endpoints(self._backend.adjust(endpoints)))

    def _apply_changes(self, request: Request) -> Answer:
        _raise_if_other_content(request)
        change_set = decode_change_set_strict(request.body, max_items=self._most_items)
        _raise_if_poisoned(change_set)
        if not change_set.is_empty():
            self._backend.apply(change_set)
        return Answer(204)


def _webhook_answer(body: bytes) -> Answer:
    return Answer(200, (("Content-Type", WEBHOOK_MEDIA_TYPE), ("Vary", "Content-Type")), body)


def _raise_if_poisoned(change_set: ChangeSet) -> None:
    """What is to be held must be fit for every reader. What is to go may be as odd as it is."""
    for list_name, endpoints in (("create", change_set.create), ("updateNew", change_set.update_new)):
        for position, endpoint in enumerate(endpoints):
            poison = find_poison(endpoint)
            if poison is not None:
                place = f"$.{list_name}[{position}].{poison.field}".removesuffix(".")
                raise Refusal(400, f"{place}: {poison.reason}. Nothing was applied.")


def _raise_if_not_accepted(request: Request) -> None:
    accepted = [each.strip() for each in request.headers.get("accept", "").split(",")]
    if WEBHOOK_MEDIA_TYPE not in accepted:
        raise Refusal(406, f"Only {WEBHOOK_MEDIA_TYPE} is spoken here; send it as Accept.")


def _raise_if_other_content(request: Request) -> None:
    if request.headers.get("content-type") != WEBHOOK_MEDIA_TYPE:
        raise Refusal(415, f"Only {WEBHOOK_MEDIA_TYPE} is read here; send it as Content-Type.")
