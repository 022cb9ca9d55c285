"""An endpoint and where it is declared. Pure."""

from typing import NamedTuple

from providers.sources.errors import InvalidManifest, Place
from providers.sources.targets import find_bad_target
from providers.wire.endpoint import Endpoint
from providers.wire.poison import find_poison


class PlacedEndpoint(NamedTuple):
    """An endpoint and where it is declared."""

    place: Place
    endpoint: Endpoint


def raise_if_bad(endpoint: Endpoint, place: Place, targets: Place) -> None:
    """Refuse what no provider can hold: characters nobody can show, and targets that cannot stand.

    `targets` is where those are written, `place` where all the rest is.
    """
    poison = find_poison(endpoint)
    if poison is not None:
        where = targets if poison.field == "targets" else place.field(poison.field)
        raise InvalidManifest(f"it holds {poison.reason}.", where)
    bad = find_bad_target(endpoint)
    if bad is not None:
        index, reason = bad
        raise InvalidManifest(reason, targets.item(index))
