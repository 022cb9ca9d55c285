"""Which types stand at a name after some changes: a CNAME stands beside nothing else."""

from collections.abc import Callable, Iterable

from providers.backends.errors import ChangeRefused, Reason
from providers.backends.single_change import describe
from providers.wire.endpoint import EndpointKey

# What DNSSEC puts beside every record set.
_BESIDE_CNAME = {"CNAME", "RRSIG", "NSEC", "NSEC3", "KEY"}


class NamesInUse:
    """Follows changes one after the other; those of one group are kept or dropped together. `held_at` gives
    the record sets that stand at a name now."""

    def __init__(self, held_at: Callable[[str], Iterable[EndpointKey]]) -> None:
        self._held_at = held_at
        self._kept: dict[str, dict[EndpointKey, bool]] = {}
        self._group: dict[str, dict[EndpointKey, bool]] = {}

    def place(self, key: EndpointKey, *, stands: bool) -> None:
        """Note that a record set stands at its name from now on, or does not. Raises ChangeRefused for a
        CNAME beside another type."""
        keys = dict.fromkeys(self._held_at(key.name), True)
        keys |= self._kept.get(key.name, {}) | self._group.get(key.name, {}) | {key: stands}
        types = {each.record_type for each, is_there in keys.items() if is_there}
        if stands and "CNAME" in types and not types <= _BESIDE_CNAME:
            raise ChangeRefused(
                f"{describe(key)}: a CNAME cannot exist beside other types at one name. Nothing was "
                "applied; delete the others in the same request or choose another name.",
                reason=Reason.CNAME_CONFLICT,
            )
        self._group.setdefault(key.name, {})[key] = stands

    def keep(self) -> None:
        """The changes of this group are to be made; the next group begins."""
        for name, keys in self._group.items():
            self._kept.setdefault(name, {}).update(keys)
        self._group = {}

    def drop(self) -> None:
        """The changes of this group are not made; the next group begins."""
        self._group = {}
