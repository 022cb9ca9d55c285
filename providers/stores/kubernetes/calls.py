"""Single calls to a Kubernetes API: where they go, each sent once, and what a write that failed has done."""

import copy
import math
import re
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import BoundedHttp, Limits
from providers.http.credentials import Credentials
from providers.http.errors import InvalidAddress, NothingSent, OutcomeUnknown, ProviderError
from providers.http.exchange import Exchange
from providers.registries.kubernetes_object import KubernetesObject
from providers.stores.kubernetes.json_values import encode_object
from providers.stores.kubernetes.refusals import Conflict, Question, Refusal, build_error, read_refusal

_JSON: Final = "application/json"
_SENDING: Final = {"Accept": _JSON, "Content-Type": _JSON}
_SUCCESSES = (200, 201, 202)
_REQUEST_TIMEOUT, _CONFLICT = 408, 409
_IS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?").fullmatch
_MAX_LABEL_LENGTH, _MAX_NAME_LENGTH = 63, 253


class InvalidObjectName(ProviderError):
    """The text cannot name an object or a namespace of a Kubernetes API; nothing was sent."""

    code = "invalid_object_name"


class Refused(Exception):
    """An answer that is no success, on its way to the one who knows what it means."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__()
        self.refusal = refusal


class KubernetesCalls:
    """Calls to one Kubernetes API. Holds settings and no connection, so threads may share it.

    `ends_at`, on the monotonic clock, is when all of them together have to be over, if there is such a time.
    """

    def __init__(self, url: str, credentials: Credentials, policy: AddressPolicy, limits: Limits) -> None:
        self.ends_at = math.inf
        self._http = BoundedHttp(url, credentials, policy, limits, peer="Kubernetes API")
        if self._http.address.query:
            raise InvalidAddress(
                "This URL cannot be used for a Kubernetes API: it has a query.",
                hint="Write it as https://host:port, with the token in its own field.",
            )
        self.origin = self._http.address.origin
        self.limits = limits
        self.secrets = credentials.secrets()

    def within(self, seconds: float) -> "KubernetesCalls":
        """The same calls, all of which together take no longer than this from now on."""
        calls = copy.copy(self)
        calls.ends_at = min(self.ends_at, time.monotonic() + seconds)
        return calls

    def fetch(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = _JSON) -> bytes:
        """The body at a path, whole. Raises Refused, and ProviderError where no answer came."""
        place = f"{path}?{urlencode(query)}" if query else path
        return self._call(self._begin(), "GET", place, {"Accept": accept})

    def send(self, question: Question, method: str, path: str, obj: KubernetesObject) -> bytes:
        """Send one write, once; the body of the success. Raises NothingSent, Conflict, OutcomeUnknown."""
        exchange = self._begin()
        try:
            return self._call(exchange, method, path, _SENDING, encode_object(obj))
        except Refused as refused:
            raise self._build_failure(question, refused.refusal) from None
        except ProviderError as error:
            raise (outcome_unknown(error) if exchange.began_sending else not_sent(error)) from error

    def build_error(self, question: Question, refusal: Refusal) -> ProviderError:
        """The error for a refusal of this API."""
        return build_error(self.origin, question, refusal)

    def _begin(self) -> Exchange:
        exchange = self._http.begin()
        exchange.shorten(self.ends_at - time.monotonic())
        return exchange

    def _call(
        self,
        exchange: Exchange,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> bytes:
        place, _, query = path.partition("?")
        url = self._http.address.joined(place) + (f"?{query}" if query else "")
        with self._http.send(exchange, method, url, headers, body) as answer:
            if answer.status not in _SUCCESSES:
                raise Refused(read_refusal(answer))
            return answer.read_body().data

    def _build_failure(self, question: Question, refusal: Refusal) -> Conflict | NothingSent | OutcomeUnknown:
        """What a write that was answered, and not with success, has done.

        The API answers 4xx before it writes anything. 5xx, and a redirect by something in between, prove
        nothing.
        """
        reason = self.build_error(question, refusal)
        if refusal.status == _CONFLICT or refusal.is_missing_object(question):
            return Conflict(
                f"Nothing was written: {reason}",
                reason=reason,
                hint="Read what stands there now, and decide anew.",
            )
        if 400 <= refusal.status < 500 and refusal.status != _REQUEST_TIMEOUT:
            return not_sent(reason)
        return outcome_unknown(reason)


def not_sent(reason: ProviderError) -> NothingSent:
    """The error for a write that changed nothing."""
    return NothingSent(
        f"Nothing was written: {reason}",
        reason=reason,
        hint=f"Nothing changed, so it may be tried again. {reason.hint}".rstrip(),
    )


def outcome_unknown(reason: ProviderError) -> OutcomeUnknown:
    """The error for a write that may have been made."""
    return OutcomeUnknown(
        f"Whether it was written is unknown: {reason}",
        reason=reason,
        hint="Read what stands there before anything else; do not write it again unseen.",
    )


def raise_if_no_namespace(text: str) -> None:
    """Raises InvalidObjectName for what cannot be a namespace's name: it would become part of a path."""
    if len(text) > _MAX_LABEL_LENGTH or not _IS_LABEL(text):
        raise InvalidObjectName(
            f"{text[:_MAX_LABEL_LENGTH]!r} is not the name of a namespace; nothing was sent.",
            hint="At most 63 lower-case letters, digits and -, the first and the last no -.",
        )


def raise_if_no_object_name(text: str) -> None:
    """Raises InvalidObjectName for what cannot be an object's name: it would become part of a path."""
    if len(text) > _MAX_NAME_LENGTH or not all(_IS_LABEL(part) for part in text.split(".")):
        raise InvalidObjectName(
            f"{text[:_MAX_LABEL_LENGTH]!r} is not the name of an object; nothing was sent.",
            hint="At most 253 lower-case letters, digits, - and ., each part beginning and ending with a "
            "letter or digit.",
        )
