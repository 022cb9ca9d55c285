"""The HTTP API of PowerDNS Authoritative, version 1: zones listed, read, and changed. Bounded, sent once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from providers.backends.errors import BackendError, ChangeRefused, PartRefused, Reason
from providers.http.address_policy import AddressPolicy
from providers.http.bounded_http import BoundedHttp, Limits
from providers.http.credentials import NO_CREDENTIALS
from providers.http.errors import ProviderError, RefusedByProvider

_T = TypeVar("_T")
# Where the API is, the one who starts the server said: loopback is its usual place.
_POLICY = AddressPolicy(allow_loopback=True)
_LIMITS = Limits(seconds=30.0, max_body_bytes=512 * 1024 * 1024)


# Not taken for what it says: a part of it may do. A zone that is gone or in use: another one may do.
_REFUSALS: Mapping[int, type[BackendError]] = {
    404: ChangeRefused,
    409: ChangeRefused,
    422: PartRefused,
}


class ApiRecord(msgspec.Struct, frozen=True):
    """One record of a record set; a disabled one is kept and not served."""

    content: str
    disabled: bool = False


class ApiRecordSet(msgspec.Struct, frozen=True):
    """One record set as the API shows it."""

    name: str
    type: str
    ttl: int
    records: tuple[ApiRecord, ...] = ()


class ApiZone(msgspec.Struct, frozen=True):
    """One zone, with its record sets where it was read whole."""

    id: str
    name: str
    rrsets: tuple[ApiRecordSet, ...] = ()


class ApiChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record set to be replaced or deleted. Comments are not sent, and so stay."""

    name: str
    type: str
    changetype: str
    ttl: int | None = None
    records: tuple[ApiRecord, ...] = ()


class _OutcomeUnknown(BackendError):
    """The change left, and no answer tells what became of it."""


@dataclass(frozen=True)
class PowerDnsApi:
    """One server behind one API. The key is sent with every request, and shown nowhere."""

    url: str
    key: str = field(repr=False)
    server_id: str = "localhost"
    limits: Limits = _LIMITS

    def fetch_zones(self) -> tuple[ApiZone, ...]:
        """All zones, without their record sets. Raises BackendError."""
        return _decode(self._call("GET", "zones"), tuple[ApiZone, ...], "list of zones")

    def fetch_zone(self, zone_id: str) -> ApiZone:
        """One zone with all its record sets. Raises BackendError."""
        return _decode(self._call("GET", f"zones/{zone_id}"), ApiZone, f"zone {zone_id}")

    def change_zone(self, zone_id: str, changes: Sequence[ApiChange]) -> None:
        """Make all changes or none. Raises BackendError; its text says where nobody can tell which."""
        self._call("PATCH", f"zones/{zone_id}", msgspec.json.encode({"rrsets": changes}))

    def _call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        try:
            http = BoundedHttp(self.url, NO_CREDENTIALS, _POLICY, self.limits)
        except ProviderError as error:
            raise BackendError(f"The address of the PowerDNS API cannot be used: {error}") from error
        exchange = http.begin()
        url = http.address.joined(f"api/v1/servers/{self.server_id}/{path}")
        headers: Mapping[str, str] = {"X-API-Key": self.key, "Content-Type": "application/json"}
        try:
            with http.send(exchange, method, url, headers, body) as answer:
                if not 200 <= answer.status < 300:
                    raise answer.refusal()
                return answer.read_body().data
        except RefusedByProvider as error:
            kind = _REFUSALS.get(error.status, BackendError)
            raise kind(_explain(error, path), reason=Reason.SERVICE) from error
        except ProviderError as error:
            if method != "GET" and exchange.began_sending:
                raise _OutcomeUnknown(
                    f"{error} The change left, and may have been made: read the records again."
                ) from error
            raise BackendError(f"{error} Nothing was changed.") from error


def _decode(body: bytes, kind: type[_T], what: str) -> _T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackendError(f"The {what} of PowerDNS cannot be read: {error}. It was not used.") from error


def _explain(error: RefusedByProvider, path: str) -> str:
    text = {
        401: "The API key is not accepted.",
        403: "The API key is not accepted.",
        404: f"There is no {path.partition('/')[0].removesuffix('s')} of that name any more.",
        409: "Another writer changes the zone right now.",
        422: "PowerDNS does not take the change.",
    }.get(error.status, "")
    return f"{text} {error} Nothing was changed.".strip()
