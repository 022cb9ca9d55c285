"""Whether a change fits what is held, and what is there after it. Pure.

This is the one place that compares old values for the servers that real clients use. ExternalDNS does not
send back what it read: a claim in `updateOld` and `delete` is built anew from its labels, sorted, in one
string, without TTL, without the other texts beside it, and with the properties of its record. So a TTL that
is not stated matches any, and claims are compared by what they say.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from providers.backends.errors import ChangeRefused, Reason, describe
from providers.backends.single_change import SingleChange
from providers.backends.txt_target import FORCE_UPDATE, ClaimTexts, is_claim, is_claim_text, read_text
from providers.wire.canonical_name import canonical_target
from providers.wire.endpoint import Endpoint, EndpointKey

ReadProperties = Callable[[Endpoint], Mapping[str, str]]

# What DNSSEC puts beside every record set.
_BESIDE_CNAME = {"CNAME", "RRSIG", "NSEC", "NSEC3", "KEY"}


def no_properties(_endpoint: Endpoint) -> Mapping[str, str]:
    """For backends that hold no provider-specific properties: they never count."""
    return {}


class OldValues:
    """Compares old values. `keys` open encrypted claims; `properties` are those of an endpoint that count."""

    def __init__(self, keys: Sequence[bytes] = (), *, properties: ReadProperties = no_properties) -> None:
        self._claims = ClaimTexts(keys)
        self._properties = properties

    def settle(self, change: SingleChange, held: Endpoint | None) -> Endpoint | None:
        """What exists under the change's identity after it (None: nothing). Raises ChangeRefused where the
        change does not fit what is held."""
        if change.old is None:
            return self._settle_create(change, held)
        if held is None:
            return _settle_without_held(change)
        if is_claim(change.old) and change.key.record_type == "TXT":
            targets = self._replace_texts(change, held)
            # A claim never states one; beside other texts theirs counts.
            wanted_ttl = change.new.record_ttl if change.new else 0
            ttl = held.record_ttl if len(targets) > 1 or not wanted_ttl else wanted_ttl
        elif self._is_same_value(held, change.old):
            targets = change.new.targets if change.new else ()
            ttl = change.new.record_ttl if change.new else 0  # zero: the backend's default
        else:
            raise _differs(change.key)
        if change.new is None:
            return msgspec.structs.replace(held, targets=targets) if targets else None
        return msgspec.structs.replace(change.new, targets=targets, record_ttl=ttl)

    def _settle_create(self, change: SingleChange, held: Endpoint | None) -> Endpoint | None:
        new = change.new
        if held is None or new is None:
            return new
        if change.key.record_type == "TXT" and is_claim(new):
            if not any(is_claim_text(target) for target in held.targets):
                targets = (*new.targets, *held.targets)
                return msgspec.structs.replace(new, targets=targets, record_ttl=held.record_ttl)
            if all(self._stands(target, held) for target in new.targets):
                return held
        raise ChangeRefused(
            f"{describe(change.key)} already exists, so it cannot be created. Read the records again.",
            reason=Reason.EXISTS,
        )

    def _replace_texts(self, change: SingleChange, held: Endpoint) -> tuple[str, ...]:
        """The texts after a claim was updated or deleted: those of `old` give way to those of `new`, in
        their place, and every other text stays as it is."""
        old, new = change.old, change.new
        left = list(held.targets)
        place = len(left)
        for text in old.targets if old else ():
            found = next((each for each in left if self._claims.is_same(each, text)), None)
            if found is None:
                if _is_forced(change) and not any(is_claim_text(each) for each in held.targets):
                    return (*(new.targets if new else ()), *held.targets)
                raise _differs(change.key)
            place = min(place, left.index(found))
            left.remove(found)
        fresh = [
            text
            for text in (new.targets if new else ())
            if not any(self._claims.is_same(text, each) for each in left)
        ]
        return (*left[:place], *fresh, *left[place:])

    def _stands(self, target: str, held: Endpoint) -> bool:
        return any(self._claims.is_same(target, each) for each in held.targets)

    def _is_same_value(self, held: Endpoint, old: Endpoint) -> bool:
        is_ttl_same = old.record_ttl == held.record_ttl or 0 in (old.record_ttl, held.record_ttl)
        return (
            is_ttl_same
            and _comparable(held) == _comparable(old)
            and self._properties(held) == self._properties(old)
        )


def _comparable(endpoint: Endpoint) -> list[str]:
    if endpoint.record_type.upper() == "TXT":
        return sorted(map(read_text, endpoint.targets))
    return sorted(canonical_target(endpoint.record_type, target) for target in endpoint.targets)


def _settle_without_held(change: SingleChange) -> Endpoint | None:
    # A record set with only a legacy claim: the new claim is "updated" before it exists.
    if _is_forced(change) and change.key.record_type == "TXT":
        return change.new
    raise ChangeRefused(
        f"{describe(change.key)} does not exist, so it cannot be changed or deleted. Read the records "
        "again and build the change from them.",
        reason=Reason.ABSENT,
    )


def _is_forced(change: SingleChange) -> bool:
    properties = change.old.provider_specific if change.old else ()
    return any((each.name, each.value) == (FORCE_UPDATE, "true") for each in properties)


def _differs(key: EndpointKey) -> ChangeRefused:
    what = "a claim of another owner or with other labels, or " if key.record_type == "TXT" else ""
    return ChangeRefused(
        f"{describe(key)} does not have the value the request calls old. It holds {what}another "
        "value. Read the records again and build the change from them."
    )


class NamesInUse:
    """Follows changes one after the other; those of one group are kept or dropped together. `held_at` gives
    the record sets at a name now."""

    def __init__(self, held_at: Callable[[str], Iterable[EndpointKey]]) -> None:
        self._held_at = held_at
        self._kept: dict[str, dict[EndpointKey, bool]] = {}
        self._group: dict[str, dict[EndpointKey, bool]] = {}

    def place(self, key: EndpointKey, *, exists: bool) -> None:
        """Note that a record set exists from now on, or does not. Raises ChangeRefused for a
        CNAME beside another type."""
        keys = dict.fromkeys(self._held_at(key.name), True)
        keys |= self._kept.get(key.name, {}) | self._group.get(key.name, {}) | {key: exists}
        types = {each.record_type for each, is_there in keys.items() if is_there}
        if exists and "CNAME" in types and not types <= _BESIDE_CNAME:
            raise ChangeRefused(
                f"{describe(key)}: a CNAME cannot exist beside other types at one name. Nothing was "
                "applied; delete the others in the same request or choose another name.",
                reason=Reason.CNAME_CONFLICT,
            )
        self._group.setdefault(key.name, {})[key] = exists

    def keep(self) -> None:
        """The changes of this group are to be made; the next group begins."""
        for name, keys in self._group.items():
            self._kept.setdefault(name, {}).update(keys)
        self._group = {}

    def drop(self) -> None:
        """The changes of this group are not made; the next group begins."""
        self._group = {}
