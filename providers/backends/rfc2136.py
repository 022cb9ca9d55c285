"""Name servers that take dynamic updates (RFC 2136), such as BIND and Knot. Zones are read by AXFR.

Every change says what must stand there before it: a create that nothing does, an update and a delete that
exactly the old value does. One UPDATE message holds all changes of a zone, a record and its claim together,
and is applied as a whole or not at all; TTLs are the one thing the protocol cannot ask for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import dns.exception
import dns.name
import dns.rcode
import dns.update

from providers.backends.backend import Capabilities
from providers.backends.closest_zone import find_closest_zone
from providers.backends.errors import BackendError, ChangeImpossible, ChangeRefused
from providers.backends.single_change import SingleChange, single_changes
from providers.backends.zone import Zone
from providers.backends.zone_transfer import NameServer, NoAnswer
from providers.backends.zone_value import adjust_where_possible, build_rdataset, format_name, parse_name
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.change_set import ChangeSet
from providers.wire.domain_filter import DomainFilter
from providers.wire.endpoint import Endpoint

_LONGEST_MESSAGE = 60_000
_CONFLICTS = {dns.rcode.YXDOMAIN, dns.rcode.YXRRSET, dns.rcode.NXRRSET, dns.rcode.NXDOMAIN}


@dataclass(frozen=True)
class _ZoneUpdate:
    """What one zone is asked to do."""

    origin: dns.name.Name
    message: dns.update.UpdateMessage
    changes: Sequence[SingleChange]


class Rfc2136Backend:
    """Several zones of one name server. Raises BackendError at once for a zone name that is none."""

    def __init__(
        self,
        server: NameServer,
        zones: Sequence[str],
        *,
        domain_filter: DomainFilter | None = None,
        default_ttl: int = 300,
    ) -> None:
        if not zones:
            raise BackendError("No zone was named; name each one that is to be served.")
        try:
            names = {canonical_name(zone) for zone in zones}
        except InvalidName as error:
            raise BackendError(f"A zone's name cannot exist: {error.reason}.") from error
        self._server = server
        self._origins = {name: dns.name.from_text(name) for name in sorted(names)}
        self._given_filter = domain_filter
        self._default_ttl = default_ttl

    def records(self) -> Sequence[Endpoint]:
        return [
            endpoint
            for origin in self._origins.values()
            for endpoint in self._fetch(origin).endpoints.values()
            if self._given_filter is None or self._given_filter.matches(endpoint.dns_name)
        ]

    def apply(self, change_set: ChangeSet) -> None:
        by_zone = self._changes_by_zone(single_changes(change_set))
        # All zones are read and checked before the first one is written.
        updates = [self._build_update(origin, changes) for origin, changes in by_zone.items()]
        for place, update in enumerate(updates):
            self._send(update, applied=[each.origin for each in updates[:place]])

    def adjust(self, endpoints: Sequence[Endpoint]) -> Sequence[Endpoint]:
        """Targets as a zone holds them. What no zone can hold stays as it is; `apply` explains it then."""
        return [adjust_where_possible(endpoint) for endpoint in endpoints]

    def property_values_equal(self, name: str, previous: str, current: str) -> bool:
        return previous == current

    def domain_filter(self) -> DomainFilter:
        return self._given_filter or DomainFilter(include=tuple(self._origins))

    def capabilities(self) -> Capabilities:
        return Capabilities(
            atomic=len(self._origins) == 1,
            value_exact=True,
            ordered=True,
            immediate=True,
            set_identifiers=False,
            provider_specific=False,
        )

    def _fetch(self, origin: dns.name.Name) -> Zone:
        return Zone(self._server.fetch_zone(origin), self._default_ttl)

    def _changes_by_zone(self, changes: Sequence[SingleChange]) -> dict[dns.name.Name, list[SingleChange]]:
        by_zone: dict[dns.name.Name, list[SingleChange]] = {}
        for change in changes:
            origin = find_closest_zone(change.key, self._origins, self._given_filter)
            by_zone.setdefault(origin, []).append(change)
        return by_zone

    def _build_update(self, origin: dns.name.Name, changes: Sequence[SingleChange]) -> _ZoneUpdate:
        """One message for all changes of a zone. What it says must stand there is what was just read."""
        # Checked here too, for the words: the server's own answer names neither the record nor the reason.
        placed = self._fetch(origin).placed(changes)
        message = dns.update.UpdateMessage(origin)
        for change, made in zip(changes, placed, strict=True):
            name = parse_name(change.key.name)
            if change.old is not None:
                expected = build_rdataset(change.old, self._default_ttl)
                expected.update_ttl(0)  # as RFC 2136 wants it in a prerequisite
                message.present(name, expected)
                message.delete(name, change.key.record_type)
            elif not any(each.key == change.key and each.new is None for each in changes):
                message.absent(name, change.key.record_type)
            if made.rdataset is not None:
                message.add(name, made.rdataset)
        self._server.sign(message)
        try:
            message.to_wire(max_size=_LONGEST_MESSAGE)
        except dns.exception.TooBig as error:
            raise ChangeImpossible(
                f"{len(changes)} changes of {format_name(origin)} do not fit in one update message, and only "
                "one message is applied as a whole. Nothing was applied; send fewer at a time."
            ) from error
        return _ZoneUpdate(origin, message, changes)

    def _send(self, update: _ZoneUpdate, *, applied: Sequence[dns.name.Name]) -> None:
        zone = format_name(update.origin)
        before = f" Applied before: {', '.join(map(format_name, applied))}." if applied else ""
        try:
            answer = self._server.exchange(update.message)
        except NoAnswer as error:
            raise BackendError(
                f"{error} The update of {zone} left, and may have been made: read the records again.{before}"
            ) from error
        except BackendError as error:
            raise BackendError(f"{error}{before}") from error
        code = answer.rcode()
        if code == dns.rcode.NOERROR:
            return
        text = dns.rcode.to_text(code)
        if code in _CONFLICTS:
            raise ChangeRefused(
                f"Somebody changed {zone} in the same moment ({text}). Nothing of it was applied; read the "
                f"records again.{before}"
            )
        raise BackendError(
            f"{self._server} refused the update of {zone}: {text}. Nothing of it was applied. It must allow "
            f"this key, or this address, to update the zone, and be primary for it.{before}"
        )
