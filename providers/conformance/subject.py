"""The provider that is asked: raw calls, each bounded and sent once, whatever comes back."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import DEFAULT_LIMITS, BoundedHttp, Limits
from providers.http.credentials import NO_CREDENTIALS, Credentials
from providers.http.errors import ProviderError
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from providers.wire.errors import WireError
from providers.wire.json_codec import (
    PLUGIN_MEDIA_TYPE,
    WEBHOOK_MEDIA_TYPE,
    decode_records,
    encode_change_set,
    encode_endpoints,
)


@dataclass(frozen=True)
class Said:
    """One answer. `content_type` is safe to show; `body` is empty where only the status counts.
    `varies_by_type`: its Vary header names Content-Type."""

    status: int
    content_type: str
    body: bytes
    seconds: float
    varies_by_type: bool = False

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Subject:
    """One provider at `url`, speaking `webhook` or `plugin`. Every call raises ProviderError."""

    def __init__(
        self,
        url: str,
        *,
        protocol: str = "webhook",
        policy: AddressPolicy,
        credentials: Credentials = NO_CREDENTIALS,
        limits: Limits = DEFAULT_LIMITS,
        capitalized_changes: bool = False,
    ) -> None:
        self._http = BoundedHttp(url, credentials, policy, limits)
        self.protocol = protocol
        self.media_type = PLUGIN_MEDIA_TYPE if protocol == "plugin" else WEBHOOK_MEDIA_TYPE
        self.limits = limits
        self.capitalized_changes = capitalized_changes

    @property
    def origin(self) -> str:
        """Where it is, without a login or a query."""
        return str(self._http.address)

    def call(
        self,
        method: str,
        segment: str = "",
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Said:
        """One request to the base (no segment) or below it."""
        address = self._http.address
        url = address.joined(segment) if segment else address.base_url
        exchange, started = self._http.begin(), time.monotonic()
        given = {"Accept": self.media_type} if headers is None else headers
        with self._http.send(exchange, method, url, given, body) as answer:
            told = answer.read_body().data
            seconds, varies = time.monotonic() - started, answer.varies_by("Content-Type")
            return Said(answer.status, answer.shown_content_type, told, seconds, varies)

    def fetch_endpoints(self) -> tuple[Endpoint, ...]:
        """All endpoints that can be read. Raises ProviderError, or WireError where the body as a whole is
        not what the protocol says."""
        said = self.call("GET", "records")
        if said.status != 200:
            raise WireError(f"GET /records answered {said.status}")
        return tuple(decode_records(said.body, max_items=self.limits.max_items).endpoints)

    def adjust(self, endpoints: Sequence[Endpoint]) -> Said:
        """AdjustEndpoints, which changes nothing."""
        return self.call(
            "POST", "adjustendpoints", body=encode_endpoints(endpoints), headers=self.content_headers()
        )

    def apply(self, change_set: ChangeSet) -> Said:
        """ApplyChanges, sent once."""
        body = encode_change_set(change_set, capitalized_keys=self.capitalized_changes)
        return self.call("POST", "records", body=body, headers={"Content-Type": self.media_type})

    def content_headers(self) -> dict[str, str]:
        """What a request with a body and an answer carries."""
        return {"Accept": self.media_type, "Content-Type": self.media_type}


# What any call may end in that is the provider's doing, not ours.
Unanswered = (ProviderError, WireError)
