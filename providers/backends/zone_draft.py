"""What a zone would hold after some changes, before any of them is made. Touches no disk and no network."""

import dns.name
import dns.rdataset

from providers.backends.errors import ChangeImpossible
from providers.backends.names_in_use import NamesInUse
from providers.backends.old_value import OldValues
from providers.backends.single_change import SingleChange
from providers.backends.zone import PlacedChange, Zone
from providers.backends.zone_value import build_endpoint, build_rdataset, parse_name
from providers.wire.endpoint import EndpointKey

_Rdatasets = dict[EndpointKey, dns.rdataset.Rdataset | None]


class Draft:
    """Changes placed in a zone one after the other; those of one group are kept or dropped together."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self._names = NamesInUse(zone.keys_at)
        self._kept: _Rdatasets = {}
        self._group: _Rdatasets = {}

    def place(self, change: SingleChange, old_values: OldValues) -> PlacedChange:
        """The change made ready. Raises ChangeRefused or ChangeImpossible."""
        name = parse_name(change.key.name)
        held = self._find(name, change.key)
        shown = build_endpoint(name, held) if held is not None else None
        after = old_values.settle(change, shown)
        rdataset = build_rdataset(after, self.zone.default_ttl, held=held) if after is not None else None
        # dnspython drops the other types of a node without a word when a CNAME arrives, and the reverse.
        self._names.place(change.key, stands=rdataset is not None)
        if rdataset is None and change.key == EndpointKey(self.zone.domain, "NS", ""):
            raise ChangeImpossible(
                f"The zone {self.zone.domain} would be left without name servers. Nothing was applied; "
                "give its NS record set other targets instead of deleting it."
            )
        self._group[change.key] = rdataset
        return PlacedChange(change.key, name, held, rdataset)

    def keep(self) -> None:
        """The changes of this group are to be made; the next group begins."""
        self._kept |= self._group
        self._group = {}
        self._names.keep()

    def drop(self) -> None:
        """The changes of this group are not made; the next group begins."""
        self._group = {}
        self._names.drop()

    def _find(self, name: dns.name.Name, key: EndpointKey) -> dns.rdataset.Rdataset | None:
        for placed in (self._group, self._kept):
            if key in placed:
                return placed[key]
        return self.zone.find_rdataset(name, key.record_type) if key in self.zone.endpoints else None
