"""The change set of a batch, from the plan and from what was just read. Pure but for fresh nonces.

`old` is always the endpoint as read. A TXT name that stays is updated; a new one is created in a first
change set, and what it replaces is deleted in a second one, so that no record set is ever without a claim.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from providers.registries.claim import TxtProfile
from providers.registries.encryption import encrypt_labels_text
from providers.registries.errors import RegistryError
from providers.wire.canonical_name import canonical_name
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from registry_app.transfer.claim_edit import txt_key_of
from registry_app.transfer.live_zone import LiveZone
from registry_app.transfer.provider_plan import EndpointDict
from registry_app.transfer.subjects import TxtKey


@dataclass(frozen=True)
class Change:
    """One TXT endpoint from `old` to `new`, both exactly as on the wire; None: it is not there."""

    old: Endpoint | None
    new: Endpoint | None


@dataclass(frozen=True)
class ItemPlan:
    """The reviewed TXT endpoints of one item, by where they stand.

    `is_exact`: the endpoints are complete, TTL and properties included, and are written as they are (an
    undo); otherwise those come from what was read.
    """

    before: dict[TxtKey, EndpointDict]
    after: dict[TxtKey, EndpointDict]
    is_exact: bool

    @property
    def written(self) -> tuple[TxtKey, ...]:
        """What is created or updated, in the first change set."""
        return tuple(key for key, wanted in self.after.items() if self.before.get(key) != wanted)

    @property
    def removed(self) -> tuple[TxtKey, ...]:
        """What is deleted, in the second one."""
        return tuple(key for key in self.before if key not in self.after)


def build_item_plan(before: list[EndpointDict], after: list[EndpointDict], *, is_exact: bool) -> ItemPlan:
    return ItemPlan(
        {txt_key_of(endpoint): endpoint for endpoint in before},
        {txt_key_of(endpoint): endpoint for endpoint in after},
        is_exact,
    )


class Moved(Exception):
    """What stands at the provider is neither what was reviewed nor what is wanted."""


@dataclass
class ChangeBuilder:
    """Collects the changes of one batch against one reading of the provider.

    `profiles` seal what is to be encrypted; `earlier` are TXT endpoints this transfer wrote before: what
    was sealed once keeps its bytes.
    """

    zone: LiveZone
    profiles: Mapping[str, TxtProfile]
    earlier: Mapping[TxtKey, Endpoint] = field(default_factory=dict)
    changes: dict[TxtKey, Change] = field(default_factory=dict)

    def add_written(self, plan: ItemPlan) -> None:
        """The item's creates and updates, all or none. What stands already is left alone. Raises Moved."""
        self._add({key: self._build_written(plan, key) for key in plan.written})

    def add_removed(self, plan: ItemPlan) -> None:
        """The item's deletes, all or none. What is gone already is left alone. Raises Moved."""
        self._add({key: self._build_removed(plan, key) for key in plan.removed})

    def change_set(self) -> ChangeSet:
        updates = [each for each in self.changes.values() if each.old and each.new]
        return ChangeSet(
            create=tuple(each.new for each in self.changes.values() if each.new and not each.old),
            update_old=tuple(each.old for each in updates if each.old),
            update_new=tuple(each.new for each in updates if each.new),
            delete=tuple(each.old for each in self.changes.values() if each.old and not each.new),
        )

    def _add(self, built: Mapping[TxtKey, Change | None]) -> None:
        self.changes.update({key: change for key, change in built.items() if change is not None})

    def _build_written(self, plan: ItemPlan, key: TxtKey) -> Change | None:
        if key in self.changes:
            return self.changes[key]  # shared with another item of this batch
        live, wanted, earlier = self._find_live(key), plan.after[key], self.earlier.get(key)
        if live is not None and earlier is not None and is_as_written(live, earlier):
            return None
        reviewed = plan.before.get(key)
        if not is_as_reviewed(live, reviewed):
            raise Moved(describe_moved(key, live, reviewed))
        targets = self._seal(wanted, reviewed, earlier)
        if live is not None:
            return Change(live, _updated(live, targets, plan, wanted))
        return Change(None, self._created(plan, key, targets))

    def _build_removed(self, plan: ItemPlan, key: TxtKey) -> Change | None:
        live = self._find_live(key)
        if live is None:
            return None
        if not is_as_reviewed(live, plan.before[key]):
            raise Moved(describe_moved(key, live, plan.before[key]))
        return Change(live, None)

    def _find_live(self, key: TxtKey) -> Endpoint | None:
        if self.zone.is_ambiguous(key):
            raise Moved(f"The provider lists the TXT record {key.name} more than once.")
        return self.zone.txt(key)

    def _created(self, plan: ItemPlan, key: TxtKey, targets: tuple[str, ...]) -> Endpoint:
        wanted = msgspec.convert(
            {name: value for name, value in plan.after[key].items() if name != "encrypt"}, Endpoint
        )
        wanted = msgspec.structs.replace(wanted, targets=targets)
        likes = (self.zone.txt(each) for each in plan.before)
        like = next((each for each in likes if each is not None), None)
        if plan.is_exact or like is None:
            return wanted
        return msgspec.structs.replace(
            like, dns_name=wanted.dns_name, targets=targets, set_identifier=wanted.set_identifier
        )

    def _seal(
        self, wanted: EndpointDict, reviewed: EndpointDict | None, earlier: Endpoint | None
    ) -> tuple[str, ...]:
        """The targets as they go over the wire, those to be encrypted sealed under fresh nonces."""
        seals: dict[str, str] = wanted.get("encrypt", {})
        if seals and earlier is not None and len(earlier.targets) == len(wanted["targets"]):
            return earlier.targets
        return tuple(
            self._seal_target(text, seals[str(place)]) if str(place) in seals else text
            for place, text in enumerate(wanted["targets"])
        )

    def _seal_target(self, text: str, reference: str) -> str:
        profile = self.profiles.get(reference)
        if profile is None or profile.encryption_key is None:
            raise RegistryError(
                "The registry profile whose key encrypts the claim is gone, or has no key any more."
            )
        body = text.strip('"')
        return text.replace(body, encrypt_labels_text(body, profile.encryption_key), 1)


def is_as_reviewed(live: Endpoint | None, reviewed: EndpointDict | None) -> bool:
    """Whether a TXT endpoint holds what was reviewed: the same targets, byte for byte, in any order."""
    if live is None or reviewed is None:
        return live is None and reviewed is None
    return sorted(live.targets) == sorted(reviewed["targets"])


def is_as_written(live: Endpoint | None, wanted: Endpoint | None) -> bool:
    """Whether a provider shows what was sent (I6).

    Providers may wrap text in quotes or not, choose the TTL where none was configured, and add
    properties of their own; nothing else may differ.
    """
    if live is None or wanted is None:
        return live is None and wanted is None
    return (
        sorted(map(_unquoted, live.targets)) == sorted(map(_unquoted, wanted.targets))
        and wanted.record_ttl in (0, live.record_ttl)
        and set(wanted.provider_specific) <= set(live.provider_specific)
    )


def describe_moved(key: TxtKey, live: Endpoint | None, reviewed: EndpointDict | None) -> str:
    """What stands at a TXT name instead of what was reviewed."""
    if live is None:
        return f"The TXT record {key.name} is gone."
    if reviewed is None:
        return f"A TXT record {key.name} stands where a new claim was to be written."
    return f"The TXT record {key.name} holds {_quote(live.targets)}, not what was reviewed."


def changes_in(change_set: ChangeSet) -> dict[TxtKey, Change]:
    """The changes of a stored change set, by where they are made."""
    olds = {_key(endpoint): endpoint for endpoint in (*change_set.update_old, *change_set.delete)}
    news = {_key(endpoint): endpoint for endpoint in (*change_set.update_new, *change_set.create)}
    return {key: Change(olds.get(key), news.get(key)) for key in (*olds, *(k for k in news if k not in olds))}


def raise_if_touches_more(change_set: ChangeSet, plans: Iterable[ItemPlan]) -> None:
    """The last guard before a change set is stored (I11): nothing but reviewed ownership TXT is in it.

    Raises ValueError; that it never does is what the tests of everything before it show.
    """
    allowed: dict[TxtKey, tuple[set[str], bool]] = {}
    for plan in plans:
        for key in (*plan.written, *plan.removed):
            replaced = set(plan.before.get(key, {}).get("targets", ())) - _kept_targets(plan.after.get(key))
            allowed[key] = (replaced, key in plan.after)
    for key, change in changes_in(change_set).items():
        if key not in allowed:
            raise ValueError(f"The change set touches {key.name}, which is not part of the plan.")
        replaced, stays = allowed[key]
        _raise_if_change_touches_more(key, change, replaced, stays=stays)


def _kept_targets(wanted: EndpointDict | None) -> set[str]:
    """The targets that are to stand as they are: not those that are sealed anew under the same text."""
    if wanted is None:
        return set()
    seals = wanted.get("encrypt", {})
    return {text for place, text in enumerate(wanted["targets"]) if str(place) not in seals}


def _raise_if_change_touches_more(key: TxtKey, change: Change, replaced: set[str], *, stays: bool) -> None:
    if any(each is not None and each.record_type.upper() != "TXT" for each in (change.old, change.new)):
        raise ValueError(f"The change set touches {key.name}, and not as a TXT record.")
    if (change.new is not None) is not stays:
        raise ValueError(f"The change set does not leave {key.name} as reviewed.")
    if change.old is None:
        return
    new_targets = change.new.targets if change.new else ()
    if not set(change.old.targets) - set(new_targets) <= replaced:
        raise ValueError(f"The change set removes more from {key.name} than the reviewed claims.")
    if change.new is not None and _frame(change.old) != _frame(change.new):
        raise ValueError(f"The change set alters {key.name} beyond its targets.")


def _updated(live: Endpoint, targets: tuple[str, ...], plan: ItemPlan, wanted: EndpointDict) -> Endpoint:
    """The endpoint as read, with the wanted targets in the places of those they replace."""
    if plan.is_exact:
        return msgspec.structs.replace(live, targets=targets)
    reviewed = list(plan.before[txt_key_of(wanted)]["targets"])
    if len(reviewed) == len(targets):
        by_place = dict(zip(reviewed, targets, strict=True))
        return msgspec.structs.replace(live, targets=tuple(by_place[target] for target in live.targets))
    kept = [target for target in live.targets if target in targets]
    added = [target for target in targets if target not in kept]
    return msgspec.structs.replace(live, targets=(*kept, *added))


def _frame(endpoint: Endpoint) -> tuple[object, ...]:
    return (
        endpoint.dns_name,
        endpoint.set_identifier,
        endpoint.record_ttl,
        endpoint.labels,
        endpoint.provider_specific,
    )


def _key(endpoint: Endpoint) -> TxtKey:
    return TxtKey(canonical_name(endpoint.dns_name), endpoint.set_identifier)


def _unquoted(target: str) -> str:
    return target[1:-1] if len(target) > 1 and target[0] == target[-1] == '"' else target


def _quote(targets: Iterable[str]) -> str:
    return ", ".join(target[:300] for target in targets)
