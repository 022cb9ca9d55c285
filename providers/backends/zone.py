"""One zone of a zone file: what it holds, what a change would make of it, and its text. Touches no disk."""

import io
from collections.abc import Iterable, Iterator

import dns.exception
import dns.name
import dns.rdataset
import dns.rdatatype
import dns.ttl
import dns.zone
import msgspec
from dns.rdtypes.ANY.SOA import SOA

from providers.backends.errors import BackendError, ChangeImpossible
from providers.backends.single_change import key_of
from providers.backends.zone_value import (
    build_endpoint,
    format_name,
    parse_name,
    served_rdatasets,
)
from providers.wire.endpoint import Endpoint, EndpointKey

_FALLBACK_TTL = 300
# $INCLUDE would read other files, $GENERATE would make any number of records out of one line.
_ALLOWED_DIRECTIVES = ("$ORIGIN", "$TTL")


class PlacedChange(msgspec.Struct, frozen=True):
    """A change that was found fit: the rdataset that is there (None: nothing) and the one to put in its
    place (None: remove)."""

    key: EndpointKey
    name: dns.name.Name
    held: dns.rdataset.Rdataset | None
    rdataset: dns.rdataset.Rdataset | None

    @property
    def is_needed(self) -> bool:
        """False where it would change nothing."""
        if self.held is None or self.rdataset is None:
            return self.held is not self.rdataset
        return self.held != self.rdataset or self.held.ttl != self.rdataset.ttl


class Zone:
    """A zone in memory. Not thread-safe: its backend holds the lock."""

    def __init__(self, zone: dns.zone.Zone, default_ttl: int) -> None:
        if zone.origin is None or zone.get_rdataset(zone.origin, dns.rdatatype.SOA) is None:
            raise BackendError("The zone has no SOA record at its origin; add one, or set $ORIGIN right.")
        self._zone = zone
        self.origin: dns.name.Name = zone.origin
        self.domain = format_name(zone.origin)
        self.default_ttl = default_ttl
        self.endpoints: dict[EndpointKey, Endpoint] = {}
        for name, node in zone.nodes.items():
            for rdataset in served_rdatasets(node.rdatasets):
                endpoint = build_endpoint(name, rdataset)
                self.endpoints[_plain_key(endpoint)] = endpoint

    def find_rdataset(self, name: dns.name.Name, record_type: str) -> dns.rdataset.Rdataset | None:
        """What is at a name under a type."""
        return self._zone.get_rdataset(name, record_type)

    def keys_at(self, name: str) -> Iterator[EndpointKey]:
        """What is at a name, served or not."""
        node = self._zone.get_node(parse_name(name))
        for rdataset in node.rdatasets if node else ():
            yield EndpointKey(name, dns.rdatatype.to_text(rdataset.rdtype), "")

    def make(self, changes: Iterable[PlacedChange]) -> None:
        """Make changes that a draft of this zone gave, and count the zone's serial up."""
        for change in changes:
            if change.rdataset is None:
                self._zone.delete_rdataset(change.name, change.key.record_type)
                self.endpoints.pop(change.key, None)
            else:
                self._zone.replace_rdataset(change.name, change.rdataset)
                self.endpoints[change.key] = build_endpoint(change.name, change.rdataset)
        self._bump_serial()

    def text(self) -> bytes:
        """The whole zone as a master file, in canonical order."""
        out = io.BytesIO()
        out.write(f"$ORIGIN {self.origin.to_text()}\n$TTL {self.default_ttl}\n".encode())
        self._zone.to_file(out, sorted=True, relativize=False)
        return out.getvalue()

    def _bump_serial(self) -> None:
        rdataset = self._zone.find_rdataset(self.origin, dns.rdatatype.SOA)
        soa = rdataset[0]
        if not isinstance(soa, SOA):
            raise BackendError(f"The SOA record of {self.domain} cannot be read.")
        serial = (soa.serial + 1) % 2**32 or 1
        self._zone.replace_rdataset(
            self.origin, dns.rdataset.from_rdata(rdataset.ttl, soa.replace(serial=serial))
        )


def parse_zone(text: str, fallback_origin: str) -> Zone:
    """The zone in a master file. `fallback_origin` counts if the file names no `$ORIGIN` before its records.

    Raises BackendError for a text that is not a zone.
    """
    try:
        zone = _parse(text, None) if "$ORIGIN" in text else _parse(text, fallback_origin)
    except dns.zone.UnknownOrigin:
        zone = _parse(text, fallback_origin)
    return Zone(zone, _parse_default_ttl(text))


def make_zone_text(domain: str, name_server: str) -> str:
    """A new, empty zone: its SOA and one name server."""
    return (
        f"$ORIGIN {domain}.\n$TTL {_FALLBACK_TTL}\n"
        f"@ IN SOA {name_server}. hostmaster.{domain}. 1 7200 900 1209600 {_FALLBACK_TTL}\n"
        f"@ IN NS {name_server}.\n"
    )


def _parse(text: str, origin: str | None) -> dns.zone.Zone:
    try:
        return dns.zone.from_text(
            text,
            origin=origin,
            filename="line",
            relativize=False,
            check_origin=False,
            allow_include=False,
            allow_directives=_ALLOWED_DIRECTIVES,
        )
    except dns.zone.UnknownOrigin:
        if origin is None:
            raise
        raise BackendError(f"{origin} is not a zone's name; start the file with $ORIGIN.") from None
    except (dns.exception.DNSException, ValueError) as error:
        raise BackendError(f"Not a zone in master-file syntax: {error}") from error


def _parse_default_ttl(text: str) -> int:
    for line in text.splitlines():
        if line.upper().startswith("$TTL"):
            words = line.split()
            try:
                return dns.ttl.from_text(words[1]) if len(words) > 1 else _FALLBACK_TTL
            except dns.exception.DNSException as error:
                raise BackendError(f"Not a TTL: {line[:80]!r}") from error
    return _FALLBACK_TTL


def _plain_key(endpoint: Endpoint) -> EndpointKey:
    """The identity of an endpoint read from a zone: its name is canonical already, whatever it looks like."""
    try:
        return key_of(endpoint)
    except ChangeImpossible:
        # An odd name, such as one with an escaped blank: shown as it is, and no request can address it.
        return EndpointKey(endpoint.dns_name, endpoint.record_type, "")
