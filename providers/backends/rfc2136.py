"""Name servers that take dynamic updates (RFC 2136), such as BIND and Knot. Zones are read by AXFR.

Every change states what must be there before it: a create that nothing is, an update and a delete that
exactly what was just read. As few UPDATE messages as their length allows hold the changes of a zone, a
record and its claim always in one; each is applied as a whole or not at all. Where the server refuses one,
its parts are tried apart. TTLs are the one thing the protocol cannot ask for.
"""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import dns.exception
import dns.name
import dns.rcode
import dns.rdataset
import dns.update

from providers.backends.backend import Backend, BackendOptions
from providers.backends.errors import BackendError, ChangeRefused, Outcome, PartRefused, Reason
from providers.backends.name_server import NameServer, NoAnswer, fetch_tsig_key
from providers.backends.single_change import find_closest_zone
from providers.backends.zone import PlacedChange, Zone
from providers.backends.zone_changes import PlacedGroup, ZoneBackend, ZoneChanges
from providers.backends.zone_value import format_name
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint, EndpointKey

_LONGEST_MESSAGE = 60_000
_CONFLICTS = {dns.rcode.YXDOMAIN, dns.rcode.YXRRSET, dns.rcode.NXRRSET, dns.rcode.NXDOMAIN}


class Rfc2136Backend(ZoneBackend[dns.name.Name]):
    """Several zones of one name server. Raises BackendError at once for a zone name that is none."""

    def __init__(
        self,
        server: NameServer,
        zones: Sequence[str],
        *,
        domain_filter: DomainFilter | None = None,
        default_ttl: int = 300,
        encryption_keys: Sequence[bytes] = (),
    ) -> None:
        if not zones:
            raise BackendError("No zone was named; name each one that is to be served.")
        try:
            names = {canonical_name(zone) for zone in zones}
        except InvalidName as error:
            raise BackendError(f"A zone's name cannot exist: {error.reason}.") from error
        super().__init__(domain_filter, encryption_keys)
        self._server = server
        self._origins = {name: dns.name.from_text(name) for name in sorted(names)}
        self._default_ttl = default_ttl

    def records(self) -> Sequence[Endpoint]:
        return [
            endpoint
            for origin in self._origins.values()
            for endpoint in self._fetch(origin).endpoints.values()
            if self._given_filter is None or self._given_filter.matches(endpoint.dns_name)
        ]

    def apply(self, change_set: ChangeSet) -> None:
        outcome = Outcome()
        changes = ZoneChanges[dns.name.Name](
            lambda key: find_closest_zone(key, self._origins, self._given_filter),
            self._fetch,
            self._old_values,
        )
        # All zones are read and checked before the first one is written.
        for origin, groups in changes.place(change_set, outcome).items():
            outcome.send(_split_groups(groups), partial(self._update, origin))
        outcome.raise_if_refused()

    def _fetch_zones(self) -> Mapping[str, dns.name.Name]:
        return self._origins

    def _fetch(self, origin: dns.name.Name) -> Zone:
        return Zone(self._server.fetch_zone(origin), self._default_ttl)

    def _update(self, origin: dns.name.Name, groups: Sequence[PlacedGroup]) -> None:
        """Have changes made, all or none. Raises PartRefused where some of them may do alone."""
        changes = [change for group in groups for change in group.changes]
        if not changes:
            return
        message = _build_update(origin, changes)
        self._server.sign(message)
        try:
            message.to_wire(max_size=_LONGEST_MESSAGE)
        except dns.exception.TooBig as error:
            raise PartRefused(
                f"{len(changes)} changes of {format_name(origin)} do not fit in one update message. "
                "Nothing of them was applied.",
                reason=Reason.CANNOT_HOLD,
            ) from error
        self._send(origin, message)

    def _send(self, origin: dns.name.Name, message: dns.update.UpdateMessage) -> None:
        zone = format_name(origin)
        try:
            answer = self._server.exchange(message)
        except NoAnswer as error:
            raise BackendError(
                f"{error} The update of {zone} left, and may have been made: read the records again."
            ) from error
        code = answer.rcode()
        if code == dns.rcode.NOERROR:
            return
        text = dns.rcode.to_text(code)
        if code in _CONFLICTS:
            raise PartRefused(
                f"Another writer changed {zone} at the same time ({text}). Nothing of it was applied; "
                "read the records again."
            )
        # Refused may mean this key, or one record of many that the server or its policy does not take.
        kind = PartRefused if code == dns.rcode.REFUSED else ChangeRefused
        raise kind(
            f"{self._server} refused the update of {zone}: {text}. Nothing of it was applied. It must allow "
            "this key, or this address, to update the zone, and be primary for it.",
            reason=Reason.SERVICE,
        )


def _build_update(origin: dns.name.Name, changes: Sequence[PlacedChange]) -> dns.update.UpdateMessage:
    """One message for changes of a zone. Its prerequisites are what was just read."""
    message = dns.update.UpdateMessage(origin)
    changed: set[EndpointKey] = set()
    for change in changes:
        # Of a record set that is deleted and made anew, the first change gives the prerequisite.
        if change.key not in changed:
            changed.add(change.key)
            if change.held is None:
                message.absent(change.name, change.key.record_type)
            else:
                # A TTL of zero, as RFC 2136 wants it in a prerequisite.
                message.present(change.name, dns.rdataset.from_rdata_list(0, list(change.held)))
        if change.held is not None:
            message.delete(change.name, change.key.record_type)
        if change.rdataset is not None:
            message.add(change.name, change.rdataset)
    return message


def _split_groups(groups: Sequence[PlacedGroup]) -> list[list[PlacedGroup]]:
    """Groups in batches that should fit in one message each. Names count in full here and are compressed
    there; what is too long all the same is sent apart."""
    batches: list[list[PlacedGroup]] = []
    size = 0
    for group in groups:
        length = sum(map(_guess_length, group.changes))
        size += length
        if not batches or size > _LONGEST_MESSAGE:
            batches.append([])
            size = length
        batches[-1].append(group)
    return batches


def _guess_length(change: PlacedChange) -> int:
    head = len(change.name.to_digestable()) + 10
    rdatas = [rdata for rdataset in (change.held, change.rdataset) for rdata in rdataset or ()]
    return sum(head + len(rdata.to_digestable()) for rdata in rdatas) + 2 * head


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the name server is, and which of its zones are served."""
    parser.add_argument("--server", default="127.0.0.1", metavar="HOST", help="the primary (%(default)s)")
    parser.add_argument("--server-port", type=int, default=53, metavar="PORT", help="its port (%(default)s)")
    parser.add_argument(
        "--zone", action="append", required=True, metavar="DOMAIN", help="a zone to serve; repeatable"
    )
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="a key as tsig-keygen writes it")
    parser.add_argument(
        "--default-ttl", type=int, default=300, metavar="SECONDS", help="where none is wanted (%(default)s)"
    )
    parser.add_argument(
        "--deadline", type=float, default=30.0, metavar="SECONDS", help="of one exchange (%(default)s)"
    )


def build(options: BackendOptions) -> Backend:
    """The backend. Raises BackendError for a key or a zone that cannot be used."""
    server = NameServer(
        options.own.server,
        options.own.server_port,
        key=fetch_tsig_key(options.own.key_file, options.environment),
        seconds=options.own.deadline,
    )
    return Rfc2136Backend(
        server,
        options.own.zone,
        domain_filter=options.domain_filter,
        encryption_keys=options.encryption_keys,
        default_ttl=options.own.default_ttl,
    )
