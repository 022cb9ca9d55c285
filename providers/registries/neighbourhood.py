"""The part of a zone that decides whose the record sets at some names are.

Pairing a whole zone again after each small change costs what the zone costs. What a TXT endpoint may speak
for follows from its name alone, under the profiles at hand: endpoints that are linked so, over however many
steps, are paired among themselves the way they are in the whole zone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from providers.registries.claim import DEFAULT_PROFILE, TxtProfile
from providers.registries.txt_names import TxtNameReader, list_names_meant
from providers.wire.canonical_name import InvalidName, canonical_name
from providers.wire.endpoint import Endpoint

_TXT = "TXT"


class Neighbourhood:
    """For any number of readings of one zone: what was understood of a name is kept for the next reading.

    Names that are gone stay linked, so that a part may hold more than it needs to, and never less.
    """

    def __init__(self, profiles: Iterable[TxtProfile]) -> None:
        # As in pairing: the default format is tried whether or not it is registered.
        self._readers = [
            (TxtNameReader(profile), profile.wildcard_replacement.lower())
            for profile in {*profiles, DEFAULT_PROFILE}
        ]
        self._places: dict[str, str | None] = {}
        self._linked: set[str] = set()
        self._neighbours: dict[str, list[str]] = defaultdict(list)

    def select(self, endpoints: Iterable[Endpoint], names: Collection[str]) -> list[Endpoint]:
        """What stands at canonical `names` and all that is linked with it, in the order it came. Endpoints
        whose name cannot be read are left out: nothing is linked with them."""
        placed = [(self._place(endpoint), endpoint) for endpoint in endpoints]
        near = self._reach(names)
        return [endpoint for place, endpoint in placed if place in near]

    def _place(self, endpoint: Endpoint) -> str | None:
        spelling = endpoint.dns_name
        if spelling not in self._places:
            self._places[spelling] = _canonical(spelling)
        place = self._places[spelling]
        if spelling not in self._linked and place is not None and endpoint.record_type.upper() == _TXT:
            self._linked.add(spelling)
            for name in {*self._read(spelling, place)} - {place}:
                self._neighbours[place].append(name)
                self._neighbours[name].append(place)
        return place

    def _reach(self, names: Collection[str]) -> set[str]:
        reached, waiting = set(names), list(names)
        while waiting:
            for name in self._neighbours.get(waiting.pop(), ()):
                if name not in reached:
                    reached.add(name)
                    waiting.append(name)
        return reached

    def _read(self, spelling: str, place: str) -> Iterator[str]:
        """The names that a TXT endpoint may speak for."""
        text = place if spelling.isascii() else spelling.lower().removesuffix(".")
        for reader, wildcard_replacement in self._readers:
            reading = reader.read(text)
            name = None if reading is None else _canonical(reading.record_name)
            if name is not None:
                yield from list_names_meant(name, wildcard_replacement)


def _canonical(spelling: str) -> str | None:
    try:
        return canonical_name(spelling)
    except InvalidName:
        return None
